"""The file of replies that a scripted model answers from.

`docs/scripted-model.md` describes the format for users.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from sliphook.errors import SliphookError
from sliphook.wire.decoding import DECODE_ERRORS
from sliphook_sdk.protocol import Usage

from .base import FailureKind, ModelError

Seconds = Annotated[float, msgspec.Meta(ge=0, le=3600)]

_RETRIED: Final = ("connection", "timeout", "rate_limited", "stream")
"""Kinds of failure that are transient unless the script says otherwise."""


class ScriptError(SliphookError):
    """A script file cannot be used; `str()` is one line with file, place and what to do."""


class ScriptedCall(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One tool call of a reply.

    Attributes:
        name: the tool.
        arguments: an object, or a string: the text that the model wrote, which need not be JSON.
        call_id: the model's id of the call; None makes one.
    """

    name: str
    arguments: dict[str, Any] | str = msgspec.field(default_factory=dict[str, Any])
    call_id: str | None = None


class ScriptedFailure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a reply fails; its text, if it has any, comes first.

    Attributes:
        kind: the `kind` of `llm_call_failed`.
        message: what the user reads.
        status: an HTTP status.
        retry_after_s: how long the loop waits before it tries again.
        transient: whether the loop tries again; None decides by the kind and the status.
    """

    kind: FailureKind
    message: str = "the script says so"
    status: int | None = None
    retry_after_s: Seconds | None = None
    transient: bool | None = None

    def error(self) -> ModelError:
        """The error to raise."""
        passing = self.kind in _RETRIED or (self.status is not None and self.status >= 500)
        transient = passing if self.transient is None else self.transient
        return ModelError(
            self.kind,
            self.message,
            status=self.status,
            retry_after_s=self.retry_after_s,
            transient=transient,
        )


class ScriptedReply(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the model does in one attempt: it waits, speaks, then fails, calls tools or ends.

    Attributes:
        wait_s: silence before the first word.
        text: what the model says.
        over_s: seconds over which the text comes, word by word; None sends it at once.
        calls: the tools that the model calls.
        fail: the failure at the end, or None.
        finish_reason: None is `tool_calls` if there are calls, else `stop`.
        usage: the tokens that the model reports.
    """

    wait_s: Seconds | None = None
    text: str | None = None
    over_s: Seconds | None = None
    calls: list[ScriptedCall] = msgspec.field(default_factory=list[ScriptedCall])
    fail: ScriptedFailure | None = None
    finish_reason: str | None = None
    usage: Usage = Usage()


class _Script(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    replies: list[ScriptedReply]


_SCRIPT: Final = msgspec.json.Decoder(_Script)


def load_script(path: Path) -> list[ScriptedReply]:
    """The replies in a script file.

    Raises:
        ScriptError: the file cannot be read or is no script. The fault of its author.
    """
    try:
        written = path.read_bytes()
    except OSError as error:
        raise ScriptError(
            f"{path}: cannot read the script ({error.strerror}); check the path"
        ) from error
    try:
        return _SCRIPT.decode(written).replies
    except msgspec.ValidationError as error:
        what, _, place = str(error).partition(" - at ")
        where = place.strip("`").removeprefix("$").removeprefix(".") or "the top"
        raise ScriptError(
            f"{path}: at {where}: {what[:1].lower()}{what[1:]};"
            " docs/scripted-model.md has the format"
        ) from error
    except DECODE_ERRORS as error:
        raise ScriptError(
            f'{path}: {_break_in(written) or error}; a script is JSON: {{"replies": [...]}}'
        ) from error


def _break_in(written: bytes) -> str | None:
    """The line and column of a mistake in the JSON: msgspec gives a byte, which no editor shows."""
    try:
        json.loads(written)
    except json.JSONDecodeError as broken:
        return f"line {broken.lineno}, column {broken.colno}: {broken.msg}"
    except (ValueError, RecursionError):
        return None
    return None
