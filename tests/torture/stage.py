"""Plays one case: a misbehaving program beside a healthy one, and the host's promises meanwhile."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import trio
import trio.testing

from sliphook import PluginHost, PluginStatus, Session
from sliphook.dispatch.outcome import Outcome
from tests.heartbeat import Heartbeat, timed_interrupt, unmeasured
from tests.torture.case import Case, Make, Skip, Verdict, Workshop, python
from tests.torture.inside import Bounds, Sightings, comes, living

WAIT_S = 120.0
"""A state or a line of the log that has not come by then will not come."""
CASE_S = 600.0
"""The last net under a case."""
GONE_S = 5.0
"""A killed process may need so long to disappear on a busy machine."""
RESTING = ("ready", "failed", "refused", "self_disabled", "stopped", "disabled")

HEALTHY = python(
    """
    held = []
    initialize_id = initialize()
    reply(initialize_id, MANIFEST)
    while True:
        message = receive()
        method = message.get("method", "")
        if method == "$/cancelRequest" and message["params"]["id"] in held:
            held.remove(message["params"]["id"])
            send(id=message["params"]["id"], error={"code": -32800, "message": "cancelled"})
        elif method == "hook/user_prompt_submit" and message["params"]["text"] == "hold":
            held.append(message["id"])
        elif method.startswith("hook/"):
            reply(message["id"], {"context": ["well"]} if "text" in message["params"] else {})
        else:
            polite(message)
    """,
    name="healthy",
    subscriptions=[
        {"event": "user_prompt_submit", "timeout_s": 60},
        {"event": "stop", "timeout_s": 60},
        {"event": "turn_end"},
    ],
)


class Stage:
    """What an act may use.

    Attributes:
        host: the open host.
        session: a session of it.
        shop: the case's folder.
        problems: what the host told the user.
        log: the last lines of the log, as `plugin level: message`.
        sightings: what the trace saw.
    """

    def __init__(self, shop: Workshop) -> None:
        self.shop = shop
        self.problems: list[str] = []
        self.log: deque[str] = deque(maxlen=5_000)
        self.sightings = Sightings()
        self.bounds = Bounds()
        self.asked = 0
        self.host: PluginHost
        self.session: Session

    def open_host(self, plugins: Sequence[Path]) -> PluginHost:
        """A host that tells this stage everything."""
        self.host = PluginHost(
            plugins,
            on_log=lambda plugin, level, message: self.log.append(f"{plugin} {level}: {message}"),
            on_notify=lambda plugin, level, message: self.log.append(
                f"{plugin} notice {level}: {message}"
            ),
            on_problem=lambda _, message: self.problems.append(message),
            trace=self.sightings,
            data_home=self.shop.folder / "data",
            log_dir=self.shop.folder / "logs",
        )
        return self.host

    @property
    def bad(self) -> PluginStatus:
        """The plugin that misbehaves, as it is now."""
        return self.host.plugins[0]

    async def until(self, done: Callable[[], bool], what: str) -> None:
        """Wait for something that the program or the host does.

        Raises:
            AssertionError: it does not come.
        """
        assert await comes(done, WAIT_S), (
            f"{what} did not come; it is {self.bad.state}: {self.bad.why}"
        )

    async def ask(self, text: str = "hello", session: Session | None = None) -> Outcome:
        """A whole turn with one hook that both plugins hear."""
        session = session or self.session
        outcome: Outcome | None = None
        async with session.turn(text, interrupt=True) as turn:
            outcome = await session.hooks.ask("user_prompt_submit", turn, source="user", text=text)
        assert outcome is not None, "the turn was interrupted"
        return outcome

    def said(self, pattern: str) -> bool:
        """Whether the host has said something that fits."""
        return any(re.search(pattern, line) for line in (*self.problems, *self.log))

    # -- what is promised meanwhile
    # ----------------------------------------------------------------------------------

    async def keep_asking(self) -> None:
        """Ask the healthy plugin alone, all the time: every hook is answered."""
        async with (
            self.host.session(session_key="beside") as session,
            session.turn("beside") as turn,
        ):
            while True:
                outcome = await session.hooks.ask(
                    "stop", turn, turn_count=1, stop_count=0, last_assistant_message=None
                )
                statuses = [(part.plugin, part.status) for part in outcome.parts]
                assert statuses == [("healthy", "answered")], (
                    f"the healthy plugin did not answer: {outcome.parts}"
                )
                self.asked += 1
                await trio.sleep(0.01)

    async def keep_looking(self) -> None:
        """Measure what waits, all the time."""
        while True:
            self.bounds.look(self.host)
            await trio.sleep(0.01)

    async def interrupt(self) -> None:
        """A turn is interrupted during hooks, and the next begins: neither needs a checkpoint."""
        left: list[bool] = []

        async def held() -> None:
            async with self.session.turn("hold") as turn:
                await self.session.hooks.ask("user_prompt_submit", turn, source="user", text="hold")
            left.append(turn.interrupted)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(held)
            await self.until(
                lambda: self.session.open_turn is not None and bool(self.session.open_turn.fires),
                "the held hook",
            )
            following = self.session.turn("after")
            with trio.testing.assert_no_checkpoints(), timed_interrupt():
                interrupted = self.session.interrupt()
                await following.__aenter__()
            try:
                assert interrupted, "there was nothing to interrupt"
                outcome = await self.session.hooks.ask(
                    "user_prompt_submit", following, source="user", text="after"
                )
                check_healthy(outcome)
            finally:
                await following.__aexit__(None, None, None)
        assert left == [True], "the interrupted turn was not left"


def check_healthy(outcome: Outcome) -> None:
    """The healthy plugin answered, and its answer counts."""
    statuses = [part.status for part in outcome.parts if part.plugin == "healthy"]
    assert statuses == ["answered"], f"the healthy plugin: {outcome.parts}"
    assert [context.text for context in outcome.context if context.plugin == "healthy"] == [
        "well"
    ], "the healthy answer does not count"


async def play(case: Case, folder: Path, beat: Heartbeat) -> Verdict:
    """Play one case in its own folder; what went wrong is in the verdict, nothing is raised."""
    verdict = Verdict(case)
    shop = Workshop(folder)
    stage = Stage(shop)
    began = time.monotonic()
    with trio.move_on_after(CASE_S) as limit:
        try:
            with beat.measure() as verdict.held:
                await _course(case, stage, verdict)
        except* Skip as skips:
            verdict.skipped = str(skips.exceptions[0])
        except* AssertionError as errors:
            verdict.faults += [str(error) or repr(error) for error in _leaves(errors)]
        except* Exception as errors:
            verdict.faults += [f"the host raised {error!r}" for error in _leaves(errors)]
    if limit.cancelled_caught:
        verdict.faults.append(f"it was not over after {CASE_S:g} s")
    if verdict.skipped is None:
        with unmeasured():  # it reads all of /proc, beside other cases
            verdict.faults += await _what_is_left(stage.sightings.pids)
    shop.clean()
    verdict.seconds = time.monotonic() - began
    return verdict


async def _course(case: Case, stage: Stage, verdict: Verdict) -> None:
    if case.scene is not None:
        verdict.seen = await case.scene(stage.shop) or "as promised"
    else:
        await _usual_course(case, stage, verdict)


def _leaves(error: BaseException) -> list[BaseException]:
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    group = cast("BaseExceptionGroup[BaseException]", error)
    return [leaf for inner in group.exceptions for leaf in _leaves(inner)]


async def _usual_course(case: Case, stage: Stage, verdict: Verdict) -> None:
    programs = await trio.to_thread.run_sync(lambda: make_all(stage.shop, case.make, HEALTHY))
    async with stage.open_host(programs) as host:
        healthy = host.plugins[1]
        assert healthy.state == "ready", f"the healthy plugin is {healthy.state}: {healthy.why}"
        async with trio.open_nursery() as nursery, host.session() as stage.session:
            nursery.start_soon(stage.keep_asking)
            nursery.start_soon(stage.keep_looking)
            try:
                await _play_beside(case, stage, verdict)
            finally:
                nursery.cancel_scope.cancel()
        assert stage.asked > 0, "the healthy plugin was never asked"
        healthy = host.plugins[1]
        assert (healthy.state, healthy.restarts) == ("ready", 0), (
            f"the healthy plugin is {healthy.state}: {healthy.why}"
        )
    verdict.faults += stage.bounds.beyond()


def make_all(shop: Workshop, *makes: Make) -> list[Path]:
    """Make several programs; blocks."""
    return [make(shop) for make in makes]


async def _play_beside(case: Case, stage: Stage, verdict: Verdict) -> None:
    outcome = await stage.ask()
    check_healthy(outcome)
    status = next((part.status for part in outcome.parts if part.plugin != "healthy"), None)
    verdict.seen = str(status)
    if case.act is not None:
        await case.act(stage)
    if case.restarts is not None:
        await stage.until(lambda: stage.bad.restarts >= (case.restarts or 0), "the restart")
    await stage.until(lambda: stage.bad.state in RESTING, "a state of rest")
    verdict.seen = f"{status}, {stage.bad.state}"
    if (status, stage.bad.state) != (case.status, case.state):
        verdict.faults.append(
            f"it was {verdict.seen}: {stage.bad.why}; {stage.problems}; {list(stage.log)[:3]}"
        )
    if case.says is not None:
        await _hear(case.says, stage)
    if case.restarts is not None:
        assert stage.bad.restarts == case.restarts, (
            f"{stage.bad.restarts} restarts: {stage.problems}"
        )
    await stage.interrupt()


async def _hear(pattern: str, stage: Stage) -> None:
    assert await comes(lambda: stage.said(pattern), WAIT_S), (
        f"nothing said {pattern!r}: {stage.problems}, {list(stage.log)[-5:]}"
    )


async def _what_is_left(pids: Sequence[int]) -> list[str]:
    await comes(lambda: not living(pids), GONE_S)
    return [f"it is left behind: {one}" for one in living(pids)]
