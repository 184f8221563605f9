"""An event loop that stays awake: behind what was followed at once, and for a moment only."""

from __future__ import annotations

import itertools
import os
import selectors
from collections.abc import Callable, Iterator
from time import monotonic

import pytest

from sliphook_sdk.engine import awake_selector
from sliphook_sdk.engine.awake_selector import AwakeSelector
from sliphook_sdk.spin_wait import PLUGIN_SPIN_S, QUICK_ANSWERS, SpinWait

PATIENCE_S = 120.0


class World:
    """A host and a server that write to one loop, and a clock that goes on at every look.

    Attributes:
        step_s: how far it goes.
        stayed: for how long at most the loop stayed awake, each time that it did.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.step_s = PLUGIN_SPIN_S / 10
        self.stayed: list[float] = []
        self._now_s = 0.0
        monkeypatch.setattr(awake_selector, "perf_counter", self._tick)
        monkeypatch.setattr(awake_selector, "processors", lambda: 2)
        monkeypatch.setattr(awake_selector, "stay_awake", self._stay)
        self.selector = AwakeSelector()
        self.pipes = {"host": os.pipe(), "server": os.pipe()}
        for name in self.pipes:
            self.register(name)

    def register(self, name: str) -> None:
        """Have the loop read what comes from there."""
        self.selector.register(self.pipes[name][0], selectors.EVENT_READ, name)

    def _tick(self) -> float:
        self._now_s += self.step_s
        return self._now_s

    def _stay(self, look: Callable[[], object], within_s: float) -> object:
        self.stayed.append(within_s)
        return look()

    def comes(self, name: str, *, late: bool = False) -> None:
        """Something comes from there, soon or not."""
        incoming, outgoing = self.pipes[name]
        self.step_s = PLUGIN_SPIN_S * 2 if late else PLUGIN_SPIN_S / 10
        os.write(outgoing, b"x")
        assert [key.data for key, _ in self.selector.select(PATIENCE_S)] == [name]
        os.read(incoming, 1)

    def timer_is_waited_for_awake(self, within_s: float = 0.001) -> bool:
        """Nothing comes until a timer fires: whether the loop stayed awake for something."""
        before, self.step_s = len(self.stayed), PLUGIN_SPIN_S * 2
        assert self.selector.select(within_s) == []
        return len(self.stayed) > before


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    made = World(monkeypatch)
    yield made
    made.selector.close()
    for descriptor in itertools.chain(*made.pipes.values()):
        os.close(descriptor)


def test_it_stays_awake_for_what_came_at_once(world: World) -> None:
    world.comes("host")
    assert not world.timer_is_waited_for_awake()
    for _ in range(3):
        world.comes("host")
    assert world.timer_is_waited_for_awake()
    assert world.stayed[-1] == PLUGIN_SPIN_S


def test_it_stays_awake_in_vain_once_in_nine(world: World) -> None:
    for _ in range(3):
        world.comes("host")
    assert world.timer_is_waited_for_awake()
    for quick in range(1, QUICK_ANSWERS + 1):
        world.comes("host")  # behind the timer
        world.comes("host")
        assert world.timer_is_waited_for_awake() == (quick == QUICK_ANSWERS)


def test_what_is_slow_behind_one_is_not_held_against_the_other(world: World) -> None:
    """A server thinks; behind its answer the next request comes at once."""
    for _ in range(3):
        world.comes("host")
        world.comes("server", late=True)
    world.comes("host")
    assert not world.timer_is_waited_for_awake()
    world.comes("host")
    world.comes("server", late=True)
    assert world.timer_is_waited_for_awake()


def test_a_timer_is_not_held_against_the_host(world: World) -> None:
    """A handler sleeps for a moment; behind its answer the next request comes at once."""
    for _ in range(3):
        world.comes("host")
        assert not world.timer_is_waited_for_awake()
    assert world.timer_is_waited_for_awake()


def test_it_is_not_awake_for_longer_than_until_the_timer(world: World) -> None:
    for _ in range(3):
        world.comes("host")
    assert world.timer_is_waited_for_awake(PLUGIN_SPIN_S / 4)
    assert world.stayed[-1] == PLUGIN_SPIN_S / 4


def test_another_of_the_same_number_begins_anew(world: World) -> None:
    for _ in range(3):
        world.comes("host")
    world.selector.unregister(world.pipes["host"][0])
    world.register("host")
    world.comes("host")
    assert not world.timer_is_waited_for_awake()


@pytest.mark.parametrize("pays", [True, False], ids=["awake", "asleep"])
def test_a_wait_ends_in_time(monkeypatch: pytest.MonkeyPatch, pays: bool) -> None:
    monkeypatch.setattr(SpinWait, "pays", pays)
    incoming, outgoing = os.pipe()
    with AwakeSelector() as selector:
        selector.register(incoming, selectors.EVENT_READ)
        for timeout_s in (0, -1, 1e-9, 0.001):
            began = monotonic()
            assert selector.select(timeout_s) == []
            assert monotonic() - began < PATIENCE_S
        os.write(outgoing, b"x")
        for patience_s in (0, 0.001, None):
            assert [key.fd for key, _ in selector.select(patience_s)] == [incoming]
    os.close(incoming)
    os.close(outgoing)
