"""A whole turn, interrupted at every point: all that began ends once, the next turn is clean."""

from __future__ import annotations

import contextvars
import signal
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from types import FrameType
from typing import Any

import pytest
import trio
import trio.testing

from sliphook import PluginHost, Session, Turn
from sliphook_sdk.protocol import Message, Usage
from tests.pairs import check_pairs
from tests.programs import EVERYTHING, WAIT_S, Program, Workshop, until

WHOLE_S = 120.0
in_the_turn = contextvars.ContextVar("in_the_turn", default=False)


def ends_with(program: Program, session_id: str, name: str) -> bool:
    return program.names(session_id)[-1:] == [name]


@pytest.fixture
def programs(shop: Workshop) -> list[Program]:
    """One that is asked in sequence, one with the tool and everything, one that is only told."""
    replaces = ("user_prompt_submit", "pre_llm_call", "pre_tool_call", "post_tool_call")
    subscriptions = [
        {"event": event, "subagents": True, "replaces": event in replaces} for event in EVERYTHING
    ]
    return [
        shop.program("first", subscriptions=subscriptions),
        shop.program(
            "second",
            subscriptions=[{"event": event, "subagents": True} for event in EVERYTHING],
            tools=["look"],
        ),
        shop.program(
            "third",
            subscriptions=[
                {"event": event, "subagents": True, "mode": "event"} for event in EVERYTHING
            ],
        ),
    ]


async def own_tool(_: dict[str, Any]) -> str:
    await trio.lowlevel.checkpoint()
    return "done"


async def whole_turn(turn: Turn, *, at_once: bool = True) -> None:
    """One of everything, two tools (at once) among it, and a child agent that calls a tool."""
    await turn.submit()
    await turn.pre_llm_call(provider=None, model="m", messages=[], tools=[])
    await trio.lowlevel.checkpoint()
    answer = Message(role="assistant", content="done")
    turn.post_llm_call(
        provider=None,
        model="m",
        response=answer,
        finish_reason="stop",
        usage=Usage(),
        duration_ms=1.0,
    )
    if at_once:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: turn.call_tool("look", {}))
            nursery.start_soon(lambda: turn.call_tool("mine", {}, run=own_tool))
    else:
        await turn.call_tool("look", {})
        await turn.call_tool("mine", {}, run=own_tool)
    async with turn.subagent("dig") as child:
        await child.call_tool("look", {})
    await turn.stop()


class InterruptAt(trio.abc.Instrument):
    """Interrupts after so many steps of the turn's tasks.

    The task itself interrupts as it wakes, or another task does while it sleeps.
    """

    def __init__(self, session: Session, step: int, *, before: bool) -> None:
        self.struck = False
        self._session = session
        self._left = step
        self._before = before
        self._other: trio.lowlevel.Task | None = None

    async def interrupt_from_another_task(self) -> None:
        """What runs as soon as the task sleeps."""
        self._other = trio.lowlevel.current_task()
        await trio.lowlevel.wait_task_rescheduled(lambda _: trio.lowlevel.Abort.SUCCEEDED)
        self.struck = self._session.interrupt()

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        if self._before:
            self._count(task)

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        if not self._before:
            self._count(task)

    def _count(self, task: trio.lowlevel.Task) -> None:
        if not task.context.get(in_the_turn, False) or self._session.open_turn is None:
            return
        if self._left == 0 and self._before:
            self.struck = self._session.interrupt()
        elif self._left == 0:
            assert self._other is not None
            trio.lowlevel.reschedule(self._other)
        self._left -= 1


async def interrupted_at(host: PluginHost, step: int, *, before: bool) -> tuple[str, bool]:
    """One session: a whole turn that is interrupted at that step, then a clean one.

    Returns its id, and whether the step came.
    """
    async with host.session() as session:
        await session.ready()
        instrument = InterruptAt(session, step, before=before)

        async def run() -> None:
            in_the_turn.set(True)
            async with session.turn("one") as turn:
                await whole_turn(turn)
            assert turn.outcome == ("interrupted" if instrument.struck else "completed")
            assert turn.fires == set()
            assert turn.open_tools == {}
            assert turn.children == []

        async with trio.open_nursery() as nursery:
            nursery.start_soon(instrument.interrupt_from_another_task)
            await trio.testing.wait_all_tasks_blocked()
            trio.lowlevel.add_instrument(instrument)
            try:
                async with trio.open_nursery() as turn_nursery:
                    turn_nursery.start_soon(run)
            finally:
                trio.lowlevel.remove_instrument(instrument)
            nursery.cancel_scope.cancel()
        async with session.turn("two") as turn:
            assert not (await turn.submit()).denied
            assert (await turn.call_tool("look", {})).status == "ok"
        assert turn.outcome == "completed"
    return session.session_id, instrument.struck


@pytest.mark.parametrize("before", [True, False], ids=["before a step", "behind a step"])
async def test_at_every_checkpoint(programs: list[Program], before: bool) -> None:
    sessions: list[str] = []
    with trio.fail_after(WHOLE_S):
        async with PluginHost([program.path for program in programs]) as host:
            struck, step = True, 0
            while struck:
                session_id, struck = await interrupted_at(host, step, before=before)
                sessions.append(session_id)
                step += 1
            for program in programs:
                await until(partial(ends_with, program, sessions[-1], "session_end"))
    assert len(sessions) > 20, "a turn of so many parts has more checkpoints than that"
    for program in programs:
        by_session: dict[str, list[dict[str, Any]]] = {session_id: [] for session_id in sessions}
        for message in program.fired():
            by_session[message["params"]["session_id"]].append(message)
        for session_id in sessions:
            fired = by_session[session_id]
            check_pairs(fired, gapless=session_id == sessions[-1], unread=True)
            ends = [
                message["params"]
                for message in fired
                if message["method"] == "event/turn_end" and message["params"]["agent_depth"] == 0
            ]
            assert [end["outcome"] for end in ends] == [
                "completed" if session_id == sessions[-1] else "interrupted",
                "completed",
            ]


PRESSES = 24
"""How many of the thousand function calls of a turn are tried.

Each change of the code shifts which.
"""


def test_ctrl_c_in_the_middle_of_the_bookkeeping(programs: list[Program]) -> None:
    """KeyboardInterrupt strikes between any two instructions.

    Here it does as functions are entered.
    """
    total = _press_at(programs, None)
    assert total > 500
    for number in range(PRESSES):
        # less than all: each run has some calls more or less, as the bytes arrive
        _press_at(programs, number * total * 8 // 10 // PRESSES)


def _press_at(programs: list[Program], press: int | None) -> int:
    """One session with a turn, Ctrl+C at the given call of a function.

    Returns how many calls there were.
    """
    calls = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        fresh = (
            event == "call" and frame.f_lineno == frame.f_code.co_firstlineno
        )  # and no coroutine that goes on
        if fresh and frame.f_globals.get("__name__", "").startswith("sliphook."):
            calls += 1
            if calls - 1 == press:
                sys.setprofile(None)
                signal.raise_signal(signal.SIGINT)

    async def main() -> None:
        with trio.fail_after(WAIT_S):
            async with (
                PluginHost([program.path for program in programs]) as host,
                host.session() as session,
            ):
                await session.ready()
                try:
                    async with session.turn("one") as turn:
                        sys.setprofile(count)
                        # not at once: tasks are cancelled in any order, and with them the hooks
                        # that they wait for
                        await whole_turn(turn, at_once=False)
                finally:
                    sys.setprofile(None)

    before = [len(program.messages()) for program in programs]
    if press is None:
        trio.run(main)
    else:
        with pytest.raises(KeyboardInterrupt):
            trio.run(main)
    for program, count_before in zip(programs, before, strict=True):
        fired = [
            message
            for message in program.messages()[count_before:]
            if message["method"].startswith(("hook/", "event/"))
        ]
        check_pairs(fired, gapless=press is None, unread=True)
        assert fired[-1]["method"] == "event/session_end"
    return calls


async def _fire(host: PluginHost, session: Session) -> None:
    payload = session.stamp("user_prompt_submit", None, {"source": "user", "text": "hello"})
    await host.fire("user_prompt_submit", payload)


async def _ready(host: PluginHost, session: Session) -> None:
    await session.ready()


async def _run_command(host: PluginHost, session: Session) -> None:
    await session.run_command("greet")


async def _restart(host: PluginHost, session: Session) -> None:
    await host.restart("probe")


@pytest.mark.parametrize(
    ("enter", "pressed_in"),
    [
        (_ready, "Connection.message"),
        (_fire, "Connection.call"),
        (_run_command, "Connection.call"),
        (_restart, "Plugin._aim_at"),
    ],
)
def test_ctrl_c_lands_behind_the_bookkeeping(
    shop: Workshop, enter: Callable[[PluginHost, Session], Awaitable[None]], pressed_in: str
) -> None:
    """KeyboardInterrupt is raised where the agent waits, never in the middle of a message."""
    go = shop.flag("go")
    probe = shop.program(
        hears=["session_start", "user_prompt_submit"],
        commands=[{"name": "greet"}],
        on="""
        if method == "hook/session_start":
            wait_for_flag("go")
        if method == "command/run":
            return {"text": "hi"}
        """,
    )

    def press(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_qualname == pressed_in:
            sys.setprofile(None)
            signal.raise_signal(signal.SIGINT)

    async def main() -> None:
        with trio.fail_after(WAIT_S):
            async with PluginHost([probe.path]) as host, host.session() as session:
                await probe.hears("hook/session_start")
                sys.setprofile(press)
                try:
                    go.touch()
                    await enter(host, session)
                finally:
                    sys.setprofile(None)

    with pytest.raises(KeyboardInterrupt) as caught:
        trio.run(main)
    assert pressed_in not in [entry.frame.code.raw.co_qualname for entry in caught.traceback]
