"""Messages of plugins in a channel: they wait like a user's, and are text for the model alone."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from sliphook import HostError, PluginHost, Submission
from sliphook.agent.loop import Agent
from sliphook.agent.models.script import ScriptedReply
from sliphook.agent.ui.filling import Question
from sliphook.testing import FakePlugin, HostRefused
from sliphook_sdk.protocol import Answer
from sliphook_sdk.protocol.payloads import UserPromptSubmit
from tests.agent.fakes import RecordingDisplay, RecordingModel
from tests.docs.protocol_sentences.says import says

from .at_work import WAIT_S, at_work, everything, said, say, story


async def submit(plugin: FakePlugin, text: str, key: str = "#oslo") -> str:
    result: dict[str, str] = await plugin.ask("host/submit", session_key=key, text=text)
    return result["status"]


def ends(plugin: FakePlugin) -> list[tuple[str, str | None]]:
    return [(one.outcome, one.reply) for one in plugin.payloads("submission_end")]


async def test_a_message_of_a_plugin_begins_a_turn(autojump_clock: MockClock) -> None:
    plugin = everything(uses=["submit"])
    model = RecordingModel(ScriptedReply(text="hi"), ScriptedReply(text="the log is clean"))
    async with at_work(plugin, model, submits=True) as gateway:
        await said(gateway, "hello")
        assert await submit(plugin, "look at the log") == "started"
        await plugin.hears("submission_end")
        assert [message.content for message in model.asked[-1] if message.role == "user"] == [
            "hello",
            f"[{plugin.name}] look at the log",
        ]
    assert ends(plugin) == [("completed", "the log is clean")]
    assert "user_prompt_submit plugin look at the log" in story(plugin)


async def test_it_waits_behind_the_users_messages_and_before_later_ones(
    autojump_clock: MockClock,
) -> None:
    plugin = everything(uses=["submit"])
    async with at_work(plugin, submits=True) as gateway:
        say(gateway, "TOOL slow")
        say(gateway, "second")
        await plugin.hears("tool/call")
        assert await submit(plugin, "third") == "queued"
        await say(gateway, "fourth").wait()
    assert [one.text for one in plugin.payloads("user_prompt_submit")] == [
        "TOOL slow",
        "second",
        "third",
        "fourth",
    ]


@says(
    "The text is always text for the model: never a slash command, never the answer to an open"
    " question."
)
async def test_it_is_always_text_for_the_model(autojump_clock: MockClock) -> None:
    asks: list[Question | None] = []
    plugin = everything(
        hooks={"pre_tool_call": {"decision": "ask", "reason": "really?"}}, uses=["submit"]
    )
    async with at_work(plugin, asks=asks, submits=True) as gateway:
        await said(gateway, "hello")
        (channel,) = gateway.channels
        for command in ("/new", "/stop", "/deploys"):
            await submit(plugin, command)
            await plugin.hears("submission_end", times=len(ends(plugin)) + 1)
        assert channel.session.turn_count == 4
        assert "command/run" not in [message.method for message in plugin.received]
        asked = say(gateway, "TOOL slow")
        await plugin.hears("user_input_required")
        assert await submit(plugin, "y") == "queued"
        await trio.sleep(5)
        assert asked.reply is None
        assert asks[-1] is not None
        await say(gateway, "y").wait()
        assert (await asked.wait()).outcome == "completed"
        await plugin.hears("submission_end", times=4)
    assert [one.text for one in plugin.payloads("user_prompt_submit")][1:] == [
        "/new",
        "/stop",
        "/deploys",
        "TOOL slow",
        "y",
    ]


@pytest.mark.parametrize("how", ["/stop", "/new", "close"])
async def test_what_waits_is_dropped(autojump_clock: MockClock, how: str) -> None:
    plugin = everything(uses=["submit"])
    async with at_work(plugin, submits=True) as gateway:
        hanging = say(gateway, "TOOL hang")
        await plugin.hears("tool/call")
        (channel,) = gateway.channels
        pending: list[Any] = []
        taken = channel.submit_from_plugin

        def keep(submission: Submission) -> Any:
            pending.append(taken(submission))

        channel.submit_from_plugin = keep  # type: ignore[method-assign] # to see its reply
        await submit(plugin, "and then")
        if how == "close":
            channel.close()
        else:
            say(gateway, how)
        assert (await hanging.wait()).outcome == "interrupted"
        assert (await pending[0].wait()).outcome == "dropped"
        await plugin.hears("submission_end")
    assert ends(plugin) == [("dropped", None)]
    names = plugin.names()
    assert names.index("agent_loop_stopped") < names.index("submission_end")


async def test_stop_interrupts_the_turn_of_a_plugins_message(autojump_clock: MockClock) -> None:
    plugin = everything(uses=["submit"])
    async with at_work(plugin, submits=True) as gateway:
        await said(gateway, "hello")
        await submit(plugin, "TOOL hang")
        await plugin.hears("tool/call")
        assert (await said(gateway, "/stop"))[1] == "stopped"
        await plugin.hears("submission_end")
    assert ends(plugin) == [("interrupted", None)]


async def test_a_full_channel_and_other_conversations_refuse(autojump_clock: MockClock) -> None:
    plugin = everything(uses=["submit"])
    async with at_work(plugin, submits=True, max_waiting=1) as gateway:
        say(gateway, "TOOL hang")
        await plugin.hears("tool/call")
        say(gateway, "second")
        with pytest.raises(HostRefused, match="1 wait already; /stop drops them") as refused:
            await submit(plugin, "third")
        assert refused.value.code == -32004
        assert ends(plugin) == []
        (channel,) = gateway.channels
        async with channel.host.session(session_key="own"):
            with pytest.raises(HostRefused, match="takes no messages of plugins for this") as other:
                await submit(plugin, "third", "own")
            assert other.value.code == -32004
        channel.close()
        with pytest.raises(HostError, match="not open"):
            channel.submit_from_plugin(
                Submission(
                    message_id="m",
                    plugin="probe",
                    session_id="s",
                    session_key="k",
                    platform=None,
                    user_id=None,
                    text="x",
                )
            )


@says(
    "The user and the model read it with the plugin's name; `user_prompt_submit` has the source"
    " `plugin` and the name as `submitted_by`, and a guard may deny it."
)
async def test_the_user_is_shown_it_and_a_guard_may_deny_it(autojump_clock: MockClock) -> None:
    def guard(asked: UserPromptSubmit) -> Answer:
        if asked.source == "plugin" and asked.submitted_by == "probe":
            return Answer(decision="deny", reason="not by phone")
        return Answer()

    plugin = everything(uses=["submit"], hooks={"user_prompt_submit": guard})
    display, model, taken = RecordingDisplay(), RecordingModel(), list[Submission]()
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([plugin], on_submit=taken.append) as host,
            host.session(session_key="#oslo") as session,
        ):
            await submit(plugin, "delete \x1b[1mall")
            agent = Agent(host, session, model, display=display)
            assert await agent.run(taken[0]) == "denied"
    assert display.shown == [
        ("notice", "info", "probe: delete \x1b[1mall"),
        ("denied", "the prompt", "probe: not by phone"),
    ]
    assert model.asked == []
    assert ends(plugin) == [("denied", None)]


async def test_an_unknown_key_is_refused_with_those_that_are_open(
    autojump_clock: MockClock,
) -> None:
    plugin = everything(uses=["submit"])
    async with at_work(plugin, submits=True) as gateway:
        await said(gateway, "hello")
        with pytest.raises(HostRefused) as caught:
            await submit(plugin, "look", key="#olso")
    assert str(caught.value).endswith("no open conversation has the key #olso; open are #oslo")
