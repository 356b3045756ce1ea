// Legacy stdio server (v1 TypeScript SDK, 2025-11-25) with everything the
// conformance scenarios expect. Questions are server-to-client requests made
// while the call is open.   Usage: node fixture-legacy.mjs DEPS_DIR
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import * as d from './fixture-data.mjs';

const require = createRequire(resolve(process.argv[2], 'package.json'));
const { Server } = require('@modelcontextprotocol/sdk/server/index.js');
const { StdioServerTransport } = require('@modelcontextprotocol/sdk/server/stdio.js');
const t = require('@modelcontextprotocol/sdk/types.js');

const server = new Server(d.serverInfo, {
  instructions: d.instructions,
  capabilities: {
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { subscribe: true, listChanged: true },
    completions: {},
    logging: {},
  },
});

async function ask(question) {
  if (question.kind === 'sample') return server.createMessage(question.params);
  if (question.kind === 'roots') return server.listRoots();
  const answer = await server.elicitInput(question.params);
  if (answer.action !== 'accept') throw new Error(`elicitation answered with ${answer.action}`);
  return answer;
}

// Asks every round's questions at once; returns the answers by key.
async function askRounds(rounds, optional = false) {
  const answers = {};
  for (const round of rounds) {
    const settled = await Promise.allSettled(Object.values(round).map(ask));
    Object.keys(round).forEach((key, i) => {
      const s = settled[i];
      if (s.status === 'fulfilled') answers[key] = s.value;
      else if (!optional) throw s.reason;
    });
  }
  return answers;
}

let extraTool = false;
let extraPrompt = false;

async function callTool({ name, arguments: args = {}, _meta }, extra) {
  const log = (data) => server.sendLoggingMessage({ level: 'info', logger: 'fixture', data });
  const progress = (n) =>
    _meta?.progressToken !== undefined &&
    extra.sendNotification({
      method: 'notifications/progress',
      params: { progressToken: _meta.progressToken, progress: n, total: 100 },
    });
  if (d.fixedResults[name]) return d.fixedResults[name];
  const rounds = d.asking[name] ?? d.legacyAsking[name]?.(args);
  if (rounds) return d.answerText(name, await askRounds(rounds, d.optionalAnswers.has(name)));
  switch (name) {
    case 'test_tool_with_progress':
      for (const n of [0, 50, 100]) {
        await progress(n);
        await d.sleep(50);
      }
      return d.text('progress done');
    case 'test_tool_with_logging':
    case 'test_logging_tool':
      for (const line of [
        'Tool execution started',
        'Tool processing data',
        'Tool execution completed',
      ]) {
        await log(line);
        if (name === 'test_tool_with_logging') await d.sleep(50);
      }
      return d.text('logging done');
    case 'test_trigger_tool_change':
      extraTool = !extraTool;
      await server.sendToolListChanged();
      return d.text('tool list changed');
    case 'test_trigger_prompt_change':
      extraPrompt = !extraPrompt;
      await server.sendPromptListChanged();
      return d.text('prompt list changed');
    case 'test_extra_tool':
      return d.text('extra');
    default:
      throw new t.McpError(t.ErrorCode.InvalidParams, `Unknown tool: ${name}`);
  }
}

server.setRequestHandler(t.ListToolsRequestSchema, () => ({
  tools: extraTool ? [...d.tools, d.extraTool] : d.tools,
}));
server.setRequestHandler(t.CallToolRequestSchema, async (req, extra) => {
  try {
    return await callTool(req.params, extra);
  } catch (e) {
    // as McpServer does: a failing tool is an isError result, a protocol error stays one
    if (e instanceof t.McpError && /Unknown tool/.test(e.message)) throw e;
    return { ...d.text(e.message), isError: true };
  }
});
server.setRequestHandler(t.ListPromptsRequestSchema, () => ({
  prompts: extraPrompt ? [...d.prompts, d.extraPrompt] : d.prompts,
}));
server.setRequestHandler(
  t.GetPromptRequestSchema,
  async ({ params: { name, arguments: args = {} } }) => {
    if (d.askingPrompts[name]) return d.promptFromAnswers(await askRounds(d.askingPrompts[name]));
    if (d.promptResults[name]) return d.promptResults[name](args);
    throw new t.McpError(t.ErrorCode.InvalidParams, `Unknown prompt: ${name}`);
  },
);
server.setRequestHandler(t.ListResourcesRequestSchema, () => ({ resources: d.resources }));
server.setRequestHandler(t.ListResourceTemplatesRequestSchema, () => ({
  resourceTemplates: d.resourceTemplates,
}));
server.setRequestHandler(t.ReadResourceRequestSchema, ({ params: { uri } }) => {
  const result = d.readResource(uri);
  if (!result) throw new t.McpError(-32002, 'Resource not found', { uri });
  return result;
});
server.setRequestHandler(t.SubscribeRequestSchema, () => ({}));
server.setRequestHandler(t.UnsubscribeRequestSchema, () => ({}));
server.setRequestHandler(t.CompleteRequestSchema, ({ params }) =>
  d.complete(params.argument.value),
);

await server.connect(new StdioServerTransport());
process.stdin.on('end', () => process.exit(0)); // the SDK would stay up to 60 s for an unanswered question
