"""Model servers whose answers have no end, or are more than anybody can use, beside a healthy plugin."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import trio

from sliphook.agent.chat.replies import ReplyDisplay
from sliphook.agent.loop import Agent
from sliphook.agent.models.anthropic import AnthropicModel
from sliphook.agent.models.openai import OpenAIModel
from tests.agent.models import hostile_anthropic
from tests.agent.models.hostile import (
    BAR,
    END,
    ENDLESS,
    HUGE,
    STREAM,
    USABLE,
    RawServer,
    chunk,
    once,
)
from tests.torture.case import Case, Make, Workshop, nothing, python
from tests.torture.stage import HEALTHY, Stage, check_healthy, make_all

_LONG: Final = (
    "a wait of many digits",
    "text in the smallest events",
    "arguments by bits",
    "parts of one byte",
)
"""Answers that take minutes up to the real limit; the tests of the client have a smaller one."""

_OFFERS_MANY: Final = python(
    "greet()\nserve()", tools=[{"name": "a" * 60 + f"{number:04}"} for number in range(512)]
)
_NEARLY_ONE_OF_THEM: Final = once(
    STREAM + BAR,
    *(
        chunk(
            {
                "tool_calls": [
                    {
                        "index": index,
                        "id": f"c{index}",
                        "function": {"name": "a" * 100, "arguments": "{}"},
                    }
                ]
            }
        )
        for index in range(20)
    ),
    END,
)


def _case(
    name: str,
    answer: Callable[[], Iterator[bytes]],
    promise: str,
    *outcomes: str,
    client: type[OpenAIModel | AnthropicModel] = OpenAIModel,
    beside: tuple[Make, ...] = (),
) -> Case:
    """One turn of the agent with that server, beside these plugins, and then one hook."""

    async def scene(shop: Workshop) -> str:
        programs = await trio.to_thread.run_sync(lambda: make_all(shop, *beside, HEALTHY))
        stage = Stage(shop)
        with RawServer(answer) as server:
            model = client("m-1", base_url=server.base_url)
            try:
                async with stage.open_host(programs) as host, host.session() as stage.session:
                    agent = Agent(
                        host, stage.session, model, display=ReplyDisplay(), max_model_calls=2
                    )
                    outcome = await agent.run("hello")
                    assert outcome in outcomes, f"the turn was {outcome}"
                    check_healthy(await stage.ask())
                    await stage.interrupt()
            finally:
                await model.aclose()
        return outcome

    return Case("model", name, promise, nothing, scene=scene)


def _cases(
    answers: Mapping[str, Callable[[], Iterator[bytes]]], promise: str, *outcomes: str
) -> Iterator[Case]:
    for name, answer in answers.items():
        if name not in _LONG:
            yield _case(name, answer, promise, *outcomes)


def _anthropic(
    answers: Mapping[str, Callable[[], Iterator[bytes]]], promise: str, *outcomes: str
) -> Iterator[Case]:
    for name, answer in answers.items():
        title = f"Anthropic's API: {name}"
        yield _case(title, answer, promise, *outcomes, client=AnthropicModel)


CASES = (
    _case(
        "calls of what is nearly a tool",
        _NEARLY_ONE_OF_THEM,
        "each is told the nearest of 512 long names",
        "max_iterations",
        beside=(_OFFERS_MANY,),
    ),
    *_cases(ENDLESS, "it is given up, and the turn ends", "failed"),
    *_cases(HUGE, "it is given up, and the turn ends", "failed"),
    *_cases(USABLE, "it is taken within the limits", "completed", "max_iterations"),
    *_anthropic(hostile_anthropic.ENDLESS, "it is given up, and the turn ends", "failed"),
    *_anthropic(hostile_anthropic.HUGE, "it is given up, and the turn ends", "failed"),
    *_anthropic(
        hostile_anthropic.USABLE, "it is taken within the limits", "completed", "max_iterations"
    ),
)
