"""What plugins ask the users of a channel, and how they answer in their place."""

from __future__ import annotations

from typing import Any

import pytest
from trio.testing import MockClock

from sliphook import AskRequest
from sliphook.agent.chat.replies import ChatReply
from sliphook.agent.ui.filling import Question
from sliphook.session.questions.form import read_form
from sliphook.testing import FakePlugin
from tests.programs import EVERYTHING

from .at_work import at_work, said, say, story

SCHEMA = {
    "type": "object",
    "properties": {"server": {"type": "string"}, "times": {"type": "integer"}},
    "required": ["server", "times"],
}


class Deploys(FakePlugin):
    """Its tool asks the user, and returns the answer; it may answer approvals too."""

    def __init__(self) -> None:
        super().__init__(
            "probe",
            hears=EVERYTHING,
            tools={"deploy": self._deploy},
            uses=["ask", "approve"],
            hooks={
                "pre_tool_call": lambda call: (
                    {"decision": "ask"} if call.origin == "agent" else None
                )
            },
        )
        self.results: list[Any] = []

    async def _deploy(self, _: dict[str, Any]) -> str:
        call = self.received[-1].params
        result = await self.ask(
            "host/ask",
            session_id=call["session_id"],
            call_id=call["call_id"],
            prompt="Where to?",
            schema=SCHEMA,
        )
        self.results.append(result)
        return "done"


async def test_the_next_messages_are_the_fields(autojump_clock: MockClock) -> None:
    asks: list[Question | None] = []
    plugin = Deploys()
    async with at_work(plugin, asks=asks) as gateway:
        turn = say(gateway, "TOOL deploy")
        await plugin.hears("user_input_required")
        assert await said(gateway, "bonn") == ("answer", "")
        assert await said(gateway, "many") == ("refused", "please answer a whole number")
        assert await said(gateway, "3") == ("answer", "")
        assert (await turn.wait()).outcome == "completed"
    assert plugin.results == [{"outcome": "answered", "answer": {"server": "bonn", "times": 3}}]
    assert [question and question.text() for question in asks] == [
        "probe asks: Where to?\nserver:",
        "times: [a whole number]",
        None,
    ]
    assert 'user_input_received {"server":"bonn","times":3} user' in story(plugin)


async def test_a_message_that_was_written_before_the_question_waits(
    autojump_clock: MockClock,
) -> None:
    plugin = Deploys()
    async with at_work(plugin, asks=[]) as gateway:
        turn = say(gateway, "TOOL deploy")
        await plugin.hears("user_input_required")
        (channel,) = gateway.channels
        before = channel.submit("what of bonn?", answers=False)
        assert (before.queued, before.reply) == (True, None)
        assert await said(gateway, "oslo") == ("answer", "")
        assert await said(gateway, "3") == ("answer", "")
        assert (await turn.wait()).outcome == "completed"
        assert (await before.wait()).outcome == "completed"
    assert plugin.results[0]["answer"]["server"] == "oslo"


async def test_an_answer_to_a_question_that_is_over_is_no_message(
    autojump_clock: MockClock,
) -> None:
    plugin = Deploys()
    async with at_work(plugin, asks=[]) as gateway:
        turn = say(gateway, "TOOL deploy")
        await plugin.hears("user_input_required")
        (channel,) = gateway.channels
        channel.stop()
        late = channel.submit("bonn", answers=True)
        assert late.reply == ChatReply(text="not taken: the question is over", outcome="refused")
        assert (await turn.wait()).outcome == "interrupted"


async def test_stop_in_the_middle_of_the_fields(autojump_clock: MockClock) -> None:
    asks: list[Question | None] = []
    plugin = Deploys()
    async with at_work(plugin, asks=asks) as gateway:
        turn = say(gateway, "TOOL deploy")
        await plugin.hears("user_input_required")
        assert await said(gateway, "bonn") == ("answer", "")
        assert await said(gateway, "/stop") == ("command", "stopped")
        assert (await turn.wait()).outcome == "interrupted"
        assert (await said(gateway, "3"))[0] == "completed"
    assert asks[-1] is None


async def test_where_no_user_can_be_asked(autojump_clock: MockClock) -> None:
    plugin = Deploys()
    async with at_work(plugin) as gateway:
        assert (await said(gateway, "TOOL deploy"))[0] == "completed"
    assert plugin.results == [{"outcome": "nobody", "answer": None}]


@pytest.mark.parametrize("asks", [None, []])
async def test_only_a_channel_with_users_can_ask(
    autojump_clock: MockClock, asks: list[Question | None] | None
) -> None:
    async with at_work(Deploys(), asks=asks) as gateway:
        await said(gateway, "hello")
        (channel,) = gateway.channels
        known, unknown = (
            AskRequest(
                session_id=session_id,
                turn_id="t",
                question_id="q",
                call_id=None,
                plugin="probe",
                prompt="?",
                form=read_form(None),
            )
            for session_id in (channel.session.session_id, "another")
        )
        assert gateway.can_ask(known) is (asks is not None)
        assert not gateway.can_ask(unknown)
