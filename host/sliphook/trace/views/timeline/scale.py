"""Pure: from moments to places on the time axis, on which long pauses are cut short."""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

__all__ = ["BusyStretch", "Scale", "Tick", "scale_of", "ticks"]

_LEAST_GAP_MS: Final = 800.0
"""Shorter pauses are shown as long as they are."""

_GAP_PART: Final = 0.1
"""So are pauses shorter than this part of the busy time, in which something happens."""

_CUT_PART: Final = 0.025
"""The width of a pause that is cut short, as a part of the busy time."""

_ALL_CUTS_PART: Final = 0.25
"""The same for all such pauses together, so that busy time has most of the room."""

_STEPS: Final = (1.0, 2.0, 5.0)


class BusyStretch(msgspec.Struct, frozen=True):
    """Time from `begin_ms` to `end_ms` that is shown at its true length, from `shown_ms` on."""

    begin_ms: float
    end_ms: float
    shown_ms: float


class Tick(NamedTuple):
    """A place on the axis, and its label."""

    shown_ms: float
    label: str


class Scale(msgspec.Struct, frozen=True):
    """The whole axis, in milliseconds that are shown; between two stretches is a pause."""

    stretches: Sequence[BusyStretch]

    @property
    def length_ms(self) -> float:
        """The length of what is shown; never 0."""
        last = self.stretches[-1]
        return max(last.shown_ms + last.end_ms - last.begin_ms, 1e-3)

    def shown(self, at_ms: float) -> float:
        """The place of a moment; in a pause, between its two ends."""
        index = max(
            0, bisect.bisect_right(self.stretches, at_ms, key=lambda stretch: stretch.begin_ms) - 1
        )
        here = self.stretches[index]
        if at_ms <= here.end_ms or index + 1 == len(self.stretches):
            return here.shown_ms + min(at_ms, here.end_ms) - here.begin_ms
        following = self.stretches[index + 1]
        begins, ends = here.shown_ms + here.end_ms - here.begin_ms, following.shown_ms
        return begins + (ends - begins) * (at_ms - here.end_ms) / (following.begin_ms - here.end_ms)

    @property
    def pauses(self) -> list[tuple[float, float, float]]:
        """Each pause: from where to where it is shown, and how many milliseconds it lasted."""
        return [
            (
                before.shown_ms + before.end_ms - before.begin_ms,
                after.shown_ms,
                after.begin_ms - before.end_ms,
            )
            for before, after in zip(self.stretches, self.stretches[1:], strict=False)
        ]


def scale_of(busy: Iterable[tuple[float, float]], length_ms: float) -> Scale:
    """The axis for a trace of `length_ms`; `busy` has from when to when something happens."""
    merged: list[list[float]] = []
    # Both ends count as busy, so that the axis covers the whole trace.
    for begin, end in sorted([(0.0, 0.0), *busy, (length_ms, length_ms)]):
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([begin, end])
    busy_ms = sum(end - begin for begin, end in merged)
    least_gap = max(_LEAST_GAP_MS, busy_ms * _GAP_PART)
    kept: list[list[float]] = [merged[0]]
    for begin, end in merged[1:]:
        if begin - kept[-1][1] < least_gap:
            kept[-1][1] = end
        else:
            kept.append([begin, end])
    length = sum(end - begin for begin, end in kept)
    cut = max(length * min(_CUT_PART, _ALL_CUTS_PART / len(kept)), 1e-3)
    stretches: list[BusyStretch] = []
    shown = 0.0
    for begin, end in kept:
        stretches.append(BusyStretch(begin, end, shown))
        shown += end - begin + cut
    return Scale(stretches)


def ticks(scale: Scale, at_most: int) -> list[Tick]:
    """Round moments along the axis, about `at_most`."""
    step = _step(scale.length_ms / max(1, at_most))
    found: list[Tick] = []
    for stretch in scale.stretches:
        first = math.ceil(stretch.begin_ms / step) * step
        for number in range(2 * at_most):  # bounded: a float far from zero may not grow by a step
            at_ms = first + number * step
            if at_ms > stretch.end_ms:
                break
            found.append(Tick(scale.shown(at_ms), _label(at_ms, step)))
    return found


def _step(least_ms: float) -> float:
    if least_ms > 30_000:
        return next(
            (step for step in (60e3, 120e3, 300e3, 600e3, 1800e3, 3600e3) if step >= least_ms),
            3600e3 * -(-least_ms // 3600e3),
        )
    size = 1e-3
    while True:
        for factor in _STEPS:
            if size * factor >= least_ms:
                return size * factor
        size *= 10


def _label(at_ms: float, step_ms: float) -> str:
    if step_ms >= 60_000:
        minutes = round(at_ms / 60_000)
        return f"{minutes // 60}:{minutes % 60:02} h" if minutes >= 60 else f"{minutes} min"
    if step_ms >= 100:
        return f"{at_ms / 1000:.{0 if step_ms >= 1000 else 1}f} s"
    return f"{at_ms:.{0 if step_ms >= 1 else 3}f} ms"
