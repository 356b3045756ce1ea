"""A conversation with one process, and the script that both kinds of client follow."""

import decimal, json, os, queue, signal, subprocess, threading, time, uuid
import place

P = "io.modelcontextprotocol/"
# method, its array, the capability that it belongs to
LISTS = [
    ("tools/list", "tools", "tools"),
    ("prompts/list", "prompts", "prompts"),
    ("resources/list", "resources", "resources"),
    ("resources/templates/list", "resourceTemplates", "resources"),
]
# What our clients declare, the same in both eras: everything, so that every server asks.
CAPABILITIES = {
    "roots": {},
    "sampling": {"tools": {}, "context": {}},
    "elicitation": {"form": {}, "url": {}},
}
CLIENT = {"name": "sweep", "version": "1"}
UNKNOWN_TOOL = "sweep_no_such_tool"
INHERITED = ("PATH", "LANG", "TERM", "USER", "LOGNAME", "SHELL")
MOST_PAGES = 20


class Dead(Exception):
    """The process ended, or no longer takes input."""


class Pipe:
    """A process that speaks one JSON message a line."""

    def __init__(self, command, cwd, env, log):
        self.errors = open(log, "wb")
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            cwd=cwd,
            env=env,
            start_new_session=True,
        )
        self.lines, self.noise = queue.Queue(), []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def send(self, message):
        try:
            text = json.dumps(message, separators=(",", ":"))
            self.process.stdin.write(text.encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise Dead("stdin closed")

    def receive(self, until):
        """The next JSON value before that time, or None; raises Dead at the end of the output."""
        while True:
            try:
                line = self.lines.get(timeout=max(0.0, until - time.time()))
            except queue.Empty:
                return None
            if line is None:
                self.lines.put(None)
                raise Dead(f"exit {self._code()}")
            try:
                message = json.loads(line.decode("utf-8"), parse_float=decimal.Decimal)
            except (ValueError, RecursionError):
                if line.strip():
                    self.noise.append(line.decode("utf-8", "replace").rstrip()[:120])
                continue
            if isinstance(message, (dict, list)):
                return message
            self.noise.append(str(message)[:120])

    def _code(self):
        try:
            return self.process.wait(1)
        except subprocess.TimeoutExpired:
            return None

    def close_input(self):
        try:
            self.process.stdin.close()
        except OSError:
            pass

    def destroy(self, mark):
        """Leaves no process of this conversation behind."""
        self.close_input()
        for pid in [*place.marked(mark), self.process.pid]:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        self.process.wait()
        self.errors.close()


class Session:
    """A row's server in a folder of its own, behind a prefix or not."""

    def __init__(self, row, folder, options, prefix):
        def filled(text):
            words = {"{W}": folder, "{I}": row["inst"], "{BIN}": row["bin"]}
            for word, value in words.items():
                text = text.replace(word, value)
            return text

        self.call = json.loads(filled(json.dumps(row["call"])))
        self.folder, self.options, self.mark = folder, options, uuid.uuid4().hex
        place.make(folder)
        # Through env(1): what a server gets must not depend on what a bridge hands on.
        env = {k: filled(v) for k, v in row["env"].items()}
        env |= {"SWEEP_MARK": self.mark, "PYTHONHASHSEED": "0"}
        program = os.path.join(row["bin"], row["command"])
        child = ["env", *(f"{k}={v}" for k, v in env.items())]
        child.append(program if os.path.exists(program) else row["command"])
        child += [filled(arg) for arg in row["args"]]
        base = {k: os.environ[k] for k in INHERITED if k in os.environ}
        base |= {"HOME": folder + "/home", "SWEEP_MARK": self.mark}
        kind = ".bridge" if prefix else ".direct"
        self.log = os.path.join(options.work, row["name"] + kind + ".stderr")
        self.pipe = Pipe(prefix + child, folder + "/files", base, self.log)
        self.seen, self.id = {}, -1

    def tail(self):
        """The last words on stderr."""
        with open(self.log, errors="replace") as file:
            return file.read()[-400:]

    def follow_script(self, capabilities):
        """The requests that both kinds of session make; outcomes go to `seen`."""
        for method, _, capability in LISTS:
            if capability in capabilities:
                self.seen[method] = self.pages(method)
        if "tools" in capabilities:
            if self.call:
                arguments = self.call.get("arguments", {})
                self.see("call", "tools/call", {"name": self.call["name"], "arguments": arguments})
            self.see("unknown tool", "tools/call", {"name": UNKNOWN_TOOL, "arguments": {}})
        prompts = items(self.seen, "prompts/list", "prompts")
        if prompts:
            needed = [a["name"] for a in prompts[0].get("arguments") or [] if a.get("required")]
            params = {"name": prompts[0]["name"], "arguments": dict.fromkeys(needed, "x")}
            self.see("prompts/get", "prompts/get", params)
        resources = items(self.seen, "resources/list", "resources")
        if resources:
            self.see("resources/read", "resources/read", {"uri": resources[0]["uri"]})
        if "resources" in capabilities:
            self.see("unknown resource", "resources/read", {"uri": "sweep://no/such/resource"})

    def see(self, what, method, params):
        self.seen[what] = [self.request(method, params)]

    def pages(self, method):
        pages, cursor = [], None
        while len(pages) < MOST_PAGES:
            pages.append(self.request(method, {} if cursor is None else {"cursor": cursor}))
            cursor = (pages[-1].get("result") or {}).get("nextCursor")
            if cursor is None:
                break
        return pages


def items(seen, method, key):
    """The objects on the first page of a list that has some."""
    for page in seen.get(method, []):
        found = (page.get("result") or {}).get(key)
        if isinstance(found, list) and found and isinstance(found[0], dict):
            return found
    return []


def answer(method, folder):
    """What our user says to a question, the same in both eras; None to what is no question."""
    if method == "roots/list":
        return {"roots": [{"uri": "file://" + folder + "/files", "name": "files"}]}
    if method == "elicitation/create":
        return {"action": "decline"}
    if method == "sampling/createMessage":
        text = {"type": "text", "text": "sweep"}
        return {"role": "assistant", "model": "sweep", "stopReason": "endTurn", "content": text}
    return None
