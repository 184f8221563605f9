"""What plugins ask of the host is counted: in bytes, in a minute, in a second, under way."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from sliphook import PluginHost, Progress
from sliphook.testing import FakePlugin, HostRefused
from tests.programs import WAIT_S, Workshop, until

BUSY, INVALID_PARAMS, UNKNOWN_METHOD = -32004, -32602, -32601


async def test_an_injected_text_is_measured_in_bytes(autojump_clock: MockClock) -> None:
    plugin = FakePlugin("p", uses=["inject"])
    async with PluginHost([plugin]) as host, host.session() as session:
        await plugin.ask("host/inject", session_id=session.session_id, text="é" * 32_768)
        with pytest.raises(HostRefused, match="the text is over 65,536 bytes") as refused:
            await plugin.ask("host/inject", session_id=session.session_id, text="é" * 32_769)
    assert refused.value.code == INVALID_PARAMS


async def test_the_eleventh_alert_waits_for_a_minute_to_pass(autojump_clock: MockClock) -> None:
    plugin = FakePlugin("p", uses=["notify"])
    async with PluginHost([plugin]):
        for _ in range(10):
            await plugin.ask("host/notify", level="info", message="x")
        for passed_s in (0, 30, 29):
            await trio.sleep(passed_s)
            with pytest.raises(HostRefused) as refused:
                await plugin.ask("host/notify", level="info", message="x")
            assert refused.value.code == BUSY
        await trio.sleep(1)
        await plugin.ask("host/notify", level="info", message="x")


async def test_log_and_progress_share_a_hundred_a_second(autojump_clock: MockClock) -> None:
    seen: list[str] = []

    def see(progress: Progress) -> None:
        seen.append(f"progress {progress.message}")

    async def work(_: dict[str, Any]) -> str:
        (call,) = [message.id for message in plugin.received if message.method == "tool/call"]
        for number in range(60):
            await plugin.tell("host/log", level="info", message=f"{number}")
        for number in range(60):
            await plugin.tell("$/progress", id=call, message=f"{number}")
        return "done"

    plugin = FakePlugin("p", tools={"work": work})
    async with (
        PluginHost(
            [plugin], on_progress=see, on_log=lambda _, __, text: seen.append(f"log {text}")
        ) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        assert (await turn.call_tool("work", {})).status == "ok"
    assert seen == [f"log {n}" for n in range(60)] + [f"progress {n}" for n in range(40)]


async def test_an_id_that_is_under_way_is_taken_and_the_third_time_ends_the_connection(
    shop: Workshop,
) -> None:
    full = shop.flag("full")
    problems: list[str] = []
    logged: list[str] = []
    probe = shop.program(
        hears=["notification"],
        main="""
        reply(receive()["id"], MANIFEST)
        if not set_flag("first"): serve()
        wait_for_flag("full")
        for _ in range(4): request("same", "host/x")
        time.sleep(30)
        """,
    )
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost(
                [probe.path],
                on_problem=lambda _, message: problems.append(message),
                on_log=lambda _, __, message: logged.append(message),
            ) as host,
            host.session() as session,
        ):
            for _ in range(200):
                session.notification("info", "x" * 1000)  # more than its pipe holds
            full.touch()
            await until(lambda: bool(problems))
    doubled = "the request id 'same' is still in flight"
    assert doubled in problems[0]
    assert sum(doubled in line for line in logged) == 3


async def test_sixty_four_requests_are_under_way_and_the_next_is_refused(shop: Workshop) -> None:
    """A request is under way until the plugin can have seen its answer: this one reads nothing."""
    full, read_on = shop.flag("full"), shop.flag("read")
    handled = trio.Event()

    def handles(plugin: str, level: str, message: str) -> None:
        del plugin, level, message
        handled.set()

    probe = shop.program(
        hears=["notification"],
        main="""
        reply(receive()["id"], MANIFEST)
        wait_for_flag("full")
        for number in range(70): request(number, "host/x")
        send(method="host/log", params={"level": "info", "message": "all are sent"})
        wait_for_flag("read")
        serve()
        """,
    )
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([probe.path], on_log=handles) as host,
            host.session() as session,
        ):
            for _ in range(200):
                session.notification("info", "x" * 1000)  # more than its pipe holds
            full.touch()
            await handled.wait()
            read_on.touch()
            await until(lambda: len(probe.replies()) == 70)
    codes = [probe.replies()[number]["error"]["code"] for number in range(70)]
    assert codes == [UNKNOWN_METHOD] * 64 + [BUSY] * 6
