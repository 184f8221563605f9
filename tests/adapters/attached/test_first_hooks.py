"""The first hooks of a session: Copilot CLI tells its start and its first prompt side by side."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from sliphook import PluginHost
from sliphook.adapters.attached import held
from sliphook.adapters.attached.rooms import Room
from sliphook.adapters.dialects.answer import HookAnswer
from sliphook.adapters.dialects.known import DIALECTS
from sliphook.adapters.dialects.told import Happening, Prompted, SessionStarted, ToolAsked
from sliphook.adapters.relayed.served import SharedOffers
from sliphook.testing import FakePlugin
from sliphook_sdk.protocol import Answer
from tests.adapters.dialects.recorded import payload
from tests.programs import EVERYTHING, WAIT_S

from .in_process import ask, daemon

START = SessionStarted(event="sessionStart", session_id="s", source="startup")
PROMPT = Prompted(event="userPromptSubmitted", session_id="s", text="hello")
TOOL = ToolAsked(
    event="preToolUse",
    session_id="s",
    tool_name="bash",
    tool_kind="shell",
    origin="agent",
    arguments={},
)


class Place:
    """A room whose hooks come at given times."""

    def __init__(self, room: Room, plugin: FakePlugin) -> None:
        self.room = room
        self.plugin = plugin
        self.answers: dict[str, tuple[float, HookAnswer]] = {}

    async def tell(self, *hooks: tuple[float, Happening]) -> None:
        """Each hook at its time, in seconds from now; they are answered when this returns."""
        began_s = trio.current_time()

        async def one(at_s: float, told: Happening) -> None:
            await trio.sleep_until(began_s + at_s)
            answer = await self.room.take(told)
            self.answers[told.event] = round(trio.current_time() - began_s, 6), answer

        async with trio.open_nursery() as nursery:
            for hook in hooks:
                nursery.start_soon(one, *hook)

    def answered_s(self, told: Happening) -> float:
        """When that hook was answered."""
        return self.answers[told.event][0]

    @property
    def sources(self) -> list[str]:
        """Of all starts that the plugin was told."""
        return [one.source for one in self.plugin.payloads("session_start")]


@asynccontextmanager
async def place(agent: str = "copilot") -> AsyncGenerator[Place]:
    note: dict[str, Any] = {"session_start": Answer(context=["the note"])}
    plugin = FakePlugin("ear", hooks=note, hears=[one for one in EVERYTHING if one not in note])
    with trio.fail_after(WAIT_S):
        async with PluginHost([plugin]) as host, trio.open_nursery() as holding:
            room = Room(DIALECTS[agent], SharedOffers(host), holding)
            yield Place(room, plugin)
            await room.end("exit")
            holding.cancel_scope.cancel()


async def test_a_prompt_that_comes_first_waits_for_its_start(autojump_clock: object) -> None:
    async with place() as here:
        await here.tell((0, PROMPT), (0.09, START))
        assert here.sources == ["startup"]
        assert here.plugin.names()[:3] == ["session_start", "turn_start", "user_prompt_submit"]
        assert here.answered_s(PROMPT) == 0.09
        assert "the note" in here.answers[START.event][1].context[0]


async def test_a_start_that_comes_later_finds_a_session_that_goes_on(
    autojump_clock: object,
) -> None:
    async with place() as here:
        await here.tell((0, PROMPT), (0.2, START))
        assert here.sources == ["resume"]
        assert (here.answered_s(PROMPT), here.answered_s(START)) == (0.1, 0.2)
        assert "the note" in here.answers[START.event][1].context[0]


async def test_a_second_start_opens_no_second_session(autojump_clock: object) -> None:
    again = SessionStarted(event="SessionStart", session_id="s", source="resume")
    async with place() as here:
        await here.tell((0, PROMPT), (0.05, START), (0.06, again))
        assert here.sources == ["startup"]
        assert "the note" in here.answers[again.event][1].context[0]


async def test_a_reset_behind_a_start_beside_a_prompt_is_told(autojump_clock: object) -> None:
    reset = SessionStarted(event="SessionStart", session_id="s", source="reset")
    async with place() as here:
        await here.tell((0, PROMPT), (0.05, START), (0.06, reset))
        assert here.sources == ["startup", "reset"]
        assert here.plugin.names().count("session_reset") == 1


async def test_a_reset_that_a_prompt_has_waited_for_begins_the_session(
    autojump_clock: object,
) -> None:
    reset = SessionStarted(event="sessionStart", session_id="s", source="reset")
    async with place() as here:
        await here.tell((0, PROMPT), (0.05, reset))
        assert here.sources == ["reset"]
        assert "session_reset" not in here.plugin.names()


async def test_a_tool_that_comes_first_waits_for_no_start(autojump_clock: object) -> None:
    async with place() as here:
        await here.tell((0, TOOL), (0.05, START))
        assert here.sources == ["resume"]
        assert here.answered_s(TOOL) == 0


async def test_a_tool_behind_a_prompt_that_waits_is_in_its_turn(autojump_clock: object) -> None:
    async with place() as here:
        await here.tell((0, PROMPT), (0.02, TOOL), (0.05, START))
        assert here.sources == ["startup"]
        told = ["session_start", "turn_start", "user_prompt_submit", "pre_tool_call"]
        assert here.plugin.names() == told
        [prompt] = here.plugin.payloads("user_prompt_submit")
        [call] = here.plugin.payloads("pre_tool_call")
        assert call.turn_id == prompt.turn_id


async def test_an_end_while_a_prompt_waits_is_told_behind_its_session(
    autojump_clock: object,
) -> None:
    async with place() as here, trio.open_nursery() as hooks:
        hooks.start_soon(here.room.session_of, PROMPT)
        await trio.sleep(0.05)
        await here.room.end("signal")
    assert here.plugin.names() == ["session_start", "session_end"]
    assert here.plugin.payloads("session_end")[0].reason == "signal"


@pytest.mark.parametrize("name", sorted({*DIALECTS} - {"copilot"}))
async def test_a_prompt_of_another_agent_waits_for_no_start(
    name: str, autojump_clock: object
) -> None:
    async with place(name) as here:
        await here.tell((0, PROMPT), (0.05, START))
        assert here.sources == ["resume"]
        assert here.answered_s(PROMPT) == 0


async def test_the_daemon_of_copilot_takes_both_in_any_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(held, "BESIDE_S", WAIT_S)
    plugin = FakePlugin("ear", hears=["session_start", "user_prompt_submit"])

    prompt, start = (
        json.dumps(payload("copilot-cli", event)).encode()
        for event in ("userPromptSubmitted", "sessionStart")
    )
    head = b"sliphook 1 copilot userPromptSubmitted 1 open %d\n" % len(prompt)
    with trio.fail_after(WAIT_S / 2):
        async with (
            daemon("copilot", plugin) as path,
            await trio.open_unix_socket(str(path)) as asking,
        ):
            await asking.send_all(head + prompt)
            assert await ask(path, "copilot", "sessionStart", start)
            assert await asking.receive_some()
        assert [one.source for one in plugin.payloads("session_start")] == ["startup"]
