// @modelcontextprotocol/client (v2). MODE: auto | pin | legacy
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { handlers, main } from './steps.mjs';

const LOG_LEVEL = 'io.modelcontextprotocol/logLevel';
const LISTS = {
  tools: ['listTools', 'tools'],
  prompts: ['listPrompts', 'prompts'],
  resources: ['listResources', 'resources'],
  templates: ['listResourceTemplates', 'resourceTemplates'],
};

await main(async ({ mode, command, args }) => {
  const client = new Client(
    { name: 'interop-ts2', version: '1.0.0', title: 'TS v2' },
    {
      capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} },
      versionNegotiation: {
        mode: mode === 'pin' ? { pin: '2026-07-28' } : mode,
        probe: { timeoutMs: 15000 },
      },
    },
  );
  client.setRequestHandler('elicitation/create', (r) => handlers.elicit(r.params));
  client.setRequestHandler('sampling/createMessage', (r) => handlers.sample(r.params));
  client.setRequestHandler('roots/list', () => handlers.roots());
  client.setNotificationHandler('notifications/message', (n) => handlers.log(n.params));
  for (const method of [
    'tools/list_changed',
    'prompts/list_changed',
    'resources/list_changed',
    'resources/updated',
  ])
    client.setNotificationHandler(`notifications/${method}`, (n) =>
      handlers.notify(n.method, n.params),
    );
  await client.connect(new StdioClientTransport({ command, args }), { timeout: 20000 });
  const modern = client.getProtocolEra() === 'modern';
  const timeout = { timeout: 12000, cacheMode: 'bypass' };

  return {
    identity: () => ({
      era: client.getProtocolEra(),
      protocolVersion: client.getNegotiatedProtocolVersion(),
      serverInfo: client.getServerVersion(),
      instructions: client.getInstructions(),
      capabilities: client.getServerCapabilities(),
    }),
    list: async (what) => {
      const [fn, key] = LISTS[what];
      return { items: (await client[fn](undefined, timeout))[key] };
    },
    async call(name, args_, { progress, logLevel, signal }) {
      if (logLevel && !modern) await client.setLoggingLevel(logLevel);
      const _meta = logLevel && modern ? { [LOG_LEVEL]: logLevel } : undefined;
      return client.callTool(
        { name, arguments: args_, ...(_meta && { _meta }) },
        { ...timeout, signal, ...(progress && { onprogress: handlers.progress }) },
      );
    },
    prompt: (name, args_) =>
      client.getPrompt({ name, ...(args_ && { arguments: args_ }) }, timeout),
    read: (uri) => client.readResource({ uri }, timeout),
    complete: (params) => client.complete(params, timeout),
    async listen(filter) {
      if (modern) {
        const subscription = await client.listen(filter, timeout);
        return { honored: subscription.honoredFilter, close: () => subscription.close() };
      }
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
