"""Hand-written legacy server without an SDK: speaks 2024-11-05, prints a banner on stdout,
works strictly one message at a time, and dies on any request before initialize."""

import json, sys

TOOLS = [
    {
        "name": "zulu",
        "description": "last by name, first in the list",
        "inputSchema": {"type": "object", "properties": {}},
    },
    {
        "name": "echo",
        "description": "Returns its text",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
    },
]


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


print("*** raw server 0.1, ready. Waiting for JSON-RPC on stdin ***")
print("")
sys.stdout.flush()
ready = False
for line in sys.stdin:
    message = json.loads(line)
    method, ident = message.get("method"), message.get("id")
    if method == "initialize":
        ready = True
        send(
            {
                "id": ident,
                "result": {
                    "protocolVersion": "2024-11-05",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "raw", "version": "0.1"},
                },
            }
        )
    elif not ready:
        sys.exit(f"protocol violation: {method} before initialize")
    elif ident is None:
        continue
    elif method == "ping":
        send({"id": ident, "result": {}})
    elif method == "tools/list":
        send({"id": ident, "result": {"tools": TOOLS}})
    elif method == "tools/call" and message["params"]["name"] == "echo":
        send(
            {
                "id": ident,
                "result": {
                    "content": [
                        {"type": "text", "text": message["params"]["arguments"].get("text", "")}
                    ]
                },
            }
        )
    elif method == "tools/call" and message["params"]["name"] == "zulu":
        print("debug: zulu called")  # stray stdout output in the middle of a session
        send({"id": ident, "result": {"content": [{"type": "text", "text": "Z"}]}})
    elif method == "tools/call":
        send({"id": ident, "error": {"code": -32601, "message": "no such tool"}})
    else:
        sys.exit(f"unknown method {method}")
