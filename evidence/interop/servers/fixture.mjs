// Legacy fixture server on the v1 TypeScript SDK (low-level Server, so that every field is under control).
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import * as S from '@modelcontextprotocol/sdk/types.js';

const server = new Server(
  {
    name: 'interop-fixture',
    title: 'Interop Fixture',
    version: '7.3.1',
    websiteUrl: 'https://example.test/fixture',
  },
  {
    capabilities: {
      tools: { listChanged: true },
      prompts: { listChanged: true },
      logging: {},
      completions: {},
      resources: { listChanged: true, subscribe: true },
      experimental: { 'example.test/flag': { on: true } },
    },
    instructions: 'Use echo first.\nThen the rest – ünïcode ✓',
  },
);

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=';
const text = (value) => ({
  content: [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }],
});
const object = (properties = {}, required = []) => ({ type: 'object', properties, required });
const history = [];
const authorised = new Set();
let extra = 0;

const FORM = {
  type: 'object',
  properties: {
    name: { type: 'string', title: 'Name', minLength: 1 },
    age: { type: 'integer', minimum: 0 },
    subscribe: { type: 'boolean', default: false },
    colour: { type: 'string', enum: ['red', 'green'], enumNames: ['Red', 'Green'] },
  },
  required: ['name'],
};
const askForm = (message, related) =>
  server.elicitInput({ mode: 'form', message, requestedSchema: FORM }, related);

const tools = {
  echo: {
    description: 'Returns its text',
    schema: object({ text: { type: 'string' } }, ['text']),
    more: { title: 'Echo', annotations: { readOnlyHint: true }, _meta: { 'example.test/tool': 1 } },
    run: (a) => text(a.text),
  },
  structured: {
    description: 'Structured result',
    schema: object({ a: { type: 'number' }, b: { type: 'number' } }),
    more: {
      outputSchema: object(
        { sum: { type: 'number' }, parts: { type: 'array', items: { type: 'number' } } },
        ['sum'],
      ),
    },
    run: (a) => ({
      ...text({ sum: a.a + a.b, parts: [a.a, a.b] }),
      structuredContent: { sum: a.a + a.b, parts: [a.a, a.b] },
    }),
  },
  media: {
    description: 'Every content block',
    schema: object(),
    run: () => ({
      content: [
        {
          type: 'text',
          text: 'm',
          annotations: { audience: ['user'], priority: 0.5, lastModified: '2025-01-02T03:04:05Z' },
        },
        { type: 'image', data: PNG, mimeType: 'image/png' },
        { type: 'audio', data: WAV, mimeType: 'audio/wav' },
        {
          type: 'resource_link',
          uri: 'res://item/3',
          name: 'item 3',
          mimeType: 'text/plain',
          size: 6,
        },
        {
          type: 'resource',
          resource: { uri: 'res://blob', mimeType: 'application/octet-stream', blob: 'AAEC/w==' },
        },
      ],
      _meta: { 'example.test/answer': { n: 42 } },
    }),
  },
  big: {
    description: 'N bytes of text',
    schema: object({ bytes: { type: 'integer' } }),
    run: (a) => text('0123456789abcdef'.repeat(a.bytes / 16)),
  },
  delay_echo: {
    description: 'Echo after a pause',
    schema: object({ n: { type: 'integer' }, ms: { type: 'integer' } }),
    run: async (a) => {
      await new Promise((r) => setTimeout(r, a.ms));
      return text(`n=${a.n}`);
    },
  },
  elicit: {
    description: 'Asks one form',
    schema: object(),
    run: async (_a, x) => text(await askForm('Who are you?', { relatedRequestId: x.requestId })),
  },
  elicit_twice: {
    description: 'Asks two forms, one after the other',
    schema: object(),
    run: async (_a, x) => {
      const first = await askForm('first', { relatedRequestId: x.requestId });
      return text([first, await askForm('second', { relatedRequestId: x.requestId })]);
    },
  },
  elicit_both: {
    description: 'Asks two forms at once',
    schema: object(),
    run: async (_a, x) =>
      text(
        await Promise.all(
          ['left', 'right'].map((m) => askForm(m, { relatedRequestId: x.requestId })),
        ),
      ),
  },
  elicit_url: {
    description: 'Asks to open a URL',
    schema: object(),
    run: async () =>
      text(
        await server.elicitInput({
          mode: 'url',
          message: 'Sign in',
          url: 'https://example.test/auth?x=1',
          elicitationId: 'el-1',
        }),
      ),
  },
  url_required: {
    description: 'Fails with -32042 the first time it runs with this key',
    schema: object({ key: { type: 'string' } }),
    run: (a) => {
      if (authorised.has(a.key)) return text('authorised');
      authorised.add(a.key);
      throw new S.UrlElicitationRequiredError([
        {
          mode: 'url',
          message: 'Authorise',
          url: 'https://example.test/consent',
          elicitationId: 'el-' + a.key,
        },
      ]);
    },
  },
  sample: {
    description: 'Asks the model',
    schema: object(),
    run: async () =>
      text(
        await server.createMessage({
          messages: [{ role: 'user', content: { type: 'text', text: 'Say hi' } }],
          systemPrompt: 'Be brief',
          maxTokens: 50,
          temperature: 0.5,
        }),
      ),
  },
  roots: {
    description: 'Lists the roots',
    schema: object(),
    run: async () => text(await server.listRoots()),
  },
  progress: {
    description: 'Reports progress',
    schema: object({ steps: { type: 'integer' } }),
    run: async (a, x) => {
      const token = x._meta?.progressToken;
      for (let i = 1; token !== undefined && i <= a.steps; i++) {
        await x.sendNotification({
          method: 'notifications/progress',
          params: { progressToken: token, progress: i, total: a.steps, message: `step ${i}` },
        });
        await new Promise((r) => setTimeout(r, 120));
      }
      return text('done');
    },
  },
  log: {
    description: 'Logs at four levels',
    schema: object(),
    run: async () => {
      for (const level of ['debug', 'info', 'warning', 'error'])
        await server.sendLoggingMessage({ level, logger: 'fixture', data: { said: level } });
      return text('logged');
    },
  },
  change: {
    description: 'Adds a tool, prompt and resource',
    schema: object(),
    run: async () => {
      extra++;
      await server.sendToolListChanged();
      await server.sendPromptListChanged();
      await server.sendResourceListChanged();
      return text(`extra=${extra}`);
    },
  },
  touch: {
    description: 'Reports a resource as updated',
    schema: object({ uri: { type: 'string' } }),
    run: async (a) => {
      if (subscribed.has(a.uri)) await server.sendResourceUpdated({ uri: a.uri });
      return text([...subscribed]);
    },
  },
  slow: {
    description: 'Waits, can be cancelled',
    schema: object({ ms: { type: 'integer' } }),
    run: (a, x) =>
      new Promise((resolve) => {
        history.push('start');
        const timer = setTimeout(() => {
          history.push('end');
          resolve(text('slept'));
        }, a.ms);
        x.signal.addEventListener('abort', () => {
          clearTimeout(timer);
          history.push('abort:' + String(x.signal.reason));
          resolve(text('aborted'));
        });
      }),
  },
  history: { description: 'What slow saw', schema: object(), run: () => text(history) },
  fail: {
    description: 'isError result',
    schema: object(),
    run: () => ({ ...text('it broke'), isError: true }),
  },
  rpc_error: {
    description: 'JSON-RPC error with data',
    schema: object({ code: { type: 'integer' } }),
    run: (a) => {
      throw Object.assign(new Error('custom failure ✗'), {
        code: a.code,
        data: { list: [0, false, '', null], n: 1 },
      });
    },
  },
};

// 12 per page, so that tools need two pages.
const page = (items, cursor, size) => {
  const from = cursor ? Number(Buffer.from(cursor, 'base64').toString()) : 0;
  if (!(from >= 0 && from <= items.length)) throw new S.McpError(-32602, 'Invalid cursor');
  const next =
    from + size < items.length
      ? { nextCursor: Buffer.from(String(from + size)).toString('base64') }
      : {};
  return [items.slice(from, from + size), next];
};

server.setRequestHandler(S.ListToolsRequestSchema, ({ params }) => {
  const all = Object.entries(tools).map(([name, t]) => ({
    name,
    description: t.description,
    inputSchema: t.schema,
    ...t.more,
  }));
  for (let i = 0; i < extra; i++) all.push({ name: `extra_${i}`, inputSchema: object() });
  const [list, next] = page(all, params?.cursor, 12);
  return { tools: list, ...next };
});
server.setRequestHandler(S.CallToolRequestSchema, async ({ params }, x) => {
  const tool = tools[params.name];
  if (!tool) throw new S.McpError(-32602, `Unknown tool: ${params.name}`);
  for (const key of tool.schema.required)
    if (params.arguments?.[key] === undefined)
      throw new S.McpError(-32602, `Missing argument: ${key}`, { argument: key });
  return tool.run(params.arguments ?? {}, x);
});

const prompts = [
  {
    name: 'greet',
    title: 'Greet',
    description: 'Greets',
    arguments: [{ name: 'name', description: 'whom', required: true }, { name: 'style' }],
  },
  { name: 'plain' },
];
server.setRequestHandler(S.ListPromptsRequestSchema, ({ params }) => {
  const all = [...prompts];
  for (let i = 0; i < extra; i++) all.push({ name: `extra_${i}` });
  const [list, next] = page(all, params?.cursor, 1);
  return { prompts: list, ...next };
});
server.setRequestHandler(S.GetPromptRequestSchema, async ({ params }) => {
  if (params.name === 'plain')
    return {
      messages: [
        { role: 'assistant', content: { type: 'image', data: PNG, mimeType: 'image/png' } },
      ],
    };
  if (params.name !== 'greet') throw new S.McpError(-32602, `Unknown prompt: ${params.name}`);
  if (params.arguments?.name === 'ask')
    return {
      description: 'asked',
      messages: [{ role: 'user', content: text(await askForm('prompt form')).content[0] }],
    };
  return {
    description: 'A greeting',
    messages: [
      {
        role: 'user',
        content: {
          type: 'text',
          text: `Hello ${params.arguments.name} (${params.arguments.style ?? 'plain'})`,
        },
      },
    ],
  };
});

const subscribed = new Set();
server.setRequestHandler(S.ListResourcesRequestSchema, ({ params }) => {
  const all = Array.from({ length: 25 + extra }, (_, i) => ({
    uri: `res://item/${i}`,
    name: `item ${i}`,
    mimeType: 'text/plain',
    size: 6,
    annotations: { priority: 0.25 },
  }));
  const [list, next] = page(all, params?.cursor, 10);
  return { resources: list, ...next };
});
server.setRequestHandler(S.ListResourceTemplatesRequestSchema, () => ({
  resourceTemplates: [
    { uriTemplate: 'res://item/{id}', name: 'item', title: 'Item', mimeType: 'text/plain' },
    { uriTemplate: 'res://pair/{a}/{b}', name: 'pair' },
  ],
}));
server.setRequestHandler(S.ReadResourceRequestSchema, ({ params: { uri } }) => {
  if (uri === 'res://blob')
    return {
      contents: [
        { uri, mimeType: 'application/octet-stream', blob: 'AAEC/w==' },
        { uri: uri + '#2', text: 'second' },
      ],
    };
  const m = /^res:\/\/item\/(\d+)$/.exec(uri);
  if (!m) throw new S.McpError(-32002, 'Resource not found', { uri });
  return {
    contents: [
      { uri, mimeType: 'text/plain', text: `text ${m[1]}`, _meta: { 'example.test/rev': 3 } },
    ],
  };
});
server.setRequestHandler(S.SubscribeRequestSchema, ({ params }) => {
  subscribed.add(params.uri);
  return {};
});
server.setRequestHandler(S.UnsubscribeRequestSchema, ({ params }) => {
  subscribed.delete(params.uri);
  return {};
});
server.setRequestHandler(S.CompleteRequestSchema, ({ params: { ref, argument, context } }) => {
  const of = ref.type === 'ref/prompt' ? ref.name : ref.uri;
  const values = ['alpha', 'beta', 'gamma']
    .filter((v) => v.startsWith(argument.value))
    .map((v) => `${of}:${argument.name}:${v}:${context?.arguments?.name ?? '-'}`);
  return { completion: { values, total: values.length, hasMore: false } };
});

await server.connect(new StdioServerTransport());
