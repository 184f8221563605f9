"""An event loop that stays awake: behind what was followed at once, and for a moment only."""

from __future__ import annotations

import itertools
import os
import selectors
from collections.abc import Iterator
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
        yields: how often the loop gave its processor away.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.step_s = PLUGIN_SPIN_S / 10
        self.yields = 0
        self._now_s = 0.0
        monkeypatch.setattr(awake_selector, "perf_counter", self._tick)
        monkeypatch.setattr(awake_selector, "processors", lambda: 2)
        monkeypatch.setattr(os, "sched_yield", self._yielded)
        self.selector = AwakeSelector()
        self.pipes = {"host": os.pipe(), "server": os.pipe()}
        for name, (incoming, _) in self.pipes.items():
            self.selector.register(incoming, selectors.EVENT_READ, name)

    def _tick(self) -> float:
        self._now_s += self.step_s
        return self._now_s

    def _yielded(self) -> None:
        self.yields += 1

    def comes(self, name: str, *, late: bool) -> None:
        """Something comes from there, soon or not."""
        incoming, outgoing = self.pipes[name]
        self.step_s = PLUGIN_SPIN_S * 2 if late else PLUGIN_SPIN_S / 10
        os.write(outgoing, b"x")
        assert [key.data for key, _ in self.selector.select(PATIENCE_S)] == [name]
        os.read(incoming, 1)

    def is_awake(self) -> bool:
        """Whether it stays awake for what comes next; nothing does."""
        before, self.step_s = self.yields, PLUGIN_SPIN_S * 0.6
        assert self.selector.select(0.001) == []
        return self.yields > before


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    made = World(monkeypatch)
    yield made
    made.selector.close()
    for descriptor in itertools.chain(*made.pipes.values()):
        os.close(descriptor)


def test_it_stays_awake_for_what_came_at_once(world: World) -> None:
    assert not world.is_awake()
    for _ in range(3):
        world.comes("host", late=False)
    assert world.is_awake()


def test_it_gives_up_soon_and_waits_in_vain_once_in_nine(world: World) -> None:
    for _ in range(3):
        world.comes("host", late=False)
    assert world.is_awake()
    assert world.yields == 1
    for _ in range(QUICK_ANSWERS):
        assert not world.is_awake()
        world.comes("host", late=False)
    assert world.is_awake()


def test_what_is_slow_behind_one_is_not_held_against_the_other(world: World) -> None:
    """A server thinks; behind its answer the next request comes at once."""
    for _ in range(3):
        world.comes("host", late=False)
        world.comes("server", late=True)
    world.comes("host", late=False)
    assert not world.is_awake()
    world.comes("server", late=True)
    assert world.is_awake()


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
