"""mcp 2.x (Python) client. Usage: py2.py auto|pin|legacy STEPS.json -- COMMAND [ARG...]

Prints the same JSON lines as the TypeScript drivers (see steps.mjs)."""

import json, sys, time, warnings
import anyio
import mcp_types as t
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)

warnings.simplefilter("ignore")
LOG_LEVEL = "io.modelcontextprotocol/logLevel"
EVENT_METHODS = {
    ToolsListChanged: "tools/list_changed",
    PromptsListChanged: "prompts/list_changed",
    ResourcesListChanged: "resources/list_changed",
}
events, answer, roots = [], ["accept"], []


class Unsupported(Exception):
    """The client has no way to do this step; its check is skipped."""


def record(kind, **data):
    events.append({"kind": kind, "at": time.time(), **data})


def plain(model):
    return (
        model.model_dump(by_alias=True, mode="json", exclude_none=True)
        if hasattr(model, "model_dump")
        else model
    )


async def elicit(_context, params):
    record("elicit", params=plain(params))
    if answer[0] != "accept":
        return t.ElicitResult(action=answer[0])
    if getattr(params, "mode", None) == "url":
        return t.ElicitResult(action="accept")
    return t.ElicitResult(
        action="accept",
        content={"name": f"re:{params.message}", "age": 36, "subscribe": True, "colour": "green"},
    )


async def sample(_context, params):
    record("sample", params=plain(params))
    return t.CreateMessageResult(
        role="assistant",
        model="test-model",
        stop_reason="endTurn",
        content=t.TextContent(type="text", text="hi there ✓"),
    )


async def list_roots(_context):
    record("roots")
    return t.ListRootsResult(roots=[t.Root(**r) for r in roots])


async def on_log(params):
    record("log", params=plain(params))


async def on_message(message):
    method = getattr(message, "method", "")
    if method.endswith("list_changed") or method.endswith("resources/updated"):
        record("notify", method=method, params=plain(message.params))


async def on_progress(progress, total, message):
    record("progress", params={"progress": progress, "total": total, "message": message})


LISTS = {
    "tools": ("list_tools", "tools"),
    "prompts": ("list_prompts", "prompts"),
    "resources": ("list_resources", "resources"),
    "templates": ("list_resource_templates", "resource_templates"),
}


class Driver:
    def __init__(self, client):
        self.client = client
        self.modern = client.protocol_version == "2026-07-28"

    async def call(self, step, arguments=None):
        meta = None
        if step.get("logLevel"):
            if self.modern:
                meta = {LOG_LEVEL: step["logLevel"]}
            else:
                await self.client.set_logging_level(step["logLevel"])
        return await self.client.call_tool(
            step["name"],
            step.get("arguments") if arguments is None else arguments,
            progress_callback=on_progress if step.get("progress") else None,
            meta=meta,
        )

    async def identity(self, _step):
        c = self.client
        return {
            "era": "modern" if self.modern else "legacy",
            "protocolVersion": c.protocol_version,
            "serverInfo": plain(c.server_info),
            "instructions": c.instructions,
            "capabilities": plain(c.server_capabilities),
        }

    async def list(self, step):
        function, key = LISTS[step["what"]]
        items, cursor = [], None
        while True:
            page = await getattr(self.client, function)(cursor=cursor, cache_mode="bypass")
            items += [plain(i) for i in getattr(page, key)]
            cursor = page.next_cursor
            if cursor is None:
                return {"items": items}

    async def concurrent(self, step):
        results = [None] * step["count"]

        async def one(n):
            results[n] = plain(await self.call(step, {**step.get("arguments", {}), "n": n}))

        async with anyio.create_task_group() as group:
            for n in range(step["count"]):
                group.start_soon(one, n)
        return results

    async def prompt(self, step):
        return await self.client.get_prompt(step["name"], step.get("arguments"))

    async def read(self, step):
        return await self.client.read_resource(step["uri"], cache_mode="bypass")

    async def complete(self, step):
        ref = step["ref"]
        made = (
            t.PromptReference(**ref)
            if ref["type"] == "ref/prompt"
            else t.ResourceTemplateReference(**ref)
        )
        return await self.client.complete(
            made, step["argument"], (step.get("context") or {}).get("arguments")
        )

    async def listen(self, step):
        f, trigger = step["filter"], step["trigger"]
        delivered, late, honored, uris = [], [], f, f.get("resourceSubscriptions", [])

        def drain(into):
            into += [
                {"method": e["method"], "params": e.get("params")}
                for e in events
                if e["kind"] == "notify"
            ]

        if self.modern:
            async with self.client.listen(
                tools_list_changed=f.get("toolsListChanged", False),
                prompts_list_changed=f.get("promptsListChanged", False),
                resources_list_changed=f.get("resourcesListChanged", False),
                resource_subscriptions=uris,
            ) as subscription:
                honored = plain(subscription.honored)
                await self.call(trigger)
                with anyio.move_on_after(step.get("waitMs", 600) / 1000):
                    async for event in subscription:
                        if isinstance(event, ResourceUpdated):
                            delivered.append(
                                {
                                    "method": "notifications/resources/updated",
                                    "params": {"uri": event.uri},
                                }
                            )
                        else:
                            delivered.append(
                                {"method": "notifications/" + EVENT_METHODS[type(event)]}
                            )
        else:
            for uri in uris:
                await self.client.subscribe_resource(uri)
            await self.call(trigger)
            await anyio.sleep(step.get("waitMs", 600) / 1000)
            drain(delivered)
            for uri in uris:
                await self.client.unsubscribe_resource(uri)
        await anyio.sleep(0.2)
        events.clear()
        await self.call(trigger)
        await anyio.sleep(0.3)
        drain(late)
        return {"honored": honored, "delivered": delivered, "late": [e["method"] for e in late]}

    async def perform(self, step):
        if step["op"] == "call" and step.get("cancelAfterMs"):
            with anyio.move_on_after(step["cancelAfterMs"] / 1000) as scope:
                return await self.call(step)
            if scope.cancelled_caught:
                raise RuntimeError("cancelled by the user")
        return await getattr(self, step["op"])(step)


def as_error(e):
    while isinstance(e, BaseExceptionGroup) and len(e.exceptions) == 1:
        e = e.exceptions[0]
    return {
        "code": getattr(e, "code", None),
        "message": getattr(e, "message", None)
        or str(e)
        or ("timed out" if isinstance(e, TimeoutError) else ""),
        "data": plain(getattr(e, "data", None)),
        "kind": type(e).__name__,
    }


def show(**entry):
    print(json.dumps(entry, ensure_ascii=False, default=plain), flush=True)


def make_client(mode, command, args):
    return Client(
        StdioServerParameters(command=command, args=args),
        mode=mode,
        read_timeout_seconds=12,
        elicitation_callback=elicit,
        sampling_callback=sample,
        list_roots_callback=list_roots,
        logging_callback=on_log,
        message_handler=on_message,
        client_info=t.Implementation(name="interop-py2", version="1.0.0"),
    )


async def main(make_client, Driver):
    mode, plan_file, _dashes, command, *args = sys.argv[1:]
    with open(plan_file, encoding="utf-8") as file:
        plan = json.load(file)
    roots.extend(plan["roots"])
    started, connected = time.time(), False
    client = make_client({"pin": "2026-07-28"}.get(mode, mode), command, args)
    try:
        async with client:
            connected = True
            show(step="connect", t0=started, t1=time.time(), value=True, events=[])
            driver = Driver(client)
            timeouts = 0  # in a row; a blocked bridge would otherwise cost 13 s per step
            for step in plan["steps"]:
                if timeouts == 3:
                    break
                events.clear()
                answer[0] = step.get("answer", "accept")
                entry = {"step": step["id"], "t0": time.time()}
                try:
                    with anyio.fail_after(13):
                        entry["value"] = plain(await driver.perform(step))
                except Unsupported as e:
                    entry["skip"] = str(e)
                except Exception as e:
                    entry["error"] = as_error(e)
                timeouts = (
                    timeouts + 1
                    if isinstance(entry.get("error"), dict)
                    and "timed out" in entry["error"]["message"].lower()
                    else 0
                )
                await anyio.sleep(step.get("settleMs", 0) / 1000)
                show(**entry, t1=time.time(), events=list(events))
                await anyio.sleep(0.02)  # keeps the steps apart in the recordings
            closing = time.time()
        show(step="close", t0=closing, t1=time.time(), value=True, events=[])
    except BaseException as e:
        if connected:
            raise
        show(step="connect", t0=started, t1=time.time(), error=as_error(e), events=[])
        sys.exit(1)


if __name__ == "__main__":
    anyio.run(main, make_client, Driver)
