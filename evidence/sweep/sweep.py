#!/usr/bin/env python3
"""Published legacy servers, each spoken to directly and through the bridge. See ../README.md.

Environment: BRIDGE, a command line to which the server's is appended; EVIDENCE_CACHE. Linux only.
"""

import argparse, os, shutil, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import harness, table  # noqa: E402
from compare import compare  # noqa: E402
from direct import Direct  # noqa: E402
from modern import Modern  # noqa: E402
from session import Dead, items  # noqa: E402


class Unusable(Exception):
    """The server does not work here, bridge or no bridge."""


def speak_directly(row, folder, options):
    direct = Direct(row, folder, options)
    try:
        direct.go()
    except Dead as end:
        last = direct.tail().strip().splitlines()[-1:] or [""]
        raise Unusable(f"directly: {end}; {last[0]}")
    finally:
        direct.pipe.destroy(direct.mark)
    silent = [what for what, seen in direct.seen.items() if any("timeout" in o for o in seen)]
    if silent:
        raise Unusable("directly: no answer to " + ", ".join(silent))
    return direct


def check(row, options):
    """One server's entry in the report."""
    entry = {"name": row["name"], "package": row["package"], "ecosystem": row["ecosystem"]}
    folder = os.path.join(options.work, row["name"])
    try:
        if not table.is_installed(row):
            table.install(row)
        # Twice, because what differs between the two is volatile.
        directs = [speak_directly(row, folder, options) for _ in range(2)]
    except (table.NotInstalled, Unusable) as reason:
        return entry | {"verdict": "skip", "reason": str(reason)}
    first = directs[0]
    entry["protocol"] = first.init.get("protocolVersion")
    entry["tools"] = len(items(first.seen, "tools/list", "tools"))

    modern = Modern(row, folder, options, first)
    try:
        try:
            modern.go()
        except Dead as end:
            modern.fail(f"the bridge ended: {end}")
        modern.end()
        compare(directs, modern)
        if any(" differs at " in fault for fault in modern.faults):
            # Perhaps only volatile: learn from one more.
            directs.append(speak_directly(row, folder, options))
            modern.faults = [fault for fault in modern.faults if " differs at " not in fault]
            compare(directs, modern)
    except Unusable:
        pass  # what was found stays found
    finally:
        modern.pipe.destroy(modern.mark)
    reasons = modern.faults + modern.deviations
    entry |= {"streams": modern.lifecycle, "verdict": "fail" if reasons else "pass"}
    return entry | ({"reason": "; ".join(reasons)} if reasons else {})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--servers", default=HERE / "servers.tsv", help="another table")
    parser.add_argument("--only", action="append", metavar="NAME", help="this server; repeatable")
    parser.add_argument("--jobs", type=int, default=2, help="servers at the same time")
    parser.add_argument("--timeout", type=float, default=30, help="seconds for a request")
    parser.add_argument("--start-timeout", type=float, default=45, help="seconds for the first")
    parser.add_argument("--exit-s", type=float, default=3, help="seconds for the end")
    parser.add_argument("--work", help="where servers work and stderr goes; kept if it is named")
    parser.add_argument("--json", metavar="FILE", help="write a report there")
    options = parser.parse_args()
    options.bridge = harness.bridge_command()
    rows = table.load(options.servers)
    for name in options.only or []:
        if name not in [row["name"] for row in rows]:
            parser.error(f"--only {name}: no such server")
    rows = [row for row in rows if not options.only or row["name"] in options.only]
    is_kept, own = options.work, os.path.join(table.CACHE, f"work-{os.getpid()}")
    options.work = os.path.abspath(options.work or own)
    os.makedirs(options.work, exist_ok=True)

    def one(row):
        try:
            return check(row, options)
        except Exception as error:
            reason = f"the harness: {type(error).__name__}: {error}"
            return {"name": row["name"], "verdict": "fail", "reason": reason}

    entries = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for entry in pool.map(one, rows):
            entries.append(entry)
            print(entry["verdict"], entry["name"], entry.get("reason", ""), flush=True)
    if not is_kept:
        shutil.rmtree(options.work, ignore_errors=True)
    if options.json:
        harness.write_results(options.json, options.bridge, servers=entries)
    count = {v: sum(e["verdict"] == v for e in entries) for v in ("pass", "fail", "skip")}
    print(f"{count['pass']} passed, {count['fail']} failed, {count['skip']} skipped")
    sys.exit(1 if count["fail"] or not count["pass"] else 0)


main()
