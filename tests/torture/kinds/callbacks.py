"""What the agent's callbacks and its approver do, while a plugin has something to say."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import trio

from sliphook import PluginHost, Turn
from sliphook.dispatch.outcome import Outcome
from sliphook.session.results import ToolOutcome
from tests.torture.case import Case, Workshop, nothing, python
from tests.torture.stage import HEALTHY, Stage, check_healthy, make_all

TALKER = python(
    """
    initialize_id = initialize()
    reply(initialize_id, MANIFEST)
    while True:
        message = receive()
        method = message.get("method", "")
        if method == "hook/user_prompt_submit":
            send(method="host/log", params={"level": "info", "message": "a line"})
            send(method="host/notify", id="n", params={"level": "warning", "message": "an alert"})
            send(method="$/progress", params={"id": message["id"], "message": "half"})
            reply(message["id"], {"no such field": 1})
        elif method == "hook/pre_tool_call":
            reply(message["id"], {"decision": "ask", "reason": "a person"})
        elif method.startswith("hook/"):
            reply(message["id"], {})
        elif "method" in message:
            polite(message)
    """,
    name="talker",
    subscriptions=[
        {"event": "user_prompt_submit", "timeout_s": 60},
        {"event": "pre_tool_call", "timeout_s": 60},
        {"event": "notification", "mode": "event"},
    ],
    uses=["notify"],
)
_CALLBACKS = ("on_log", "on_notify", "on_progress", "on_problem")


class _Acting(Stage):
    """A stage whose host's callbacks do something; `called` says which were called."""

    def __init__(self, shop: Workshop, do: Callable[[_Acting], object]) -> None:
        super().__init__(shop)
        self.called: set[str] = set()
        self.armed = False
        self._do = do

    def callback(self, name: str) -> Callable[..., None]:
        def call(*_: object) -> None:
            if self.armed:
                self.called.add(name)
                self._do(self)

        return call


def _callbacks(name: str, promise: str, do: Callable[[_Acting], object], *, ends: bool) -> Case:
    """All four callbacks do that, while a plugin has something to say."""

    async def scene(shop: Workshop) -> str:
        programs = await trio.to_thread.run_sync(lambda: make_all(shop, TALKER, HEALTHY))
        stage = _Acting(shop, do)
        stage.host = PluginHost(
            programs,
            trace=stage.sightings,
            data_home=shop.folder / "data",
            log_dir=shop.folder / "logs",
            on_log=stage.callback("on_log"),
            on_notify=stage.callback("on_notify"),
            on_progress=stage.callback("on_progress"),
            on_problem=stage.callback("on_problem"),
        )
        async with stage.host as host:
            async with host.session() as stage.session:
                stage.armed = True
                interrupted = await _ask(stage)
                stage.armed = False
                assert interrupted == ends, f"interrupted: {interrupted}"
                assert stage.called, "no callback was called"
                if not ends:
                    assert stage.called == set(_CALLBACKS), f"only {stage.called} were called"
            async with host.session() as stage.session:
                check_healthy(await stage.ask())
                await stage.interrupt()
        return f"{len(stage.called)} of 4 called"

    return Case("embedder", name, promise, nothing, scene=scene)


async def _ask(stage: Stage) -> bool:
    outcome: Outcome | None = None
    turn: Turn
    async with stage.session.turn("hello") as turn:
        outcome = await stage.session.hooks.ask(
            "user_prompt_submit", turn, source="user", text="hello"
        )
    if not turn.interrupted:
        assert outcome is not None
        check_healthy(outcome)
    return turn.interrupted


def _fail(_: _Acting) -> None:
    raise ValueError("the agent's own fault")


def _open_a_turn(stage: _Acting) -> None:
    following = stage.session.turn("from a callback", interrupt=True)
    with contextlib.suppress(StopIteration):  # neither of them waits
        following.__aenter__().send(None)
    with contextlib.suppress(StopIteration):
        following.__aexit__(None, None, None).send(None)


def _approver(
    name: str, promise: str, do: Callable[[Stage], Awaitable[object]], status: str
) -> Case:
    """A tool call that a person has to approve, and an approver that does something else."""

    async def scene(shop: Workshop) -> str:
        programs = await trio.to_thread.run_sync(lambda: make_all(shop, TALKER, HEALTHY))
        stage = Stage(shop)
        ran: list[object] = []

        async def approve(_: object) -> Any:
            return await do(stage)

        async def run(arguments: dict[str, Any]) -> None:
            ran.append(arguments)

        stage.host = PluginHost(
            programs,
            trace=stage.sightings,
            data_home=shop.folder / "data",
            log_dir=shop.folder / "logs",
            approver=approve,
            on_problem=lambda _, message: stage.problems.append(message),
        )
        outcome: ToolOutcome | None = None
        async with stage.host as host:
            async with host.session() as stage.session:
                turn: Turn
                async with stage.session.turn("work") as turn:
                    outcome = await turn.call_tool("own", {}, run=run)
                seen = "interrupted" if outcome is None else outcome.status
                assert seen == status, f"it was {seen}"
                assert bool(ran) == (status == "ok"), ran
            async with host.session() as stage.session:
                await stage.interrupt()
        return seen

    return Case("embedder", name, promise, nothing, scene=scene)


async def _approve_in_vain(stage: Stage) -> bool:
    stage.session.interrupt()
    return True


async def _close_first(stage: Stage) -> bool:
    stage.session.close("exit")
    return True


async def _ask_again(stage: Stage) -> bool:
    """A call inside the question would wait for its own end."""
    assert stage.session.open_turn is not None

    async def run(_: dict[str, Any]) -> None:
        pass

    with trio.move_on_after(0.3):
        await stage.session.open_turn.call_tool("own", {}, run=run)
    return False


async def _raise(_: Stage) -> bool:
    raise ValueError("nobody is there")


async def _say_no(_: Stage) -> str:
    return "no"


CASES = (
    _callbacks("callbacks that raise", "nothing is lost", _fail, ends=False),
    _callbacks(
        "callbacks that interrupt", "the turn ends", lambda on: on.session.interrupt(), ends=True
    ),
    _callbacks(
        "callbacks that close", "the session ends", lambda on: on.session.close("exit"), ends=True
    ),
    _callbacks("callbacks that reset", "it begins anew", lambda on: on.session.reset(), ends=True),
    _callbacks("callbacks that open a turn", "the first one ends", _open_a_turn, ends=True),
    _callbacks(
        "callbacks that tell",
        "nothing is told twice",
        lambda on: on.session.notification("warning", "again"),
        ends=False,
    ),
    _approver("an approver that raises", "it counts as no", _raise, "denied"),
    _approver("an approver that says a word", "it counts as no", _say_no, "denied"),
    _approver(
        "an approver that interrupts", "the tool does not run", _approve_in_vain, "interrupted"
    ),
    _approver("an approver that closes", "the tool does not run", _close_first, "interrupted"),
    _approver("an approver that asks for more", "it does not hang", _ask_again, "denied"),
)
