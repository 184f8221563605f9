"""The states of a plugin, move by move, and when it is started again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from sliphook.plugin.lifecycle import RestartPolicy, State, Trigger, move

MOVES = {
    "stopped": {"start": "starting", "disabled by the user": "disabled"},
    "starting": {
        "manifest read": "ready",
        "cannot start": "failed",
        "refused": "refused",
        "disabled itself": "self_disabled",
        "died": "restarting",
        "stop": "stopping",
    },
    "ready": {"died": "restarting", "refused": "refused", "stop": "stopping"},
    "restarting": {"time to restart": "starting", "died too often": "failed", "stop": "stopped"},
    "stopping": {"ended": "stopped"},
    "failed": {"stop": "stopped", "start": "starting", "disabled by the user": "disabled"},
    "refused": {"stop": "stopped", "start": "starting", "disabled by the user": "disabled"},
    "self_disabled": {"stop": "stopped", "start": "starting", "disabled by the user": "disabled"},
    "disabled": {"stop": "disabled", "enabled by the user": "stopped"},
}
"""The table, written a second time."""


@pytest.mark.parametrize("trigger", Trigger)
@pytest.mark.parametrize("state", State)
def test_each_move_is_the_table_s_and_no_other_can_happen(state: State, trigger: Trigger) -> None:
    target = MOVES[state.value].get(trigger.value)
    if target is None:
        with pytest.raises(KeyError):
            move(state, trigger)
    else:
        assert move(state, trigger).value == target


def test_every_state_is_reached_from_stopped_and_leads_back_to_it() -> None:
    assert _reach(State.STOPPED) == set(State)
    for state in State:
        assert State.STOPPED in _reach(state)


def _reach(start: State) -> set[State]:
    found, new = {start}, [start]
    while new:
        state = new.pop()
        for trigger in Trigger:
            try:
                target = move(state, trigger)
            except KeyError:
                continue
            if target not in found:
                found.add(target)
                new.append(target)
    return found


def test_a_request_waits_only_for_a_plugin_that_is_on_its_way() -> None:
    assert [state.value for state in State if state.waits] == ["starting", "restarting"]


class Supervision(RuleBasedStateMachine):
    """A plugin as a supervisor drives it, with a clock: the machine and the policy together."""

    def __init__(self) -> None:
        super().__init__()
        self.state = State.STOPPED
        self.policy = RestartPolicy()
        self.now_s = 0.0
        self.ready_at_s = 0.0
        self.deaths: list[float] = []

    def happens(self, trigger: Trigger) -> None:
        target = MOVES[self.state.value][trigger.value]
        self.state = move(self.state, trigger)
        assert self.state.value == target

    @rule(seconds=st.sampled_from([0.0, 0.5, 5.0, 14.0, 29.9, 30.0, 100.0]))
    def time_passes(self, seconds: float) -> None:
        self.now_s += seconds

    @precondition(
        lambda self: self.state in (State.STOPPED, State.FAILED, State.REFUSED, State.SELF_DISABLED)
    )
    @rule()
    def start(self) -> None:
        self.policy.reset()
        self.deaths = []
        self.happens(Trigger.START)

    @precondition(lambda self: self.state is State.STARTING)
    @rule(
        trigger=st.sampled_from(
            [Trigger.MANIFEST, Trigger.CANNOT_START, Trigger.REFUSE, Trigger.DECLINE]
        )
    )
    def handshake(self, trigger: Trigger) -> None:
        self.happens(trigger)
        self.ready_at_s = self.now_s

    @precondition(lambda self: self.state in (State.STARTING, State.READY))
    @rule(jitter=st.floats(0, 1))
    def dies(self, jitter: float) -> None:
        ready_for_s = self.now_s - self.ready_at_s if self.state is State.READY else 0.0
        self.happens(Trigger.DIED)
        if ready_for_s >= 30:
            self.deaths = []
        self.deaths.append(self.now_s)
        in_a_minute = sum(1 for death in self.deaths if self.now_s - death < 60)
        delay_s = self.policy.died(self.now_s, ready_for_s, jitter)
        if in_a_minute >= 5:
            assert delay_s is None
            self.happens(Trigger.BROKE)
        else:
            assert delay_s is not None
            shortest_s = (
                [0, 1, 2, 4, 8, 16, 32][len(self.deaths) - 1] if len(self.deaths) < 8 else 60
            )
            assert shortest_s <= delay_s <= shortest_s * 1.2
            self.now_s += delay_s
            self.happens(Trigger.RETRY)

    @precondition(lambda self: self.state is not State.STOPPED and self.state is not State.STOPPING)
    @rule()
    def stop(self) -> None:
        self.happens(Trigger.STOP)

    @precondition(lambda self: self.state is State.STOPPING)
    @rule()
    def ends(self) -> None:
        self.happens(Trigger.ENDED)

    @precondition(
        lambda self: (
            self.state
            in (State.STOPPED, State.FAILED, State.REFUSED, State.SELF_DISABLED, State.DISABLED)
        )
    )
    @rule()
    def toggled(self) -> None:
        self.happens(Trigger.ENABLE if self.state is State.DISABLED else Trigger.DISABLE)


TestSupervision = Supervision.TestCase


def delays(
    policy: RestartPolicy, times_s: list[float], *, ready_for_s: float = 0.0, jitter: float = 0.0
) -> list[float | None]:
    return [policy.died(now_s, ready_for_s, jitter) for now_s in times_s]


def test_at_once_then_one_two_four_seconds_and_the_fifth_death_in_a_minute_breaks() -> None:
    policy = RestartPolicy()
    assert delays(policy, [100.0, 101.0, 103.0, 106.0, 111.0]) == [0.0, 1.0, 2.0, 4.0, None]
    assert policy.restarts == 4


def test_deaths_further_apart_wait_longer_up_to_a_minute() -> None:
    times_s = [20.0 * number for number in range(10)]
    assert delays(RestartPolicy(), times_s) == [
        0.0,
        1.0,
        2.0,
        4.0,
        8.0,
        16.0,
        32.0,
        60.0,
        60.0,
        60.0,
    ]


def test_the_minute_is_a_minute() -> None:
    assert delays(RestartPolicy(), [0.0, 1.0, 2.0, 3.0, 59.99])[-1] is None
    assert delays(RestartPolicy(), [0.0, 1.0, 2.0, 3.0, 60.0])[-1] == 8.0


def test_jitter_spreads_restarts_by_a_fifth() -> None:
    assert delays(RestartPolicy(), [0.0, 1.0, 2.0], jitter=1.0) == [0.0, 1.2, 2.4]
    assert delays(RestartPolicy(), [0.0, 1.0, 2.0], jitter=0.5) == [0.0, 1.1, 2.2]


def test_thirty_seconds_of_health_forget_what_was_before() -> None:
    policy = RestartPolicy()
    assert delays(policy, [0.0, 1.0, 2.0, 3.0]) == [0.0, 1.0, 2.0, 4.0]
    assert policy.died(33.0, 29.9, 0.0) is None
    policy = RestartPolicy()
    assert delays(policy, [0.0, 1.0, 2.0, 3.0]) == [0.0, 1.0, 2.0, 4.0]
    assert policy.died(33.0, 30.0, 0.0) == 0.0
    assert policy.died(34.0, 1.0, 0.0) == 1.0


def test_reset_by_hand_begins_anew_and_remembers_how_often_it_was_restarted() -> None:
    policy = RestartPolicy()
    assert delays(policy, [0.0] * 5)[-1] is None
    policy.reset()
    assert delays(policy, [1.0, 1.0]) == [0.0, 1.0]
    assert policy.restarts == 6


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30), st.floats(0, 1))
def test_a_delay_is_never_negative_nor_over_seventy_two_seconds(
    times_s: list[float], jitter: float
) -> None:
    for delay_s in delays(RestartPolicy(), sorted(times_s), jitter=jitter):
        assert delay_s is None or 0.0 <= delay_s <= 72.0
