"""A tool that the model's provider refuses is left out, and the turn goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest
import trio

from sliphook.agent.loop import Agent, AgentTool
from sliphook.agent.models.script import ScriptedFailure, ScriptedReply
from sliphook_sdk.protocol import ToolResult
from tests.agent.fakes import FakeHost, FakeSession, RecordingDisplay, RecordingModel, ToolOutcome

if TYPE_CHECKING:
    from sliphook.host.host import PluginHost
    from sliphook.session.session import Session

REFUSED = "Invalid schema for function 'bad': array schema missing items."


async def _run(arguments: dict[str, Any]) -> str:
    return "done"


async def _call(arguments: dict[str, Any]) -> ToolOutcome:
    return ToolOutcome("ok", ToolResult(content="done"))


def refusal(message: str, status: int = 400) -> ScriptedReply:
    return ScriptedReply(fail=ScriptedFailure(kind="http", message=message, status=status))


class Stage:
    def __init__(
        self, *replies: ScriptedReply, offers: tuple[str, ...], own: tuple[AgentTool, ...] = ()
    ) -> None:
        host = FakeHost(**dict.fromkeys(offers, _call))
        self.session = FakeSession(host)
        self.model = RecordingModel(*replies)
        self.display = RecordingDisplay()
        self.agent = Agent(
            cast("PluginHost", host),
            cast("Session", self.session),
            self.model,
            display=self.display,
            tools=own,
            max_depth=0,
        )

    async def run(self) -> str:
        with trio.fail_after(120):
            return await self.agent.run("hello")

    @property
    def notices(self) -> list[tuple[str, str]]:
        return [shown[1:] for shown in self.display.shown if shown[0] == "notice"]


async def test_the_tool_that_an_error_names_is_left_out_for_the_whole_conversation() -> None:
    stage = Stage(
        refusal(REFUSED),
        ScriptedReply(text="hi"),
        ScriptedReply(text="bye"),
        offers=("good", "bad"),
    )
    assert await stage.run() == "completed"
    assert await stage.run() == "completed"
    assert stage.model.offered == [["good", "bad"], ["good"], ["good"]]
    assert stage.notices == [("warning", f"weather's tool bad is left out: {REFUSED}")]
    (failed,) = [entry for entry in stage.session.log if entry[0] == "llm_call_failed"]
    assert failed[-1] is True


@pytest.mark.parametrize(
    ("message", "status"),
    [(REFUSED, 500), ("Invalid schema for function 'other'.", 400), ("no such model 'bad'", 400)],
)
async def test_an_error_that_names_no_tool_on_offer_ends_the_turn(
    message: str, status: int
) -> None:
    failure = ScriptedFailure(kind="http", message=message, status=status, transient=False)
    stage = Stage(ScriptedReply(fail=failure), offers=("good", "bad"))
    assert await stage.run() == "failed"
    assert stage.model.offered == [["good", "bad"]]


async def test_no_more_than_eight_tools_are_left_out_in_one_call() -> None:
    names = tuple(f"t{number}" for number in range(12))
    stage = Stage(*(refusal(f"tools.0.function: {name}") for name in names), offers=names)
    assert await stage.run() == "failed"
    assert len(stage.model.offered) == 9
    assert stage.model.offered[-1] == list(names[8:])


async def test_what_a_provider_is_known_to_refuse_is_not_sent_and_told_once() -> None:
    own = AgentTool(
        name="price", description="", input_schema={"properties": {"größe": {}}}, run=_run
    )
    stage = Stage(ScriptedReply(text="hi"), ScriptedReply(text="bye"), offers=("good",), own=(own,))
    stage.model.provider = "anthropic"
    await stage.run()
    await stage.run()
    assert stage.model.offered == [["good"], ["good"]]
    assert stage.notices == [
        (
            "warning",
            "the agent's own tool price is left out: anthropic refuses requests with it, since its"
            " parameter größe must be named with 1 to 64 letters of A to Z, digits, _, . and -",
        )
    ]
