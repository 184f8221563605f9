"""Where a turn waits for a person: approvals, the limit of model calls, circles.

And without a person.
"""

from __future__ import annotations

import trio
from trio.testing import MockClock

from sliphook import ApprovalRequest, AskRequest
from sliphook.agent.conversation import Conversation
from sliphook.agent.models.script import ScriptedCall, ScriptedReply
from tests.agent.walks import DONE, Patient, Stage, ask_about_ships, calling, one_turn


class Slow:
    """A person who takes a second for each question, and notes when two come at the same time."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.at_once = 0
        self._now = 0

    async def approve(self, request: ApprovalRequest) -> bool:
        self._now += 1
        self.at_once = max(self.at_once, self._now)
        self.asked.append(request.arguments["what"])
        await trio.sleep(1.0)
        self._now -= 1
        return bool(request.arguments["what"] != "web")

    async def go_on(self, prompt: str) -> bool:
        raise AssertionError(prompt)

    async def ask(self, request: AskRequest) -> object:
        raise AssertionError(request)


class Broken(Patient):
    """A person who cannot be asked."""

    async def go_on(self, prompt: str) -> bool:
        raise OSError("the terminal is gone")


def shipping(*whats: str) -> ScriptedReply:
    return ScriptedReply(
        calls=[ScriptedCall(name="ship", arguments={"what": what}) for what in whats]
    )


async def test_two_approvals_at_the_same_time_are_asked_one_after_the_other(
    autojump_clock: MockClock,
) -> None:
    person = Slow()
    stage = Stage(
        shipping("api", "web", "docs"),
        DONE,
        hooks={"pre_tool_call": ask_about_ships},
        person=person,
    )
    assert await one_turn(stage) == "completed"
    assert (sorted(person.asked), person.at_once) == (["api", "docs", "web"], 1)
    questions = [one.name for one in stage.probe.fired() if one.name.startswith("user_input")]
    assert questions == ["user_input_required", "user_input_received"] * 3
    assert [message.content for message in stage.model.asked[1][-3:]] == [
        "shipped",
        "the call of ship was denied: probe: Friday; user: declined",
        "shipped",
    ]
    assert ("denied", "ship", "probe: Friday; user: declined") in stage.display.shown


async def test_an_interrupt_ends_the_question_and_those_that_wait(
    autojump_clock: MockClock,
) -> None:
    said = Conversation()
    stage = Stage(
        shipping("api", "web"),
        hooks={"pre_tool_call": ask_about_ships},
        person=Slow(),
        conversation=said,
    )
    assert await one_turn(stage, interrupt_after_s=0.5) == "interrupted"
    assert stage.probe.names().count("user_input_required") == 1
    assert [(one.status, one.started) for one in stage.probe.payloads("post_tool_call")] == [
        ("cancelled", False)
    ] * 2
    results = [message.content for message in said.messages if message.role == "tool"]
    assert results == ["not run: interrupted before it had begun"] * 2


async def test_a_child_waits_in_the_same_line(autojump_clock: MockClock) -> None:
    calls = [
        ScriptedCall(name="delegate", arguments={"goal": "ship"}),
        ScriptedCall(name="ship", arguments={"what": "api"}),
    ]
    person = Slow()
    stage = Stage(
        ScriptedReply(calls=calls),
        shipping("docs"),
        DONE,
        DONE,
        hooks={"pre_tool_call": ask_about_ships},
        person=person,
    )
    assert await one_turn(stage) == "completed"
    assert (sorted(person.asked), person.at_once) == (["api", "docs"], 1)


async def test_where_nobody_can_be_asked_the_user_and_the_model_are_told(
    autojump_clock: MockClock,
) -> None:
    stage = Stage(calling("ship"), DONE, hooks={"pre_tool_call": ask_about_ships})
    assert await one_turn(stage) == "completed"
    why = "probe: Friday; host: a person must approve this, and nobody can be asked"
    assert ("denied", "ship", why) in stage.display.shown
    assert stage.model.asked[1][-1].content == f"the call of ship was denied: {why}"


async def test_an_approver_with_a_fault_denies(autojump_clock: MockClock) -> None:
    stage = Stage(calling("ship"), DONE, hooks={"pre_tool_call": ask_about_ships}, person=Broken())
    assert await one_turn(stage) == "completed"
    assert (
        stage.model.asked[1][-1].content
        == "the call of ship was denied: probe: Friday; host: the person could not be asked"
    )
    assert [(one.choice, one.by) for one in stage.probe.payloads("user_input_received")] == [
        ("deny", "none")
    ]


async def test_at_the_limit_the_user_may_go_on_for_as_many_again(autojump_clock: MockClock) -> None:
    person = Patient(True, True)
    replies = [calling(name) for name in ("look", "ship", "look", "ship")]
    stage = Stage(*replies, DONE, person=person, max_model_calls=2)
    assert await one_turn(stage) == "completed"
    assert person.asked == [
        "model calls in this turn: 2. Go on?",
        "model calls in this turn: 4. Go on?",
    ]
    assert [one for one in stage.display.shown if one[0] == "notice"] == []


async def test_at_the_limit_no_ends_the_turn_and_the_next_begins_anew(
    autojump_clock: MockClock,
) -> None:
    stage = Stage(calling("look"), DONE, person=Patient(False), max_model_calls=1)
    async with stage.open() as (agent, _):
        assert await agent.run("work") == "max_iterations"
        assert await agent.run("and now?") == "completed"
    assert [message.role for message in stage.model.asked[1]] == [
        "user",
        "assistant",
        "tool",
        "user",
    ]


async def test_a_person_with_a_fault_ends_the_turn(autojump_clock: MockClock) -> None:
    stage = Stage(calling("look"), person=Broken(), max_model_calls=1)
    assert await one_turn(stage) == "max_iterations"
    assert stage.display.shown[-1] == (
        "notice",
        "warning",
        "model calls in this turn: 1; the turn ends, for the question failed",
    )


async def test_circles_end_the_turn_where_nobody_can_be_asked(autojump_clock: MockClock) -> None:
    stage = Stage(*[calling("look"), calling("ship")] * 10)
    assert await one_turn(stage) == "loop_detected"
    assert stage.model.attempts == 8
    assert stage.display.shown[-1] == (
        "notice",
        "warning",
        "the model goes in circles: it has called look, ship 4 times in a row, with the same "
        "results; "
        "the turn ends, for nobody can be asked",
    )


async def test_a_model_that_insists_on_what_is_denied_goes_in_circles(
    autojump_clock: MockClock,
) -> None:
    stage = Stage(
        *[calling("look")] * 5, hooks={"pre_tool_call": {"decision": "deny", "reason": "no"}}
    )
    assert await one_turn(stage) == "loop_detected"


async def test_names_of_tools_in_a_circle_are_quoted(autojump_clock: MockClock) -> None:
    stage = Stage(*[calling("a\x1b[2J\nb")] * 4)
    assert await one_turn(stage) == "loop_detected"
    assert "called a\\x1b[2J\\nb 4 times" in stage.display.shown[-1][2]
