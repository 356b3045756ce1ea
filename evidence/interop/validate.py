"""Checks recorded sessions against the JSON schemas and the framing rules.

down(entries): what the bridge sent to the client.   up(entries): what it sent to the server.
Both return a list of texts, one per violation; empty means clean."""

import base64, json, os, re
from jsonschema import Draft7Validator, Draft202012Validator, FormatChecker

SCHEMA_DIR = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "schema")
MODERN = "2026-07-28"
P = "io.modelcontextprotocol/"
RESERVED = [
    P + k
    for k in (
        "protocolVersion",
        "clientInfo",
        "clientCapabilities",
        "logLevel",
        "subscriptionId",
        "serverInfo",
    )
]
GRACE = 0.1  # seconds in which an answer may cross a cancellation

RESULTS = {
    "initialize": "InitializeResult",
    "server/discover": "DiscoverResult",
    "tools/list": "ListToolsResult",
    "tools/call": "CallToolResult",
    "prompts/list": "ListPromptsResult",
    "prompts/get": "GetPromptResult",
    "resources/list": "ListResourcesResult",
    "resources/templates/list": "ListResourceTemplatesResult",
    "resources/read": "ReadResourceResult",
    "completion/complete": "CompleteResult",
    "subscriptions/listen": "SubscriptionsListenResult",
    "ping": "EmptyResult",
    "logging/setLevel": "EmptyResult",
    "resources/subscribe": "EmptyResult",
    "resources/unsubscribe": "EmptyResult",
    "elicitation/create": "ElicitResult",
    "sampling/createMessage": "CreateMessageResult",
    "roots/list": "ListRootsResult",
}
REQUESTS = {
    "initialize": "InitializeRequest",
    "ping": "PingRequest",
    "tools/list": "ListToolsRequest",
    "tools/call": "CallToolRequest",
    "prompts/list": "ListPromptsRequest",
    "prompts/get": "GetPromptRequest",
    "resources/list": "ListResourcesRequest",
    "resources/templates/list": "ListResourceTemplatesRequest",
    "resources/read": "ReadResourceRequest",
    "resources/subscribe": "SubscribeRequest",
    "resources/unsubscribe": "UnsubscribeRequest",
    "completion/complete": "CompleteRequest",
    "logging/setLevel": "SetLevelRequest",
    "elicitation/create": "ElicitRequest",
    "sampling/createMessage": "CreateMessageRequest",
    "roots/list": "ListRootsRequest",
}
NOTIFICATIONS = {
    "notifications/progress": "ProgressNotification",
    "notifications/message": "LoggingMessageNotification",
    "notifications/cancelled": "CancelledNotification",
    "notifications/initialized": "InitializedNotification",
    "notifications/tools/list_changed": "ToolListChangedNotification",
    "notifications/prompts/list_changed": "PromptListChangedNotification",
    "notifications/resources/list_changed": "ResourceListChangedNotification",
    "notifications/resources/updated": "ResourceUpdatedNotification",
    "notifications/roots/list_changed": "RootsListChangedNotification",
    "notifications/elicitation/complete": "ElicitationCompleteNotification",
    "notifications/subscriptions/acknowledged": "SubscriptionsAcknowledgedNotification",
    "notifications/tasks/status": "TaskStatusNotification",
}
MRTR = ("tools/call", "prompts/get", "resources/read")

formats = FormatChecker(formats=())


@formats.checks("byte", raises=ValueError)
def _is_base64(value):
    return not isinstance(value, str) or base64.b64decode(value, validate=True) is not None


@formats.checks("uri")
def _is_uri(value):
    return not isinstance(value, str) or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", value) is not None


_documents, _validators = {}, {}


def schema_errors(version, definition, value):
    """At most three texts saying how value breaks the named definition of that revision."""
    if version not in _documents:
        with open(os.path.join(SCHEMA_DIR, version + ".json"), encoding="utf-8") as file:
            _documents[version] = json.load(file)
    document = _documents[version]
    key = "$defs" if "$defs" in document else "definitions"
    if definition not in document[key]:
        return [f"{version} has no {definition}"]
    if (version, definition) not in _validators:
        kind = Draft202012Validator if key == "$defs" else Draft7Validator
        _validators[version, definition] = kind(
            {key: document[key], "$ref": f"#/{key}/{definition}"}, format_checker=formats
        )
    found = []
    for error in _validators[version, definition].iter_errors(value):
        where = "/".join(str(p) for p in error.absolute_path) or "(root)"
        found.append(f"{definition}: {where}: {error.message[:160]}")
        if len(found) == 3:
            break
    return found


def envelope_errors(message):
    if not isinstance(message, dict):
        return ["frame is not an object"]
    kinds = [
        {"jsonrpc", "id", "result"},
        {"jsonrpc", "id", "error"},
        {"jsonrpc", "error"},
        {"jsonrpc", "id", "method", "params"},
        {"jsonrpc", "method", "params"},
    ]
    keys = set(message)
    if message.get("jsonrpc") != "2.0":
        return ["jsonrpc is not 2.0"]
    if not any(keys == kind or keys == kind - {"params"} for kind in kinds):
        return [f"members {sorted(keys)}"]
    if "id" in message and (
        not isinstance(message["id"], (str, int)) or isinstance(message["id"], bool)
    ):
        return [f"id {message['id']!r}"]
    return []


def exact(ident):
    return json.dumps(ident)  # 1 and "1" differ


def version_of(entries, asked, answered):
    """The revision a successful initialize negotiated in this session, or None."""
    wanted = None
    for e in entries:
        message = e.get("msg")
        if isinstance(message, dict):
            if e["dir"] == asked and message.get("method") == "initialize":
                wanted = exact(message.get("id"))
            elif (
                e["dir"] == answered
                and wanted is not None
                and "result" in message
                and exact(message.get("id")) == wanted
            ):
                return message["result"].get("protocolVersion")
    return None


def down(entries):
    legacy = version_of(entries, "in", "out")
    version = legacy or MODERN
    requests, answered, cancelled, tokens, listens, questions, bad = (
        {},
        set(),
        {},
        {},
        set(),
        {},
        [],
    )

    def report(message, texts):
        head = (
            message.get("method") or requests.get(exact(message.get("id"))) or "?"
            if isinstance(message, dict)
            else "?"
        )
        bad.extend(
            f"{head} id={message.get('id') if isinstance(message, dict) else None!r}: {text}"
            for text in texts
        )

    for e in (e for e in entries if "dir" in e):
        if e["dir"] == "in":
            message = e.get("msg")
            if not isinstance(message, dict):
                continue
            if "method" in message and "id" in message:
                key = exact(message["id"])
                requests[key] = message["method"]
                answered.discard(key)
                token = ((message.get("params") or {}).get("_meta") or {}).get("progressToken")
                if token is not None:
                    tokens[exact(token)] = key
                if message["method"] == "subscriptions/listen":
                    listens.add(key)
            elif message.get("method") == "notifications/cancelled":
                cancelled[exact((message.get("params") or {}).get("requestId"))] = e["t"]
            continue
        if "raw" in e:
            bad.append(f"not JSON on stdout: {e['raw'][:80]!r}")
            continue
        message = e["msg"]
        problems = envelope_errors(message)
        report(message, problems)
        if not isinstance(message, dict):
            continue
        method, key = message.get("method"), exact(message.get("id"))
        if method and "id" in message:
            questions[key] = method
            if legacy:
                report(
                    message, schema_errors(version, REQUESTS.get(method, "JSONRPCRequest"), message)
                )
            else:
                report(message, ["a request was sent to a modern client"])
        elif method:
            report(
                message,
                schema_errors(version, NOTIFICATIONS[method], message)
                if method in NOTIFICATIONS
                else ["unknown notification"],
            )
            params = message.get("params") or {}
            if method == "notifications/progress":
                owner = tokens.get(exact(params.get("progressToken")))
                if owner is None or owner in answered:
                    report(message, ["progress for a request that is not in flight"])
            subscription = (params.get("_meta") or {}).get(P + "subscriptionId")
            if subscription is not None and exact(subscription) not in listens:
                report(message, [f"unknown subscriptionId {subscription!r}"])
            if (
                subscription is not None
                and e["t"] - cancelled.get(exact(subscription), e["t"]) > GRACE
            ):
                report(message, ["notification on a cancelled listen"])
        else:
            if "id" not in message:
                continue
            if key not in requests:
                report(message, ["answer to an id that was never asked"])
                continue
            if key in answered:
                report(message, ["second answer"])
            answered.add(key)
            if e["t"] - cancelled.get(key, e["t"]) > GRACE and requests[key] not in (
                "initialize",
                "server/discover",
            ):
                report(message, ["answer to a cancelled request"])
            if "error" in message:
                report(
                    message,
                    schema_errors(
                        version,
                        "JSONRPCErrorResponse" if version >= "2025-11-25" else "JSONRPCError",
                        message,
                    ),
                )
                code = (message["error"] or {}).get("code")
                if not legacy and (
                    code in (-32002, -32042) or (isinstance(code, int) and -32099 <= code <= -32023)
                ):
                    report(message, [f"error code {code} does not exist in {MODERN}"])
            else:
                report(message, result_errors(version, requests[key], message["result"], legacy))
    return bad


def result_errors(version, method, result, legacy):
    definition = RESULTS.get(method)
    if definition is None:
        return []
    if legacy:
        return schema_errors(version, definition, result)
    texts = []
    kind = result.get("resultType") if isinstance(result, dict) else None
    if kind == "input_required":
        if method not in MRTR:
            texts.append(f"input_required as the answer to {method}")
        for name, question in (result.get("inputRequests") or {}).items():
            extra = {"elicitationId", "task"} & set(question.get("params") or {}) or set(
                question
            ) - {"method", "params"}
            if extra:
                texts.append(f"inputRequests/{name} carries {sorted(extra)}")
        return texts + schema_errors(version, "InputRequiredResult", result)
    if kind != "complete":
        texts.append(f"resultType {kind!r}")
    if method == "server/discover" and "tasks" in (result.get("capabilities") or {}):
        texts.append("capabilities.tasks was copied")
    return texts + schema_errors(version, definition, result)


def up(entries):
    version = version_of(entries, "in", "out")
    asked, ids, answered, bad, first = {}, set(), set(), [], True

    def report(message, texts):
        head = message.get("method") or asked.get(exact(message.get("id"))) or "?"
        bad.extend(f"{head} id={message.get('id')!r}: {text}" for text in texts)

    for e in (e for e in entries if "dir" in e):
        message = e.get("msg")
        if e["dir"] == "out":
            for item in message if isinstance(message, list) else [message]:
                if isinstance(item, dict) and "method" in item and "id" in item:
                    asked[exact(item["id"])] = item["method"]
            continue
        if not isinstance(message, dict):
            bad.append(f"not a JSON object towards the server: {str(e.get('raw', message))[:80]!r}")
            continue
        report(message, envelope_errors(message))
        method, params = message.get("method"), message.get("params") or {}
        if first and method != "initialize":
            report(message, ["the first message is not initialize"])
        first = False
        if method:
            meta = params.get("_meta") or {}
            leaked = [k for k in RESERVED if k in meta] + [
                k for k in ("inputResponses", "requestState") if k in params
            ]
            if leaked:
                report(message, [f"modern members leaked: {leaked}"])
        rules = (
            version
            if version and method != "initialize"
            else params.get("protocolVersion", "2025-11-25")
            if method == "initialize"
            else "2025-11-25"
        )
        if not os.path.exists(os.path.join(SCHEMA_DIR, f"{rules}.json")):
            rules = "2025-11-25"
        if method and "id" in message:
            if exact(message["id"]) in ids:
                report(message, ["id used twice"])
            ids.add(exact(message["id"]))
            report(
                message,
                schema_errors(rules, REQUESTS[method], message)
                if method in REQUESTS
                else ["method does not exist in the legacy protocol"],
            )
        elif method:
            report(
                message,
                schema_errors(rules, NOTIFICATIONS[method], message)
                if method in NOTIFICATIONS
                else ["unknown notification"],
            )
        else:
            key = exact(message.get("id"))
            if key not in asked:
                report(message, ["answer to an id that was never asked"])
                continue
            if key in answered:
                report(message, ["second answer"])
            answered.add(key)
            if "error" in message:
                report(
                    message,
                    schema_errors(
                        rules,
                        "JSONRPCErrorResponse" if rules >= "2025-11-25" else "JSONRPCError",
                        message,
                    ),
                )
            elif asked[key] in RESULTS:
                report(message, schema_errors(rules, RESULTS[asked[key]], message["result"]))
    return bad
