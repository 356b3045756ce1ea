"""A client of 2025-11-25 that speaks to the server itself: what the bridge is held against."""

import json, time
from session import CAPABILITIES, CLIENT, Dead, Session, answer, items

NEWEST = "2025-11-25"


class Direct(Session):
    def __init__(self, row, folder, options):
        super().__init__(row, folder, options, [])
        self.is_subscribing, self.asked_in_subscribe = False, False

    def request(self, method, params, timeout=None):
        """The outcome: {"result": ...}, {"error": ...} or {"timeout": True}."""
        self.id += 1
        self.pipe.send({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params})
        until = time.time() + (timeout or self.options.timeout)
        while True:
            line = self.pipe.receive(until)
            if line is None:
                return {"timeout": True}
            for message in line if isinstance(line, list) else [line]:
                if "method" not in message and message.get("id") == self.id:
                    if message.get("error") is not None:
                        return {"error": message["error"]}
                    return {"result": message.get("result")}
                self.answer(message)

    def answer(self, message):
        if "method" not in message or message.get("id") is None:
            return
        self.asked_in_subscribe |= self.is_subscribing
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        result = {} if message["method"] == "ping" else answer(message["method"], self.folder)
        if result is None:
            reply["error"] = {"code": -32601, "message": "Method not found"}
        else:
            reply["result"] = result
        self.pipe.send(reply)

    def idle(self, seconds):
        until = time.time() + seconds
        while (line := self.pipe.receive(until)) is not None:
            for message in line if isinstance(line, list) else [line]:
                self.answer(message)

    def go(self):
        hello = {"protocolVersion": NEWEST, "clientInfo": CLIENT, "capabilities": CAPABILITIES}
        outcome = self.request("initialize", hello, self.options.start_timeout)
        self.init = outcome.get("result")
        if not isinstance(self.init, dict):
            raise Dead("initialize: " + json.dumps(outcome, default=str)[:200])
        self.pipe.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.idle(0.4)
        declared = self.init.get("capabilities") or {}
        self.capabilities = set(declared)
        if not declared:  # nothing declared, but perhaps there are tools all the same
            tools = self.request("tools/list", {}, 2).get("result") or {}
            if isinstance(tools.get("tools"), list):
                self.capabilities = {"tools"}
        self.follow_script(self.capabilities)
        self.subscribe((declared.get("resources") or {}).get("subscribe") is True)
        self.idle(0.1)

    def subscribe(self, can_subscribe):
        """Tries a subscription, for the listen of the other client: `subscribable` is its URI."""
        self.subscribable = None
        resources = items(self.seen, "resources/list", "resources")
        if not (resources and can_subscribe):
            return
        params = {"uri": resources[0]["uri"]}
        self.is_subscribing = True
        outcome = self.request("resources/subscribe", params)
        self.is_subscribing = False
        if "result" in outcome:
            self.subscribable = params["uri"]
            self.request("resources/unsubscribe", params, 5)
