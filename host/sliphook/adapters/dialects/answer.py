"""Pure: what plugins came to, in our words, and what a hook's process writes and exits with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

import msgspec


class HookAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What the plugins came to. An opinion that changes nothing (`allow`) is not in here.

    Attributes:
        denied: why it may not happen: `NAME: reason`, joined by `; `. None: it may.
        ask: why a person has to agree first.
        arguments: what the tool is to be called with instead.
        context: texts for the model, each with its plugin's name.
        result: the text that the model is to read instead of the tool's.
        continue_with: the text with which the turn goes on.
        message: a text for the person.
        end: why the agent is to end its turn; only after an interrupt that a plugin asked for.
        messages: role and text of each message that the model is to be sent instead.
        decision: the answer to what a person is asked, in their place.
    """

    denied: str | None = None
    ask: str | None = None
    arguments: dict[str, Any] | None = None
    context: tuple[str, ...] = ()
    result: str | None = None
    continue_with: str | None = None
    message: str | None = None
    end: str | None = None
    messages: tuple[tuple[str, str], ...] | None = None
    decision: Literal["allow", "deny"] | None = None

    @property
    def context_text(self) -> str | None:
        """All texts of the context in one; None if there is none."""
        return "\n\n".join(self.context) or None


class HookReply(msgspec.Struct, frozen=True, kw_only=True):
    """What a hook's process writes, and its exit code.

    Attributes:
        unwritten: a sentence for each part of the answer that the agent has no way to take.
    """

    stdout: bytes = b""
    stderr: str = ""
    exit_code: int = 0
    unwritten: tuple[str, ...] = ()


def reply_of(body: Mapping[str, Any], unwritten: tuple[str, ...] = ()) -> HookReply:
    """A reply of one JSON object, without the fields that are None; nothing if none is left.

    Raises:
        ValueError, TypeError, RecursionError: The values are not what JSON can carry.
    """
    said = {name: value for name, value in body.items() if value is not None}
    if not said:
        return HookReply(unwritten=unwritten)
    # ASCII, so that a lone surrogate of a text is an escape and not an error
    text = json.dumps(said, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return HookReply(stdout=text.encode(), unwritten=unwritten)


def specific(event: str, **said: Any) -> dict[str, Any] | None:
    """`hookSpecificOutput` without what is None; None if nothing is left."""
    left = {name: value for name, value in said.items() if value is not None}
    return {"hookEventName": event, **left} if left else None


def blocked(reason: str | None, decision: str = "block") -> dict[str, Any]:
    """`decision` and `reason` of a block; nothing without a reason.

    To Codex a reason of blanks is none, and then it does not block.
    """
    if reason is None:
        return {}
    return {"decision": decision, "reason": reason if reason.strip() else "(nothing)"}


def denied(answer: HookAnswer) -> str | None:
    """Why it is denied; never blank."""
    if answer.denied is None:
        return None
    return answer.denied if answer.denied.strip() else "denied by a plugin"


def denied_or_asked(answer: HookAnswer) -> tuple[str | None, Literal["deny", "ask"]]:
    """Why, and what of the two it is; (None, "deny") if it is neither."""
    reason = denied(answer)
    if reason is None and answer.ask is not None:
        return answer.ask or "a plugin asks for a person's approval", "ask"
    return reason, "deny"


def needs_person(answer: HookAnswer) -> str | None:
    """The reason of a deny in an agent whose hooks cannot ask; None if nothing was asked."""
    return None if answer.ask is None else f"needs a person's approval: {answer.ask or 'no reason'}"
