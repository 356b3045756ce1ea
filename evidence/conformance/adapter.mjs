// Streamable HTTP in front of one stdio MCP server (the bridge under test).
//   node adapter.mjs [--port N] -- COMMAND [ARGS...]     prints "listening URL"
//
// Modern traffic (2026-07-28): one long-lived child for all requests.
//   HTTP duties done here: Host/Origin check (403), one POST endpoint (404, 405),
//   header/body agreement (400 + -32020), status codes from error codes, SSE or
//   JSON answers, disconnect -> notifications/cancelled. Ids, progress tokens and
//   subscription ids are replaced on the way in and restored on the way out,
//   because independent HTTP clients share the one stdio connection.
// Legacy traffic (an initialize without the modern envelope): a child per
//   Mcp-Session-Id, messages passed as they are; DELETE ends the session.
//
// The adapter never repairs, filters or reorders what the child says: a message
// it cannot attribute goes to every open response stream, so that a check that
// looks for forbidden messages can see it.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';

const P = 'io.modelcontextprotocol/';
const STATUS = {
  [-32700]: 400,
  [-32600]: 400,
  [-32602]: 400,
  [-32601]: 404,
  [-32020]: 400,
  [-32021]: 400,
  [-32022]: 400,
};
const NAME_FIELD = { 'tools/call': 'name', 'prompts/get': 'name', 'resources/read': 'uri' };

const split = process.argv.indexOf('--');
const command = process.argv.slice(split + 1);
const portAt = process.argv.slice(0, split).indexOf('--port');
const port = portAt > 0 ? Number(process.argv[portAt + 1]) : 0;
if (split < 0 || command.length === 0) {
  console.error('usage: adapter.mjs [--port N] -- COMMAND [ARGS...]');
  process.exit(2);
}

const isObject = (v) => typeof v === 'object' && v !== null && !Array.isArray(v);
const rpcError = (id, code, message) => ({
  jsonrpc: '2.0',
  ...(id !== undefined && { id }),
  error: { code, message },
});

// One HTTP answer. Becomes SSE when something other than the response comes first.
class Reply {
  constructor(res, onGone) {
    this.res = res;
    this.done = false;
    res.on('close', () => {
      if (!this.done) {
        this.done = true;
        onGone?.();
      }
    });
  }
  event(message) {
    if (this.done) return;
    if (!this.res.headersSent)
      this.res.writeHead(200, {
        ...this.extraHeaders,
        'Content-Type': 'text/event-stream',
        'Cache-Control': 'no-cache',
        'X-Accel-Buffering': 'no',
      });
    this.res.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  }
  finish(message) {
    if (this.done) return;
    if (this.res.headersSent) {
      this.event(message);
      this.done = true;
      this.res.end();
      return;
    }
    this.done = true;
    this.res.writeHead(message.error ? (STATUS[message.error.code] ?? 200) : 200, {
      ...this.extraHeaders,
      'Content-Type': 'application/json',
    });
    this.res.end(JSON.stringify(message));
  }
}

// A stdio child that takes and gives JSON-RPC messages.
class Child {
  constructor(onMessage, onExit) {
    this.proc = spawn(command[0], command.slice(1), { stdio: ['pipe', 'pipe', 'inherit'] });
    this.proc.on('error', (e) => {
      console.error(`adapter: cannot start ${command[0]}: ${e.message}`);
      onExit();
    });
    this.proc.on('exit', (code, signal) => {
      console.error(`adapter: child ended (${signal ?? code})`);
      onExit();
    });
    this.proc.stdin.on('error', () => {});
    createInterface({ input: this.proc.stdout }).on('line', (line) => {
      let message;
      try {
        message = JSON.parse(line);
      } catch {
        console.error(`adapter: not JSON from child: ${line.slice(0, 200)}`);
        return;
      }
      onMessage(message);
    });
  }
  send(message) {
    this.proc.stdin.write(`${JSON.stringify(message)}\n`);
  }
  stop() {
    this.proc.stdin.end();
    setTimeout(() => this.proc.kill(), 1000).unref();
  }
}

// ---- modern side -----------------------------------------------------------

class Modern {
  constructor() {
    this.pending = new Map(); // own id -> { id, token, method, name, reply }
    this.nextId = 1;
    this.toolHeaders = new Map(); // tool name -> [[path, header suffix]], learnt from passing tools/list results
    this.child = new Child(
      (m) => this.fromChild(m),
      () => {
        this.child = undefined;
        for (const [id, p] of this.pending) {
          p.reply.finish(rpcError(p.id, -32603, 'stdio server ended'));
          this.pending.delete(id);
        }
      },
    );
  }

  request(body, res) {
    if (!this.child) {
      new Reply(res).finish(rpcError(body.id, -32603, 'stdio server ended'));
      return;
    }
    const own = this.nextId++;
    const entry = { id: body.id, method: body.method };
    entry.reply = new Reply(res, () => {
      this.pending.delete(own);
      this.child?.send({
        jsonrpc: '2.0',
        method: 'notifications/cancelled',
        params: { requestId: own, reason: 'client disconnected' },
      });
    });
    const message = { ...body, id: own };
    if (body.params?._meta?.progressToken !== undefined) {
      entry.token = body.params._meta.progressToken;
      message.params = { ...body.params, _meta: { ...body.params._meta, progressToken: own } };
    }
    this.pending.set(own, entry);
    this.child.send(message);
  }

  fromChild(message) {
    if (isObject(message) && message.method === undefined) {
      const entry = this.pending.get(message.id);
      if (!entry) {
        console.error(
          `adapter: response without a request: ${JSON.stringify(message).slice(0, 200)}`,
        );
        return;
      }
      this.pending.delete(message.id);
      if (entry.method === 'tools/list') this.learn(message.result?.tools);
      entry.reply.finish(restoreSubscription({ ...message, id: entry.id }, 'result', entry.id));
      return;
    }
    const meta = message.params?._meta;
    const subscription = this.pending.get(meta?.[`${P}subscriptionId`]);
    const progress =
      message.method === 'notifications/progress' &&
      this.pending.get(message.params?.progressToken);
    if (subscription)
      subscription.reply.event(restoreSubscription(message, 'params', subscription.id));
    else if (progress && progress.token !== undefined)
      progress.reply.event({
        ...message,
        params: { ...message.params, progressToken: progress.token },
      });
    else for (const entry of this.audience(message)) entry.reply.event(message);
  }

  // A log line names no request: it goes to the open calls, or to listen streams when there is no call.
  audience(message) {
    const all = [...this.pending.values()];
    const calls = all.filter((e) => e.method !== 'subscriptions/listen');
    return message.method === 'notifications/message' && calls.length > 0 ? calls : all;
  }

  learn(tools) {
    for (const tool of Array.isArray(tools) ? tools : []) {
      const found = [];
      const walk = (schema, path) => {
        for (const [key, sub] of Object.entries(schema?.properties ?? {})) {
          if (typeof sub?.['x-mcp-header'] === 'string')
            found.push([[...path, key], sub['x-mcp-header']]);
          walk(sub, [...path, key]);
        }
      };
      walk(tool.inputSchema, []);
      this.toolHeaders.set(tool.name, found);
    }
  }
}

function restoreSubscription(message, part, id) {
  const meta = message[part]?._meta;
  if (meta?.[`${P}subscriptionId`] === undefined) return message;
  return {
    ...message,
    [part]: { ...message[part], _meta: { ...meta, [`${P}subscriptionId`]: id } },
  };
}

// Returns the decoded header value, or null when its base64 form is broken.
function decodeHeader(value) {
  const m = /^=\?base64\?(.*)\?=$/.exec(value);
  if (!m) return value;
  const decoded = Buffer.from(m[1], 'base64');
  return decoded.toString('base64') === m[1] ? decoded.toString('utf8') : null;
}

// What is wrong with the headers of a modern request, or undefined.
function headerProblem(headers, body, toolHeaders) {
  const version = headers['mcp-protocol-version'];
  const inBody = body.params?._meta?.[`${P}protocolVersion`];
  if (version === undefined) return 'MCP-Protocol-Version header is missing';
  if (inBody !== undefined && inBody !== version)
    return 'MCP-Protocol-Version header does not match the body';
  if (headers['mcp-method'] !== body.method)
    return 'Mcp-Method header is missing or does not match the body';
  const name = body.params?.[NAME_FIELD[body.method]];
  if (
    NAME_FIELD[body.method] &&
    name !== undefined &&
    decodeHeader(headers['mcp-name'] ?? '') !== name
  )
    return 'Mcp-Name header is missing or does not match the body';
  if (body.method !== 'tools/call') return undefined;
  for (const [path, suffix] of toolHeaders.get(name) ?? []) {
    const value = path.reduce((v, key) => v?.[key], body.params?.arguments);
    const header = headers[`mcp-param-${suffix.toLowerCase()}`];
    if (value === undefined || value === null) {
      if (header !== undefined) return `Mcp-Param-${suffix} header without a value in the body`;
      continue;
    }
    const plain = header === undefined ? null : decodeHeader(header);
    const equal =
      plain !== null &&
      (typeof value === 'number' ? Number(plain) === value : plain === String(value));
    if (!equal)
      return `Mcp-Param-${suffix} header is missing, malformed or does not match the body`;
  }
  return undefined;
}

// ---- legacy side -----------------------------------------------------------

const sessions = new Map();

class Session {
  constructor() {
    this.id = randomUUID();
    this.pending = new Map(); // client id -> { token, reply }
    this.child = new Child(
      (m) => this.fromChild(m),
      () => {
        for (const [id, p] of this.pending)
          p.reply.finish(rpcError(id, -32603, 'stdio server ended'));
        sessions.delete(this.id);
      },
    );
    sessions.set(this.id, this);
  }
  post(body, res) {
    if (body.method !== undefined && body.id !== undefined) {
      const reply = new Reply(res, () => this.pending.delete(body.id));
      if (body.method === 'initialize') reply.extraHeaders = { 'Mcp-Session-Id': this.id };
      this.pending.set(body.id, { token: body.params?._meta?.progressToken, reply });
    } else res.writeHead(202).end();
    this.child.send(body);
  }
  fromChild(message) {
    if (message.method === undefined) {
      const entry = this.pending.get(message.id);
      this.pending.delete(message.id);
      entry?.reply.finish(message);
      return;
    }
    const byToken =
      message.method === 'notifications/progress' &&
      [...this.pending.values()].find((p) => p.token === message.params?.progressToken);
    (byToken || [...this.pending.values()].at(-1))?.reply.event(message); // outside a call there is no stream to put it on
  }
  stop() {
    sessions.delete(this.id);
    this.child.stop();
  }
}

// ---- HTTP ------------------------------------------------------------------

const localHost = (host) => /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i.test(host ?? '');
const localOrigin = (origin) =>
  origin === undefined || /^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i.test(origin);

let modern;

function handle(req, res, raw) {
  const sessionId = req.headers['mcp-session-id'];
  if (req.method === 'DELETE' && sessionId) {
    const session = sessions.get(sessionId);
    session?.stop();
    res.writeHead(session ? 200 : 404).end();
    return;
  }
  if (req.method !== 'POST') {
    res.writeHead(405, { Allow: 'POST' }).end();
    return;
  }
  const answer = (status, message) => {
    res.writeHead(status, { 'Content-Type': 'application/json' });
    res.end(JSON.stringify(message));
  };
  let body;
  try {
    body = JSON.parse(raw);
  } catch {
    answer(400, rpcError(undefined, -32700, 'Parse error'));
    return;
  }
  if (!isObject(body)) {
    answer(400, rpcError(undefined, -32600, 'Body is not one JSON-RPC message'));
    return;
  }

  const version = req.headers['mcp-protocol-version'];
  const legacyInit =
    body.method === 'initialize' &&
    body.params?._meta?.[`${P}protocolVersion`] === undefined &&
    (version === undefined || version < '2026');
  if (legacyInit) {
    new Session().post(body, res);
    return;
  }
  if (sessionId && (version === undefined || version < '2026')) {
    const session = sessions.get(sessionId);
    if (session) session.post(body, res);
    else answer(404, rpcError(body.id, -32600, 'Session not found'));
    return;
  }

  modern ??= new Modern();
  if (body.method === undefined) {
    answer(400, rpcError(undefined, -32600, 'Responses are not accepted'));
    return;
  }
  const problem = headerProblem(req.headers, body, modern.toolHeaders);
  if (problem) {
    answer(400, rpcError(body.id, -32020, `Header mismatch: ${problem}`));
    return;
  }
  if (body.id === undefined) {
    modern.child?.send(body);
    res.writeHead(202).end();
    return;
  }
  modern.request(body, res);
}

const http = createServer((req, res) => {
  if (!localHost(req.headers.host) || !localOrigin(req.headers.origin)) {
    res.writeHead(403).end();
    return;
  }
  if (new URL(req.url, 'http://x').pathname !== '/mcp') {
    res.writeHead(404).end();
    return;
  }
  const chunks = [];
  req.on('data', (c) => chunks.push(c));
  req.on('end', () => handle(req, res, Buffer.concat(chunks).toString('utf8')));
});
http.listen(port, '127.0.0.1', () =>
  console.log(`listening http://127.0.0.1:${http.address().port}/mcp`),
);

function shutDown() {
  // the children get a moment to end after their stdin closed
  const children = [modern?.child, ...[...sessions.values()].map((s) => s.child)].filter(Boolean);
  let open = children.length;
  if (open === 0) process.exit(0);
  for (const child of children) {
    child.proc.once('exit', () => {
      if (--open === 0) process.exit(0);
    });
    child.stop();
  }
  setTimeout(() => process.exit(0), 3000);
}
process.on('SIGTERM', shutDown);
process.on('SIGINT', shutDown);
