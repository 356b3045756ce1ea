"""A client of 2026-07-28 that speaks to the bridge, and looks at every line that it gets."""

import json, subprocess, time
import place
from compare import brief, expected_capabilities, same
from session import CAPABILITIES, CLIENT, LISTS, Dead, P, Session, answer

MODERN = "2026-07-28"
# what a listen asks for, and the capability that it belongs to
CHANGES = {
    "toolsListChanged": "tools",
    "promptsListChanged": "prompts",
    "resourcesListChanged": "resources",
}
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
ON_A_STREAM = (
    ACKNOWLEDGED,
    "notifications/resources/updated",
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
)
MAY_ASK = ("tools/call", "prompts/get", "resources/read")
MOST_ROUNDS = 10


class Modern(Session):
    """`faults` break the protocol, `deviations` the translation's own choices."""

    def __init__(self, row, folder, options, direct):
        super().__init__(row, folder, options, options.bridge)
        self.direct, self.faults, self.deviations = direct, [], []
        self.streams, self.frames, self.open, self.lifecycle = {}, 0, None, False
        info = direct.init.get("serverInfo") or {}
        words = (info.get("name"), info.get("version"))
        self.identity = words if all(isinstance(word, str) for word in words) else None

    def fail(self, text):
        if text not in self.faults:
            self.faults.append(text)

    def deviate(self, text):
        if text not in self.deviations:
            self.deviations.append(text)

    # ---- the conversation

    def go(self):
        outcome = self.request("server/discover", {}, self.options.start_timeout + 5)
        if "result" not in outcome:
            self.fail("discover: " + json.dumps(outcome, default=str)[:160])
            return
        self.look_at_discover(outcome["result"])
        self.idle(0.4)  # time for a question that the server asks on its own account
        self.follow_script(self.direct.capabilities)
        absent = [m for m, _, capability in LISTS if capability not in self.direct.capabilities]
        for method in [*absent, "ping"]:
            outcome = self.request(method, {})
            if (outcome.get("error") or {}).get("code") != -32601:
                self.fail(f"{method} is not -32601 but {brief(outcome)}")
        self.listen()

    def envelope(self):
        return {
            P + "protocolVersion": MODERN,
            P + "clientInfo": CLIENT,
            P + "clientCapabilities": CAPABILITIES,
        }

    def request(self, method, params, timeout=None):
        """The outcome after all questions: {"result": ...}, {"error": ...} or {"timeout": True}."""
        for _ in range(MOST_ROUNDS):
            self.id += 1
            params = params | {"_meta": self.envelope()}
            self.send(method, params, id=self.id)
            message = self.response(self.id, timeout or self.options.timeout + 5)
            if message is None:
                return {"timeout": True}
            if "error" in message:
                return {"error": message["error"]}
            result = message["result"] if isinstance(message["result"], dict) else {}
            if result.get("resultType") != "input_required":
                self.look_at_result(method, result)
                return {"result": result}
            if method not in MAY_ASK:
                self.fail("input_required on " + method)
            questions = result.get("inputRequests") or {}
            answers = {k: answer(q.get("method"), self.folder) for k, q in questions.items()}
            params = params | {"inputResponses": answers}
            if "requestState" in result:
                params["requestState"] = result["requestState"]
        return {"error": {"code": 0, "message": f"more than {MOST_ROUNDS} rounds"}}

    def send(self, method, params, **id):
        self.pipe.send({"jsonrpc": "2.0", **id, "method": method, "params": params})

    def response(self, id, timeout):
        until = time.time() + timeout
        while (line := self.pipe.receive(until)) is not None:
            message = self.look_at_line(line)
            if message is None:
                continue
            if type(message.get("id")) is type(id) and message["id"] == id:
                return message
            self.fail(f"response to id {message.get('id')!r}")
        return None

    def idle(self, seconds):
        until = time.time() + seconds
        while (line := self.pipe.receive(until)) is not None:
            if self.look_at_line(line) is not None:
                self.fail("response that nobody asked for")

    def listen(self):
        """Two streams, one after the other: the first is cancelled, the second stays open."""
        declared = self.direct.init.get("capabilities") or {}

        def tells(capability):
            found = declared.get(capability)
            return isinstance(found, dict) and found.get("listChanged") is True

        changes = {flag: True for flag, capability in CHANGES.items() if tells(capability)}
        honoured, asked = dict(changes), dict.fromkeys(CHANGES, True)
        if self.direct.subscribable:
            uris = [self.direct.subscribable]
            asked["resourceSubscriptions"] = honoured["resourceSubscriptions"] = uris
        judge = self.fail if honoured else self.deviate
        for id in ("listen-a", "listen-b"):
            acknowledged = self.open_stream(id, asked, judge)
            if acknowledged is None:
                return
            # A server may ask in the middle of a subscription, where nobody can be asked: it then
            # refuses the URI.
            refused = self.direct.asked_in_subscribe and same(acknowledged, changes)
            if not refused and not same(acknowledged, honoured):
                got, wanted = json.dumps(acknowledged), json.dumps(honoured)
                judge(f"listen: acknowledged {got}, expected {wanted}")
            if id == "listen-a":  # nothing may follow for it
                self.send("notifications/cancelled", {"requestId": id})
                self.request("server/discover", {})
                del self.streams[id]
        self.open, self.lifecycle = id, bool(honoured)

    def open_stream(self, id, asked, judge):
        """What of it the bridge acknowledges, or None."""
        self.streams[id] = []
        self.send("subscriptions/listen", {"notifications": asked, "_meta": self.envelope()}, id=id)
        until = time.time() + 15
        while not self.streams[id]:
            message = self.pipe.receive(until)
            if message is None:
                return judge("listen: no acknowledgement")
            if "method" not in message and message.get("id") == id:
                return judge("listen: " + brief(message))
            self.look_at_line(message)
        first = self.streams[id][0]
        if first["method"] != ACKNOWLEDGED:
            judge("listen: first message " + first["method"])
        return (first.get("params") or {}).get("notifications") or {}

    def end(self):
        """Closes the bridge's input, and sees that it goes in time and leaves nobody behind."""
        pid = self.pipe.process.pid
        # What made a session of its own is out of any bridge's reach.
        within_reach = {place.session(pid)} | {
            place.session(child) for child in place.marked(self.mark) if place.parent(child) == pid
        }
        started = time.time()
        until = started + self.options.exit_s
        self.pipe.close_input()
        is_closed = False
        try:
            while (line := self.pipe.receive(until)) is not None:
                message = self.look_at_line(line)
                if message and message.get("id") == self.open and "result" in message:
                    is_closed = True
                    meta = (message["result"] or {}).get("_meta") or {}
                    if meta.get(P + "subscriptionId") != self.open:
                        self.deviate("listen: closed without its subscriptionId")
        except Dead:
            pass
        if self.open and not is_closed:
            self.deviate("listen: not closed with a result")
        if self.pipe.noise:
            self.fail("not JSON on stdout: " + self.pipe.noise[0][:60])
        try:
            code = self.pipe.process.wait(max(0.01, until - time.time()))
        except subprocess.TimeoutExpired:
            self.fail(f"no exit within {self.options.exit_s:g} s of the end of input")
            return
        if code:
            self.deviate(f"exit code {code}")
        for _ in range(25):
            left = [p for p in place.marked(self.mark) if place.session(p) in within_reach]
            if not left:
                return
            time.sleep(0.02)
        self.fail("left behind: " + ",".join(sorted(place.name(p) for p in left)))

    # ---- the looks

    def look_at_line(self, message):
        """The line if it is a response, else None."""
        self.frames += 1
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            self.fail("a line is no JSON-RPC object")
            return None
        members = set(message)
        if "method" in message:
            self.look_at_notification(message, members)
            return None
        if members == {"jsonrpc", "id", "result"}:
            result = message["result"]
            if not isinstance(result, dict) or not isinstance(result.get("resultType"), str):
                self.fail("result without resultType")
        elif members in ({"jsonrpc", "id", "error"}, {"jsonrpc", "error"}):
            error = message["error"]
            if not (
                isinstance(error, dict)
                and type(error.get("code")) is int
                and isinstance(error.get("message"), str)
            ):
                self.fail("malformed error")
        else:
            self.fail("members of a line: " + ",".join(sorted(members)))
        return message

    def look_at_notification(self, message, members):
        method = message["method"]
        if "id" in message:
            self.fail(f"request to the client: {method}")
        elif members - {"jsonrpc", "method", "params"}:
            self.fail("members of a notification: " + ",".join(sorted(members)))
        meta = (message.get("params") or {}).get("_meta") or {}
        stream = self.streams.get(meta.get(P + "subscriptionId"))
        if stream is None or method not in ON_A_STREAM:
            self.fail(f"notification that nobody asked for: {method}")
        else:
            stream.append(message)

    def look_at_result(self, method, result):
        if result.get("resultType") != "complete":
            self.fail(f"resultType {result.get('resultType')!r}")
        info = (result.get("_meta") or {}).get(P + "serverInfo")
        words = (info.get("name"), info.get("version")) if isinstance(info, dict) else (None,)
        if not all(isinstance(word, str) for word in words):
            self.deviate("no serverInfo in _meta of " + method)
        elif self.identity and words != self.identity:
            self.deviate("serverInfo is not the server's")
        ttl, scope = result.get("ttlMs"), result.get("cacheScope")
        if method.endswith("/list") or method in ("resources/read", "server/discover"):
            if type(ttl) is not int or ttl < 0 or scope not in ("public", "private"):
                self.fail("ttlMs or cacheScope of " + method)
        elif "ttlMs" in result or "cacheScope" in result:
            self.deviate("ttlMs or cacheScope on " + method)

    def look_at_discover(self, result):
        init = self.direct.init
        if MODERN not in (result.get("supportedVersions") or []):
            self.fail("supportedVersions")
        for member in ("serverInfo", "protocolVersion"):
            if member in result:
                self.deviate("discover has a member " + member)
        if (result.get("instructions") or None) != (init.get("instructions") or None):
            self.fail("instructions differ")
        info = (result.get("_meta") or {}).get(P + "serverInfo")
        if self.identity and not same(info, init.get("serverInfo")):
            self.deviate("serverInfo is not the server's")
        got, wanted = result.get("capabilities"), expected_capabilities(self.direct)
        if not isinstance(got, dict):
            self.fail("no capabilities")
            return
        if "tasks" in got:
            self.fail("capabilities.tasks was copied")
        for name in sorted((set(got) | set(wanted)) - {"tasks"}):
            if not same(got.get(name), wanted.get(name)):
                judge = self.fail if name in CHANGES.values() else self.deviate
                got_text = json.dumps(got.get(name), default=str)[:80]
                wanted_text = json.dumps(wanted.get(name), default=str)[:80]
                judge(f"capability {name}: {got_text}, expected {wanted_text}")
