"""Messages that plugins submit for the model: which are taken, and how each of them ends."""

# An interrupt leaves a turn's block early; these tests know where it does.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext
from typing import Any, cast

import pytest
import trio
from trio.testing import MockClock

from sliphook import HostError, PluginHost, Session, Submission
from sliphook.testing import FakePlugin, HostRefused
from tests.docs.protocol_sentences.says import limit, says

WAIT_S = 3_600.0
"""On the clock that jumps."""
HEARD = ("turn_start", "user_prompt_submit", "agent_loop_stopped", "submission_end", "turn_end")


@asynccontextmanager
async def opened(
    *plugins: FakePlugin, taken: Callable[[Submission], object] | None = None, **settings: Any
) -> AsyncGenerator[tuple[PluginHost, Session]]:
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost(plugins, on_submit=taken, **settings) as host,
            host.session(user_id="ada") as session,
        ):
            yield host, session


def probe(uses: Sequence[str] = ("submit",), **more: Any) -> FakePlugin:
    return FakePlugin("probe", hears=HEARD, uses=list(uses), **more)


async def submit(plugin: FakePlugin, text: str = "hello", **more: Any) -> Any:
    """The result, or the code of the refusal."""
    try:
        return await plugin.ask("host/submit", **{"session_key": "main", "text": text, **more})
    except HostRefused as refused:
        return refused.code


def ends(plugin: FakePlugin) -> list[tuple[str, str, str | None]]:
    return [(one.message_id, one.outcome, one.reply) for one in plugin.payloads("submission_end")]


async def test_a_message_has_its_turn_and_its_end(autojump_clock: MockClock) -> None:
    plugin, other, taken = probe(), FakePlugin("other", hears=["submission_end"]), list[Any]()
    async with opened(plugin, other, taken=taken.append) as (_, session):
        result = await submit(plugin, "look at \x1b[31m")
        assert result == {"message_id": taken[0].message_id, "status": "started"}
        assert (taken[0].plugin, taken[0].user_id, taken[0].platform) == ("probe", "ada", "cli")
        async with session.turn(taken[0]) as turn:
            prompt = await turn.submit()
        assert prompt.text == "look at \x1b[31m"
        await other.hears("submission_end")
    assert plugin.names() == ["turn_start", "user_prompt_submit", "submission_end", "turn_end"]
    (start,), (asked,) = plugin.payloads("turn_start"), plugin.payloads("user_prompt_submit")
    assert (start.submitted_by, asked.submitted_by, asked.source) == ("probe", "probe", "plugin")
    (end,) = other.payloads("submission_end")
    assert (end.message_id, end.by, end.outcome) == (result["message_id"], "probe", "completed")
    assert end.turn_id == start.turn_id


async def test_a_users_turn_was_submitted_by_nobody(autojump_clock: MockClock) -> None:
    plugin = probe()
    async with opened(plugin) as (_, session), session.turn("hello") as turn:
        await turn.submit()
    assert plugin.payloads("turn_start")[0].submitted_by is None
    assert plugin.payloads("user_prompt_submit")[0].submitted_by is None
    assert plugin.payloads("user_prompt_submit")[0].source == "user"


@pytest.mark.parametrize("more", [{"uses": []}, {"grants": frozenset[str]()}])
async def test_without_the_grant_nothing_happens(
    autojump_clock: MockClock, more: dict[str, Any]
) -> None:
    plugin, taken = probe(**more), list[Any]()
    async with opened(plugin, taken=taken.append) as (_, session):
        assert await submit(plugin) == -32003
        assert not session.waiting
    assert taken == []
    assert plugin.names() == []


@says(
    "The conversation is named by its key, which it keeps at `/new`.",
    "If none that is open has it, or the agent takes no messages of plugins, the answer is -32002; if"
    " several have it, -32602.",
)
async def test_which_conversation_it_is(autojump_clock: MockClock) -> None:
    plugin, taken = probe(), list[Submission]()
    async with opened(plugin, taken=taken.append) as (host, session):
        assert await submit(plugin, session_key="none") == -32002
        assert await submit(plugin, platform="irc") == -32002
        assert await submit(plugin, user_id="eve") == -32002
        session.reset()
        assert (await submit(plugin))["status"] == "started"
        assert taken[-1].session_id == session.session_id
        async with host.session(platform="irc", user_id="eve") as irc:
            assert await submit(plugin) == -32602
            assert (await submit(plugin, platform="irc"))["status"] == "started"
            assert (await submit(plugin, user_id="eve"))["status"] == "queued"
        assert {one.session_id for one in taken[1:]} == {irc.session_id}
    plugin = probe()
    async with opened(plugin):
        with pytest.raises(HostRefused, match="this agent takes no messages of plugins") as refused:
            await plugin.ask("host/submit", session_key="main", text="hello")
    assert refused.value.code == -32002


@says("While a turn is open, the user's settings decide whether the message waits, interrupts the")
async def test_a_message_waits_for_the_open_turn(autojump_clock: MockClock) -> None:
    plugin, taken = probe(), list[Submission]()
    async with opened(plugin, taken=taken.append) as (_, session):
        async with session.turn("work"):
            assert (await submit(plugin))["status"] == "queued"
        async with session.turn(taken[0]):
            pass
    assert [outcome for _, outcome, _ in ends(plugin)] == ["completed"]


@says("turn, or is refused (-32004).")
async def test_the_settings_have_it_interrupt_or_refused(autojump_clock: MockClock) -> None:
    plugin, taken = probe(), list[Submission]()
    async with opened(plugin, taken=taken.append, plugin_messages="interrupt") as (_, session):
        async with session.turn("work") as turn:
            assert (await submit(plugin))["status"] == "interrupting"
            await trio.sleep_forever()
        assert turn.interrupted
        async with session.turn(taken[0]):
            pass
    (stopped,) = plugin.payloads("agent_loop_stopped")
    assert (stopped.reason, stopped.invalidation_reason) == ("new_message", "plugin_message")
    plugin, taken = probe(), list[Submission]()
    async with opened(plugin, taken=taken.append, plugin_messages="refuse") as (_, session):
        async with session.turn("work"):
            assert await submit(plugin) == -32004
        assert (await submit(plugin))["status"] == "started"
    assert len(taken) == 1
    with pytest.raises(ValueError, match="plugin_messages"):
        PluginHost(plugin_messages="later")  # type: ignore[arg-type] # what is tested


@says(
    "Each message that was taken has one `submission_end`, also if `/stop`, `/new` or the end of the"
    " session drops it before its turn.",
)
@pytest.mark.parametrize("way", ["drop", "refuse", "new", "end", "interrupt", "fail", "deny"])
async def test_each_message_ends_once(autojump_clock: MockClock, way: str) -> None:
    def deny(asked: Any) -> dict[str, Any]:
        return {"decision": "deny"} if way == "deny" and asked.submitted_by == "probe" else {}

    guard = FakePlugin("guard", hooks={"user_prompt_submit": deny})
    plugin, taken = probe(), list[Submission]()
    async with opened(plugin, guard, taken=taken.append) as (host, session):
        result = await submit(plugin)
        if way == "drop":
            session.drop_submission(taken[0])
        elif way == "refuse":
            session.drop_submission(taken[0], "refused")
        elif way == "new":
            session.reset()
        elif way == "end":
            session.close("exit")
        else:
            with pytest.raises(RuntimeError) if way == "fail" else nullcontext():
                async with session.turn(taken[0]) as turn:
                    prompt = await turn.submit()
                    assert prompt.denied == (way == "deny")
                    if way == "interrupt":
                        session.interrupt()
                        await trio.sleep_forever()
                    if way == "fail":
                        raise RuntimeError("a bug")
        await plugin.hears("submission_end")
        session.drop_submission(taken[0])
        with pytest.raises(HostError):
            async with session.turn(taken[0]):
                raise AssertionError
        assert host.plugins[0].state == "ready"
    outcomes = {
        "drop": "dropped",
        "refuse": "refused",
        "new": "dropped",
        "end": "dropped",
        "interrupt": "interrupted",
        "fail": "failed",
        "deny": "denied",
    }
    assert ends(plugin) == [(result["message_id"], outcomes[way], None)]


async def test_the_end_of_a_message_comes_before_the_end_of_its_session(
    autojump_clock: MockClock,
) -> None:
    plugin = probe(subscriptions=[{"event": "session_end"}, {"event": "session_reset"}])
    async with opened(plugin, taken=lambda _: None) as (_, session):
        await submit(plugin)
        session.reset()
        await submit(plugin)
    assert plugin.names() == [
        "submission_end",
        "session_end",
        "session_reset",
        "submission_end",
        "session_end",
    ]


async def test_the_agent_refuses_a_message_or_fails(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    wrong: list[Exception] = [HostError("not now"), RuntimeError("a bug")]

    def takes(_: Submission) -> None:
        raise wrong.pop(0)

    plugin = probe()
    async with opened(plugin, taken=takes) as (_, session):
        for says in ("not now", "the agent failed to take it"):
            with pytest.raises(HostRefused, match=says) as refused:
                await plugin.ask("host/submit", session_key="main", text="hello")
            assert refused.value.code == -32004
        assert not session.waiting
    assert ends(plugin) == []
    assert [record.message for record in caplog.records] == [
        "the agent failed to take a message of probe"
    ]


@limit("text of one `host/submit`", "`host/submit`; messages that wait")
async def test_limits(autojump_clock: MockClock) -> None:
    plugin, other, taken = probe(), FakePlugin("other", uses=["submit"]), list[Submission]()
    async with opened(plugin, other, taken=taken.append) as (host, session):
        assert await submit(plugin, "x" * 65_537) == -32602
        assert await submit(plugin, " \n") == -32602
        assert await submit(plugin, text=cast("str", None)) == -32602
        async with host.session(session_key="second"):
            for key, text in (
                ("main", "x" * 65_536),
                ("main", "x"),
                ("second", "x"),
                ("main", "x"),
            ):
                assert (await submit(plugin, text, session_key=key))["status"] in (
                    "started",
                    "queued",
                )
            assert await submit(plugin) == -32004
            assert (await submit(other))["status"] == "queued"
        # that of the other session was dropped with it
        assert (await submit(plugin))["status"] == "queued"
        results = list[Any]()
        for _ in range(56):
            for waiting in session.waiting:
                session.drop_submission(waiting)
            results.append(await submit(plugin))
        assert results.pop() == -32004
        assert [result["status"] for result in results] == ["started"] * 55
        plugin.crash()
        await trio.sleep(1)
        assert await submit(plugin) == -32004
        await trio.sleep(60)
        assert (await submit(plugin))["status"] == "started"


async def test_a_plugin_that_answers_each_end_with_a_message_is_held_by_the_rate(
    autojump_clock: MockClock,
) -> None:
    """One turn a second at most, however fast the turns are."""
    sender, receiver = trio.open_memory_channel[Submission](10)
    again: list[Any] = []

    async def once_more(_: Any) -> None:
        again.append(await submit(plugin, "again"))

    plugin = probe(hooks={"submission_end": once_more})
    async with opened(plugin, taken=sender.send_nowait) as (_, session):
        await submit(plugin)
        turns = 0
        with trio.move_on_after(50):
            while turns < 100:
                async with session.turn(await receiver.receive()):
                    turns += 1
    assert turns == 60
    assert again[-1] == -32004
