"""What the host does in threads waits for none of the agent's, and for none of another loop's."""

from __future__ import annotations

import threading
from functools import partial

import trio
import trio.testing

from sliphook import PluginHost
from sliphook.process.own_threads import OwnThreads
from tests.programs import WAIT_S, Workshop


async def test_an_agent_that_uses_up_all_threads_of_trio_holds_no_plugin(shop: Workshop) -> None:
    plugin = shop.program(tools=["ping"])
    limiter = trio.to_thread.current_default_thread_limiter()
    before, over = limiter.total_tokens, threading.Event()
    waited: list[bool] = []

    def use_up() -> None:
        waited.append(over.wait(WAIT_S / 2))

    limiter.total_tokens = 1
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.to_thread.run_sync, use_up)
            await trio.testing.wait_all_tasks_blocked()
            try:
                async with PluginHost([plugin.path]) as host:
                    assert [one.state for one in host.plugins] == ["ready"]
                    assert (await host.restart(host.plugins[0].name)).state == "ready"
            finally:
                over.set()
    finally:
        limiter.total_tokens = before
    # it was over while the agent's thread still ran
    assert waited == [True]


def test_each_loop_has_a_limit_of_its_own() -> None:
    threads, at_once = OwnThreads("a test", 1), threading.Barrier(2)
    ended: list[int] = []

    async def works() -> None:
        # both loops have one that waits for a place while the other loop works
        async with trio.open_nursery() as nursery:
            for number in range(3):
                nursery.start_soon(partial(threads.run, partial(one, number)))

    def one(number: int) -> None:
        at_once.wait(WAIT_S)
        ended.append(number)

    loops = [threading.Thread(target=trio.run, args=(works,)) for _ in range(2)]
    for loop in loops:
        loop.start()
    for loop in loops:
        loop.join(WAIT_S)
    assert sorted(ended) == [0, 0, 1, 1, 2, 2]
