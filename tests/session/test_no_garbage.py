"""Turns leave no cycles behind: a full garbage collection holds the loop, so none may be needed."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, Final

import pytest
import trio
import trio.testing

from sliphook import PluginHost, Session
from sliphook.agent.loop import Agent
from sliphook.agent.models.scripted import ScriptedModel
from sliphook.testing import Fails, FakePlugin
from sliphook.trace.record import TraceRecord

Story = Callable[[PluginHost, Session], Awaitable[object]]

TIMES: Final = 5


class Sink:
    """Takes the records and keeps none."""

    def record(self, record: TraceRecord) -> None:
        del record

    def hide(self, secrets: Any) -> None:
        del secrets


async def one_of_each(_: PluginHost, session: Session) -> None:
    async with session.turn("tidy up") as turn:
        await turn.submit()
        await turn.call_tool("echo", {"text": "x"})
        await turn.call_tool("fails", {})
        await turn.call_tool("shell", {}, run=shell)
        async with turn.subagent("look") as child:
            await child.call_tool("echo", {"text": "x"})
        await turn.stop()


async def shell(arguments: dict[str, Any]) -> str:
    return "done"


async def in_two_halves(_: PluginHost, session: Session) -> None:
    async with session.turn("tidy up") as turn:
        await (await turn.begin_tool("shell", {})).end("ok")
        await (await turn.begin_tool("shell", {})).end(object())
        await (await turn.begin_tool("shell", {})).end(error=LookupError("no file"))
        assert (await turn.call_tool("shell", {}, run=broken)).error is not None
        await (await turn.begin_tool("echo", {"text": "x"}, own=False)).run()
        await turn.begin_tool("shell", {})
        async with turn.subagent("look") as child:
            child.interrupt()


async def broken(arguments: dict[str, Any]) -> str:
    raise LookupError(f"no file for {arguments}")


async def interrupted(_: PluginHost, session: Session) -> None:
    async with session.turn("wait") as turn, trio.open_nursery() as nursery:

        async def wait() -> None:
            await turn.call_tool("waits", {})

        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        session.interrupt()


async def conversed(host: PluginHost, session: Session) -> None:
    agent = Agent(host, session, ScriptedModel())
    await agent.run("hello")


@pytest.mark.parametrize("story", [one_of_each, in_two_halves, interrupted, conversed])
@pytest.mark.parametrize("traced", [False, True])
async def test_a_turn_leaves_nothing_for_the_garbage_collector(story: Story, traced: bool) -> None:
    async def waits(_: Any) -> str:
        await trio.sleep(60)
        return ""

    plugin = FakePlugin(
        "guard",
        hears=["user_prompt_submit", "pre_tool_call", "post_tool_call", "stop", "turn_end"],
        tools={"echo": "x", "fails": Fails("broken"), "waits": waits},
    )
    left: Counter[str] = Counter()
    with trio.fail_after(120):
        async with (
            PluginHost([plugin], trace=Sink() if traced else None) as host,
            host.session() as session,
        ):
            await story(host, session)  # what is made once is made now
            gc.collect()
            gc.disable()
            gc.set_debug(gc.DEBUG_SAVEALL)
            try:
                for _ in range(TIMES):
                    await story(host, session)
                gc.collect()
                left.update(
                    f"{type(one).__module__}.{type(one).__qualname__}" for one in gc.garbage
                )
            finally:
                gc.set_debug(0)
                gc.garbage.clear()
                gc.enable()
    ours = {kind: count for kind, count in left.items() if kind.startswith("sliphook")}
    # the one that is under way may hold something; what each of five leaves is a cycle
    assert {kind: count for kind, count in ours.items() if count >= TIMES} == {}
