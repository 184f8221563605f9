"""A server as a plugin, under the real host."""

from __future__ import annotations

import sys
from pathlib import Path

import trio

from sliphook import PluginHost
from tests.programs import WAIT_S, until, whole_lines
from tests.stubborn import lives

from .made import PLAIN, server

GUARD = """\
from sliphook_sdk import Plugin, deny

plugin = Plugin("guard")


@plugin.hook("pre_tool_call", match={"origin": "mcp:plain"})
def look(call):
    return deny(f"none of {call.origin}")


plugin.run()
"""


async def test_its_tools_are_those_of_a_plugin(tmp_path: Path) -> None:
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([server("plain", PLAIN, "add", "picture", "wait")]) as host,
            host.session(cwd=tmp_path) as session,
            session.turn("hello") as turn,
        ):
            added = await turn.call_tool("add", {"a": 2, "b": 3})
            assert (added.result.content, added.result.data) == ("5", {"result": 5})
            wrong = await turn.call_tool("add", {"a": "x", "b": 3})
            assert wrong.result.is_error
            shown = await turn.call_tool("picture", {})
            assert shown.result.parts
            assert [part.mime_type for part in shown.result.parts] == ["image/png"]


async def test_an_interrupt_reaches_the_server(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    begun = tmp_path / "mark.begun"
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([server("plain", PLAIN, "add", "picture", "wait")]) as host,
            host.session(cwd=tmp_path) as session,
        ):
            async with session.turn("hello") as turn, trio.open_nursery() as nursery:
                nursery.start_soon(turn.call_tool, "wait", {"mark": str(mark)})
                await until(begun.exists)
                session.interrupt("user_stop")
            await until(mark.exists)


async def test_a_server_that_dies_is_left_out(tmp_path: Path) -> None:
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([server("plain", ["sh", "-c", "echo rubbish; exit 3"])]) as host,
            host.session(cwd=tmp_path) as session,
            session.turn("hello") as turn,
        ):
            outcome = await turn.call_tool("add", {"a": 2, "b": 3})
            assert outcome.result.is_error


async def test_a_server_that_says_nothing_holds_nobody_and_is_ended(tmp_path: Path) -> None:
    own = tmp_path / "own"
    deaf = f"trap '' TERM; echo $$ > {own}; while :; do sleep 1000; done"
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([server("plain", ["bash", "-c", deaf])]) as host,
            host.session(cwd=tmp_path) as session,
            session.turn("hello") as turn,
        ):
            outcome = await turn.call_tool("add", {"a": 2, "b": 3})
            assert outcome.result.is_error
            await until(lambda: whole_lines(own) != [])
        await until(lambda: not lives(int(own.read_text())))


async def test_guards_read_whose_tool_it_is(tmp_path: Path) -> None:
    guard = tmp_path / "guard"
    guard.write_text(f"#!{sys.executable}\n{GUARD}")
    guard.chmod(0o755)
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([server("plain", PLAIN, "add"), guard]) as host,
            host.session(cwd=tmp_path) as session,
            session.turn("hello") as turn,
        ):
            outcome = await turn.call_tool("add", {"a": 2, "b": 3})
            assert "none of mcp:plain" in outcome.result.content
