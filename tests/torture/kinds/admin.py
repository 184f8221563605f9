"""Restarts, the breaker, and what the user orders in the middle of a death."""

from __future__ import annotations

import contextlib
import os
import random
import signal
from collections import Counter
from pathlib import Path

import trio

from sliphook import PluginHost, Turn
from tests.heartbeat import unmeasured
from tests.torture.case import Case, Make, Workshop, at_first, nothing, python
from tests.torture.stage import HEALTHY, Stage, check_healthy, make_all

_GOOD = python("greet()\nserve()")
_SLOW = python("time.sleep(1)\ngreet()\nserve()")
_STUBBORN = python(
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\ngreet()\nhook()\nwhile True: time.sleep(1000)",
    timeout_s=0.3,
)
_DIES = python("greet()\ntime.sleep(.1)\nos._exit(3)")
ORDER_S = 40.0
"""An order that is not answered by then will not be."""


async def _order(host: PluginHost, order: str, name: str) -> str:
    """Give one order; it always answers."""
    orders = {"restart": host.restart, "enable": host.enable, "disable": host.disable}
    with trio.move_on_after(ORDER_S):
        return (await orders[order](name)).state
    raise AssertionError(f"{order} was never answered")


def _scene(
    make: Make, *orders: str, kill: bool = False, together: bool = False, rest: str = "ready"
) -> Case:
    """Orders in turn or at the same time, also after a kill.

    Then the plugin can still be enabled.
    """

    async def scene(shop: Workshop) -> None:
        programs = await trio.to_thread.run_sync(lambda: make_all(shop, make, HEALTHY))
        stage = Stage(shop)
        async with stage.open_host(programs) as host, host.session() as stage.session:
            if kill and stage.bad.pid is not None:
                os.kill(stage.bad.pid, signal.SIGKILL)
            async with trio.open_nursery() as nursery:
                for order in orders:
                    if together:
                        nursery.start_soon(_order, host, order, "bad")
                    else:
                        await _order(host, order, "bad")
            check_healthy(await stage.ask())
            await _order(host, "disable", "bad")
            assert stage.bad.state == "disabled", stage.bad
            assert stage.bad.pid is None, stage.bad
            await _order(host, "enable", "bad")
            assert stage.bad.state == rest, stage.bad
            await stage.interrupt()

    how = (
        " and ".join(orders)
        + (" at once" if together else "")
        + (" in the middle of a death" if kill else "")
    )
    names = {id(_GOOD): "", id(_SLOW): ", slow to start", id(_STUBBORN): ", stubborn"}
    return Case("admin", how + names[id(make)], "orders always answer", nothing, scene=scene)


async def _many_orders(shop: Workshop) -> None:
    """Two hundred random orders and kills: all orders are answered, and the last one counts."""
    programs = await trio.to_thread.run_sync(lambda: make_all(shop, _GOOD, HEALTHY))
    stage, dice = Stage(shop), random.Random(7)
    async with stage.open_host(programs) as host, host.session() as stage.session:
        async with trio.open_nursery() as nursery:
            for _ in range(200):
                pid = stage.bad.pid
                what = dice.choice(("restart", "enable", "disable", "kill"))
                if what != "kill":
                    nursery.start_soon(_order, host, what, "bad")
                elif pid is not None:
                    with contextlib.suppress(ProcessLookupError):  # an order may have ended it
                        os.kill(pid, signal.SIGKILL)
                await trio.sleep(dice.random() * 0.03)
        check_healthy(await stage.ask())
        assert await _order(host, "enable", "bad") == "ready", stage.bad
        await stage.interrupt()


def _second(shop: Workshop) -> Path:
    return _GOOD(Workshop(shop.folder / "second"))


async def _two_of_one_name(shop: Workshop) -> None:
    """The second of two is refused, and told who has the name."""
    makes = (_GOOD, _second, HEALTHY)
    programs = await trio.to_thread.run_sync(lambda: make_all(shop, *makes))
    stage = Stage(shop)
    async with stage.open_host(programs) as host, host.session() as stage.session:
        assert [plugin.state for plugin in host.plugins] == ["ready", "refused", "ready"], (
            host.plugins
        )
        assert stage.said("the name bad is taken by the plugin bad"), stage.problems
        check_healthy(await stage.ask())
        await stage.interrupt()


async def _opened_in_vain(shop: Workshop) -> None:
    """The agent is cancelled around the plugins' start: the host can be left, nothing remains."""
    programs = await trio.to_thread.run_sync(lambda: make_all(shop, _SLOW, HEALTHY))
    for after_s in (0.0, 0.01, 0.03, 0.1, 0.3, 1.2):
        stage = Stage(shop)
        with trio.fail_after(120), trio.CancelScope() as agent:
            agent.deadline = trio.current_time() + after_s
            async with stage.open_host(programs):
                await trio.sleep_forever()
        assert agent.cancelled_caught


async def _closed_while_starting(shop: Workshop) -> None:
    """The host is left while a plugin is being started again."""
    programs = await trio.to_thread.run_sync(lambda: make_all(shop, _SLOW, HEALTHY))
    stage = Stage(shop)
    async with trio.open_nursery() as nursery, stage.open_host(programs) as host:
        nursery.start_soon(_order, host, "restart", "bad")
        await trio.sleep(0.2)


async def _wait_by_thousands(stage: Stage) -> None:
    """Three thousand hooks for a plugin that starts: some fit and wait, the others fail at once."""
    await stage.until(lambda: stage.bad.state in ("restarting", "starting"), "the death")
    statuses: Counter[str] = Counter()

    async def ask(turn: Turn) -> None:
        outcome = await stage.session.hooks.ask(
            "pre_llm_call", turn, call_index=1, provider=None, model=None, tools=[], messages=[]
        )
        statuses[outcome.parts[0].status] += 1

    async with stage.session.turn("much") as turn:
        with unmeasured():  # three thousand tasks of the agent's are its own work
            async with trio.open_nursery() as nursery:
                for _ in range(3_000):
                    nursery.start_soon(ask, turn)
    assert statuses == {"answered": 1_024, "queue_full": 1_976}, statuses


async def _told_of_sessions(stage: Stage) -> None:
    """After a restart the plugin is told of the living sessions."""
    file = stage.shop.folder / "data" / "bad" / "told"
    await stage.until(
        lambda: file.exists() and "reload" in file.read_text(), "session_start with reload"
    )


async def _dies_at_every_start(shop: Workshop) -> None:
    """Five deaths in a minute open the breaker; by hand it can be tried again."""
    programs = await trio.to_thread.run_sync(lambda: make_all(shop, _DIES, HEALTHY))
    stage = Stage(shop)
    async with stage.open_host(programs) as host, host.session() as stage.session:
        await stage.until(lambda: stage.bad.state == "failed", "the breaker")
        assert stage.bad.restarts == 4, stage.bad
        assert stage.said("died too often, the last time it exited with status 3"), stage.problems
        outcome = await stage.ask()
        check_healthy(outcome)
        assert [part.status for part in outcome.parts if part.plugin == "bad"] in (
            [],
            ["failed_to_start"],
        ), outcome.parts
        assert await _order(host, "restart", "bad") in ("ready", "failed"), stage.bad
        await stage.until(
            lambda: stage.bad.state == "failed" and stage.bad.restarts == 8, "the breaker again"
        )
        await stage.interrupt()


_TELLS = """
greet()
while True:
    message = receive()
    method = str(message.get("method"))
    if method == "event/session_start":
        open("told", "a").write(message["params"]["source"] + "\\n")
    elif method.startswith("hook/user") and once():
        sys.exit(1)
    elif method.startswith("hook/"):
        reply(message["id"], {})
    else:
        polite(message)
"""

CASES = (
    Case(
        "admin",
        "dies at every start",
        "tried five times, then left out and shown",
        nothing,
        scene=_dies_at_every_start,
    ),
    Case(
        "admin",
        "dies once",
        "started again at once",
        at_first("sys.exit(1)"),
        "crashed",
        says="it is started again",
        restarts=1,
    ),
    Case(
        "admin",
        "thousands wait for its start",
        "as bounded as its queue",
        python(
            "if os.path.exists('once'): time.sleep(2)\ngreet()\nif once():\n    hook()\n"
            "    sys.exit(1)\nserve()",
            subscriptions=[
                {"event": "user_prompt_submit", "timeout_s": 60},
                {"event": "pre_llm_call", "timeout_s": 60},
            ],
        ),
        "crashed",
        restarts=1,
        act=_wait_by_thousands,
    ),
    Case(
        "admin",
        "comes back",
        "is told of the living sessions",
        python(_TELLS),
        "crashed",
        restarts=1,
        act=_told_of_sessions,
    ),
    *(_scene(_GOOD, order) for order in ("restart", "enable", "disable")),
    *(_scene(_GOOD, order, kill=True) for order in ("restart", "enable", "disable")),
    _scene(_GOOD, "restart", "disable", "enable", "restart", together=True),
    _scene(_GOOD, "disable", "disable", "restart", kill=True, together=True),
    _scene(_GOOD, "enable", "enable", "enable", together=True),
    _scene(_SLOW, "restart", "disable", together=True),
    _scene(_SLOW, "disable", "enable", kill=True, together=True),
    _scene(_STUBBORN, "restart", "disable", together=True),
    _scene(_STUBBORN, "disable", "restart", kill=True),
    Case(
        "admin", "two hundred orders and kills", "orders always answer", nothing, scene=_many_orders
    ),
    Case(
        "admin",
        "two of one name",
        "the first keeps it, the second is told",
        nothing,
        scene=_two_of_one_name,
    ),
    Case(
        "admin",
        "opened in vain",
        "a cancelled agent leaves nothing",
        nothing,
        scene=_opened_in_vain,
    ),
    Case(
        "admin",
        "closed while starting",
        "orders always answer, nothing is left",
        nothing,
        scene=_closed_while_starting,
    ),
)
