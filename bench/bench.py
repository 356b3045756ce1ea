#!/usr/bin/env python3
"""What does a stdio bridge cost? Measured side by side with the cheapest program of its shape.

Environment: BRIDGE (and, if wanted, BRIDGE_PARALLEL and PEER): a command line to which the
server's command is appended. CC: the C compiler. Linux only. See README.md.
"""
import argparse, hashlib, json, os, platform, re, shlex, shutil, subprocess, sys, tempfile, time
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
MIB = 1 << 20
# Figure, driver command (None: from the same answer as the line above), what to take from it.
MEASURES = [
    ("lat.p50", "lat 100000", lambda r: r["us"][0]),
    ("lat.p99", None, lambda r: r["us"][1]),
    ("lat.idle", "idle 1000", lambda r: r["us"][0]),
    ("thr.1", "thr 1000000 1", lambda r: r["rps"]),
    ("thr.32", "thr 1000000 32", lambda r: r["rps"]),
    ("big.8m", f"blob {8 * MIB} 100 0", lambda r: r["mbps"]),
    ("big.8m.b64", f"blob {8 * MIB} 100 1", lambda r: r["mbps"]),
    ("big.1m", f"blob {MIB} 1000 0", lambda r: r["mbps"]),
    ("read.1m", f"read {MIB} 1000", lambda r: r["mbps"]),
    ("args.1m", f"args {MIB} 1000", lambda r: r["mbps"]),
    ("flood", f"flood {MIB} 8", lambda r: r["mbps"]),
    ("list.10", "list 10 1000", lambda r: r["ms"]),
    ("list.500", "list 500 1000", lambda r: r["ms"]),
    ("list.5000", "list 5000 100", lambda r: r["ms"]),
    ("mrtr", "ask 1000", lambda r: r["us"][0] / 1e3),
    ("mrtr.ask", None, lambda r: r["us"][1] / 1e3),
    ("mrtr.answer", None, lambda r: r["us"][2] / 1e3),
    ("progress.1k", "progress 1000 100", lambda r: r["ms"]),
    ("start", "start 5", lambda r: r["ms"]),
    ("stop", None, lambda r: r["stop_ms"]),
]
ADDED = {"lat.p50", "lat.p99", "lat.idle", "list.10", "list.500", "list.5000",
         "mrtr", "mrtr.ask", "mrtr.answer", "start"}
WITH_CPU = {"lat.p50", "thr.32", "big.8m", "big.8m.b64", "args.1m", "list.500", "list.5000",
            "mrtr", "progress.1k"}
PAUSED = {"lat.idle", "mrtr"}  # mostly waiting: a larger budget for enough samples
PARALLEL_TOO = {"thr.32", "flood"}
FREE_ONLY = {"start", "stop"}
PROGRAMS = ("direct", "null", "bridge", "parallel", "peer")
PAIRS = (("bridge", "null"), ("bridge", "peer"), ("parallel", "null"), ("peer", "null"))
TITLES = {
    "one": "ONE CPU: everything shares one processor, so time is work and context switches",
    "free": "FREE: the scheduler decides; includes waking idle processors",
    "session": "SESSION: memory in KiB, cost of a call in us as one session grows",
    "program": "PROGRAM FILE",
}


class Failed(Exception):
    pass


def build(folder):
    """Compiles the C programs, once per content, so that a run never replaces those of another."""
    cc = shlex.split(os.environ.get("CC") or "cc")
    sources = sorted(HERE.glob("*.[ch]"))
    content = b"".join(p.read_bytes() for p in sources) + repr(cc).encode()
    place = folder.resolve() / hashlib.sha256(content).hexdigest()[:12]
    place.mkdir(parents=True, exist_ok=True)
    for name in ("driver", "legacy_fast", "null_relay"):
        if not (place / name).exists():
            part = place / f"{name}.{os.getpid()}"
            subprocess.run([*cc, "-O2", "-pthread", "-o", part, HERE / f"{name}.c"], check=True)
            part.rename(place / name)
    return place


class Session:
    """One driver process with the program under test behind it."""

    def __init__(self, name, mode, argv, tools, cpu=None):
        self.name, self.server = name, str(tools / "legacy_fast")
        self.log = tempfile.TemporaryFile()
        pin = (lambda: os.sched_setaffinity(0, {cpu})) if cpu is not None else None
        self.proc = subprocess.Popen([tools / "driver", mode, *argv, self.server], text=True,
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=self.log, preexec_fn=pin)
        self.pid = self.answer("open")["pid"]

    def answer(self, what):
        line = self.proc.stdout.readline()
        reply = json.loads(line) if line else {"error": f"{what}: the driver ended"}
        if "error" in reply:
            self.proc.wait()
            self.log.seek(0)
            tail = self.log.read()[-1500:].decode(errors="replace").strip()
            raise Failed(f"{self.name}: {reply['error']}\n{tail}")
        return reply

    def ask(self, command):
        self.proc.stdin.write(command + "\n")
        self.proc.stdin.flush()
        return self.answer(command)

    def close(self):
        try:
            self.proc.stdin.close()
        except BrokenPipeError:  # it has failed, and said so
            pass
        self.proc.wait()
        self.log.close()

    def pids(self):
        """The program's own processes: all below the driver except the server."""
        children = {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                text = stat.read_text()
            except OSError:
                continue
            parent = int(text.rsplit(")", 1)[1].split()[1])
            children.setdefault(parent, []).append(int(stat.parent.name))
        found, todo = [], [self.pid]
        while todo:
            pid = todo.pop()
            todo += children.get(pid, [])
            try:
                if os.readlink(f"/proc/{pid}/exe") != os.path.realpath(self.server):
                    found.append(pid)
            except OSError:
                pass
        return found

    def memory(self):
        """Of those, in KiB: RSS, PSS, anonymous (no file behind it), peak; and their threads."""
        total = {"rss": 0, "pss": 0, "anonymous": 0, "peak": 0, "threads": 0}
        for pid in self.pids():
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                key = line.split(":")[0].lower()
                if key in total:
                    total[key] += int(line.split()[1])
            status = Path(f"/proc/{pid}/status").read_text()
            total["peak"] += int(status.split("VmHWM:")[1].split()[0])
            total["threads"] += len(os.listdir(f"/proc/{pid}/task"))
        return total


def cpu_ns(pids):
    """User and system time of whole processes (their POSIX CPU clocks)."""
    return sum(time.clock_gettime_ns(~pid << 3 | 2) for pid in pids)


def side_by_side(configs, tools, rounds, budget_ms, cpu, data, prefix, say):
    """All programs stay open; each round measures each in turn, in rotated order."""
    sessions = {}
    try:
        for name, (mode, argv) in configs.items():
            sessions[name] = Session(name, mode, argv, tools, cpu)
            sessions[name].ask("budget 300")
            warm = ["lat 3000", "thr 3000 32"]
            if name != "parallel":
                warm += [f"blob {8 * MIB} 2 0", "list 500 5", "ask 20"]
            for command in warm:
                sessions[name].ask(command)
        own = {n: s.pids() for n, s in sessions.items()}
        order = list(sessions)
        for r in range(rounds):
            say(f"{prefix} round {r + 1}/{rounds}")
            for key, command, take in MEASURES:
                if cpu is not None and key in FREE_ONLY:
                    continue
                if command:
                    order.append(order.pop(0))
                    replies = {}
                    for name in order:
                        if name == "parallel" and key not in PARALLEL_TOO:
                            continue
                        session = sessions[name]
                        session.ask(f"budget {budget_ms * (3 if key in PAUSED else 1)}")
                        before = cpu_ns(own[name])
                        replies[name] = session.ask(command)
                        if key in WITH_CPU and name != "direct":
                            spent = (cpu_ns(own[name]) - before) / replies[name]["n"] / 1e3
                            per = data.setdefault(f"{prefix}.cpu.{key}", {})
                            per.setdefault(name, []).append(spent)
                for name, reply in replies.items():
                    per = data.setdefault(f"{prefix}.{key}", {})
                    per.setdefault(name, []).append(take(reply))
    finally:
        for s in sessions.values():
            s.close()


def long_session(name, mode, argv, tools, calls, blobs, cpu, data, say):
    """Memory, and cost per call, at both ends of a session of so many calls; then large results."""
    edge = max(10, min(10_000, calls // 2))

    def put(key, value):
        data.setdefault(f"session.{key}", {}).setdefault(name, []).append(value)

    s = Session(name, mode, argv, tools, cpu)
    try:
        own = s.pids()

        def memory(label, wait):
            time.sleep(wait)  # time to give memory back
            m = s.memory()
            for kind in ("rss", "pss", "anonymous", "peak"):
                put(f"{kind}.{label}", m[kind])
            return m

        def call_one_by_one(label):
            """The middle of ten parts, so that what else runs for a moment does not count."""
            say(f"session of {name}: {label} {edge} calls")
            spent, waited = [], []
            for _ in range(10):
                before = cpu_ns(own)
                reply = s.ask(f"lat {edge // 10}")
                spent.append((cpu_ns(own) - before) / reply["n"] / 1e3)
                waited.append(reply["us"][0])
            put(f"cpu.{label}", median(spent))
            put(f"lat.{label}", median(waited))
            return median(spent), memory(label, 0.5)["rss"]

        put("threads", memory("idle", 0.5)["threads"])
        s.ask("lat 1000")
        first = call_one_by_one("first")
        say(f"session of {name}: {calls} calls")
        left = calls - 2 * edge
        while left > 0:
            left -= s.ask(f"thr {min(left, 100_000)} 32")["n"]
        last = call_one_by_one("last")
        put("cpu.flat", last[0] / first[0])
        put("rss.grown", last[1] - first[1])
        say(f"session of {name}: {blobs} results of 8 MiB")
        for _ in range(blobs):
            s.ask(f"blob {8 * MIB} 1 0")
        memory("blobs", 2)
    finally:
        s.close()


def spread(values):
    """Five digits are more than any of these figures is good for."""
    low_mid_high = {"min": min(values), "median": median(values), "max": max(values)}
    return {k: float(f"{v:.5g}") if isinstance(v, float) else v for k, v in low_mid_high.items()}


def evaluate(data):
    """Figures per program, costs above the direct connection, and ratios, formed round by round."""
    figures, ratios = {}, {}
    for mode in ("one", "free"):
        if f"{mode}.thr.32" in data:
            # A bridge that keeps one call open: to be compared with the floor's serial rate.
            floor = data[f"{mode}.thr.1"]["null"]
            data[f"{mode}.thr.lane"] = dict(data[f"{mode}.thr.32"], null=floor)
        short, long_ = data.get(f"{mode}.cpu.list.500"), data.get(f"{mode}.cpu.list.5000")
        if short:  # is the cost of a list linear in its length? (1: yes)
            data[f"{mode}.list.linear"] = {
                n: [b / a / 10 for a, b in zip(short[n], long_[n])] for n in short}
    for key in list(data):
        if key.split(".", 1)[1] in ADDED and "direct" in data[key]:
            floor = median(data[key]["direct"])
            data[f"{key}+"] = {n: [x - floor for x in v]
                               for n, v in data[key].items() if n != "direct"}
    for key, per in data.items():
        figures[key] = {n: spread(per[n]) for n in PROGRAMS if n in per}
        for a, b in PAIRS:
            both = [x / y for x, y in zip(per.get(a, ()), per.get(b, ())) if y > 0]
            if both:
                ratios.setdefault(key, {})[f"{a}/{b}"] = spread(both)
    return figures, ratios


def program_facts(argv):
    """Size and shared libraries (the vDSO and the loader not counted) of an ELF program."""
    path = shutil.which(argv[0]) or argv[0]
    with open(path, "rb") as f:
        if f.read(4) != b"\x7fELF":
            return {}
    out = subprocess.run(["ldd", path], capture_output=True, text=True)
    libs = 0 if out.returncode else out.stdout.count("=>")
    return {"bytes": os.path.getsize(path), "libs": libs}


def show(figures, ratios):
    """One line a figure: medians, the bridge's spread, and ratios."""
    names = [n for n in PROGRAMS if any(n in f for f in figures.values())]
    pairs = ["/".join(p) for p in PAIRS]
    pairs = [p for p in pairs if any(p in r for r in ratios.values())]
    wide = {"bridge", "bridge/null"} if "bridge" in names else {"peer", "peer/null"}

    def num(v):
        return f"{v:.0f}" if abs(v) >= 1000 else f"{v:.3g}"

    def cell(name, f):
        text = num(f["median"]) if f else ""
        if f and name in wide:
            text += f" ({num(f['min'])}..{num(f['max'])})"
        return f"{text:>{26 if name in wide else 14}}"

    heads = "".join(f"{n:>{26 if n in wide else 14}}" for n in names + pairs)
    groups = list(TITLES)
    group = None
    for key in sorted(figures, key=lambda k: (groups.index(k.split(".")[0]), k)):
        if group != key.split(".")[0]:
            group = key.split(".")[0]
            print(f"\n{TITLES[group]}\n{'':19}{heads}")
        print(f"{key:19}" + "".join(cell(n, figures[key].get(n)) for n in names)
              + "".join(cell(p, ratios.get(key, {}).get(p)) for p in pairs))


def check(path, figures, ratios):
    """Targets: {"figure": {"max"|"min": n, "max vs null"|"min vs peer"|...: n}}, compared with
    the bridge's medians."""
    bad = []
    for key, rules in json.loads(Path(path).read_text()).items():
        for rule, limit in rules.items():
            way, _, other = rule.partition(" vs ")
            if other:
                got = ratios.get(key, {}).get(f"bridge/{other}")
            else:
                got = figures.get(key, {}).get("bridge")
            if got is None:
                if other != "peer":  # without PEER there is nothing to compare with
                    bad.append(f"{key}: no figure for '{rule}'")
            elif (got["median"] > limit) if way == "max" else (got["median"] < limit):
                bad.append(f"{key}: {got['median']:.3g}, wanted {rule} {limit}")
    for line in bad:
        print("MISSED " + line)
    print(f"targets: {'all met' if not bad else str(len(bad)) + ' missed'}")
    return not bad


def to_json(report):
    """One line a figure, so that differences can be read."""
    parts = []
    for key, value in report.items():
        text = json.dumps(value)
        if key in ("figures", "ratios"):
            lines = (f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in value.items())
            text = "{\n" + ",\n".join(lines) + "\n }"
        parts.append(f" {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def machine():
    """What tells machines apart; the kernel without what its builder has added to the number."""
    kernel = re.match(r"[0-9.]*", platform.release()).group().rstrip(".")
    return {"cpus": len(os.sched_getaffinity(0)), "arch": platform.machine(), "kernel": kernel}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few rounds, short sessions")
    parser.add_argument("--json", metavar="FILE",
                        help="write all figures here ('-': to stdout instead of the table)")
    parser.add_argument("--check", metavar="FILE",
                        help="compare with targets; exit 1 when one is missed")
    parser.add_argument("--rounds", type=int, metavar="N", help="rounds of each part [11]")
    parser.add_argument("--calls", type=int, metavar="N",
                        help="calls of the long session [1000000; quick: 20000]")
    parser.add_argument("--build", metavar="DIR", type=Path,
                        default=os.environ.get("BENCH_BUILD") or HERE.parent / "target/bench",
                        help="where the C programs are built [$BENCH_BUILD, ../target/bench]")
    return parser.parse_args()


def main():
    args = arguments()
    rounds, budget, calls, blobs = (4, 20, 20_000, 4) if args.quick else (11, 80, 1_000_000, 64)
    rounds, calls = args.rounds or rounds, args.calls or calls
    tools = build(args.build)
    configs = {"direct": ("legacy", []), "null": ("legacy", [str(tools / "null_relay"), "--"])}
    for name, var in (("bridge", "BRIDGE"), ("parallel", "BRIDGE_PARALLEL"), ("peer", "PEER")):
        if os.environ.get(var):
            configs[name] = ("modern", shlex.split(os.environ[var]))
    cpu = max(os.sched_getaffinity(0))
    data, began = {}, time.time()

    def say(text):
        if sys.stderr.isatty():
            print(f"\r\033[K{time.time() - began:4.0f} s  {text}", end="", file=sys.stderr,
                  flush=True)

    try:
        side_by_side(configs, tools, rounds, budget, cpu, data, "one", say)
        side_by_side(configs, tools, rounds, budget, None, data, "free", say)
        for name in ("null", "bridge", "peer"):
            if name in configs:
                long_session(name, *configs[name], tools, calls, blobs, cpu, data, say)
    except Failed as e:
        print(f"\nFAILED {e}", file=sys.stderr)
        return 2
    say("")
    figures, ratios = evaluate(data)
    for name in ("null", "bridge"):
        for fact, value in program_facts(configs[name][1]).items() if name in configs else ():
            figures.setdefault(f"program.{fact}", {})[name] = spread([value])
    report = {"machine": machine(), "mode": "quick" if args.quick else "full", "rounds": rounds,
              "calls": calls, "blobs": blobs, "seconds": round(time.time() - began, 1),
              "figures": figures, "ratios": ratios}
    if args.json and args.json != "-":
        Path(args.json).write_text(to_json(report))
    if args.json == "-":
        print(to_json(report), end="")
    else:
        show(figures, ratios)
        print(f"\n{report['seconds']} s, {rounds} rounds; medians (min..max); "
              "a name ending in + is the cost above direct")
    return 0 if not args.check or check(args.check, figures, ratios) else 1


if __name__ == "__main__":
    sys.exit(main())
