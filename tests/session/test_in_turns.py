"""Lines of a plugin's messages that take long to clean are written over several passes."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any, cast

import pytest
import trio
import trio.testing

from sliphook import PluginHost
from sliphook.plugin.supervision import Plugin
from sliphook.session import in_turns
from sliphook.session.in_turns import InTurns
from sliphook.session.reports import Reports
from sliphook.testing import FakePlugin
from tests.passes import Passes
from tests.programs import until

A_MOMENT_S = 1e-9
"""One piece uses it up."""

PLUGINS = [cast("Plugin", name) for name in "abc"]


@pytest.fixture
def one_in_a_pass(monkeypatch: pytest.MonkeyPatch) -> Passes:
    monkeypatch.setattr(InTurns.__init__, "__defaults__", (A_MOMENT_S,))
    return Passes()


async def test_plugins_take_turns_and_each_has_its_pieces_in_order() -> None:
    done: list[tuple[str, int]] = []
    turns, passes = InTurns(A_MOMENT_S), Passes()
    in_pass: Counter[int] = Counter()

    def do(plugin: Plugin, number: int) -> None:
        done.append((cast("str", plugin), number))
        in_pass[passes.number] += 1

    with passes:
        for plugin in PLUGINS:
            turns.add(plugin, [partial(do, plugin, number) for number in range(3)])
        assert done == [("a", 0)]
        assert [turns.waiting(plugin) for plugin in PLUGINS] == [2, 3, 3]
        with trio.fail_after(120):
            assert await turns.finish() == {}
    order = "a abc abc bc"
    assert "".join(name for name, _ in done) == order.replace(" ", "")
    assert [at for name, at in done if name == "b"] == [0, 1, 2]
    assert max(in_pass.values()) == 1


async def test_what_there_is_time_for_is_done_at_once() -> None:
    done: list[int] = []
    turns = InTurns(3_600.0)
    turns.add(PLUGINS[0], [partial(done.append, number) for number in range(50)])
    turns.add(PLUGINS[1], [])
    assert done == list(range(50))
    assert not any(map(turns.waiting, PLUGINS))


async def test_what_a_piece_adds_waits_behind_the_others() -> None:
    done: list[str] = []
    turns = InTurns(3_600.0)

    def adds() -> None:
        turns.add(PLUGINS[0], [partial(done.append, "added")])
        done.append("adds")

    turns.add(PLUGINS[0], [adds, partial(done.append, "next")])
    assert done == ["adds", "next", "added"]


async def test_at_the_end_what_takes_too_long_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_turns, "CLOSE_S", 0.0)
    done: list[int] = []
    turns = InTurns(A_MOMENT_S)
    turns.add(PLUGINS[0], [partial(done.append, number) for number in range(9)])
    assert await turns.finish() == {PLUGINS[0]: 8}
    await trio.testing.wait_all_tasks_blocked()
    assert done == [0]


def _lines(text: str) -> dict[str, Any]:
    return {"message": "m", "fields": {"f": "\n".join(f"{text} {at}" for at in range(49))}}


async def test_a_message_of_many_lines_is_logged_in_order_over_many_passes(
    one_in_a_pass: Passes,
) -> None:
    logged: list[str] = []
    in_pass: Counter[int] = Counter()

    def log(_plugin: str, _level: str, line: str) -> None:
        logged.append(line)
        in_pass[one_in_a_pass.number] += 1

    fake = FakePlugin("fake")
    with trio.fail_after(120), one_in_a_pass:
        async with PluginHost([fake], on_log=log) as host:
            host.hide(["a secret"])
            for text in ("a secret", "two"):
                await fake.tell("host/log", level="info", **_lines(text))
            await until(lambda: len(logged) == 100)
    expected = ["m"] + [f"  [redacted] {at}" for at in range(49)]
    assert logged == [*expected, "m", *(f"  two {at}" for at in range(49))]
    assert max(in_pass.values()) == 1


@pytest.mark.parametrize(("time_s", "written"), [(A_MOMENT_S, 50), (0.0, 0)])
async def test_a_host_that_closes_writes_what_waits_or_says_how_much_is_left_out(
    time_s: float, written: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(InTurns.__init__, "__defaults__", (time_s,))
    monkeypatch.setattr(in_turns, "CLOSE_S", 60.0 if written else 0.0)
    logged: list[tuple[str, str]] = []
    fake = FakePlugin("fake", uses=["notify"])
    with trio.fail_after(120):
        async with PluginHost(
            [fake],
            on_log=lambda _, level, line: logged.append((level, line)),
            on_notify=lambda _plugin, _level, _message: None,
        ) as host:
            await fake.tell("host/log", level="info", **_lines("one"))
            await fake.ask("host/notify", level="info", message="what came before is read")
            host.kill()
    assert len([line for level, line in logged if level == "info"]) == written
    assert [line for level, line in logged if level == "host" and "closes" in line] == (
        [] if written else ["50 of its lines of log were left out, as the host closes"]
    )


async def test_while_a_hundred_lines_wait_the_others_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def a_hundred(_reports: Reports, _plugin: Plugin) -> int:
        return 100

    monkeypatch.setattr(Reports, "lines_waiting", a_hundred)
    logged: list[str] = []
    fake = FakePlugin("fake")
    with trio.fail_after(120):
        async with PluginHost([fake], on_log=lambda _plugin, _level, line: logged.append(line)):
            for _ in range(3):
                await fake.tell("host/log", level="info", message="x")
            await trio.testing.wait_all_tasks_blocked()
            monkeypatch.undo()
            await fake.tell("host/log", level="info", message="y")
            await until(lambda: len(logged) == 2)
    assert logged == [
        "3 of its lines of log and progress were left out: more than 100 in 1 s",
        "y",
    ]
