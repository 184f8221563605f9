"""Pure: decodes one answer strictly and checks it against the catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, cast

import msgspec

from sliphook.errors import SliphookError
from sliphook.quoting import quote
from sliphook.wire.decoding import DECODE_ERRORS, read_types
from sliphook.wire.near_misses import known_fields, meant
from sliphook_sdk.protocol import (
    CATALOGUE,
    REPLACEMENTS,
    SUBSTITUTES,
    Answer,
    Entry,
    Message,
    ModelRoute,
    Payload,
    ToolResult,
    Usage,
    nearest,
    parts,
)
from sliphook_sdk.protocol.limits import MAX_CONTEXT_CHARS, MAX_CONTEXT_TEXTS
from sliphook_sdk.protocol.weight import has_long_number

from .outcome import Context


class AnswerError(SliphookError):
    """The hook cannot accept the answer.

    The plugin's author is at fault; str() is one line.
    """


_NOTHING: Final = msgspec.Raw()
_NULL: Final = msgspec.Raw(b"null")
_KINDS: Final = {b"[": "list", b'"': "str", b"t": "bool", b"f": "bool"}


class _Sent(Answer[str], frozen=True, kw_only=True):
    """An answer whose `_meta` is JSON still: the host has no use for what is in it."""

    meta_: msgspec.Raw = msgspec.field(default=_NOTHING, name="_meta")


class _SentLast(_Sent, frozen=True, kw_only=True):
    """An answer of the second phase, whose replacements are refused whatever they are."""

    replace: dict[str, msgspec.Raw] | None = None
    substitute: dict[str, msgspec.Raw] | None = None


_ANSWER = msgspec.json.Decoder(Answer | None)
_SENT = msgspec.json.Decoder(_Sent | None)
_SENT_LAST = msgspec.json.Decoder(_SentLast | None)
_REPLACED: Final = {
    (entry.name, field.name): REPLACEMENTS.get(field.name, field.type)
    for entry in CATALOGUE.values()
    for field in msgspec.structs.fields(entry.payload)
    if field.name in entry.replace
}
"""The type of each field that `replace` may name."""
_STRICT: Final[dict[str, type[msgspec.Struct]]] = {
    "result": ToolResult,
    "route": ModelRoute,
    "usage": Usage,
}
"""Fields that are as strict as the answer around them: a misspelt `is_error` would be a success, a
misspelt `base_url` the agent's own server."""
read_types(*_REPLACED.values(), *SUBSTITUTES.values())
ABSTAINED = Answer()
"""What `null` is read as: no decision, no changes."""


def read_answer(raw: bytes | msgspec.Raw, *, replacing: bool = True) -> Answer:
    """Decode one answer strictly; null and `{}` abstain.

    Args:
        raw: the answer's JSON.
        replacing: it may replace and substitute; else the values there are `msgspec.Raw`, and
            `check_answer` refuses them unread.

    Raises:
        AnswerError: the JSON is no answer. For an unknown field, the message suggests a known one.
    """
    try:
        # what is not read becomes no objects: thousands of them wake the collector of garbage
        sent = (_SENT if replacing else _SENT_LAST).decode(raw)
        if sent is None:
            return ABSTAINED
        unread = sent.meta_ is not _NOTHING or (not replacing and (sent.replace or sent.substitute))
        if unread and has_long_number(bytes(raw)):
            _ANSWER.decode(raw)  # a number that no double can be is an error there, too
    except DECODE_ERRORS as error:
        raise AnswerError(_explain(raw, error)) from None
    return Answer(
        decision=sent.decision,
        reason=sent.reason,
        replace=sent.replace,
        substitute=sent.substitute,
        context=sent.context,
        continue_with=sent.continue_with,
        meta_=None if sent.meta_ in (_NOTHING, _NULL) else sent.meta_,
    )


def _explain(raw: bytes | msgspec.Raw, error: Exception) -> str:
    """Say why `raw` is no answer; `error` is the decoder's.

    A value that is no object, and an unknown field, get plainer words than the decoder's.
    """
    known = [field.encode_name for field in msgspec.structs.fields(Answer)]
    unreadable = f"the answer cannot be read: {quote(str(error), 200)}"
    if not isinstance(error, msgspec.ValidationError):
        return unreadable
    try:
        # only a wrong answer pays for a second decoding, and nothing in it becomes an object
        msgspec.json.decode(raw, type=msgspec.Raw)
        fields = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    except msgspec.ValidationError:
        # by its first character: a number may be one that cannot be read
        kind = _KINDS.get(bytes(raw).lstrip()[:1], "number")
        return f"the answer must be an object or null, not {kind}"
    except DECODE_ERRORS:
        return unreadable
    for name in fields:
        if name not in known:
            close = nearest(name, known)
            hint = f"did you mean {close}?" if close else f"there are {', '.join(known)}"
            return f"the answer has an unknown field '{quote(name, 40)}'; {hint}"
    return f"the answer does not fit: {quote(str(error), 200)}"


def check_answer(
    entry: Entry, answer: Answer, payload: Payload, *, replacing: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Check that the catalogue allows the answer to this hook.

    Args:
        entry: the hook.
        answer: what the plugin sent.
        payload: what it was asked with; it has the messages that the answer may keep.
        replacing: the plugin was asked in the first phase, where an answer may replace and
            substitute.

    Returns:
        The values to replace and the values to substitute, by field, converted to their types.

    Raises:
        AnswerError: a field, a decision or a value is not allowed; the message names the allowed
            ones.
    """
    if answer.decision is not None and answer.decision not in entry.decisions:
        raise AnswerError(f"{entry.name} takes no decision '{answer.decision}'; {_allowed(entry)}")
    if answer.context and not entry.context:
        raise AnswerError(f"{entry.name} takes no context; {_allowed(entry)}")
    if answer.continue_with is not None and not entry.continues:
        raise AnswerError(f"{entry.name} takes no continue_with; {_allowed(entry)}")
    replaced = _check_values(entry, "replace", answer.replace, entry.replace, replacing=replacing)
    substituted = _check_values(
        entry, "substitute", answer.substitute, entry.substitute, replacing=replacing
    )
    if "messages" in replaced:
        old: list[Message] = getattr(payload, "messages", None) or []
        replaced["messages"] = _with_kept(replaced["messages"], old)
    return replaced, substituted


def _check_values(
    entry: Entry,
    word: Literal["replace", "substitute"],
    values: dict[str, Any] | None,
    names: tuple[str, ...],
    *,
    replacing: bool,
) -> dict[str, Any]:
    if not values:
        return {}
    if not names:
        raise AnswerError(f"{entry.name} takes no {word}; {_allowed(entry)}")
    for name in values:
        if name not in names:
            raise AnswerError(
                f"{word}.{quote(name, 40)} is not allowed in {entry.name};"
                f" allowed are {', '.join(names)}"
            )
    if not replacing:
        raise AnswerError(
            f"the answer has {word}, but the payload is final:"
            " only a subscription with replaces is asked before that"
        )
    found = {
        name: _typed(entry, word, name, value)
        for name, value in values.items()
        # protocol.md: null means the same as absent
        if value is not None
    }
    if word == "substitute" and found and names[0] not in found:
        raise AnswerError(f"substitute.{next(iter(found))} needs substitute.{names[0]}")
    return found


def _typed(entry: Entry, word: Literal["replace", "substitute"], name: str, value: Any) -> Any:
    if word == "substitute":
        shape: Any = SUBSTITUTES[name]
        # a tool's result may also be given as its text alone
        if shape is ToolResult and isinstance(value, str):
            return ToolResult(content=value)
    else:
        shape = _REPLACED[entry.name, name]
    if name in _STRICT and isinstance(value, dict):
        known = known_fields(_STRICT[name])
        for key in cast("dict[str, Any]", value):
            if key not in known:
                raise AnswerError(
                    f"{word}.{name} has an unknown field '{quote(key, 40)}'{meant(key, known)}"
                )
    try:
        typed: Any = msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise AnswerError(f"{word}.{name} does not fit: {quote(str(error), 200)}") from None
    if name == "usage" and (wrong := _why_no_usage(typed)) is not None:
        raise AnswerError(f"{word}.usage does not fit: {wrong}")
    # a result, or messages with results among them
    for one in typed if name == "messages" else (typed,) if name == "result" else ():
        if not isinstance(one, tuple) and (unfit := parts.why_not(one.parts)) is not None:
            raise AnswerError(f"{word}.{name} does not fit: {quote(unfit, 200)}")
    return typed


def _with_kept(given: Sequence[Message | tuple[int, int]], old: Sequence[Message]) -> list[Message]:
    """The messages of an answer, with those that it keeps in the place of each pair.

    Raises:
        AnswerError: a pair is no range of the old messages, or not behind the one before: each is
            kept once at most, so that a short answer makes no long conversation.
    """
    messages: list[Message] = []
    kept = 0
    for one in given:
        if isinstance(one, Message):
            messages.append(one)
            continue
        begin, end = one
        if not kept <= begin <= end <= len(old):
            raise AnswerError(
                f"replace.messages keeps [{begin}, {end}] of {len(old):,} messages;"
                f" a pair is from {kept} to {len(old)} there, its end not before its begin"
            )
        messages += old[begin:end]
        kept = end
    return messages


def _why_no_usage(usage: Usage) -> str | None:
    """As of a server: the counts of a session only grow, and each reader can take them."""
    for field, tokens in msgspec.structs.asdict(usage).items():
        if tokens is not None and not 0 <= tokens < 2**53:
            return f"{field} is {tokens}; it must be 0 to 2**53 - 1"
    return None


def _allowed(entry: Entry) -> str:
    fields = [
        f"decision ({', '.join(entry.decisions)})" if name == "decision" else name
        for name in entry.answer_fields
    ]
    return f"allowed are {', '.join(fields)}" if fields else "nothing is"


def cut_context(plugin: str, texts: Sequence[str]) -> list[Context]:
    """Cut the texts of one answer: `MAX_CONTEXT_TEXTS`, of `MAX_CONTEXT_CHARS` characters together.

    If something is cut, the last text ends with a note that says how much.
    """
    total = sum(map(len, texts))
    left = MAX_CONTEXT_CHARS
    kept: list[Context] = []
    for text in texts[:MAX_CONTEXT_TEXTS]:
        if text[:left]:
            kept.append(Context(plugin, text[:left]))
        left = max(0, left - len(text))
    cut = total - sum(len(one.text) for one in kept)
    if cut:
        note = f"[cut: {cut:,} of {total:,} characters]"
        kept[-1:] = [Context(plugin, f"{one.text} {note}") for one in kept[-1:]] or [
            Context(plugin, note)
        ]
    return kept
