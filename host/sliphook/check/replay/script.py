"""Pure: turns one plugin's part of a trace into a script: the host's messages and the answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from sliphook.trace.exchanges import Exchanges, Names
from sliphook.trace.record import TraceRecord
from sliphook.wire.decoding import DECODE_ERRORS

__all__ = [
    "ExpectStep",
    "Life",
    "NotifyStep",
    "RequestEnd",
    "RequestStep",
    "ScriptStep",
    "WaitStep",
    "plugins_of",
    "script_of",
]

_NO_PARAMS: Final = msgspec.Raw(b"{}")
_OUR_OWN: Final = frozenset({"initialize", "shutdown", "exit", "ping"})
"""No steps of a script: the player sends these itself, when a process starts, ends or hangs."""


class RecordedError(msgspec.Struct, frozen=True):
    """The error object of an answer."""

    code: int = 0
    message: str = ""


class RequestEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How a request ended.

    Attributes:
        status: `answered`, `error`, or how the host settled the request: `timed_out`, `cancelled`,
            `crashed` and so on.
        result: the result, as JSON.
        fault: the error, or None.
        elapsed_ms: how long the request took, or None if that is not known.
    """

    status: str
    result: msgspec.Raw = msgspec.Raw(b"null")
    fault: RecordedError | None = None
    elapsed_ms: float | None = None


class RequestStep(msgspec.Struct, kw_only=True):
    """The host sends a request. `ending` is None if the trace has no end of it."""

    label: str
    method: str
    params: msgspec.Raw
    session_id: str | None = None
    ending: RequestEnd | None = None


class WaitStep(msgspec.Struct, frozen=True):
    """The host goes on when this request has ended, or withdraws it, as its `ending` says."""

    ask: RequestStep


class NotifyStep(msgspec.Struct, frozen=True):
    """The host sends a notification."""

    method: str
    params: msgspec.Raw


class ExpectStep(msgspec.Struct, kw_only=True):
    """The host goes on when the plugin has sent this request; `ending` is the host's answer."""

    method: str
    params: msgspec.Raw
    ending: RequestEnd | None = None


ScriptStep = RequestStep | WaitStep | NotifyStep | ExpectStep


class Life(msgspec.Struct, kw_only=True):
    """One process of the plugin.

    Attributes:
        initialize: the params of the first message; None if the trace begins later.
        manifest: the answer to it.
        steps: the further steps, in order.
        died: why the process died, or None if the host ended it.
    """

    initialize: msgspec.Raw | None = None
    manifest: RequestEnd | None = None
    steps: list[ScriptStep] = []
    died: str | None = None


class _Message(msgspec.Struct, frozen=True):
    params: msgspec.Raw = _NO_PARAMS
    result: msgspec.Raw = msgspec.Raw(b"null")
    error: RecordedError | None = None


_MESSAGE: Final = msgspec.json.Decoder(_Message)


def plugins_of(records: Iterable[TraceRecord]) -> Mapping[str, Sequence[TraceRecord]]:
    """The records of each plugin in order, by the plugin's last name in the trace."""
    names = Names()
    known: dict[str, list[tuple[int, TraceRecord]]] = {}
    for index, record in enumerate(records):
        if record.plugin:
            names.take(record)
            known.setdefault(record.plugin, []).append((index, record))
    merged: dict[str, list[tuple[int, TraceRecord]]] = {}
    for plugin, mine in known.items():
        merged.setdefault(names[plugin], []).extend(mine)
    return {
        # A plugin with two names has two lists; the index brings them into the order of the file.
        plugin: [record for _, record in sorted(mine, key=lambda pair: pair[0])]
        for plugin, mine in merged.items()
    }


def script_of(records: Iterable[TraceRecord]) -> list[Life]:
    """The script of one plugin: a `Life` for each process."""
    writer = _ScriptWriter()
    for record in records:
        writer.take(record)
    return [life for life in writer.lives if life.steps or life.initialize is not None]


class _ScriptWriter:
    def __init__(self) -> None:
        self.lives: list[Life] = []
        self._exchanges = Exchanges()
        self._asked: dict[int, RequestStep] = {}  # by the identity of the request's record
        self._called: dict[int, ExpectStep] = {}

    def take(self, record: TraceRecord) -> None:
        step = self._exchanges.take(record)
        if record.kind == "spawn" or not self.lives:
            self.lives.append(Life())
        life = self.lives[-1]
        if record.kind == "lifecycle" and record.verdict == "restarting":
            life.died = record.note or "it died"
        message = _message_of(record)
        if record.method == "initialize":
            if step.role == "asked":
                life.initialize = message.params
            elif step.role in ("answered", "given_up"):
                life.manifest = _ending(record, message)
        elif record.method not in _OUR_OWN:
            self._write(life, step.role, step.label, record, message, step.request)

    def _write(
        self,
        life: Life,
        part: str,
        label: str,
        record: TraceRecord,
        message: _Message,
        request: TraceRecord | None,
    ) -> None:
        match part:
            case "asked" | "told" if record.cut:
                pass  # only the beginning of what was sent is known
            case "asked":
                ask = RequestStep(
                    label=label,
                    method=record.method or "",
                    params=message.params,
                    session_id=record.session_id,
                )
                self._asked[id(record)] = ask
                life.steps.append(ask)
            case "answered" | "given_up" if id(request) in self._asked:
                ask = self._asked.pop(id(request))
                ask.ending = None if record.cut else _ending(record, message)
                # The wait stands where the answer came: what the host sent meanwhile is sent
                # while the request is open again.
                life.steps.append(WaitStep(ask))
            case "told" if record.method == "$/cancelRequest":
                pass  # another record says that the request was given up
            case "told":
                life.steps.append(NotifyStep(record.method or "", message.params))
            case "called":
                expect = ExpectStep(method=record.method or "", params=message.params)
                self._called[id(record)] = expect
                life.steps.append(expect)
            case "returned" if id(request) in self._called:
                expect = self._called.pop(id(request))
                expect.ending = None if record.cut else _ending(record, message)
            case _:
                pass


def _message_of(record: TraceRecord) -> _Message:
    body = record.body or b"{}"
    try:
        # decoded twice: `msgspec.Raw` fields are not checked, but the player will decode them
        msgspec.json.decode(body)
        return _MESSAGE.decode(body)
    except DECODE_ERRORS:
        return _Message()


def _ending(record: TraceRecord, message: _Message) -> RequestEnd:
    if record.kind == "settled":
        return RequestEnd(status=record.verdict or "settled", elapsed_ms=record.elapsed_ms)
    status = "answered" if message.error is None else "error"
    return RequestEnd(
        status=status, result=message.result, fault=message.error, elapsed_ms=record.elapsed_ms
    )
