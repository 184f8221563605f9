"""Pure: count, durations and failures, for each plugin and each thing that it was asked or told."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec

from sliphook.trace.exchanges import Exchanges, Names, RecordRole, confirms_cancel, lost_of
from sliphook.trace.record import TraceRecord

__all__ = ["MethodSummary", "PluginSummary", "Summary", "TraceSummary"]

_NOT_A_FAILURE: Final = frozenset({"cancelled", "timed_out"})


class MethodSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that one plugin was asked or told.

    Attributes:
        what: the method, with the name of the tool or command.
        count: how often.
        p50_ms, p99_ms, max_ms: of the answers, from the request's queueing; None if there are none.
        timeouts: requests without an answer in time.
        cancelled: requests that were withdrawn.
        failures: answers that were errors, and requests that a crash or a full queue ended.
        bytes: of the bodies, in both directions.
    """

    what: str
    count: int
    p50_ms: float | None = None
    p99_ms: float | None = None
    max_ms: float | None = None
    timeouts: int = 0
    cancelled: int = 0
    failures: int = 0
    bytes: int = 0


class PluginSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One plugin.

    Attributes:
        name: its name.
        starts: processes that were started.
        restarts: those that were started after a death.
        deaths: processes that ended without being asked to.
        dropped: messages that were given up because its queue was full.
        late: answers to requests that had ended already, without those that the plugin stopped.
        refused: messages that broke a rule, and output that was no message.
        stderr_lines: lines on its standard error.
        rows: what it was asked and told, in the order of first use.
    """

    name: str
    starts: int = 0
    restarts: int = 0
    deaths: int = 0
    dropped: int = 0
    late: int = 0
    refused: int = 0
    stderr_lines: int = 0
    rows: Sequence[MethodSummary] = ()


class TraceSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A whole trace.

    Attributes:
        records: how many there are.
        seconds: from the first to the last.
        lost: records that the trace says it has lost.
        sessions: how many sessions they belong to.
        turns: how many turns they belong to.
        plugins: in the order of their appearance.
    """

    records: int
    seconds: float
    lost: int
    sessions: int
    turns: int
    plugins: Sequence[PluginSummary]


class _Tally:
    """The numbers of one row, as they grow."""

    def __init__(self) -> None:
        self.count = 0
        self.took_ms = array("d")
        self.timeouts = 0
        self.cancelled = 0
        self.failures = 0
        self.bytes = 0

    def add(self, other: _Tally) -> None:
        self.count += other.count
        self.took_ms.extend(other.took_ms)
        self.timeouts += other.timeouts
        self.cancelled += other.cancelled
        self.failures += other.failures
        self.bytes += other.bytes

    def row(self, what: str) -> MethodSummary:
        took = sorted(self.took_ms)
        return MethodSummary(
            what=what,
            count=self.count,
            p50_ms=_percentile(took, 50),
            p99_ms=_percentile(took, 99),
            max_ms=took[-1] if took else None,
            timeouts=self.timeouts,
            cancelled=self.cancelled,
            failures=self.failures,
            bytes=self.bytes,
        )


class Summary:
    """Takes records one by one, and keeps of each answer only how long it took."""

    def __init__(self) -> None:
        self._exchanges = Exchanges()
        self._names = Names()
        self._rows: dict[str, dict[str, _Tally]] = {}
        self._counts: Counter[tuple[str, str]] = Counter()
        self._state: dict[str, str] = {}
        self._sessions: set[str] = set()
        self._turns: set[str] = set()
        self._records = 0
        self._lost = 0
        self._first_s = math.inf
        self._last_s = -math.inf

    def add(self, record: TraceRecord) -> None:
        """Take the next record."""
        self._records += 1
        self._first_s = min(self._first_s, record.mono_s)
        self._last_s = max(self._last_s, record.mono_s)
        if record.session_id is not None:
            self._sessions.add(record.session_id)
        if record.turn_id is not None:
            self._turns.add(record.turn_id)
        self._names.take(record)
        entry = self._exchanges.take(record)
        if entry.role == "other":
            if record.plugin:
                self._count(record)
            elif record.kind == "lost":
                self._lost += lost_of(record)
        else:
            self._tally(entry, record)

    def result(self) -> TraceSummary:
        """The summary of all records so far."""
        merged: dict[str, dict[str, _Tally]] = {}
        for plugin, rows in self._rows.items():
            mine = merged.setdefault(self._names[plugin], {})
            for what, tally in rows.items():
                mine.setdefault(what, _Tally()).add(tally)
        counts: Counter[tuple[str, str]] = Counter()
        for (plugin, what), count in self._counts.items():
            counts[self._names[plugin], what] += count
        return TraceSummary(
            records=self._records,
            seconds=max(0.0, self._last_s - self._first_s) if self._records else 0.0,
            lost=self._lost,
            sessions=len(self._sessions),
            turns=len(self._turns),
            plugins=[
                PluginSummary(
                    name=name,
                    starts=counts[name, "spawn"],
                    restarts=counts[name, "restart"],
                    deaths=counts[name, "death"],
                    dropped=counts[name, "drop"],
                    late=counts[name, "late"],
                    refused=counts[name, "refused"] + counts[name, "stray"],
                    stderr_lines=counts[name, "stderr"],
                    rows=[tally.row(what) for what, tally in rows.items()],
                )
                for name, rows in merged.items()
            ],
        )

    def _count(self, record: TraceRecord) -> None:
        plugin = record.plugin
        if record.kind == "lifecycle":
            before, now = self._state.get(plugin), record.verdict or ""
            self._state[plugin] = now
            # Every death leads to `restarting`, also the last one.
            self._counts[plugin, "death"] += now == "restarting"
            self._counts[plugin, "restart"] += now == "starting" and before == "restarting"
        elif not (confirms_cancel(record) or (record.kind, record.verdict) == ("late", "killed")):
            self._rows.setdefault(plugin, {})
            self._counts[plugin, record.kind] += 1

    def _tally(self, entry: RecordRole, record: TraceRecord) -> None:
        tally = self._rows.setdefault(record.plugin, {}).setdefault(entry.label, _Tally())
        tally.bytes += record.size or 0
        if entry.role in ("asked", "told", "called", "said"):
            tally.count += 1
        elif entry.role == "answered":
            if record.elapsed_ms is not None:
                tally.took_ms.append(record.elapsed_ms)
            tally.failures += (record.verdict or "").startswith("error")
        elif entry.role == "given_up":
            tally.count += entry.request is None  # it was never written
            tally.timeouts += record.verdict == "timed_out"
            tally.cancelled += record.verdict == "cancelled"
            tally.failures += record.verdict not in _NOT_A_FAILURE


def _percentile(ordered: Sequence[float], percent: int) -> float | None:
    """The nearest rank: always a value that was measured."""
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)] if ordered else None
