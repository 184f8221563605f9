"""A tool's call on the server's own pipes, in both eras: what is answered well, badly, or never."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from sliphook import PluginHost, Progress, Session, Turn
from tests.programs import WAIT_S, until

from .made import SERVERS, server

ERAS = ["initialize", "discover"]


def liar(era: str) -> list[str]:
    return [sys.executable, "-S", str(SERVERS / "liar.py"), era]


@asynccontextmanager
async def session_of(era: str, cwd: Path, **options: Any) -> AsyncGenerator[Session]:
    async with (
        PluginHost(
            [server("liar", liar(era), "work", "count", "rows", "endless")], **options
        ) as host,
        host.session(cwd=cwd) as session,
    ):
        yield session


async def said(turn: Turn, way: str, tool: str = "work") -> tuple[str, bool | None]:
    outcome = await turn.call_tool(tool, {"way": way})
    return outcome.result.content, outcome.result.is_error


@pytest.mark.parametrize("era", ERAS)
async def test_each_answer_ends_its_own_call(era: str, tmp_path: Path) -> None:
    """Most are sent twice; the second one must not be the next call's."""
    wrong = "the MCP server liar: "
    no_result = f"{wrong}its answer is no result of a tool: "
    with trio.fail_after(WAIT_S):
        async with session_of(era, tmp_path) as session, session.turn("hello") as turn:
            assert await said(turn, "") == ("done", False)
            assert await said(turn, "both") == ("done", False)
            assert await said(turn, "own text") == ("done", False)
            assert await said(turn, "strangers") == ("done", False)
            assert await said(turn, "failed") == ("no paper", True)
            assert await said(turn, "refusal") == (f"{wrong}not today", True)
            assert await said(turn, "late refusal") == (f"{wrong}not today", True)
            assert await said(turn, "silent refusal") == (
                f"{wrong}it gave no reason (CallFailed)",
                True,
            )
            assert await said(turn, "no refusal") == (
                f"{wrong}it answered with an error that is none",
                True,
            )
            assert await said(turn, "nan refusal") == (f"{wrong}not a number", True)
            assert await said(turn, "none") == (
                f"{wrong}it answered with neither a result nor an error",
                True,
            )
            assert await said(turn, "text") == (f"{no_result}Expected `object`, got `str`", True)
            assert await said(turn, "number") == (
                f"{no_result}Expected `array | null`, got `int` - at `$.content`",
                True,
            )
            assert await said(turn, "empty") == (f"{no_result}it has no content", True)
            assert await said(turn, "alone") == ('{"n": 3}', False)
            assert await said(turn, "nulls") == ('{"n": 3}', False)
            content, is_error = await said(turn, "block")
            assert content == "[a part is left out: parts[0].text is missing]\ndone"
            assert not is_error
            assert await said(turn, "three", "count") == ("done", False)
            assert await said(turn, "nan", "count") == ("done", False)
            assert await said(turn, "many", "rows") == ("done", False)
            assert await said(turn, "three", "endless") == ("done", False)
            assert await said(turn, "halves") == ("\ufffd!", False)
            content, is_error = await said(turn, "no three", "count")
            assert content.startswith(f"{wrong}the structured content of count is refused: ")
            assert is_error
            content, is_error = await said(turn, "odd")
            assert (content, is_error) == (
                (f"{wrong}its result is of an unknown type: 'odd'", True)
                if era == "discover"
                else ("done", False)
            )
            assert await said(turn, "") == ("done", False)


@pytest.mark.parametrize("era", ERAS)
async def test_a_reply_that_comes_after_a_cancel_is_nobodys(era: str, tmp_path: Path) -> None:
    logged: list[str] = []
    begun: list[Progress] = []

    def note(_: str, level: str, line: str) -> None:
        logged.append(line)

    with trio.fail_after(WAIT_S):
        async with session_of(era, tmp_path, on_log=note, on_progress=begun.append) as session:
            async with session.turn("hello") as turn:
                assert await said(turn, "") == ("done", False)
            async with session.turn("hello") as turn, trio.open_nursery() as nursery:
                nursery.start_soon(turn.call_tool, "work", {"way": "keep"})
                await until(lambda: bool(begun))
                session.interrupt("user_stop")
            await until(lambda: any(line.startswith("cancelled ") for line in logged))
            async with session.turn("hello") as turn:
                assert await said(turn, "kept") == ("done", False)
                assert await said(turn, "failed") == ("no paper", True)


async def test_calls_at_the_same_time_are_not_mixed_up(tmp_path: Path) -> None:
    ways = {"": "done", "failed": "no paper", "refusal": "the MCP server liar: not today"}
    got: dict[str, str] = {}

    async def call(turn: Turn, way: str) -> None:
        got[way] = (await said(turn, way))[0]

    with trio.fail_after(WAIT_S):
        async with (
            session_of("initialize", tmp_path) as session,
            session.turn("hello") as turn,
            trio.open_nursery() as nursery,
        ):
            for way in ways:
                nursery.start_soon(call, turn, way)
    assert got == ways


async def test_a_stateless_server_gets_what_the_session_says_of_the_client(tmp_path: Path) -> None:
    listed = ""
    params: dict[str, Any] = {}
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([server("new", liar("discover"))]) as host,
            host.session(cwd=tmp_path) as session,
            session.turn("hello") as turn,
        ):
            await until(lambda: len(host.tools()) == 4)
            listed = next(tool for tool in host.tools() if tool.name == "work").description
            params = json.loads((await said(turn, "echo"))[0])
    meta = json.loads(listed.removeprefix("[new] "))
    assert {**meta, "progressToken": params["_meta"]["progressToken"]} == params["_meta"]
    assert params["arguments"] == {"way": "echo"}


async def test_a_stateless_server_asks_in_its_result(tmp_path: Path) -> None:
    async def asker(question: Any) -> Any:
        assert question.prompt == "[liar] Which?"
        return {"colour": "blue"}

    with trio.fail_after(WAIT_S):
        async with (
            session_of("discover", tmp_path, asker=asker) as session,
            session.turn("hello") as turn,
        ):
            content, is_error = await said(turn, "asks")
            assert json.loads(content) == [
                {"q": {"action": "accept", "content": {"colour": "blue"}}},
                "half way",
            ]
            assert not is_error
            assert await said(turn, "asks on") == (
                "the MCP server liar: it asked for input more than 10 times in one call",
                True,
            )
