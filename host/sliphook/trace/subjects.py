"""Pure: what a message is about: the tool or the command that is called, and with what."""

from __future__ import annotations

from typing import Final

import msgspec

from sliphook.wire.decoding import DECODE_ERRORS

from .record import TraceRecord

__all__ = ["Subjects"]

_MAX_OPEN: Final = 1_000
"""Requests that are remembered for their answers; of more, the oldest are forgotten."""

_ARGUMENTS_CHARS: Final = 60


class _Params(msgspec.Struct, frozen=True):
    name: str | None = None
    tool_name: str | None = None
    arguments: msgspec.Raw = msgspec.Raw()


class _Message(msgspec.Struct, frozen=True):
    params: _Params = _Params()


_MESSAGE: Final = msgspec.json.Decoder(_Message)


class Subjects:
    """Tells of each record what it is about; answers are about what was asked."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], str] = {}

    def of(self, record: TraceRecord) -> str | None:
        """The tool or command with the beginning of its arguments; None if there is none.

        Not yet safe to print.
        """
        method = record.method or ""
        if not method.startswith(("hook/", "event/", "tool/", "command/")):
            return None
        request = (record.plugin, method, record.id)
        fire = (record.session_id, method, record.seq)
        if record.kind == "outcome":
            return self._known.get(fire)
        if record.direction == "from_plugin" or record.kind in ("settled", "late"):
            return self._known.get(request)
        subject = _read(record.body)
        if subject is not None:
            self._keep(request, subject)
            self._keep(fire, subject)
        return subject

    def _keep(self, key: tuple[object, ...], subject: str) -> None:
        if key[-1] is None:  # a notification, or no fire
            return
        self._known[key] = subject
        if len(self._known) > _MAX_OPEN:
            del self._known[next(iter(self._known))]


def _read(body: bytes | None) -> str | None:
    try:
        params = _MESSAGE.decode(body or b"{}").params
    except DECODE_ERRORS:
        return None
    name = params.tool_name or params.name
    if name is None:
        return None
    arguments = bytes(params.arguments)[: 4 * _ARGUMENTS_CHARS].decode("utf-8", "replace")
    if len(arguments) > _ARGUMENTS_CHARS:
        arguments = f"{arguments[: _ARGUMENTS_CHARS - 1]}…"
    return f"{name} {arguments}" if arguments not in ("", "{}") else name
