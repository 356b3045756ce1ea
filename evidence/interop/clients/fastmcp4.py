"""fastmcp 4.x client. Usage: fastmcp4.py MODE STEPS.json -- COMMAND [ARG...]; MODE: auto | legacy
Shares everything but the client calls with py2.py; it has no subscriptions/listen."""

import anyio
import mcp_types as t
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
import py2


async def elicit(message, _response_type, params, context):
    return await py2.elicit(context, params)


async def sample(_messages, params, context):
    return await py2.sample(context, params)


async def roots(context):
    return (await py2.list_roots(context)).roots


def make_client(mode, command, args):
    return Client(
        StdioTransport(command=command, args=args, keep_alive=False),
        mode=mode,
        timeout=12,
        roots=roots,
        sampling_handler=sample,
        elicitation_handler=elicit,
        log_handler=py2.on_log,
        client_info=t.Implementation(name="interop-fastmcp", version="1.0.0"),
    )


class Driver(py2.Driver):
    async def call(self, step, arguments=None):
        level = step.get("logLevel")
        if level and not self.modern:
            await self.client.set_logging_level(level)
        return await self.client.call_tool_mcp(
            step["name"],
            step.get("arguments") if arguments is None else arguments,
            meta={py2.LOG_LEVEL: level} if level and self.modern else None,
            progress_handler=py2.on_progress if step.get("progress") else None,
        )

    async def identity(self, _step):
        return {"protocolVersion": self.client.protocol_version}

    async def list(self, step):
        function, key = py2.LISTS[step["what"]]
        items, cursor = [], None
        while True:
            page = await getattr(self.client, function + "_mcp")(cursor=cursor)
            items += [py2.plain(i) for i in getattr(page, key)]
            cursor = page.next_cursor
            if cursor is None:
                return {"items": items}

    async def prompt(self, step):
        return await self.client.get_prompt_mcp(step["name"], step.get("arguments"))

    async def read(self, step):
        return await self.client.read_resource_mcp(step["uri"])

    async def complete(self, step):
        ref = step["ref"]
        made = (
            t.PromptReference(**ref)
            if ref["type"] == "ref/prompt"
            else t.ResourceTemplateReference(**ref)
        )
        return await self.client.complete_mcp(
            made, step["argument"], (step.get("context") or {}).get("arguments")
        )

    async def listen(self, _step):
        raise py2.Unsupported("this client has no subscriptions/listen")


anyio.run(py2.main, make_client, Driver)
