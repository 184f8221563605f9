"""A tool of the agent's that a person has to approve each time, whatever the plugins say."""

from __future__ import annotations

from typing import Any

import pytest
from trio.testing import MockClock

from sliphook import ApprovalRequest, PluginHost
from sliphook.session import asking
from sliphook.testing import FakePlugin

from .shell import shell

NO: Any = "no"


class Person:
    def __init__(self, says: bool) -> None:
        self.asked: list[str] = []
        self._says = says

    async def approve(self, request: ApprovalRequest) -> bool:
        self.asked.append(request.prompt)
        return self._says


async def called(person: Person | None, answer: dict[str, Any]) -> tuple[str, str]:
    guard = FakePlugin("guard", hooks={"pre_tool_call": answer})
    approver = person.approve if person is not None else None
    async with (
        PluginHost([guard], approver=approver) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        outcome = await turn.call_tool("shell", {"command": "ls"}, run=shell, ask=True)
        return outcome.status, outcome.text()
    raise AssertionError("there is no interrupt here")


@pytest.mark.parametrize("answer", [{}, {"decision": "allow"}])
async def test_the_person_decides(answer: dict[str, Any], autojump_clock: MockClock) -> None:
    yes, no = Person(True), Person(False)
    assert await called(yes, answer) == ("ok", "ran ls")
    assert await called(no, answer) == ("denied", "the call of shell was denied: user: declined")
    assert (yes.asked, no.asked) == (["Run shell?"], ["Run shell?"])


async def test_where_a_plugin_asks_too_there_is_one_question(autojump_clock: MockClock) -> None:
    person = Person(True)
    assert await called(person, {"decision": "ask", "reason": "hm"}) == ("ok", "ran ls")
    assert person.asked == ["Run shell? guard: hm"]


async def test_nobody_is_asked_about_what_does_not_run(autojump_clock: MockClock) -> None:
    person = Person(True)
    denied = await called(person, {"decision": "deny", "reason": "no"})
    assert denied == ("denied", "the call of shell was denied: guard: no")
    assert person.asked == []


async def test_without_a_person_it_is_denied(autojump_clock: MockClock) -> None:
    assert await called(None, {}) == (
        "denied",
        "the call of shell was denied: host: a person must approve this, and nobody can be asked",
    )


async def test_whether_to_ask_is_yes_or_no(autojump_clock: MockClock) -> None:
    async with PluginHost([]) as host, host.session() as session, session.turn("x") as turn:
        with pytest.raises(TypeError, match=r"^ask must be a bool, not str"):
            await turn.call_tool("shell", {"command": "ls"}, run=shell, ask=NO)


@pytest.mark.parametrize("step", ["_tell_required", "_may_answer", "_tell_received", "ask_person"])
async def test_a_fault_of_the_host_around_the_question_lets_nothing_run(
    step: str, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(asking, step, fails)
    ran: list[str] = []

    async def own(_: dict[str, Any]) -> None:
        ran.append("own")

    guard = FakePlugin("guard", hooks={"pre_tool_call": {"decision": "ask"}})
    async with (
        PluginHost([guard], approver=Person(True).approve) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        with pytest.raises(RuntimeError, match="boom"):
            await turn.call_tool("own", {}, run=own)
    assert ran == []
