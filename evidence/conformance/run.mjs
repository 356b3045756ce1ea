// Runs the official conformance suite against the bridge (see ../README.md):
//   BRIDGE="command --" node run.mjs [--era modern|legacy] [--only SCENARIO]... [--each] [--json FILE] [--logs DIR]
import { execFileSync, spawn } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readdirSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const opt = { era: 'modern', only: [] };
for (let i = 2; i < process.argv.length; i++) {
  const [flag, value] = [process.argv[i], process.argv[i + 1]];
  if (flag === '--only') {
    opt.only.push(value);
    i++;
  } else if (['--json', '--era', '--logs'].includes(flag)) {
    opt[flag.slice(2)] = value;
    i++;
  } else if (flag === '--each') opt.each = true;
  else {
    console.error(
      'usage: run.mjs [--era modern|legacy] [--only SCENARIO]... [--each] [--json FILE] [--logs DIR]',
    );
    process.exit(2);
  }
}
if (!process.env.BRIDGE) {
  console.error("set BRIDGE to the bridge's command, e.g. BRIDGE='target/release/mcp-uplift --'");
  process.exit(2);
}
const bridge = process.env.BRIDGE.trim().split(/\s+/);
const version = { modern: '2026-07-28', legacy: '2025-11-25' }[opt.era];
if (!version) {
  console.error('--era is modern or legacy');
  process.exit(2);
}

// ---- dependencies ----------------------------------------------------------

const deps = join(
  process.env.EVIDENCE_CACHE ?? join(homedir(), '.cache', 'mcp-uplift-evidence'),
  'conformance',
);
const lock = readFileSync(join(here, 'package-lock.json'), 'utf8');
const stamp = join(deps, 'installed.lock');
if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== lock) {
  mkdirSync(deps, { recursive: true });
  for (const f of ['package.json', 'package-lock.json']) copyFileSync(join(here, f), join(deps, f));
  execFileSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: deps,
    stdio: ['ignore', 2, 2],
  });
  writeFileSync(stamp, lock);
}
const suite = [
  ...(Number(process.versions.node.split('.')[0]) < 22
    ? ['--import', join(here, 'suite-shim.mjs')]
    : []),
  join(deps, 'node_modules/@modelcontextprotocol/conformance/dist/index.js'),
];

// ---- what to run -----------------------------------------------------------

const table = (file, eras) =>
  readFileSync(join(here, file), 'utf8')
    .split('\n')
    .filter((l) => l && !l.startsWith('#'))
    .map((l) => l.split('\t'))
    .filter((r) => eras.includes(r[0]));
const known = table('scenarios.tsv', [opt.era]);
const info = new Map(known.map(([, name, set, owner]) => [name, { set, owner }]));
const excuses = table('impossible.tsv', [opt.era]).map(([, scenario, check, message, reason]) => ({
  scenario,
  check,
  message,
  reason,
}));

const listed = execFileSync('node', [...suite, 'list', '--server', '--spec-version', version], {
  encoding: 'utf8',
});
const offered = [...listed.matchAll(/^ {2}- (\S+)/gm)].map((m) => m[1]);
let names = [...new Set([...offered, ...known.map((r) => r[1])])];
if (opt.only.length) {
  for (const o of opt.only)
    if (!names.includes(o)) {
      console.error(`no such scenario in era ${opt.era}: ${o}`);
      process.exit(2);
    }
  names = names.filter((n) => opt.only.includes(n));
}
const skipReason = (name) =>
  excuses.find((e) => e.scenario === name && e.check === '*')?.reason ??
  (offered.includes(name) ? undefined : 'not offered by this suite version');

// ---- running ---------------------------------------------------------------

const command = [...bridge, 'node', join(here, 'fixture-legacy.mjs'), deps];
const logs = opt.logs ?? mkdtempSync(join(tmpdir(), 'conformance-'));
mkdirSync(logs, { recursive: true });

function startAdapter(label) {
  const adapter = spawn('node', [join(here, 'adapter.mjs'), '--', ...command], {
    stdio: ['ignore', 'pipe', openSync(join(logs, `${label}.stderr`), 'w')],
  });
  const url = new Promise((done, fail) => {
    adapter.stdout.once('data', (d) => done(String(d).trim().split(' ')[1]));
    adapter.once('exit', (code) => fail(new Error(`adapter ended with ${code}, see ${logs}`)));
  });
  const stop = () =>
    new Promise((done) => {
      adapter.once('exit', done);
      adapter.kill('SIGTERM');
    });
  return { url, stop };
}

// Runs suite scenarios against url; returns Map(name -> checks).
async function runSuite(url, selection, label) {
  const out = mkdtempSync(join(logs, `${label}-`));
  const proc = spawn(
    'node',
    [...suite, 'server', '--url', url, ...selection, '--spec-version', version, '-o', out],
    { stdio: ['ignore', openSync(join(logs, `${label}.suite`), 'w'), 'ignore'] },
  );
  await new Promise((done) => proc.once('exit', done));
  const results = new Map();
  for (const dir of readdirSync(out)) {
    const file = join(out, dir, 'checks.json');
    const name = /^server-(.*)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(dir)?.[1];
    if (name && existsSync(file)) results.set(name, JSON.parse(readFileSync(file, 'utf8')));
  }
  return results;
}

const toRun = names.filter((n) => !skipReason(n));
const checksOf = new Map();
// One bridge for all shows what a scenario leaves behind for the next; a bridge for each keeps a
// fault in its scenario.
if (!opt.each) {
  const adapter = startAdapter('shared');
  for (const [name, checks] of await runSuite(await adapter.url, ['--suite', 'all'], 'shared'))
    checksOf.set(name, checks);
  await adapter.stop();
} else {
  for (const name of toRun) {
    const adapter = startAdapter(name);
    checksOf.set(name, (await runSuite(await adapter.url, ['--scenario', name], name)).get(name));
    await adapter.stop();
  }
}

// ---- judging ---------------------------------------------------------------

const rows = names.map((name) => {
  const { set = '?', owner = '?' } = info.get(name) ?? {};
  const skipped = skipReason(name);
  if (skipped)
    return {
      name,
      set,
      owner,
      verdict: 'skip',
      reason: skipped,
      passed: 0,
      failed: 0,
      warnings: 0,
      findings: [],
    };
  const checks = checksOf.get(name);
  if (!checks?.length)
    return {
      name,
      set,
      owner,
      verdict: 'FAIL',
      passed: 0,
      failed: 1,
      warnings: 0,
      findings: [{ id: '-', status: 'FAILURE', message: 'the suite produced no checks' }],
    };
  const findings = checks
    .filter((c) => c.status === 'FAILURE' || c.status === 'WARNING')
    .map((c) => ({
      id: c.id,
      status: c.status,
      message: c.errorMessage ?? '',
      excuse: excuses.find(
        (e) =>
          e.scenario === name && e.check === c.id && (c.errorMessage ?? '').includes(e.message),
      )?.reason,
    }));
  const count = (status) => checks.filter((c) => c.status === status).length;
  const verdict = findings.some((f) => !f.excuse)
    ? 'FAIL'
    : findings.some((f) => f.excuse)
      ? 'impossible'
      : 'pass';
  return {
    name,
    set,
    owner,
    verdict,
    passed: count('SUCCESS'),
    failed: count('FAILURE'),
    warnings: count('WARNING'),
    findings,
  };
});

const cut = (s, n = 160) => (s.length > n ? `${s.slice(0, n)}...` : s).replace(/\s+/g, ' ');
console.log(
  `${'scenario'.padEnd(46)} ${'set'.padEnd(9)} ${'depends on'.padEnd(10)} ok fail warn  verdict`,
);
for (const r of rows) {
  console.log(
    `${r.name.padEnd(46)} ${r.set.padEnd(9)} ${r.owner.padEnd(10)} ${String(r.passed).padStart(2)} ${String(r.failed).padStart(4)} ${String(r.warnings).padStart(4)}  ${r.verdict}${r.reason ? `: ${cut(r.reason, 90)}` : ''}`,
  );
  for (const f of r.findings)
    console.log(
      `    ${f.excuse ? 'impossible' : f.status === 'WARNING' ? 'warning' : 'failed'}: ${f.id}: ${cut(f.excuse ?? f.message)}`,
    );
}
const n = (v) => rows.filter((r) => r.verdict === v).length;
const sum = (k) => rows.reduce((t, r) => t + r[k], 0);
const checks = { passed: sum('passed'), failed: sum('failed'), warnings: sum('warnings') };
if (opt.json) {
  const output = (...command) =>
    execFileSync(command[0], command.slice(1), { cwd: here, encoding: 'utf8' }).trim();
  const report = {
    bridge: output(resolve(bridge[0]), '--version'),
    commit: output('git', 'log', '-1', '--format=%h', '--', ':/src'),
    date: new Date().toISOString().slice(0, 10),
    suite: JSON.parse(readFileSync(join(here, 'package.json'), 'utf8')).dependencies[
      '@modelcontextprotocol/conformance'
    ],
    revision: version,
    checks,
    findings: rows.flatMap((r) =>
      r.findings.map((f) => ({
        scenario: r.name,
        check: f.id,
        reason: f.excuse ?? f.message,
        excused: !!f.excuse,
      })),
    ),
    skipped: rows
      .filter((r) => r.verdict === 'skip')
      .map((r) => ({ scenario: r.name, reason: r.reason })),
  };
  writeFileSync(opt.json, `${JSON.stringify(report, null, 1)}\n`);
}
console.log(
  `checks: ${checks.passed} passed, ${checks.failed} failed, ${checks.warnings} warnings; logs in ${logs}`,
);
console.log(
  `scenarios: ${n('pass')} passed, ${n('FAIL')} failed, ${n('impossible')} impossible, ${n('skip')} skipped`,
);
process.exitCode = n('FAIL') || !n('pass') ? 1 : 0;
