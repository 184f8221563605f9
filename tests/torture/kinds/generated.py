"""Cases that nobody wrote: messages, schemas and patterns drawn by hypothesis, beside a heartbeat."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import trio

from tests.heartbeat import measured, unmeasured
from tests.torture.case import Case, Make, Workshop, nothing, python
from tests.torture.hostile import PROGRAM, Check, Match, Recipe, build, drawn
from tests.torture.stage import HEALTHY, RESTING, Stage, check_healthy, make_all

A_CASE = 40
"""Recipes in one case."""
PLUGINS = 20
"""Plugins with patterns in one case."""

HOSTILE = python(
    PROGRAM, uses=["notify", "inject", "interrupt", "tools", "ask", "approve"], timeout_s=5.0
)


class Assault(Stage):
    """A stage on which recipes are tried, one after the other.

    Attributes:
        sent: messages so far.
        worst: the recipe beside which the loop was held longest, and for how many ms.
    """

    def __init__(self, shop: Workshop) -> None:
        super().__init__(shop)
        self.sent = 0
        self.worst = (0.0, "nothing")

    async def commit(self, recipe: Recipe) -> None:
        """Have the plugin do it, and wait until it has."""
        before = measured().longest_ms
        outcome = None
        async with self.session.turn("x", interrupt=True) as turn:
            outcome = await self.session.hooks.ask(
                "user_prompt_submit", turn, source="user", text=recipe.text()
            )
        # a plugin may interrupt its turn: that is its right
        if outcome is not None:
            assert [part.status for part in outcome.parts if part.plugin == "healthy"] == [
                "answered"
            ], outcome.parts
            assert "the host failed" not in str(outcome.parts), outcome.parts
        self.sent += recipe.times
        await self._revive()
        assert not self.said("a fault of the host"), self.problems
        self.note(before, recipe.told())

    def note(self, before_ms: float, what: str) -> None:
        """Keep what was done if the loop was held for longer than ever."""
        held_ms = measured().longest_ms
        if held_ms > max(before_ms, self.worst[0]):
            self.worst = (held_ms, what)

    async def _revive(self) -> None:
        await trio.sleep(0.002)  # what it wrote to stderr comes on another way
        # the host would let it wait for longer and longer before it starts it again
        settled = (*RESTING, "restarting")
        await self.until(lambda: self.bad.state in settled, "a state of rest")
        if self.bad.state != "ready":
            await self.host.restart(self.bad.name)

    def seen(self) -> str:
        """For the table."""
        return f"{self.sent:,} messages; worst: {self.worst[1][:300]}"


async def beside(stage: Assault, make: Make, work: Callable[[], Awaitable[None]]) -> str:
    """Have that plugin and a healthy one on a stage while something is done to them."""
    programs = await trio.to_thread.run_sync(lambda: make_all(stage.shop, make, HEALTHY))
    async with stage.open_host(programs) as host, host.session() as stage.session:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(stage.keep_asking)
            nursery.start_soon(stage.keep_looking)
            await work()
            nursery.cancel_scope.cancel()
        await stage.interrupt()
        healthy = host.plugins[1]
        assert (healthy.state, healthy.restarts) == ("ready", 0), healthy
    assert not stage.bounds.beyond(), stage.bounds.beyond()
    return stage.seen()


def _messages(number: int) -> Case:
    async def scene(shop: Workshop) -> str:
        tried = await drawn(list[Recipe], "recipes", A_CASE, number)
        stage = Assault(shop)

        async def work() -> None:
            for recipe in tried:
                await stage.commit(recipe)

        return await beside(stage, HOSTILE, work)

    return Case("generated", f"messages {number}", "none holds the loop", nothing, scene=scene)


def _schemas(number: int) -> Case:
    async def scene(shop: Workshop) -> str:
        tried = await drawn(list[Check], "checks", A_CASE, number)
        stage = Assault(shop)

        async def work() -> None:
            for check in tried:
                await stage.commit(check.declares())
                with unmeasured():
                    try:
                        arguments = json.loads(build(check.arguments))
                    except (ValueError, RecursionError):
                        continue  # no model server's answer is read as this
                before = measured().longest_ms
                async with stage.session.turn("x") as turn:
                    await turn.call_tool("t", arguments)
                stage.note(before, check.told())

        return await beside(stage, HOSTILE, work)

    return Case("generated", f"schemas {number}", "none holds the loop", nothing, scene=scene)


def _patterns(number: int) -> Case:
    """Each plugin is asked, told and interrupted, or refused when it starts."""

    async def scene(shop: Workshop) -> str:
        tried = await drawn(list[Match], "matches", PLUGINS, number)
        stage = Assault(shop)

        def hears(match: Match) -> list[dict[str, Any]]:
            patterns = json.loads(build(match.patterns))
            return [{"event": match.hook, "match": {match.field: patterns}, "timeout_s": 60}]

        async def tool(_: dict[str, Any]) -> str:
            return "done"

        makes = [
            python("greet()\nserve()", name=f"bad{index}", subscriptions=hears(match))
            for index, match in enumerate(tried)
        ]
        programs = await trio.to_thread.run_sync(lambda: make_all(shop, *makes, HEALTHY))
        async with stage.open_host(programs) as host, host.session() as stage.session:
            for match in tried:
                before, text = measured().longest_ms, build([match.text])
                check_healthy(await stage.ask(text))
                async with stage.session.turn("x") as turn:
                    await turn.call_tool(text, {}, run=tool)
                stage.note(before, str(match))
            await stage.interrupt()
            refused = sum(plugin.state == "refused" for plugin in host.plugins)
        return f"{refused} of {PLUGINS} refused; worst: {stage.worst[1][:300]}"

    return Case("generated", f"patterns {number}", "none holds the loop", nothing, scene=scene)


CASES = (
    *(_messages(number) for number in range(1, 5)),
    *(_schemas(number) for number in range(1, 3)),
    *(_patterns(number) for number in range(1, 3)),
)
