#!/usr/bin/env python3
"""Real clients, through the bridge, against real legacy servers. See ../README.md; run by run.sh.

Environment: BRIDGE, a command line to which the server's is appended; EVIDENCE_CACHE. Linux only.
"""

import argparse, filecmp, fnmatch, json, os, shutil, sys, threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import checks, harness  # noqa: E402
from pair import ALWAYS, Pair  # noqa: E402

CACHE = str(harness.cache("interop"))
NODE = shutil.which("node")


class Client(NamedTuple):
    command: list
    mode: str
    package: str  # and its version
    is_modern: bool = True  # it is expected to speak 2026-07-28
    shows_values: bool = True  # answers as it reports them are compared, not only on the wire


class Server(NamedTuple):
    command: list  # @ is its scratch folder
    checks: list
    package: str


def cached(*parts):
    return os.path.join(CACHE, *parts)


def here(*parts):
    return os.path.join(HERE, *parts)


def npm(lock, package):
    with open(here("deps", lock, "package.json"), encoding="utf-8") as file:
        return f"{package} {json.load(file)['dependencies'][package]}"


def pypi(pins, package):
    with open(here("deps", pins), encoding="utf-8") as file:
        return next(
            line.strip().replace("==", " ") for line in file if line.startswith(package + "==")
        )


def crate(package):
    with open(here("clients/rmcp/Cargo.lock"), encoding="utf-8") as file:
        block = file.read().partition(f'name = "{package}"\nversion = "')[2]
    return f"{package} {block.partition(chr(34))[0]}"


TS2, TS1 = [NODE, cached("js/clients/ts2.mjs")], [NODE, cached("js/clients/ts1.mjs")]
PY2 = [cached("py-modern/bin/python"), "-B", here("clients/py2.py")]
FASTMCP = [cached("py-fastmcp/bin/python"), "-B", here("clients/fastmcp4.py")]
CLI, RMCP = [sys.executable, "-B", here("clients/cli.py")], [cached("interop-rmcp")]

TS2_NAME = npm("js", "@modelcontextprotocol/client")
TS1_NAME = npm("js", "@modelcontextprotocol/sdk")
PY2_NAME, FASTMCP_NAME = pypi("py-modern.txt", "mcp"), pypi("py-fastmcp.txt", "fastmcp")
RMCP_NAME = crate("rmcp")
INSPECTOR_NAME = npm("cli", "@modelcontextprotocol/inspector")
MCPORTER_NAME = npm("cli", "mcporter")

CLIENTS = {
    "ts2-auto": Client(TS2, "auto", TS2_NAME),
    "ts2-pin": Client(TS2, "pin", TS2_NAME),
    "ts2-legacy": Client(TS2, "legacy", TS2_NAME, is_modern=False),
    "ts1": Client(TS1, "legacy", TS1_NAME, is_modern=False),
    "py2-auto": Client(PY2, "auto", PY2_NAME),
    "py2-pin": Client(PY2, "pin", PY2_NAME),
    "py2-legacy": Client(PY2, "legacy", PY2_NAME, is_modern=False),
    "rmcp-auto": Client(RMCP, "auto", RMCP_NAME),
    "rmcp-pin": Client(RMCP, "pin", RMCP_NAME),
    "rmcp-legacy": Client(RMCP, "legacy", RMCP_NAME, is_modern=False),
    "inspector-auto": Client(CLI, "inspector-auto", INSPECTOR_NAME, shows_values=False),
    "inspector-legacy": Client(
        CLI, "inspector-legacy", INSPECTOR_NAME, is_modern=False, shows_values=False
    ),
    "mcporter": Client(CLI, "mcporter", MCPORTER_NAME, is_modern=False, shows_values=False),
    "fastmcp": Client(FASTMCP, "auto", FASTMCP_NAME),
}

PUBLISHED = "servers/node_modules/@modelcontextprotocol"
SERVERS = {
    "fixture": Server([NODE, cached("js/servers/fixture.mjs")], checks.FIXTURE, TS1_NAME),
    "python": Server(
        [cached("py-legacy/bin/python"), "-B", here("servers/fixture.py")],
        checks.PYTHON,
        pypi("py-legacy.txt", "mcp"),
    ),
    "raw": Server([sys.executable, here("servers/raw.py")], checks.RAW, "no SDK"),
    "everything": Server(
        [NODE, cached(PUBLISHED, "server-everything/dist/index.js")],
        checks.EVERYTHING,
        npm("servers", "@modelcontextprotocol/server-everything"),
    ),
    "filesystem": Server(
        [NODE, cached(PUBLISHED, "server-filesystem/dist/index.js"), "@/.."],
        checks.FILESYSTEM,
        npm("servers", "@modelcontextprotocol/server-filesystem"),
    ),
}


def prepare():
    """Two runs may do this at the same time."""
    # node resolves imports from where a file is, so these live beside node_modules.
    for folder in ("clients", "servers"):
        os.makedirs(cached("js", folder), exist_ok=True)
        for name in os.listdir(here(folder)):
            source, target = here(folder, name), cached("js", folder, name)
            is_there = os.path.exists(target) and filecmp.cmp(source, target, shallow=False)
            if name.endswith(".mjs") and not is_there:
                shutil.copyfile(source, target)
    root = cached("scratch", "root")
    os.makedirs(root, exist_ok=True)
    with open(os.path.join(root, "note.txt"), "w", encoding="utf-8") as file:
        file.write("first line\nünï 日本語\n")
    with open(os.path.join(root, "dot.png"), "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n\x00\x01\x02")


def baseline(server, folder):
    """The client of the legacy SDK, directly connected: what all others are held against."""
    base = Pair(CLIENTS["ts1"], SERVERS[server], folder, CACHE)
    errors = {s: (base.obs(s) or {}).get("error", {}).get("message") for s in base.steps}
    broken = [
        step
        for step in ["connect", *base.steps]
        if base.obs(step) is None or errors.get(step) == "step timed out"
    ]
    if broken:
        sys.exit(f"{server} cannot be used without a bridge ({broken}); see {folder}")
    return base


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="client, server or check, also with * and ?; repeatable",
    )
    parser.add_argument("--jobs", type=int, default=2, help="pairs at the same time (2)")
    parser.add_argument("--taps", metavar="DIR", help="where recordings go, if not to the cache")
    parser.add_argument("--json", metavar="FILE", help="write a report there")
    options = parser.parse_args()
    bridge = harness.bridge_command()
    known = {name for server in SERVERS.values() for name, _s, _j in server.checks}
    known |= {name for name, _judge in ALWAYS}

    def chosen(names):
        found = [n for n in names if any(fnmatch.fnmatchcase(n, w) for w in options.only)]
        return found or list(names)

    for word in options.only:
        if not fnmatch.filter([*CLIENTS, *SERVERS, *known], word):
            parser.error(f"--only {word}: no such client, server or check")
    clients, servers, wanted = chosen(CLIENTS), chosen(SERVERS), set(chosen(known))
    prepare()
    taps = os.path.abspath(options.taps or cached("taps"))
    bases = {server: baseline(server, os.path.join(taps, "direct", server)) for server in servers}
    entries, lock = [], threading.Lock()

    def play(job):
        client, server = job
        steps = {
            step["id"]
            for name, listed, _judge in SERVERS[server].checks
            if name in wanted
            for step in listed
        }
        folder = os.path.join(taps, client, server)
        pair = Pair(CLIENTS[client], SERVERS[server], folder, CACHE, bridge, bases[server], steps)
        rows = pair.rows(wanted)
        with lock:
            for check, state, reason in rows:
                entries.append((client, server, check, state, reason))
                if state == "fail":
                    print(f"fail  {client:16} {server:10} {check:22} {reason[:400]}", flush=True)

    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(play, [(c, s) for c in clients for s in servers]))
    if options.json:
        harness.write_results(options.json, bridge, **report(entries, servers))
    count = Counter(state for *_names, state, _reason in entries)
    print(f"recordings: {taps}/CLIENT/SERVER", file=sys.stderr)
    print(f"{count['pass']} passed, {count['fail']} failed, {count['skip']} skipped")
    sys.exit(1 if count["fail"] or not count["pass"] else 0)


def report(entries, servers):
    """For each client and group of checks [passed, failed, skipped]; and why not passed."""
    clients, skipped = {}, Counter()
    for client, _server, check, state, reason in sorted(entries):
        groups = clients.setdefault(client, {"package": CLIENTS[client].package, "groups": {}})
        counts = groups["groups"].setdefault(checks.group_of(check), [0, 0, 0])
        counts[("pass", "fail", "skip").index(state)] += 1
        skipped[reason] += state == "skip"
    return {
        "servers": {name: SERVERS[name].package for name in servers},
        "clients": {name: clients[name] for name in CLIENTS if name in clients},
        "skipped": {reason: n for reason, n in skipped.most_common() if n},
        "failed": [
            {"client": client, "server": server, "check": check, "reason": reason[:400]}
            for client, server, check, state, reason in sorted(entries)
            if state == "fail"
        ],
    }


main()
