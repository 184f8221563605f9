"""Pure: what plugins ask of a person, as MCP's forms have it, and the answers."""

from __future__ import annotations

from typing import Any, Final

from sliphook import ApprovalRequest, AskRequest
from sliphook.quoting import quote

ALLOW: Final = "allow"
_ANSWER: Final = "answer"
_MOST_CHARS: Final = 2_000
_APPROVAL: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {ALLOW: {"type": "boolean", "title": "Allow", "description": "Let it run."}},
    "required": [ALLOW],
}


def approval(request: ApprovalRequest) -> tuple[str, dict[str, Any]]:
    """The prompt and the form of an approval."""
    return quote(request.prompt, _MOST_CHARS), _APPROVAL


def allows(answer: dict[str, Any] | None) -> bool:
    """Whether the person has allowed it; a form without the field does not."""
    return answer is not None and answer.get(ALLOW) is True


def asked(request: AskRequest) -> tuple[str, dict[str, Any]]:
    """The prompt and the form of a plugin's question; a single value is a field of an object."""
    prompt = quote(f"{request.plugin}: {request.prompt}", _MOST_CHARS)
    if request.form.is_object:
        return prompt, request.form.schema
    properties = {_ANSWER: request.form.schema}
    return prompt, {"type": "object", "properties": properties, "required": [_ANSWER]}


def answer_to(request: AskRequest, answer: dict[str, Any] | None) -> object:
    """What the plugin is answered; None if the person declines."""
    if answer is None or request.form.is_object:
        return answer
    return answer.get(_ANSWER)
