// @modelcontextprotocol/sdk (v1): the legacy client, also used for the direct baseline. MODE is ignored.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import * as S from '@modelcontextprotocol/sdk/types.js';
import { handlers, main } from './steps.mjs';

const LISTS = {
  tools: ['listTools', 'tools'],
  prompts: ['listPrompts', 'prompts'],
  resources: ['listResources', 'resources'],
  templates: ['listResourceTemplates', 'resourceTemplates'],
};

await main(async ({ command, args }) => {
  const client = new Client(
    { name: 'interop-ts1', version: '1.0.0' },
    {
      capabilities: {
        elicitation: { form: {}, url: {} },
        sampling: {},
        roots: { listChanged: true },
      },
    },
  );
  client.setRequestHandler(S.ElicitRequestSchema, (r) => handlers.elicit(r.params));
  client.setRequestHandler(S.CreateMessageRequestSchema, (r) => handlers.sample(r.params));
  client.setRequestHandler(S.ListRootsRequestSchema, () => handlers.roots());
  client.setNotificationHandler(S.LoggingMessageNotificationSchema, (n) => handlers.log(n.params));
  for (const schema of [
    S.ToolListChangedNotificationSchema,
    S.PromptListChangedNotificationSchema,
    S.ResourceListChangedNotificationSchema,
    S.ResourceUpdatedNotificationSchema,
  ])
    client.setNotificationHandler(schema, (n) => handlers.notify(n.method, n.params));
  await client.connect(new StdioClientTransport({ command, args }), { timeout: 20000 });
  const timeout = { timeout: 12000 };

  return {
    identity: () => ({
      era: 'legacy',
      protocolVersion: client.transport._protocolVersion,
      serverInfo: client.getServerVersion(),
      instructions: client.getInstructions(),
      capabilities: client.getServerCapabilities(),
    }),
    async list(what) {
      const [fn, key] = LISTS[what];
      const items = [];
      for (let cursor; ;) {
        const page = await client[fn](cursor === undefined ? {} : { cursor }, timeout);
        items.push(...page[key]);
        if ((cursor = page.nextCursor) === undefined) return { items };
      }
    },
    async call(name, args_, { progress, logLevel, signal }) {
      if (logLevel) await client.setLoggingLevel(logLevel);
      return client.callTool({ name, arguments: args_ }, undefined, {
        ...timeout,
        signal,
        ...(progress && { onprogress: handlers.progress }),
      });
    },
    prompt: (name, args_) =>
      client.getPrompt({ name, ...(args_ && { arguments: args_ }) }, timeout),
    read: (uri) => client.readResource({ uri }, timeout),
    complete: (params) => client.complete(params, timeout),
    async listen(filter) {
      const uris = filter.resourceSubscriptions ?? [];
      for (const uri of uris) await client.subscribeResource({ uri });
      return {
        honored: filter,
        close: async () => {
          for (const uri of uris) await client.unsubscribeResource({ uri });
        },
      };
    },
    close: () => client.close(),
  };
});
