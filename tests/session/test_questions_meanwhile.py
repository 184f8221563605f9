"""What else may happen while a plugin asks the person: messages, floods, guards, late answers."""

# An interrupt leaves a turn's block early; these tests know where it does.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.lowlevel
from trio.testing import MockClock

from sliphook import PluginHost, Submission
from sliphook.testing import FakePlugin, HostRefused

from .shell import shell

WAIT_S = 3_600.0
"""On the clock that jumps."""
USES = ["ask", "approve", "submit"]


class Plugin(FakePlugin):
    """It may do everything, and hears of questions."""

    def __init__(self, name: str, **more: Any) -> None:
        hears = ["user_input_required", "user_input_received", *more.pop("hears", ())]
        super().__init__(name, hears=hears, uses=USES, **more)

    async def asks(self, session_id: str, **more: Any) -> str:
        """The outcome, or the code of the refusal."""
        try:
            result = await self.ask("host/ask", session_id=session_id, prompt="Where?", **more)
        except HostRefused as refused:
            return str(refused.code)
        return str(result["outcome"])

    async def answers_last(self, choice: str = "a") -> bool:
        question = self.payloads("user_input_required")[-1]
        params = {"session_id": question.session_id, "question_id": question.question_id}
        return bool((await self.ask("host/answer", **params, choice=choice))["taken"])


class Person:
    """Answers after so many seconds; notes what becomes of each question."""

    def __init__(self, after_s: float) -> None:
        self.notes: list[str] = []
        self._after_s = after_s

    async def __call__(self, _: object) -> str:
        self.notes.append("asked")
        try:
            await trio.sleep(self._after_s)
        except trio.Cancelled:
            self.notes.append("withdrawn")
            raise
        return "a"


@pytest.mark.parametrize(
    ("plugin_messages", "status", "outcome"),
    [
        ("queue", "queued", "answered"),
        ("interrupt", "interrupting", "interrupted"),
        ("refuse", "-32004", "answered"),
    ],
)
async def test_a_message_in_mid_question(
    autojump_clock: MockClock, plugin_messages: Any, status: str, outcome: str
) -> None:
    """The plugin's own or another's: it is no answer to the question."""
    plugin, other, person = Plugin("phone"), Plugin("other"), Person(after_s=100)
    taken, statuses, outcomes = list[Submission](), list[str](), list[str]()

    async def asks() -> None:
        outcomes.append(await plugin.asks(session.session_id, timeout_s=200))

    async def submits() -> None:
        await plugin.hears("user_input_required")
        for one in (plugin, other):
            try:
                result = await one.ask("host/submit", session_key="main", text="a")
                statuses.append(result["status"])
            except HostRefused as refused:
                statuses.append(str(refused.code))

    with trio.fail_after(WAIT_S):
        async with (
            PluginHost(
                [plugin, other],
                asker=person,
                on_submit=taken.append,
                plugin_messages=plugin_messages,
            ) as host,
            host.session() as session,
            trio.open_nursery() as nursery,
            session.turn("x"),
        ):
            nursery.start_soon(asks)
            nursery.start_soon(submits)
            await plugin.hears("user_input_received")
    assert outcomes == [outcome]
    assert statuses[0] == status
    assert person.notes == (["asked"] if outcome == "answered" else ["asked", "withdrawn"])


async def test_an_answer_after_the_interrupt_counts_for_nothing(autojump_clock: MockClock) -> None:
    """Neither in the turn that was interrupted nor in the next one."""
    plugin, other, person = Plugin("phone"), Plugin("other"), Person(after_s=1_000)
    outcomes: list[str] = []

    async def asks() -> None:
        outcomes.append(await plugin.asks(session.session_id))

    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([plugin, other], asker=person) as host,
            host.session() as session,
            trio.open_nursery() as nursery,
        ):
            async with session.turn("x"):
                nursery.start_soon(asks)
                await other.hears("user_input_required")
                session.interrupt()
                assert not await other.answers_last()
            assert not await other.answers_last()
            async with session.turn("y"):
                nursery.start_soon(asks)
                old = other.payloads("user_input_required")[0].question_id
                await other.hears("user_input_required", times=2)
                params = {"session_id": session.session_id, "question_id": old, "choice": "a"}
                assert await other.ask("host/answer", **params) == {"taken": False}
                assert await other.answers_last()
                await plugin.hears("user_input_received")
    assert outcomes == ["interrupted", "answered"]
    assert person.notes == ["asked", "withdrawn"] * 2


@pytest.mark.parametrize(
    ("after_s", "text"),
    [
        (5.0, "ran ls"),
        (1_000.0, "the call of shell was denied: gate: no answer within 20 s"),
    ],
    ids=["the person answers", "the person does not"],
)
async def test_a_closed_guard_that_asks(
    autojump_clock: MockClock, after_s: float, text: str
) -> None:
    """Its time is the hook's: when that is over, the call is denied and the question withdrawn."""

    async def judge(payload: Any) -> Any:
        outcome = await gate.asks(payload.session_id, call_id=payload.call_id, timeout_s=600)
        return {"decision": "allow" if outcome == "answered" else "deny", "reason": outcome}

    closed = {"event": "pre_tool_call", "on_failure": "closed", "timeout_s": 20}
    gate = Plugin("gate", hooks={"pre_tool_call": judge}, subscriptions=[closed])
    person = Person(after_s)
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([gate], asker=person) as host,
            host.session() as session,
            session.turn("x") as turn,
        ):
            found = (await turn.call_tool("shell", {"command": "ls"}, run=shell)).text()
            assert found.startswith(text)
            await trio.sleep(1)
            assert turn.questions == set()
    assert person.notes == (["asked"] if after_s == 5.0 else ["asked", "withdrawn"])


async def test_an_interrupt_ends_a_closed_guard_that_asks(autojump_clock: MockClock) -> None:
    async def judge(payload: Any) -> Any:
        await gate.asks(payload.session_id, call_id=payload.call_id, timeout_s=600)

    closed = {"event": "pre_tool_call", "on_failure": "closed", "timeout_s": 300}
    gate = Plugin("gate", hooks={"pre_tool_call": judge}, subscriptions=[closed])
    person, ran = Person(after_s=1_000), list[object]()

    async def interrupts() -> None:
        await gate.hears("user_input_required")
        session.interrupt()

    async def run(arguments: object) -> str:
        ran.append(arguments)
        return "ran"

    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([gate], asker=person) as host,
            host.session() as session,
            trio.open_nursery() as nursery,
        ):
            began = trio.current_time()
            async with session.turn("x") as turn:
                nursery.start_soon(interrupts)
                await turn.call_tool("shell", {}, run=run)
            assert turn.interrupted
            assert trio.current_time() - began < 1
    assert (ran, person.notes) == ([], ["asked", "withdrawn"])


async def test_floods_of_two_plugins_do_not_hold_each_other(autojump_clock: MockClock) -> None:
    """Each has its own count; what is over it is refused at once, and a third one is served."""
    loud, louder, quiet = Plugin("loud"), Plugin("louder"), FakePlugin("quiet", uses=USES)
    taken: list[Submission] = []
    found: dict[str, list[str]] = {"loud": [], "louder": []}

    async def floods(plugin: Plugin, session_id: str) -> None:
        async def one(method: str, params: dict[str, Any]) -> None:
            try:
                result = await plugin.ask(method, **params)
                found[plugin.manifest["name"]].append(f"{method} {min(result)}")
            except HostRefused as refused:
                found[plugin.manifest["name"]].append(f"{method} {refused.code}")

        async with trio.open_nursery() as nursery:
            for _ in range(15):
                here = {"session_id": session_id}
                nursery.start_soon(one, "host/ask", {**here, "prompt": "Where?"})
                nursery.start_soon(one, "host/submit", {"session_key": "main", "text": "x"})
                nursery.start_soon(one, "host/answer", {**here, "question_id": "q", "choice": "a"})

    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([loud, louder, quiet], asker=Person(0.0), on_submit=taken.append) as host,
            host.session() as session,
            session.turn("x"),
            trio.open_nursery() as nursery,
        ):
            for plugin in (loud, louder):
                nursery.start_soon(floods, plugin, session.session_id)
            await trio.lowlevel.checkpoint()
            result = await quiet.ask("host/submit", session_key="main", text="hello")
            assert result["status"] == "queued"
            here = {"session_id": session.session_id}
            result = await quiet.ask("host/ask", **here, prompt="Where?", timeout_s=30)
            assert result["outcome"] == "answered"
    assert len(taken) == 9
    for counted in found.values():
        assert len(counted) == 45
        assert counted.count("host/submit message_id") == 4
        assert counted.count("host/submit -32004") == 11
        assert counted.count("host/answer taken") == 15
        assert counted.count("host/ask answer") + counted.count("host/ask -32004") == 15
        assert counted.count("host/ask answer") >= 1


async def test_an_interrupt_settles_many_approvals_and_wakes_those_that_wait_for_them_later(
    autojump_clock: MockClock,
) -> None:
    """To wake them takes longer than an interrupt may."""
    guard = FakePlugin("guard", hooks={"pre_tool_call": {"decision": "ask"}})
    phone = Plugin("phone")
    async with (
        PluginHost([guard, phone]) as host,
        host.session() as session,
        session.turn("x") as turn,
        trio.open_nursery() as nursery,
    ):
        for _ in range(20):
            nursery.start_soon(lambda: turn.call_tool("shell", {"command": "ls"}, run=shell))
        await phone.hears("user_input_required", times=20)
        approvals = list(turn.questions)
        assert session.interrupt()
        settled = [one.settled.outcome for one in approvals if one.settled is not None]
        woken = [one for one in approvals if one.scope.cancel_called]
        await trio.sleep_forever()
    assert settled == ["interrupted"] * 20
    assert woken == []
    assert turn.questions == set()
