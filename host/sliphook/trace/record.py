"""One record of the trace, and the Protocol through which the host hands it out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Final, Literal, Protocol

import msgspec

from sliphook_sdk.protocol.describe import doc

from .until_it_raises import UntilItRaises

__all__ = ["KINDS", "Direction", "Kind", "Tee", "TraceRecord", "TraceSink"]

Kind = Literal[
    "message",
    "lifecycle",
    "spawn",
    "exit",
    "stderr",
    "stray",
    "refused",
    "drop",
    "late",
    "settled",
    "outcome",
    "header",
    "lost",
    "unheard",
]
Direction = Literal["to_plugin", "from_plugin"]


KINDS: Final[dict[Kind, str]] = {
    "header": "the first line of each file: what wrote it",
    "spawn": "a process was started; `note` has its pid and path",
    "lifecycle": "a plugin has another state, in `verdict`; `note` says what led to it",
    "exit": "a process has ended; `note` says how",
    "message": "a valid message went over the wire",
    "settled": "the host ended a request without an answer; `verdict` is `timed_out`, `cancelled`,"
    " `crashed` …, `note` says why",
    "late": "the end of a request that had ended already for the host; `verdict` is `cancelled` if"
    " the plugin has stopped its work, `killed` if that ended with the process; `note` says how",
    "drop": "a message to the plugin was given up before it was written",
    "stray": "the plugin wrote what is no message to its stdout; `note` says why it is none",
    "refused": "the plugin wrote what breaks the protocol; `note` says which rule",
    "stderr": "a line of the plugin's stderr, control characters escaped",
    "outcome": "the merged answers to one hook; `verdict` is the decision, or `cancelled`",
    "unheard": "a hook or an event that no plugin was asked or told of; `body` is the message that"
    " would have been sent",
    "lost": "records are missing here: the disk was full or too slow",
}


class TraceRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that happened on a plugin's wire or to its process.

    The host fills only the fields that it knows without parsing. `from_body.complete` adds what the
    body tells: a message's place in its session, and what a hook's answer decides.

    `body` holds the bytes as they passed: a message, what was refused, a line of stderr, or the
    JSON of one of `trace.bodies`.
    """

    kind: Annotated[Kind, doc("what happened")]
    wall_s: Annotated[float, doc("seconds since the epoch")]
    mono_s: Annotated[
        float, doc("seconds of the host's own clock, for durations: the wall clock may jump")
    ]
    plugin: Annotated[str, doc("the plugin's name; empty if it is about none")]
    direction: Annotated[Direction | None, doc("which way it went; absent if nothing went")] = None
    method: Annotated[str | None, doc("the method; on answers that of the request")] = None
    id: Annotated[
        int | str | None,
        doc("the request's id, on requests and answers; each side counts its own"),
    ] = None
    size: Annotated[int | None, doc("bytes of the body as it went over the wire")] = None
    elapsed_ms: Annotated[
        float | None,
        doc(
            "since the request was queued or came, on what ends it; on an `outcome` since the fire"
        ),
    ] = None
    verdict: Annotated[
        str | None,
        doc("the result in a word or two: `deny`, `timed_out`, `error -32601`, `ready`"),
    ] = None
    body: Annotated[bytes | None, doc("the message")] = None
    cut: Annotated[
        bool, doc("`raw` is only the beginning of the body, which was longer than 256 KiB", True)
    ] = False
    note: Annotated[str | None, doc("a sentence for people")] = None
    session_id: Annotated[str | None, doc("the session that it belongs to")] = None
    turn_id: Annotated[str | None, doc("the turn that it belongs to")] = None
    seq: Annotated[int | None, doc("the number of the hook or event in its session")] = None


class TraceSink(Protocol):
    """Takes the host's records. One that raises is logged, and is called no more."""

    def record(self, record: TraceRecord) -> None:
        """Take one record.

        Called from the host's own loop: never blocks, and is cheap.
        """
        ...

    def hide(self, secrets: Iterable[str]) -> None:
        """From now on keep these texts out of everything that leaves the process.

        Called from the host's own loop, before they are sent.
        """
        ...


class SinkUntilItRaises:
    """A sink as the host calls it: never raises.

    A sink that fails to hide a secret gets no record behind it.
    """

    def __init__(self, sink: TraceSink) -> None:
        self._calls = UntilItRaises("trace", type(sink))
        self._record, self._hide = sink.record, sink.hide

    def record(self, record: TraceRecord) -> None:
        """Hand `record` on."""
        self._calls.call(self._record, record)

    def hide(self, secrets: Iterable[str]) -> None:
        """Hand `secrets` on."""
        self._calls.call(self._hide, secrets)


def never_raising(sink: TraceSink) -> TraceSink:
    """The sink as the host calls it; a `Tee` sees to that itself, for each of its sinks."""
    # one that was derived from it may do anything
    return sink if type(sink) is Tee else SinkUntilItRaises(sink)


class Tee:
    """Hands each record to several sinks, in order. One that raises is left out from then on."""

    def __init__(self, sinks: Iterable[TraceSink]) -> None:
        self._sinks = tuple(sinks)
        self._each = tuple(SinkUntilItRaises(sink) for sink in self._sinks)

    @property
    def sinks(self) -> tuple[TraceSink, ...]:
        """The sinks."""
        return self._sinks

    def record(self, record: TraceRecord) -> None:
        """Hand `record` to every sink."""
        for sink in self._each:
            sink.record(record)

    def hide(self, secrets: Iterable[str]) -> None:
        """Have every sink hide `secrets`."""
        # An iterator would be empty for the second sink.
        kept = tuple(secrets)
        for sink in self._each:
            sink.hide(kept)
