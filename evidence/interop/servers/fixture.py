"""Legacy fixture server on the Python SDK v1 (FastMCP of mcp 1.x)."""

import asyncio
from pydantic import BaseModel, Field
from mcp.server.fastmcp import Context, FastMCP, Image
from mcp.types import SamplingMessage, TextContent

mcp = FastMCP("py-fixture", instructions="Python fixture")


class Person(BaseModel):
    name: str = Field(description="your name")
    age: int = 0


class Sum(BaseModel):
    sum: int
    label: str


@mcp.tool()
def echo(text: str) -> str:
    """Returns its text"""
    return text


@mcp.tool()
def structured(a: int, b: int) -> Sum:
    """Structured result"""
    return Sum(sum=a + b, label="Σ")


@mcp.tool()
def picture() -> Image:
    """An image"""
    return Image(data=b"\x89PNG\r\n", format="png")


@mcp.tool()
async def elicit(ctx: Context) -> str:
    """Asks one form"""
    answer = await ctx.elicit("Who are you?", Person)
    return f"{answer.action}:{getattr(answer, 'data', None)!r}"


@mcp.tool()
async def sample(ctx: Context) -> str:
    """Asks the model"""
    message = SamplingMessage(role="user", content=TextContent(type="text", text="Say hi"))
    answer = await ctx.session.create_message([message], max_tokens=50, system_prompt="Be brief")
    return answer.model_dump_json(exclude_none=True)


@mcp.tool()
async def roots(ctx: Context) -> str:
    """Lists the roots"""
    return (await ctx.session.list_roots()).model_dump_json(exclude_none=True)


@mcp.tool()
async def progress(steps: int, ctx: Context) -> str:
    """Reports progress"""
    for i in range(1, steps + 1):
        await ctx.report_progress(i, steps, f"step {i}")
        await asyncio.sleep(0.12)
    return "done"


@mcp.tool()
async def log(ctx: Context) -> str:
    """Logs at four levels"""
    await ctx.debug("debug")
    await ctx.info("info")
    await ctx.warning("warning")
    await ctx.error("error")
    return "logged"


@mcp.tool()
async def delay_echo(n: int, ms: int) -> str:
    """Echo after a pause"""
    await asyncio.sleep(ms / 1000)
    return f"n={n}"


history: list[str] = []


@mcp.tool()
async def slow(ms: int) -> str:
    """Waits, can be cancelled"""
    history.append("start")
    try:
        await asyncio.sleep(ms / 1000)
        history.append("end")
    except BaseException:
        history.append("abort")
        raise
    return "slept"


@mcp.tool()
def seen() -> list[str]:
    """What slow saw"""
    return list(history)


@mcp.tool()
def fail() -> str:
    """Raises"""
    raise RuntimeError("it broke")


@mcp.resource("py://plain", name="plain", mime_type="text/plain")
def plain() -> str:
    return "plain text"


@mcp.resource("py://item/{key}", name="item")
def item(key: str) -> str:
    return f"item {key}"


@mcp.prompt(title="Greet")
def greet(name: str, style: str = "plain") -> str:
    """Greets"""
    return f"Hello {name} ({style})"


@mcp.completion()
async def complete(ref, argument, context):
    from mcp.types import Completion

    return Completion(
        values=[f"{argument.name}-{argument.value}-{i}" for i in range(3)], total=3, hasMore=False
    )


if __name__ == "__main__":
    mcp.run()
