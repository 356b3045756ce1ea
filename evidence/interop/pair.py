"""One client against one server: the run, its recordings, and what the judges ask about them."""

import json, os, shutil, subprocess, sys, threading, time
import judges, validate
from judges import P, Skip

HERE = os.path.dirname(os.path.abspath(__file__))
MODERN = "2026-07-28"
SECONDS_FOR_STEPS = 240
SECONDS_TO_END = 4
# The drivers rest 20 ms between steps.
BETWEEN_STEPS = 0.008
TAP = [sys.executable, "-B", os.path.join(HERE, "tap.py")]


class Pair:
    """Plays all steps at once. Without a bridge the client speaks to the server itself."""

    def __init__(self, client, server, folder, cache, bridge=None, base=None, steps=None):
        self.modern, self.exact_values = client.is_modern, client.shows_values
        self.checks, self.folder, self.base_pair = server.checks, folder, base or self
        scratch = os.path.join(cache, "scratch", "root")
        self.steps = {
            step["id"]: replace_at(step, scratch)
            for _name, listed, _judge in self.checks
            for step in listed
            if steps is None or step["id"] in steps
        }
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        plan = os.path.join(folder, "plan.json")
        roots = [{"uri": "file://" + scratch, "name": "scratch"}]
        with open(plan, "w", encoding="utf-8") as file:
            json.dump({"roots": roots, "steps": list(self.steps.values())}, file)
        chain = [*TAP, folder, "up", "--", *replace_at(server.command, scratch)]
        if bridge:
            chain = [*TAP, folder, "down", "--", *bridge, *chain]
        self.play([*client.command, client.mode, plan, "--", *chain], cache)
        self.left = self.wait_for_exit()
        self.up_sessions = load_sessions(folder, "up")
        self.down_sessions = load_sessions(folder, "down")
        self.facing = self.down_sessions if bridge else self.up_sessions  # what the client saw

    def play(self, command, cache):
        """Fills `observed` with what the client reported, step by step."""
        with open(os.path.join(self.folder, "driver.stderr"), "wb") as errors:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, "INTEROP_CACHE": cache},
                start_new_session=True,
            )
        timer = threading.Timer(SECONDS_FOR_STEPS, lambda: os.killpg(process.pid, 9))
        timer.start()
        output = process.stdout.read()
        self.driver_code = process.wait()
        timer.cancel()
        with open(os.path.join(self.folder, "driver.jsonl"), "wb") as file:
            file.write(output)
        self.observed = {}
        # Not splitlines(), which would cut at U+2028.
        for line in output.decode("utf-8", "replace").split("\n"):
            try:
                entry = json.loads(line)
                self.observed[entry["step"]] = entry
            except (ValueError, KeyError, TypeError):
                pass

    def wait_for_exit(self):
        """What of this pair is still alive a while after the client ended, by pid; ends it here."""
        deadline = time.time() + SECONDS_TO_END
        while True:
            pids = {}
            for label in ("down", "up"):
                for entries in load_sessions(self.folder, label):
                    pids[entries[0]["tap"]] = label + " tap"
                    pids[entries[0]["pid"]] = "bridge" if label == "down" else "server"
            for pid in running_with(self.folder):
                pids.setdefault(pid, "other process")
            alive = {pid: what for pid, what in pids.items() if is_alive(pid)}
            if not alive or time.time() > deadline:
                break
            time.sleep(0.05)
        for pid in alive:
            try:
                os.kill(pid, 9)
            except OSError:
                pass
        return alive

    # ---- what the judges ask

    def obs(self, step):
        """What the client reported of a step, or None."""
        return self.observed.get(step)

    def base(self, step):
        """What the client that was connected directly reported."""
        return self.base_pair.observed[step]

    def step(self, step):
        return self.steps[step]

    def window(self, step):
        seen = self.observed[step]
        return seen["t0"] - BETWEEN_STEPS, seen["t1"] + BETWEEN_STEPS

    def during(self, step, direction):
        """(session, index, message) of all messages of a step in one direction."""
        start, end = self.window(step)
        for entries in self.facing:
            for i, entry in enumerate(entries):
                if start <= entry["t"] <= end and (m := message(entry, direction)):
                    yield entries, i, m

    def legs(self, step, method):
        """(request, entry of its answer or None) of a step; of any method for None."""
        return [
            (m, answer_to(m["id"], entries[i:]))
            for entries, i, m in self.during(step, "in")
            if "id" in m and m.get("method") and method in (None, m["method"])
        ]

    def wire(self, step, method):
        """The final answers to that method."""
        answers = [entry["msg"] for _m, entry in self.legs(step, method) if entry]
        return [a for a in answers if (a.get("result") or {}).get("resultType") != "input_required"]

    def base_wire(self, step, method):
        return self.base_pair.wire(step, method)

    def questions(self, step):
        """What the server asked, in either form."""
        found = []
        for _m, entry in self.legs(step, None):
            result = entry["msg"].get("result") if entry else None
            if isinstance(result, dict) and result.get("resultType") == "input_required":
                asked = (result.get("inputRequests") or {}).values()
                found += [neutral_question(q.get("method"), q.get("params")) for q in asked]
        for _entries, _i, m in self.during(step, "out"):
            if m.get("method") and "id" in m:
                found.append(neutral_question(m["method"], m.get("params")))
        return sorted(found, key=json.dumps)

    def base_questions(self, step):
        return self.base_pair.questions(step)

    def notifications(self, step, method):
        return [m for _e, _i, m in self.during(step, "out") if m.get("method") == method]

    def frames(self, direction):
        return [m for entries in self.facing for e in entries if (m := message(e, direction))]

    def all_results(self):
        return [m["result"] for m in self.frames("out") if isinstance(m.get("result"), dict)]

    def hello(self):
        """The result of discover or initialize, or None."""
        wanted = "server/discover" if self.modern else "initialize"
        for entries in reversed(self.facing):
            for i, entry in enumerate(entries):
                m = message(entry, "in")
                if m and m.get("method") == wanted:
                    answer = answer_to(m.get("id"), entries[i:])
                    if answer and "result" in answer["msg"]:
                        return answer["msg"]["result"]
        return None

    def base_initialize(self):
        return self.base_pair.hello()

    def negotiated_version(self):
        for entries in reversed(self.facing):
            version = validate.version_of(entries, "in", "out")
            if version:
                return version
        versions = {
            ((m.get("params") or {}).get("_meta") or {}).get(P + "protocolVersion")
            for m in self.frames("in")
            if "id" in m
        }
        is_modern = versions == {MODERN} and self.all_results()
        return MODERN if is_modern else f"nothing {sorted(map(str, versions))}"

    # ---- what holds for every pair

    def judge_shutdown(self):
        if self.left:
            alive = ", ".join(f"{what} {pid}" for pid, what in self.left.items())
            return f"still alive after {SECONDS_TO_END} s: {alive}"
        if self.driver_code:
            return f"the client program ended with {self.driver_code}"
        for entries in self.down_sessions:
            methods = {m.get("method") for e in entries if (m := message(e, "in"))}
            if methods <= {"server/discover"} and entries is not self.down_sessions[-1]:
                continue  # a probe process, ended by a signal on purpose
            problem = how_it_ended(entries)
            if problem:
                return problem
        return None

    def judge_schema(self, which):
        find = getattr(validate, which)
        sessions = self.down_sessions if which == "down" else self.up_sessions
        if not sessions:
            return "nothing was recorded"
        # A client and a server may break a rule by themselves.
        own = {strip_id(v) for entries in self.base_pair.up_sessions for v in find(entries)}
        found = [v for entries in sessions for v in find(entries) if strip_id(v) not in own]
        kinds = sorted({strip_id(v) for v in found})
        listed = " | ".join(kinds[:6])
        return f"{len(found)} violations, {len(kinds)} kinds: {listed}" if found else None

    def rows(self, wanted):
        """(check, pass|fail|skip, reason) of all checks that are wanted."""
        is_connected = judges.connect(self) is None
        every = [(name, judge) for name, _steps, judge in self.checks] + ALWAYS
        return [
            (name, *self.judged(judge))
            if is_connected or name == "connect"
            else (name, "skip", "not connected")
            for name, judge in every
            if name in wanted
        ]

    def judged(self, judge):
        try:
            problem = judge(self)
        except Skip as reason:
            return "skip", str(reason)
        except Exception as error:  # it stumbled over a shape that nobody expects
            return "fail", f"judge: {type(error).__name__}: {error}"
        return ("fail", " ".join(problem.split())) if problem else ("pass", "")


# What holds for every pair, whatever its steps.
ALWAYS = [
    ("stamp", judges.stamped),
    ("shutdown", Pair.judge_shutdown),
    ("schema.down", lambda pair: pair.judge_schema("down")),
    ("schema.up", lambda pair: pair.judge_schema("up")),
]


def how_it_ended(entries):
    """What is wrong with the end of a bridge's process, or None."""
    closed = next((e["t"] for e in entries if e.get("ev") == "stdin-eof"), None)
    end = next((e for e in entries if e.get("ev") == "exit"), None)
    signals = [e for e in entries if e.get("ev") == "signal"]
    if end is None:
        return "the bridge had to be killed"
    if signals:
        waited = signals[0]["t"] - (closed or end["t"])
        took = end["t"] - signals[0]["t"]
        if waited < 1.5 and took <= 1:  # some clients signal after 0.7 s
            return None
        return (
            f"signal {signals[0]['number']} came {waited:.1f} s after stdin was closed, "
            f"the end {took:.1f} s later; exit code {end['code']}"
        )
    return f"the bridge ended with {end['code']}" if end["code"] else None


def replace_at(value, folder):
    """Puts a folder where a text begins with @."""
    if isinstance(value, str):
        return folder + value[1:] if value.startswith("@") else value
    if isinstance(value, dict):
        return {k: replace_at(v, folder) for k, v in value.items()}
    return [replace_at(v, folder) for v in value] if isinstance(value, list) else value


def neutral_question(method, params):
    """A question without what a bridge has to leave out, or may."""
    dropped = ("_meta", "elicitationId", "task", "includeContext")
    params = {k: v for k, v in (params or {}).items() if k not in dropped}
    if params.get("mode") == "form":
        del params["mode"]
    return {"method": method, "params": params}


# ---- recordings


def load_sessions(folder, label):
    """The recordings of one side, oldest first. A line that is being written is left out."""
    sessions = []
    for name in os.listdir(folder):
        if name.startswith(label + "-") and name.endswith(".jsonl"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                entries = [json.loads(line) for line in file if line.endswith("\n")]
            if entries:
                sessions.append(entries)
    return sorted(sessions, key=lambda entries: entries[0]["t"])


def message(entry, direction):
    """The entry's message if it went that way, else None."""
    found = entry.get("msg") if entry.get("dir") == direction else None
    return found if isinstance(found, dict) else None


def answer_to(ident, entries):
    """The entry that answers that id, which 1 and "1" do not share."""
    for entry in entries:
        m = message(entry, "out")
        if m and "method" not in m and m.get("id") == ident and type(m["id"]) is type(ident):
            return entry
    return None


def strip_id(violation):
    head, _, rest = violation.partition(" id=")
    return head + ": " + rest.partition(": ")[2] if rest else violation


# ---- processes


def running_with(folder):
    """The processes that have this folder in their arguments."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                if folder.encode() in file.read():
                    found.append(int(name))
        except OSError:
            pass
    return found


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
