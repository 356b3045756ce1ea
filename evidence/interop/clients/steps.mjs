// Runs a list of steps against one MCP client and prints one JSON line per step:
//   {"step", "t0", "t1", "value" | "error": {code, message, data}, "events": [...]}
// The SDK drivers (ts2.mjs, ts1.mjs) supply an adapter; README.md describes the steps.
import { readFileSync } from 'node:fs';

const sleep = (ms) => new Promise((r) => setTimeout(r, ms));
const now = () => Date.now() / 1000;

export function parseArgs() {
  const [mode, stepsFile, dashes, command, ...args] = process.argv.slice(2);
  if (dashes !== '--' || !command)
    throw new Error('usage: driver MODE STEPS.json -- COMMAND [ARG...]');
  const plan = JSON.parse(readFileSync(stepsFile, 'utf8'));
  state.roots = plan.roots;
  return { mode, steps: plan.steps, command, args };
}

// What the user "answers". `state.answer` is set by the running step.
export const state = { answer: 'accept', events: [], roots: [] };
const record = (kind, data) => state.events.push({ kind, at: now(), ...data });
export const handlers = {
  elicit(params) {
    record('elicit', { params });
    if (state.answer !== 'accept') return { action: state.answer };
    if (params.mode === 'url') return { action: 'accept' };
    return {
      action: 'accept',
      content: { name: `re:${params.message}`, age: 36, subscribe: true, colour: 'green' },
    };
  },
  sample(params) {
    record('sample', { params });
    return {
      role: 'assistant',
      model: 'test-model',
      stopReason: 'endTurn',
      content: { type: 'text', text: 'hi there ✓' },
    };
  },
  roots() {
    record('roots', {});
    return { roots: state.roots };
  },
  log: (params) => record('log', { params }),
  progress: (params) => record('progress', { params }),
  notify: (method, params) => record('notify', { method, params }),
};

async function perform(client, step) {
  switch (step.op) {
    case 'identity':
      return client.identity();
    case 'list':
      return client.list(step.what);
    case 'call': {
      const abort = new AbortController();
      if (step.cancelAfterMs) setTimeout(() => abort.abort('user gave up'), step.cancelAfterMs);
      return client.call(step.name, step.arguments ?? {}, {
        progress: step.progress,
        logLevel: step.logLevel,
        signal: abort.signal,
      });
    }
    case 'concurrent':
      return Promise.all(
        Array.from({ length: step.count }, (_, n) =>
          client.call(step.name, { ...step.arguments, n }, {}),
        ),
      );
    case 'prompt':
      return client.prompt(step.name, step.arguments);
    case 'read':
      return client.read(step.uri);
    case 'complete':
      return client.complete({
        ref: step.ref,
        argument: step.argument,
        ...(step.context && { context: step.context }),
      });
    case 'listen': {
      const subscription = await client.listen(step.filter);
      const trigger = () => client.call(step.trigger.name, step.trigger.arguments ?? {}, {});
      await trigger();
      await sleep(step.waitMs ?? 600);
      const delivered = state.events
        .filter((e) => e.kind === 'notify')
        .map(({ method, params }) => ({ method, params }));
      await subscription.close();
      await sleep(200);
      const seen = state.events.length;
      await trigger();
      await sleep(300);
      const late = state.events
        .slice(seen)
        .filter((e) => e.kind === 'notify')
        .map((e) => e.method);
      return { honored: subscription.honored, delivered, late };
    }
    default:
      throw new Error(`unknown op ${step.op}`);
  }
}

// Waits until it is written: what `process.exit` finds unwritten, of megabytes the most, is lost.
const print = (entry) =>
  new Promise((written) => process.stdout.write(JSON.stringify(entry) + '\n', written));
const asError = (e) => ({
  code: e?.code,
  message: String(e?.message ?? e),
  data: e?.data,
  kind: e?.constructor?.name,
});

export async function main(makeClient) {
  const { mode, steps, command, args } = parseArgs();
  const started = now();
  let client;
  try {
    client = await makeClient({ mode, command, args });
    await print({ step: 'connect', t0: started, t1: now(), value: true, events: [] });
  } catch (e) {
    await print({ step: 'connect', t0: started, t1: now(), error: asError(e), events: [] });
    process.exit(1);
  }
  let timeouts = 0; // in a row; a blocked bridge would otherwise cost 13 s per step
  for (const step of steps) {
    if (timeouts === 3) break;
    state.answer = step.answer ?? 'accept';
    state.events = [];
    const entry = { step: step.id, t0: now() };
    try {
      const limit = sleep(13000).then(() => {
        throw new Error('step timed out');
      });
      entry.value = (await Promise.race([perform(client, step), limit])) ?? null;
    } catch (e) {
      entry.error = asError(e);
    }
    timeouts = /timed out/i.test(entry.error?.message ?? '') ? timeouts + 1 : 0;
    await sleep(step.settleMs ?? 0);
    await print({ ...entry, t1: now(), events: state.events });
    await sleep(20); // keeps the steps apart in the recordings
  }
  const t0 = now();
  await client.close();
  await print({ step: 'close', t0, t1: now(), value: true, events: [] });
  process.exit(0);
}
