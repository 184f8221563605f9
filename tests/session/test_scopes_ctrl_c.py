"""Ctrl+C in a session: wherever it lands, all that began ends once and is told."""

from __future__ import annotations

import signal
from typing import NoReturn

import pytest
import trio

from sliphook import PluginHost
from tests.programs import EVERYTHING, WAIT_S, Program, Workshop

from .scopes import Fault, ends


@pytest.mark.parametrize("where", ["turn", "session", "host"])
def test_ctrl_c_at_a_checkpoint(probe: Program, where: str) -> None:
    """The interpreter's own KeyboardInterrupt, as `trio.run` delivers it to the main task."""

    async def main() -> None:
        with trio.fail_after(WAIT_S):
            async with PluginHost([probe.path]) as host:
                if where == "host":
                    await press()
                async with host.session() as session:
                    if where == "session":
                        await press()
                    async with session.turn("hello") as turn:
                        await turn.submit()
                        await press()

    async def press() -> None:
        signal.raise_signal(signal.SIGINT)
        await trio.sleep_forever()

    with pytest.raises(KeyboardInterrupt):
        trio.run(main)
    expected: dict[str, tuple[list[str], list[str]]] = {
        "turn": (["interrupted"], ["signal"]),
        "session": ([], ["signal"]),
        "host": ([], []),
    }
    assert ends(probe) == expected[where]
    assert probe.methods()[-2:] == ["shutdown", "exit"]


def test_ctrl_c_in_a_hook(shop: Workshop) -> None:
    probe = shop.program(
        hears=EVERYTHING,
        on='os.kill(os.getppid(), signal.SIGINT) if method == "hook/pre_tool_call" else 0',
    )

    async def main() -> None:
        with trio.fail_after(WAIT_S):
            async with (
                PluginHost([probe.path]) as host,
                host.session() as session,
                session.turn("hello") as turn,
            ):

                async def own(_: dict[str, object]) -> NoReturn:
                    await trio.sleep_forever()

                await turn.call_tool("mine", {}, run=own)

    with pytest.raises(KeyboardInterrupt):
        trio.run(main)
    assert ends(probe) == (["interrupted"], ["signal"])
    (stopped,) = probe.params("event/agent_loop_stopped")
    assert (stopped["reason"], stopped["invalidation_reason"]) == ("signal", "sigint")


def test_ctrl_c_while_the_host_closes_leaves_nothing_behind(shop: Workshop) -> None:
    slow = shop.program(
        on='os.kill(os.getppid(), signal.SIGINT) if method == "shutdown" else 0; time.sleep(30)',
        name="slow",
    )

    async def main() -> None:
        with trio.fail_after(WAIT_S):
            async with PluginHost([slow.path]):
                pass

    with pytest.raises(KeyboardInterrupt):
        trio.run(main)
    assert slow.methods()[-1] == "shutdown"


def test_ctrl_c_while_the_host_opens_leaves_nothing_behind(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sliphook.process.shutdown.EXIT_GRACE_S", 0.2)
    slow = shop.program(before="os.kill(os.getppid(), signal.SIGINT)\ntime.sleep(30)")

    async def main() -> None:
        with trio.fail_after(WAIT_S):
            async with PluginHost([slow.path]):
                pytest.fail("it has opened")

    with pytest.raises(KeyboardInterrupt):
        trio.run(main)


async def test_keyboard_interrupt_raised_by_code_inside(probe: Program) -> None:
    with trio.fail_after(WAIT_S), pytest.raises(KeyboardInterrupt):
        async with (
            PluginHost([probe.path]) as host,
            host.session() as session,
            session.turn("hello") as turn,
            turn.subagent("dig"),
        ):
            raise KeyboardInterrupt
    assert ends(probe) == (["interrupted", "interrupted"], ["signal"])


async def test_a_group_of_exceptions_is_looked_into(probe: Program) -> None:
    """A nursery in the turn: its group leaves as it is, and the fault in it counts."""

    async def fail() -> None:
        raise Fault

    with trio.fail_after(WAIT_S), pytest.RaisesGroup(Fault):
        async with (
            PluginHost([probe.path]) as host,
            host.session() as session,
            session.turn("hello"),
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(fail)
            await trio.sleep_forever()
    assert ends(probe) == (["failed"], ["error"])
