"""What is tried with each server: a check is a name, the steps of a client, and a judge."""

from judges import (
    after_change,
    asks,
    cancels,
    concurrent,
    concurrent_raw,
    connect,
    hello_field,
    listens,
    logs,
    negotiated,
    order,
    progress,
    same,
    url_required,
)

UNICODE = 'ünï \u65e5\u672c\u8a9e \U0001f389 \u2028\u2029 "quotes" \\ back\nline\ttab \u200d end'
BIG = 5 * 1024 * 1024

# The columns of the table in docs/evidence.md, by the first word of a check's name.
GROUPS = {
    "start": ("connect", "negotiated", "identity", "instructions", "capabilities", "stamp"),
    "lists": ("tools", "prompts", "resources", "templates"),
    "calls": ("call", "concurrent", "cancel"),
    "errors": ("error",),
    "prompts, resources": ("prompt", "read", "complete"),
    "questions": ("elicit", "url_required", "sampling", "roots"),
    "progress, logs": ("progress", "log"),
    "streams": ("listen",),
    "end": ("shutdown",),
    "every message": ("schema",),
}


def group_of(check):
    word = check.split(".")[0]
    return next(group for group, words in GROUPS.items() if word in words)


def call(ident, name, arguments=None, **more):
    return {"id": ident, "op": "call", "name": name, "arguments": arguments or {}, **more}


HELLO = [
    ("connect", [], connect),
    ("negotiated", [{"id": "identity", "op": "identity"}], negotiated),
    ("identity", [], hello_field("serverInfo")),
    ("instructions", [], hello_field("instructions")),
    ("capabilities", [], hello_field("capabilities")),
]


def lists(*kinds):
    methods = {
        "tools": "tools/list",
        "prompts": "prompts/list",
        "resources": "resources/list",
        "templates": "resources/templates/list",
    }
    made = [
        (f"{k}.list", [{"id": f"{k}.list", "op": "list", "what": k}], same(f"{k}.list", methods[k]))
        for k in kinds
    ]
    return made + [
        ("tools.order", [{"id": "tools.list", "op": "list", "what": "tools"}], order("tools.list"))
    ]


def called(ident, name, arguments=None, **more):
    return (ident, [call(ident, name, arguments, **more)], same(ident, "tools/call"))


def asked(ident, name, arguments=None, **more):
    return (ident, [call(ident, name, arguments, interactive=True, **more)], asks(ident))


def other(ident, method, **step):
    return (ident, [{"id": ident, **step}], same(ident, method))


def listened(ident, filter_, methods, trigger):
    return (
        ident,
        [{"id": ident, "op": "listen", "filter": filter_, "trigger": trigger}],
        listens(ident, ["notifications/" + m for m in methods]),
    )


LISTEN_TOOLS = listened(
    "listen.tools", {"toolsListChanged": True}, ["tools/list_changed"], {"name": "change"}
)
LISTEN_LISTS = listened(
    "listen.lists",
    {"promptsListChanged": True, "resourcesListChanged": True},
    ["prompts/list_changed", "resources/list_changed"],
    {"name": "change"},
)
LOG_NONE, LOG_DEBUG = (
    call("log.none", "log", settleMs=150),
    call("log.debug", "log", logLevel="debug", settleMs=150),
)

FIXTURE = (
    HELLO
    + lists("tools", "prompts", "resources", "templates")
    + [
        called("call.echo", "echo", {"text": "hello"}),
        called("call.unicode", "echo", {"text": UNICODE}),
        called("call.structured", "structured", {"a": 1.5, "b": 2}),
        called("call.media", "media"),
        called("call.isError", "fail"),
        called("error.unknown_tool", "no_such_tool"),
        called("error.bad_args", "echo"),
        called("error.custom", "rpc_error", {"code": 4711}),
        called("error.reserved", "rpc_error", {"code": -32050}),
        other("error.missing_resource", "resources/read", op="read", uri="res://nowhere"),
        other("error.unknown_prompt", "prompts/get", op="prompt", name="nope"),
        other(
            "prompt.args",
            "prompts/get",
            op="prompt",
            name="greet",
            arguments={"name": "Bo", "style": "loud"},
        ),
        other("prompt.plain", "prompts/get", op="prompt", name="plain"),
        other("read.text", "resources/read", op="read", uri="res://item/7"),
        other("read.blob", "resources/read", op="read", uri="res://blob"),
        other(
            "complete.prompt",
            "completion/complete",
            op="complete",
            ref={"type": "ref/prompt", "name": "greet"},
            argument={"name": "style", "value": "b"},
            context={"arguments": {"name": "Bo"}},
        ),
        other(
            "complete.template",
            "completion/complete",
            op="complete",
            ref={"type": "ref/resource", "uri": "res://item/{id}"},
            argument={"name": "id", "value": ""},
        ),
        asked("elicit.accept", "elicit"),
        asked("elicit.decline", "elicit", answer="decline"),
        asked("elicit.cancel", "elicit", answer="cancel"),
        asked("elicit.two_rounds", "elicit_twice"),
        asked("elicit.two_at_once", "elicit_both"),
        (
            "elicit.prompt",
            [
                {
                    "id": "elicit.prompt",
                    "op": "prompt",
                    "name": "greet",
                    "arguments": {"name": "ask"},
                    "interactive": True,
                }
            ],
            asks("elicit.prompt", "prompts/get"),
        ),
        asked("elicit.url", "elicit_url"),
        asked("elicit.url_decline", "elicit_url", answer="decline"),
        (
            "url_required.accept",
            [call("url_required.accept", "url_required", {"key": "a"}, interactive=True)],
            url_required("url_required.accept", True),
        ),
        (
            "url_required.decline",
            [
                call(
                    "url_required.decline",
                    "url_required",
                    {"key": "b"},
                    answer="decline",
                    interactive=True,
                )
            ],
            url_required("url_required.decline", False),
        ),
        asked("sampling", "sample"),
        asked("roots", "roots"),
        (
            "progress",
            [call("progress", "progress", {"steps": 4}, progress=True, interactive=True)],
            progress("progress"),
        ),
        ("log.none", [{**LOG_NONE, "interactive": True}], logs("log.none")),
        ("log.debug", [{**LOG_DEBUG, "interactive": True}], logs("log.debug")),
        (
            "log.warning",
            [call("log.warning", "log", logLevel="warning", settleMs=150, interactive=True)],
            logs("log.warning"),
        ),
        LISTEN_TOOLS,
        LISTEN_LISTS,
        listened(
            "listen.updated",
            {"resourceSubscriptions": ["res://item/1"]},
            ["resources/updated"],
            {"name": "touch", "arguments": {"uri": "res://item/1"}},
        ),
        (
            "tools.after_change",
            LISTEN_TOOLS[1]
            + LISTEN_LISTS[1]
            + [{"id": "tools.after_change", "op": "list", "what": "tools", "interactive": True}],
            after_change("tools.after_change"),
        ),
        (
            "cancel",
            [
                call("cancel", "slow", {"ms": 4000}, cancelAfterMs=400),
                call("cancel.history", "history", interactive=True),
            ],
            cancels("cancel", "cancel.history", "abort"),
        ),
        (
            "concurrent",
            [
                {
                    "id": "concurrent",
                    "op": "concurrent",
                    "name": "delay_echo",
                    "arguments": {"ms": 20},
                    "count": 20,
                }
            ],
            concurrent("concurrent", 20),
        ),
        called("call.big", "big", {"bytes": BIG}),
    ]
)

PYTHON = (
    HELLO
    + lists("tools", "prompts", "resources", "templates")
    + [
        called("call.echo", "echo", {"text": "hello"}),
        called("call.unicode", "echo", {"text": UNICODE}),
        called("call.structured", "structured", {"a": 1, "b": 2}),
        called("call.media", "picture"),
        called("call.big", "echo", {"text": "x" * 100000}),
        called("call.isError", "fail"),
        called("error.unknown_tool", "no_such_tool"),
        called(
            "error.bad_args", "structured", {"a": "no"}, interactive=True
        ),  # the inspector turns "no" into null
        other("error.missing_resource", "resources/read", op="read", uri="py://nowhere"),
        other("error.unknown_prompt", "prompts/get", op="prompt", name="nope"),
        other(
            "prompt.args",
            "prompts/get",
            op="prompt",
            name="greet",
            arguments={"name": "Bo", "style": "loud"},
        ),
        other("read.text", "resources/read", op="read", uri="py://plain"),
        other("read.template", "resources/read", op="read", uri="py://item/9"),
        other(
            "complete.template",
            "completion/complete",
            op="complete",
            ref={"type": "ref/resource", "uri": "py://item/{key}"},
            argument={"name": "key", "value": "q"},
        ),
        asked("elicit.accept", "elicit"),
        asked("elicit.decline", "elicit", answer="decline"),
        asked("elicit.cancel", "elicit", answer="cancel"),
        asked("sampling", "sample"),
        asked("roots", "roots"),
        (
            "progress",
            [call("progress", "progress", {"steps": 4}, progress=True, interactive=True)],
            progress("progress"),
        ),
        ("log.none", [{**LOG_NONE, "interactive": True}], logs("log.none")),
        (
            "cancel",
            [
                call("cancel", "slow", {"ms": 4000}, cancelAfterMs=400),
                call("cancel.history", "seen", interactive=True),
            ],
            cancels("cancel", "cancel.history", "abort"),
        ),
        (
            "concurrent",
            [
                {
                    "id": "concurrent",
                    "op": "concurrent",
                    "name": "delay_echo",
                    "arguments": {"ms": 20},
                    "count": 20,
                }
            ],
            concurrent("concurrent", 20),
        ),
    ]
)

RAW = (
    HELLO
    + lists("tools")
    + [
        called("call.echo", "echo", {"text": "hello"}),
        called("call.unicode", "echo", {"text": UNICODE}),
        called("call.stray_stdout", "zulu"),
        called("error.unknown_tool", "no_such_tool"),
        (
            "concurrent",
            [{"id": "concurrent", "op": "concurrent", "name": "zulu", "count": 10}],
            concurrent_raw,
        ),
    ]
)


EVERYTHING = (
    HELLO
    + lists("tools", "prompts", "resources", "templates")
    + [
        called("call.echo", "echo", {"message": "hello"}),
        called("call.add", "add", {"a": 1, "b": 41}),
        called("call.media", "getTinyImage"),
        called(
            "call.annotated", "annotatedMessage", {"messageType": "error", "includeImage": True}
        ),
        called("call.resource", "getResourceReference", {"resourceId": 5}),
        called("call.links", "getResourceLinks", {"count": 3}),
        called("call.structured", "structuredContent", {"location": "Chicago"}),
        called("error.unknown_tool", "no_such_tool"),
        other("prompt.plain", "prompts/get", op="prompt", name="simple_prompt"),
        other(
            "prompt.args",
            "prompts/get",
            op="prompt",
            name="complex_prompt",
            arguments={"temperature": "0.5", "style": "x"},
        ),
        other("read.text", "resources/read", op="read", uri="test://static/resource/1"),
        other("read.blob", "resources/read", op="read", uri="test://static/resource/2"),
        other("error.missing_resource", "resources/read", op="read", uri="test://nowhere"),
        other(
            "complete.prompt",
            "completion/complete",
            op="complete",
            ref={"type": "ref/prompt", "name": "complex_prompt"},
            argument={"name": "style", "value": "f"},
        ),
        asked("elicit.accept", "startElicitation"),
        asked("elicit.decline", "startElicitation", answer="decline"),
        asked("sampling", "sampleLLM", {"prompt": "hi", "maxTokens": 20}),
        (
            "progress",
            [
                call(
                    "progress",
                    "longRunningOperation",
                    {"duration": 0.8, "steps": 4},
                    progress=True,
                    interactive=True,
                )
            ],
            progress("progress"),
        ),
    ]
)

FILESYSTEM = (
    HELLO
    + lists("tools")
    + [
        # the server asks for roots before any call and digests the answer asynchronously
        (
            "roots.first_call",
            [call("roots.first_call", "list_allowed_directories", interactive=True, settleMs=300)],
            same("roots.first_call", "tools/call"),
        ),
        (
            "roots",
            [call("roots", "list_allowed_directories", interactive=True)],
            same("roots", "tools/call"),
        ),
        called("call.read", "read_text_file", {"path": "@/note.txt"}),
        called("call.media", "read_media_file", {"path": "@/dot.png"}),
        called("call.tree", "directory_tree", {"path": "@"}),
        called("call.search", "search_files", {"path": "@", "pattern": "note"}),
        called("call.isError", "read_text_file", {"path": "@/missing.txt"}),
        called("error.unknown_tool", "no_such_tool"),
    ]
)
