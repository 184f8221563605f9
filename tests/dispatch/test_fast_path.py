"""The fast path: one plugin is asked and its answer is read in the task that waits for it.

Whatever disturbs that comes out as ever.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from math import inf
from typing import Any

import msgspec
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from sliphook import Outcome, PluginHost, Session, Turn
from sliphook.dispatch.encoding import encode_params
from sliphook.dispatch.fast_path import AskedPlugin, SingleFire, asked_single
from sliphook.dispatch.fire import Fire
from sliphook.testing import CRASHES, HANGS, After, FakePlugin
from sliphook_sdk.protocol import CATALOGUE
from sliphook_sdk.protocol.describe import example_of

from .one_plugin import ask, asking, how_callers_wait, reply, statuses

__all__ = ["how_callers_wait"]

LINE = b'{"jsonrpc":"2.0","method":"host/log","params":{"level":"info","message":"hello"}}\n'


async def test_a_cancellation_from_outside_withdraws_the_call_and_the_next_one_is_answered(
    autojump_clock: MockClock,
) -> None:
    plugin = FakePlugin(
        "guard",
        hooks={
            "pre_tool_call": lambda call: After(
                5 if call.arguments["note"] else 0, {"decision": "allow"}
            )
        },
    )
    async with asking(plugin) as turn:
        with trio.move_on_after(1) as scope:
            await ask(turn, "slow")
        assert (scope.cancelled_caught, trio.current_time()) == (True, 1.0)
        assert (await ask(turn)).decision == "allow"
        assert trio.current_time() == 1.0
    assert [message.method for message in plugin.received[1:4]] == [
        "hook/pre_tool_call",
        "$/cancelRequest",
        "hook/pre_tool_call",
    ]


async def test_death_in_mid_call(autojump_clock: MockClock) -> None:
    plugin = FakePlugin("guard", hooks={"pre_tool_call": CRASHES})
    async with asking(plugin) as turn:
        outcome = await ask(turn)
        assert statuses(outcome) == ["crashed"]
        assert outcome.decision == "deny"
        assert trio.current_time() == 0.0


async def test_an_answer_right_before_the_death_counts(autojump_clock: MockClock) -> None:
    plugin = FakePlugin("guard", hooks={"pre_tool_call": HANGS})

    async def answer_and_die() -> None:
        await plugin.hears("pre_tool_call")
        await plugin.write(
            reply(plugin.received[-1].id, '{"decision":"allow"}')[:-1]
        )  # the last line counts without its end
        plugin.crash()

    async with asking(plugin) as turn, trio.open_nursery() as nursery:
        nursery.start_soon(answer_and_die)
        assert (await ask(turn)).decision == "allow"


async def test_who_asks_over_a_connection_that_has_just_broken_is_told_at_once(
    autojump_clock: MockClock,
) -> None:
    """The stream is broken, and the process is not yet reaped: the plugin still counts as ready."""
    plugin = FakePlugin("guard", hears=["pre_tool_call"])
    async with asking(plugin) as turn:
        await plugin.write(b"Content-Length: x\r\n\r\n")
        host = turn.hooks.host
        entry = CATALOGUE["pre_tool_call"]
        lone = asked_single(
            entry,
            msgspec.convert(example_of(entry.payload), entry.payload),
            host.subscribers("pre_tool_call"),
            host.plugins_by_name,
        )
        assert isinstance(lone, AskedPlugin)
        connection = lone.connection
        while not connection.closed:
            await trio.lowlevel.checkpoint()
        outcome = await ask(turn)
        assert (statuses(outcome), trio.current_time()) == (["crashed"], 0.0)


async def test_a_request_that_fits_no_pipe_is_written_in_parts(autojump_clock: MockClock) -> None:
    notes: list[int] = []
    plugin = FakePlugin(
        "guard", hooks={"pre_tool_call": lambda call: notes.append(len(call.arguments["note"]))}
    )
    async with asking(plugin) as turn:
        assert statuses(await ask(turn, "x" * 1_000_000), await ask(turn)) == [
            "answered",
            "answered",
        ]
    assert notes == [1_000_000, 0]


async def test_the_timeout_does_not_count_what_the_host_needs_for_the_bytes(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plugin is not at fault for the time in which it had no request."""

    def encode_slowly(*args: Any) -> Any:
        autojump_clock.jump(4)
        return encode_params(*args)

    monkeypatch.setattr("sliphook.dispatch.fast_path.encode_params", encode_slowly)
    plugin = FakePlugin("guard", hooks={"pre_tool_call": HANGS})
    async with asking(plugin) as turn:
        outcome = await ask(turn)
        assert statuses(outcome) == ["timed_out"]
        assert outcome.parts[0].elapsed_ms == 5000.0
        assert trio.current_time() == 9.0


async def test_a_timeout_ends_the_reading(autojump_clock: MockClock) -> None:
    plugin = FakePlugin("guard", hooks={"pre_tool_call": HANGS})
    async with asking(plugin) as turn:
        assert (statuses(await ask(turn)), trio.current_time()) == (["timed_out"], 5.0)


@pytest.mark.parametrize("pieces", [1, 2, 3])
async def test_an_answer_may_come_in_pieces_and_in_a_frame(
    autojump_clock: MockClock, pieces: int
) -> None:
    plugin = FakePlugin("guard", hooks={"pre_tool_call": HANGS})

    async def answer() -> None:
        await plugin.hears("pre_tool_call")
        body = b'{"jsonrpc":"2.0","id":%d,"result":{"decision":"allow"}}' % (
            plugin.received[-1].id or 0
        )
        frame = b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
        step = -(-len(frame) // pieces)
        for start in range(0, len(frame), step):
            await plugin.write(frame[start : start + step])
            await trio.sleep(1)

    async with asking(plugin) as turn, trio.open_nursery() as nursery:
        nursery.start_soon(answer)
        assert (await ask(turn)).decision == "allow"
        assert trio.current_time() == pieces - 1


@pytest.mark.parametrize(("before", "behind"), [(0, 150), (150, 0), (150, 150), (350, 0)])
async def test_a_backlog_around_the_answer_holds_nothing_up(
    autojump_clock: MockClock, before: int, behind: int
) -> None:
    """All of it comes in one read, and more of it than is handled in one pass."""
    lines: list[str] = []
    plugin = FakePlugin("guard", hooks={"pre_tool_call": HANGS})

    async def answer() -> None:
        await plugin.hears("pre_tool_call")
        await plugin.write(LINE * before + reply(plugin.received[-1].id) + LINE * behind)

    async with (
        asking(plugin, on_log=lambda _, __, message: lines.append(message)) as turn,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(answer)
        assert (statuses(await ask(turn)), trio.current_time()) == (["answered"], 0.0)
        await trio.sleep(0.02)
        assert len(lines) == min(100, before + behind)  # of log lines, no more are kept in a second


async def test_what_is_said_unasked_behind_an_answer_is_read_after_a_lull(
    autojump_clock: MockClock,
) -> None:
    """The task takes the pipe back from the caller; nothing may stay unread in it."""
    lines: list[tuple[float, str]] = []
    plugin = FakePlugin("guard", hears=["pre_tool_call"])
    async with asking(
        plugin, on_log=lambda _, __, message: lines.append((trio.current_time(), message))
    ) as turn:
        await ask(turn)
        await plugin.tell("host/log", level="info", message="by the way")
        await trio.sleep(1)
        await plugin.tell("host/log", level="info", message="later")
        await trio.sleep(1)
    assert [message for _, message in lines] == ["by the way", "later"]
    assert lines[0][0] <= 0.01
    assert lines[1][0] == 1.0


async def test_a_hook_is_answered_while_a_tool_of_the_plugin_runs(
    autojump_clock: MockClock,
) -> None:
    plugin = FakePlugin("guard", hears=["pre_tool_call"], tools={"deploy": After(3, "deployed")})
    results: list[str] = []
    async with asking(plugin) as turn, trio.open_nursery() as nursery:

        async def deploy() -> None:
            results.append((await turn.call_tool("deploy", {})).text())

        nursery.start_soon(deploy)
        await plugin.hears("tool/call")
        assert (statuses(await ask(turn)), trio.current_time()) == (["answered"], 0.0)
    assert (results, trio.current_time()) == (["deployed"], 3.0)


@pytest.mark.parametrize("step", [1, -1])
async def test_many_tasks_ask_one_plugin_whose_answers_come_in_any_order(
    autojump_clock: MockClock, step: int
) -> None:
    plugin = FakePlugin("guard", hooks={"pre_tool_call": HANGS})
    came: list[str] = []

    async def one(turn: Turn, index: int) -> None:
        (text,) = (await ask(turn, str(index))).context
        came.append(f"{index}:{text.text}")

    async with asking(plugin) as turn, trio.open_nursery() as nursery:
        for index in range(64):
            nursery.start_soon(one, turn, index)
        await plugin.hears("pre_tool_call", times=64)
        fired = [message for message in plugin.received if message.name == "pre_tool_call"]
        answers = [
            reply(call.id, json.dumps({"context": [call.params["arguments"]["note"]]}))
            for call in fired
        ]
        await plugin.write(b"".join(answers[::step]))
    assert sorted(came) == sorted(f"{index}:{index}" for index in range(64))
    assert trio.current_time() == 0.0


async def test_who_alone_got_an_answer_writes_at_once_and_who_got_theirs_together_write_together(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a pass of the reader ends after some real time: on a busy machine between two answers
    monkeypatch.setattr("sliphook.transport.pace.READING_S", inf)
    plugin = FakePlugin("guard", hooks={"pre_tool_call": HANGS})
    writes: list[tuple[int, str]] = []

    def watched(descriptor: int) -> tuple[Callable[..., int], tuple[()]]:
        def write(data: bytes | memoryview) -> int:
            writes.append(
                (bytes(data).count(b'"hook/pre_tool_call"'), trio.lowlevel.current_task().name)
            )
            return os.write(descriptor, data)

        return write, ()

    monkeypatch.setattr("sliphook.transport.descriptors.sender", watched)

    async def ask_twice(turn: Turn) -> None:
        await ask(turn)
        await ask(turn)

    async def answer(first: int, count: int) -> None:
        """In one read."""
        asked = [message.id for message in plugin.received if message.name == "pre_tool_call"]
        await plugin.write(b"".join(map(reply, asked[first : first + count])))

    async with asking(plugin) as turn, trio.open_nursery() as nursery:
        writes.clear()
        for _ in range(6):
            nursery.start_soon(ask_twice, turn, name="asks")
        await plugin.hears("pre_tool_call", times=6)
        assert sum(count for count, _ in writes) == 6
        assert len(writes) <= 3  # the first of them does not know that others follow
        writes.clear()
        await answer(0, 1)
        await plugin.hears("pre_tool_call", times=7)
        assert writes == [(1, "asks")]
        await answer(1, 4)
        await plugin.hears("pre_tool_call", times=11)
        assert [count for count, _ in writes] == [1, 4]
        await answer(5, 6)
        await plugin.hears("pre_tool_call", times=12)
        await answer(11, 1)


async def test_one_of_two_who_wait_is_cancelled_and_the_other_is_answered(
    autojump_clock: MockClock,
) -> None:
    """The one who reads for both goes away."""
    plugin = FakePlugin("guard", hooks={"pre_tool_call": lambda call: After(3, None)})
    came: list[str] = []

    async with asking(plugin) as turn, trio.open_nursery() as nursery:

        async def other() -> None:
            came.extend(statuses(await ask(turn)))

        with trio.move_on_after(1):
            nursery.start_soon(other)
            await ask(turn)
    assert (came, trio.current_time()) == (["answered"], 3.0)


async def test_an_interrupt_while_the_caller_reads(autojump_clock: MockClock) -> None:
    plugin = FakePlugin(
        "guard", hooks={"pre_tool_call": lambda call: After(9, None)}, hears=["turn_end"]
    )
    with trio.fail_after(120):
        async with (
            PluginHost([plugin]) as host,
            host.session() as session,
            trio.open_nursery() as nursery,
        ):
            outside: list[Outcome] = []
            async with session.turn("one") as first:
                nursery.start_soon(interrupt_soon, session)

                async def ask_outside() -> None:
                    outside.append(await ask(first))

                nursery.start_soon(ask_outside)
                await ask(first)
            assert (first.interrupted, trio.current_time()) == (True, 1.0)
            await wait_all_tasks_blocked()
            assert [(one.decision, one.cancelled) for one in outside] == [("deny", True)]
            async with session.turn("two") as second:
                with trio.move_on_after(1):
                    await ask(second)
    assert plugin.names() == [
        "pre_tool_call",
        "pre_tool_call",
        "turn_end",
        "pre_tool_call",
        "turn_end",
    ]


async def interrupt_soon(session: Session) -> None:
    await trio.sleep(1)
    session.interrupt()


OTHERS = [{"event": "pre_tool_call", "match": {"tool_name": "write"}, "replaces": True}]
"""Not for the call that is asked about."""


@pytest.mark.parametrize(
    ("plugins", "hook", "kind"),
    [
        ([FakePlugin("one", hears=["pre_tool_call"])], "pre_tool_call", SingleFire),
        (
            [FakePlugin("one", hears=["pre_tool_call"]), FakePlugin("other", hears=["stop"])],
            "pre_tool_call",
            SingleFire,
        ),
        (
            [
                FakePlugin("one", hears=["pre_tool_call"]),
                FakePlugin("two", hears=["pre_tool_call"]),
            ],
            "pre_tool_call",
            Fire,
        ),
        (
            [FakePlugin("one", subscriptions=[{"event": "pre_tool_call", "replaces": True}])],
            "pre_tool_call",
            Fire,
        ),
        (
            [FakePlugin("one", subscriptions=[{"event": "pre_tool_call", "mode": "event"}])],
            "pre_tool_call",
            Fire,
        ),
        (
            [
                FakePlugin(
                    "one", subscriptions=[{"event": "pre_tool_call"}, {"event": "pre_tool_call"}]
                )
            ],
            "pre_tool_call",
            SingleFire,
        ),
        ([FakePlugin("one", hears=["stop"])], "pre_tool_call", SingleFire),
        (
            [FakePlugin("one", hears=["pre_tool_call"]), FakePlugin("two", subscriptions=OTHERS)],
            "pre_tool_call",
            SingleFire,
        ),
        (
            [FakePlugin("one", subscriptions=[*OTHERS, {"event": "pre_tool_call"}])],
            "pre_tool_call",
            SingleFire,
        ),
    ],
)
async def test_who_takes_it(
    plugins: list[FakePlugin],
    hook: str,
    kind: type[SingleFire | Fire],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    began: list[type[SingleFire | Fire]] = []

    def note(one: type[SingleFire | Fire]) -> None:
        begin = one.begin

        def noted(fire: Any) -> None:
            began.append(one)
            begin(fire)

        monkeypatch.setattr(one, "begin", noted)

    note(SingleFire)
    note(Fire)
    with trio.fail_after(120):
        async with (
            PluginHost(plugins) as host,
            host.session() as session,
            session.turn("x") as turn,
        ):
            began.clear()
            await ask(turn)
    assert began[:1] == [kind]
