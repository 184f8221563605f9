"""A server elsewhere that sends too much, too slowly, or elsewhere: one call fails, in one line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trio
from trio.testing import MockClock

from sliphook import PluginHost
from sliphook.adapters.mcp.transports.bounds import EventWeight, PerSecond
from sliphook.adapters.mcp.transports.remote import _Bounded  # pyright: ignore[reportPrivateUsage]
from tests.programs import WAIT_S, until

from .far import FarServer, far_server
from .made import patient, server


async def said(far: FarServer, ways: Sequence[str], cwd: Path, **settings: Any) -> list[str]:
    """The results of calls, one after the other, and of a usual one behind each."""
    results: list[str] = []
    spec = server("far", [far.address], "work", settings=settings)
    async with (
        PluginHost([spec]) as host,
        host.session(cwd=cwd) as session,
        session.turn("hello") as turn,
    ):
        for way in ways:
            results.append((await turn.call_tool("work", {"way": way})).result.content)
            assert (await turn.call_tool("work", {"way": "plain"})).result.content == "done"
        assert host.plugins[0].restarts == 0
    return results


async def test_results_come_as_json_and_as_events(tmp_path: Path) -> None:
    ways = ["plain", "event", "floods", "large_event"]
    with trio.fail_after(WAIT_S), far_server() as far:
        *small, large = await said(far, ways, tmp_path)
    assert small == ["done", "done", "done"]
    assert large.endswith("x\n[the rest is left out: it is too large]")


async def test_half_a_character_of_an_event_is_replaced(tmp_path: Path) -> None:
    with trio.fail_after(WAIT_S), far_server() as far:
        assert await said(far, ["half_event"], tmp_path) == ["\ufffd|\U0001f600|\ufffd"]


async def test_what_is_too_much_fails_alone(tmp_path: Path) -> None:
    ways = ["long", "heavy", "long_event", "heavy_event", "packed", "breaks"]
    with trio.fail_after(WAIT_S), far_server() as far:
        results = await said(far, ways, tmp_path)
    long, heavy = "it sent a message of more than 16 MiB", "it has more than 100,000 values"
    assert [
        (wanted in line)
        for wanted, line in zip(
            [long, heavy, long, heavy, "it packs its answers (gzip)", "the MCP server far: "],
            results,
            strict=True,
        )
    ] == [True] * 6, results


async def test_a_tool_that_does_not_fit_costs_no_other_tool() -> None:
    with trio.fail_after(WAIT_S), far_server() as far:
        spec = server("far", [far.address.replace("/mcp", "/odd-tool")])
        async with PluginHost([spec]) as host:
            await until(lambda: [one.name for one in host.tools()] == ["work", "empty"])


@pytest.mark.parametrize("way", ["drips", "drips_events"])
async def test_what_never_ends_is_left_with_its_call(way: str, tmp_path: Path) -> None:
    with trio.fail_after(WAIT_S), far_server() as far:
        spec = server("far", [far.address], "work", settings={"timeout_s": 1.5})
        async with (
            PluginHost([spec]) as host,
            host.session(cwd=tmp_path) as session,
            session.turn("hello") as turn,
        ):
            while far.dripped == 0:  # the first call waits for the connection, too
                outcome = await turn.call_tool("work", {"way": way})
                assert outcome.result.is_error
            await until(lambda: far.left == far.dripped)
            assert host.plugins[0].restarts == 0


async def test_a_status_that_is_an_error_is_told(tmp_path: Path) -> None:
    with trio.fail_after(WAIT_S), far_server() as far:
        assert await said(far, ["refuses"], tmp_path) == [
            "the MCP server far: it answered with HTTP 401 (Unauthorized)"
        ]


async def test_an_address_with_no_server_is_told_by_its_status(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with trio.fail_after(WAIT_S), far_server() as far:
        spec = patient(server("far", [far.address.replace("/mcp", "/gone")]), monkeypatch)
        async with PluginHost([spec], open_wait_s=WAIT_S) as host:
            await until(lambda: host.plugins[0].state == "self_disabled")
            assert host.plugins[0].why == (
                "the MCP server cannot be used: it answered with HTTP 404 (Not Found)"
            )


async def test_a_token_does_not_go_elsewhere(tmp_path: Path) -> None:
    with trio.fail_after(WAIT_S), far_server() as far, far_server() as other:
        far.elsewhere = other.address
        results = await said(far, ["redirects"], tmp_path)
    assert f"Redirect to {other.address} not followed" in results[0]
    assert other.tokens == []


async def test_four_streams_are_opened_in_four_seconds_at_most(tmp_path: Path) -> None:
    """The server wishes each at once."""
    with trio.fail_after(WAIT_S), far_server() as far:
        async with PluginHost([server("far", [far.address], "work")]):
            await until(lambda: len(far.opened) >= 5)
        # by the server's clock, which hears of the first one late on a busy machine; else at once
        assert far.opened[4] - far.opened[0] >= 2


async def test_a_stream_waits_only_behind_four_of_the_last_four_seconds(
    autojump_clock: MockClock,
) -> None:
    """What the server wishes between two of them is kept otherwise."""
    opened: list[float] = []

    class Server(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            opened.append(trio.current_time())
            return httpx2.Response(200, stream=httpx2.ByteStream(b""))

    bounded = _Bounded(Server(), 60.0)
    for retry_s in (0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0):
        await trio.sleep(retry_s)
        await bounded.handle_async_request(httpx2.Request("GET", "http://localhost"))
    assert opened == [0.0, 0.5, 0.5, 0.5, 4.0, 4.5, 6.5, 6.5]


def test_an_event_is_weighed_over_pieces_and_lines() -> None:
    weight = EventWeight()
    assert weight.add(b"data: [" + b"1," * 60_000) is None
    assert weight.add(b"1\r") is None
    assert weight.add(b"\ndata: ,") is None  # the end of the line, and no empty one
    assert weight.add(b"1," * 60_000 + b"1]\n") == (
        "it sent a message that is too large: it has more than 100,000 values"
    )


def test_an_empty_line_begins_another_event() -> None:
    weight = EventWeight()
    for _ in range(3):
        assert weight.add(b"data: [" + b"1," * 60_000 + b"1]\n\n") is None
    assert weight.lines == 6


def test_a_byte_order_mark_hides_no_event() -> None:
    weight = EventWeight()
    why = weight.add(b"\xef\xbb\xbfdata: [" + b"1," * 120_000 + b"1]\n\n")
    assert why == "it sent a message that is too large: it has more than 100,000 values"
    weight = EventWeight()
    assert weight.add(b"\xef\xbb\xbfdata: 1\n") is None
    assert weight.ended() == b"data: 1\n"


def test_lines_are_passed_on_when_they_have_ended() -> None:
    weight = EventWeight()
    passed: list[bytes] = []
    for piece in (b"data: 1\r", b"\ndata: \\ud8", b"3d\r\n\r\n", b"\n", b"id: \\ude00"):
        assert weight.add(piece) is None
        passed.append(weight.ended())
    assert passed == [b"data: 1\r", b"\n", b"data: \\ufffd\r\n\r\n", b"\n", b""]
    assert weight.rest() == b"id: \\ufffd"


def test_a_second_has_a_number_of_messages() -> None:
    pace = PerSecond(3)
    assert [pace.pause_s(1, now) for now in (5.0, 5.25, 5.5)] == [0.0, 0.0, 0.5]
    assert pace.pause_s(1, 6.0) == 0.0
