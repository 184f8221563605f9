"""Many conversations in one host: users type at any time, and the plugins hear it in order."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from sliphook import HostError
from sliphook.agent.chat.gateway import Gateway
from sliphook.agent.chat.replies import PendingMessage
from sliphook.agent.models.script import ScriptedFailure, ScriptedReply
from sliphook.agent.models.scripted import ScriptedModel
from sliphook.agent.ui.filling import Question
from sliphook.testing import FakePlugin
from tests.agent.fakes import RecordingModel
from tests.pairs import check_pairs

from .at_work import at_work, everything, said, say, story


async def test_conversations_go_on_at_the_same_time_each_with_its_own_session(
    autojump_clock: MockClock,
) -> None:
    plugin = everything()
    async with at_work(plugin) as gateway:
        hanging = say(gateway, "TOOL hang", "#oslo")
        await plugin.hears("tool/call")
        outcome, text = await said(gateway, "hello", "#bergen")
        assert (outcome, text.splitlines()[-1]) == ("completed", "You said: hello")
        assert hanging.reply is None
        oslo, bergen = gateway.channels
    assert (hanging.reply.outcome if hanging.reply else None) == "interrupted"
    assert story(plugin, bergen.session.session_id) == [
        "session_start startup",
        "turn_start 1",
        "user_prompt_submit user hello",
        "turn_end completed",
        "session_end shutdown 1",
    ]
    assert story(plugin, oslo.session.session_id) == [
        "session_start startup",
        "turn_start 1",
        "user_prompt_submit user TOOL hang",
        "pre_tool_call hang",
        "agent_loop_stopped shutdown host_interrupt",
        "post_tool_call cancelled",
        "turn_end interrupted",
        "session_end shutdown 1",
    ]
    starts = [
        (message.params["platform"], message.params["session_key"], message.params["user_id"])
        for message in plugin.fired()
    ]
    assert starts[0] == ("irc", "#oslo", "ada")


async def test_a_message_before_the_session_is_open_makes_the_channel_busy(
    autojump_clock: MockClock,
) -> None:
    """A gateway that ends idle channels must not end one that was begun this moment."""
    async with at_work(everything()) as gateway:
        first = say(gateway, "hello")
        (channel,) = gateway.channels
        assert channel.busy
        await first.wait()
        assert not channel.busy


async def test_a_message_during_a_turn_waits_for_its_end(autojump_clock: MockClock) -> None:
    plugin = everything()
    async with at_work(plugin) as gateway:
        first, second = say(gateway, "TOOL slow"), say(gateway, "and then?")
        assert (await first.wait()).outcome == "completed"
        assert second.reply is None
        assert (await second.wait()).outcome == "completed"
    assert [line for line in story(plugin) if line.startswith(("turn_", "user_prompt"))] == [
        "turn_start 1",
        "user_prompt_submit user TOOL slow",
        "turn_end completed",
        "turn_start 2",
        "user_prompt_submit queued and then?",
        "turn_end completed",
    ]


async def test_a_message_interrupts_the_turn_where_that_is_wished(
    autojump_clock: MockClock,
) -> None:
    plugin = everything()
    async with at_work(plugin, new_message="interrupt") as gateway:
        first = say(gateway, "TOOL hang")
        await plugin.hears("tool/call")
        second = say(gateway, "rather this")
        assert (await first.wait()).outcome == "interrupted"
        assert (await second.wait()).outcome == "completed"
    assert story(plugin)[3:-1] == [
        "pre_tool_call hang",
        "agent_loop_stopped new_message new_message",
        "post_tool_call cancelled",
        "turn_end interrupted",
        "turn_start 2",
        "user_prompt_submit user rather this",
        "turn_end completed",
    ]


async def test_stop_ends_the_turn_before_it_returns(autojump_clock: MockClock) -> None:
    plugin = everything()
    async with at_work(plugin) as gateway:
        hanging = say(gateway, "TOOL hang")
        await plugin.hears("tool/call")
        stopped = say(gateway, "/stop")
        assert stopped.reply is not None
        assert (stopped.reply.outcome, stopped.reply.text) == ("command", "stopped")
        assert (await hanging.wait()).outcome == "interrupted"
        assert await said(gateway, "/stop") == ("command", "there is nothing to stop")
        assert (await said(gateway, "still there?"))[0] == "completed"
    assert story(plugin)[4:7] == [
        "agent_loop_stopped user_stop stop_command",
        "post_tool_call cancelled",
        "turn_end interrupted",
    ]
    assert story(plugin)[-1] == "session_end shutdown 2"


async def test_stop_drops_what_waits(autojump_clock: MockClock) -> None:
    plugin = everything()
    async with at_work(plugin) as gateway:
        say(gateway, "TOOL hang")
        await plugin.hears("tool/call")
        waiting = [say(gateway, "one"), say(gateway, "two")]
        assert await said(gateway, "/stop") == (
            "command",
            "stopped; 2 messages that waited were dropped",
        )
        assert [(await message.wait()).outcome for message in waiting] == ["dropped", "dropped"]
        say(gateway, "TOOL hang")
        await plugin.hears("tool/call", times=2)
        say(gateway, "three")
        assert await said(gateway, "/stop") == (
            "command",
            "stopped; 1 message that waited was dropped",
        )
    assert [line for line in story(plugin) if line.startswith("agent_loop")] == [
        "agent_loop_stopped user_stop stop_command_pending"
    ] * 2
    assert not [line for line in story(plugin) if line.endswith(("one", "two", "three"))]


async def test_stop_before_the_turn_has_begun(autojump_clock: MockClock) -> None:
    plugin = everything()
    async with at_work(plugin) as gateway:
        message, stopped = say(gateway, "hello"), say(gateway, "/stop")
        assert (await message.wait()).outcome == "dropped"
        assert (await stopped.wait()).text == "stopped; 1 message that waited was dropped"
    assert story(plugin) == ["session_start startup", "session_end shutdown 0"]


async def test_a_button_stops_the_turn_too(autojump_clock: MockClock) -> None:
    plugin = everything()
    async with at_work(plugin) as gateway:
        say(gateway, "TOOL hang")
        await plugin.hears("tool/call")
        channel = gateway.channel("irc", "#oslo")
        assert channel.stop() == 0
        assert channel.stop() is None
    assert "agent_loop_stopped user_stop stop_command_handler" in story(plugin)


async def test_a_command_runs_beside_the_turn_and_stop_ends_it_too(
    autojump_clock: MockClock,
) -> None:
    plugin = everything()
    async with at_work(plugin) as gateway:
        turn = say(gateway, "TOOL hang")
        await plugin.hears("tool/call")
        assert await said(gateway, "/deploys") == ("command", "deployed")
        command = say(gateway, "/hang")
        await plugin.hears("command/run", times=2)
        assert turn.reply is None
        assert await said(gateway, "/stop") == ("command", "stopped")
        assert (await command.wait()).text == "/hang was stopped"
        alone = say(gateway, "/hang")
        await plugin.hears("command/run", times=3)
        assert await said(gateway, "/stop") == ("command", "stopped")
        assert (await alone.wait()).outcome == "dropped"
        await plugin.hears("$/cancelRequest", times=3)
    assert [line for line in story(plugin) if line.startswith("agent_loop")] == [
        "agent_loop_stopped user_stop stop_command"
    ]


@pytest.mark.parametrize("command", ["/new", "/reset"])
async def test_new_during_a_turn_whose_plugin_hangs(
    autojump_clock: MockClock, command: str
) -> None:
    plugin = everything()
    async with at_work(plugin) as gateway:
        old = say(gateway, "TOOL hang")
        await plugin.hears("tool/call")
        waiting = say(gateway, "never read")
        began_s = trio.current_time()
        new, first = say(gateway, command), say(gateway, "hello again")
        assert (await new.wait()).text == "a new session; 1 message that waited was dropped"
        assert (await first.wait()).outcome == "completed"
        assert ((await old.wait()).outcome, (await waiting.wait()).outcome) == (
            "interrupted",
            "dropped",
        )
        assert trio.current_time() == began_s
    assert story(plugin) == [
        "session_start startup",
        "turn_start 1",
        "user_prompt_submit user TOOL hang",
        "pre_tool_call hang",
        "agent_loop_stopped reset new_command",
        "post_tool_call cancelled",
        "turn_end interrupted",
        "session_end reset 1",
        "session_reset new_command",
        "session_start reset",
        "turn_start 1",
        "user_prompt_submit user hello again",
        "turn_end completed",
        "session_end shutdown 1",
    ]
    ids = list(dict.fromkeys(message.params["session_id"] for message in plugin.fired()))
    assert len(ids) == 2
    for one in ids:
        check_pairs(
            [
                {"method": m.method, "params": m.params}
                for m in plugin.fired()
                if m.params["session_id"] == one
            ]
        )


async def test_new_forgets_what_was_said(autojump_clock: MockClock) -> None:
    model = RecordingModel(
        ScriptedReply(text="one"), ScriptedReply(text="two"), ScriptedReply(text="three")
    )
    async with at_work(everything(), model) as gateway:
        assert [await said(gateway, text) for text in ("a", "b", "/new", "c")] == [
            ("completed", "one"),
            ("completed", "two"),
            ("command", "a new session"),
            ("completed", "three"),
        ]
    assert [[message.content for message in asked] for asked in model.asked] == [
        ["a"],
        ["a", "one", "b"],
        ["c"],
    ]


async def test_help_is_written_once(autojump_clock: MockClock) -> None:
    async with at_work(everything()) as gateway:
        assert (await said(gateway, "/help"))[1].splitlines() == [
            "/help     these commands",
            "/stop     interrupt the turn, and drop the messages that wait",
            "/new      begin a new session, which remembers nothing of this one",
            "/reset    the same as /new",
            "/plugins  the plugins, and how they are",
            "/model    the models, and which one answers; /model NAME takes another",
            "/deploys  (probe)",
            "/hang     (probe)",
        ]
        assert await said(gateway, "/plugins") == ("command", "probe  ready")
        assert await said(gateway, "/nothing") == (
            "command",
            "there is no command /nothing; /help lists them",
        )


async def test_what_does_not_fit_is_refused_and_says_why(autojump_clock: MockClock) -> None:
    plugin = everything()
    async with at_work(plugin, max_waiting=2) as gateway:
        assert await said(gateway, " ") == ("refused", "the message is empty")
        say(gateway, "TOOL hang")
        await plugin.hears("tool/call")
        for text in ("one", "two", "/hang", "/hang"):
            say(gateway, text)
        assert await said(gateway, "three") == (
            "refused",
            "not taken: 2 wait already; /stop drops them",
        )
        assert await said(gateway, "/hang") == (
            "refused",
            "not taken: 2 wait already; /stop drops them",
        )
        early = [say(gateway, f"m{number}", "#new") for number in range(3)]
        assert [message.reply is not None for message in early] == [False, False, True]


async def test_the_reply_holds_what_the_user_must_know(autojump_clock: MockClock) -> None:
    guard = FakePlugin(
        "guard",
        hooks={
            "user_prompt_submit": lambda hook: (
                {"decision": "deny", "reason": "no"} if "bad" in hook.text else None
            )
        },
    )
    failing = RecordingModel(
        ScriptedReply(text="It is"),
        ScriptedReply(fail=ScriptedFailure(kind="refused", message="the key is wrong")),
    )
    async with at_work(guard, failing) as gateway:
        assert await said(gateway, "good") == ("completed", "It is")
        assert await said(gateway, "bad") == ("denied", "denied: the prompt: guard: no")
        assert await said(gateway, "good") == ("failed", "error: the key is wrong")
    async with at_work(guard) as gateway:  # a tool's failure is the model's business
        assert await said(gateway, "TOOL x") == (
            "completed",
            "x: there is no tool 'x'; there are: delegate",
        )


async def test_a_fault_of_the_agent_ends_its_turn_and_nothing_else(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(ScriptedModel):
        def stream(self, *_args: Any, **_more: Any) -> Any:
            raise ZeroDivisionError("oops\x1b[2J")

    plugin = everything()
    async with at_work(plugin, Broken()) as gateway:
        assert await said(gateway, "hello") == ("failed", "error: the agent failed: oops\\x1b[2J")
        assert await said(gateway, "/deploys") == ("command", "deployed")
    assert [line for line in story(plugin) if line.startswith(("turn_end", "session_end"))] == [
        "turn_end failed",
        "session_end shutdown 1",
    ]
    assert "the agent failed" in caplog.text


@pytest.mark.parametrize(
    ("answers", "choice"),
    [
        (["y"], "allow user"),
        ([" YES "], "allow user"),
        (["n"], "deny user"),
        ([""], "deny user"),
        (["what?", "no"], "deny user"),
    ],
)
async def test_the_next_message_answers_a_question(
    autojump_clock: MockClock, answers: list[str], choice: str
) -> None:
    asks: list[Question | None] = []
    plugin = everything(hooks={"pre_tool_call": {"decision": "ask", "reason": "it is\x1b[2J late"}})
    async with at_work(plugin, asks=asks) as gateway:
        turn = say(gateway, 'TOOL slow {"n": 1}')
        await plugin.hears("user_input_required")
        question = asks[0]
        assert question is not None
        assert question.text() == 'slow {"n":1}\nprobe: it is\\x1b[2J late\nRun slow? [y/N]'
        for answer in answers[:-1]:
            assert await said(gateway, answer) == ("refused", "please answer y or n")
        assert await said(gateway, answers[-1]) == ("answer", "")
        assert asks == [question, None]
        assert (await turn.wait()).outcome == "completed"
    assert f"user_input_received {choice}" in story(plugin)


@asynccontextmanager
async def at_a_question(
    asks: list[Question | None],
) -> AsyncGenerator[tuple[Gateway, PendingMessage]]:
    """A gateway, and a turn in it that waits for a person's answer."""
    plugin = everything(hooks={"pre_tool_call": {"decision": "ask"}})
    async with at_work(plugin, asks=asks) as gateway:
        turn = say(gateway, "TOOL slow")
        await plugin.hears("user_input_required")
        yield gateway, turn


async def test_stop_takes_a_question_back(autojump_clock: MockClock) -> None:
    asks: list[Question | None] = []
    async with at_a_question(asks) as (gateway, turn):
        assert await said(gateway, "/stop") == ("command", "stopped")
        assert (await turn.wait()).outcome == "interrupted"
        assert (asks[0] is None, asks[1:]) == (False, [None])
        assert (await said(gateway, "y"))[0] == "completed"


@pytest.mark.parametrize("command", ["/stop", "/new"])
async def test_a_message_right_behind_an_interrupt_is_no_answer(
    autojump_clock: MockClock, command: str
) -> None:
    async with at_a_question([]) as (gateway, turn):
        say(gateway, command)
        assert (await said(gateway, "y"))[0] == "completed"
        assert (await turn.wait()).outcome == "interrupted"


async def test_a_channel_is_closed_and_opened_anew(autojump_clock: MockClock) -> None:
    plugin = everything()
    async with at_work(plugin) as gateway:
        say(gateway, "TOOL hang")
        await plugin.hears("tool/call")
        old = gateway.channel("irc", "#oslo")
        old.close("exit")
        assert (await said(gateway, "hello"))[0] == "completed"
        assert gateway.channel("irc", "#oslo") is not old
        assert old.submit("hello").reply is not None
        never = gateway.channel("irc", "#never")
        never.close()
    assert story(plugin, old.session.session_id)[-2:] == [
        "turn_end interrupted",
        "session_end exit 1",
    ]
    assert story(plugin, never.session.session_id) == []


async def test_a_session_that_goes_on(autojump_clock: MockClock) -> None:
    plugin = everything()
    async with at_work(plugin) as gateway:
        gateway.channel("irc", "#oslo", source="resume", session_id="s-old", model="m-1", cwd="/")
        assert (await said(gateway, "hello"))[0] == "completed"
    (start,) = plugin.payloads("session_start")
    assert start.session_id == "s-old"
    assert start.source == "resume"
    assert start.model == "m-1"
    assert start.cwd == "/"


async def test_two_conversations_cannot_go_on_with_one_session(autojump_clock: MockClock) -> None:
    plugin = everything()
    async with at_work(plugin) as gateway:
        channel = gateway.channel("irc", "#oslo", source="resume", session_id="s-old")
        with pytest.raises(ValueError, match="'s-old', which an open session has"):
            gateway.channel("irc", "#bergen", source="resume", session_id="s-old")
        assert (await said(gateway, "hello"))[0] == "completed"
        assert list(gateway.channels) == [channel]


@pytest.mark.parametrize(
    ("error", "reason"), [(ZeroDivisionError(), "error"), (KeyboardInterrupt(), "signal")]
)
async def test_what_leaves_the_block_is_told(
    autojump_clock: MockClock, error: BaseException, reason: str
) -> None:
    plugin = everything()

    async def fails() -> None:
        async with at_work(plugin) as gateway:
            say(gateway, "TOOL hang")
            await plugin.hears("tool/call")
            raise error

    with pytest.raises(BaseExceptionGroup) as caught:
        await fails()
    assert caught.value.exceptions == (error,)
    assert story(plugin)[-2:] == ["turn_end interrupted", f"session_end {reason} 1"]


async def test_a_gateway_that_is_closed_takes_nothing(autojump_clock: MockClock) -> None:
    async with at_work(everything()) as gateway:
        pass
    with pytest.raises(HostError, match="the gateway is not open"):
        say(gateway, "too late")
