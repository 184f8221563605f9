"""Pure: the params of what is sent to the host, from what the author's code gives.

Each function raises TypeError or ValueError, with the argument's name, for what the host could not
read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sliphook_sdk.protocol import (
    AnswerParams,
    AskParams,
    InjectParams,
    InterruptParams,
    LogParams,
    NotifyParams,
    SubmitParams,
)
from sliphook_sdk.wire.given import check_number, check_object, check_text, json_of, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sliphook_sdk.protocol import AlertLevel


def log_params(level: object, message: object, fields: Mapping[str, Any]) -> LogParams:
    """The params of `host/log`; what is no text becomes one, as a log call raises nothing."""
    word: Any = level if isinstance(level, str) else shown(level)
    text = message if isinstance(message, str) else shown(message)
    return LogParams(level=word, message=text, fields=dict(fields) or None)


def notify_params(level: AlertLevel, message: str) -> NotifyParams:
    """The params of `host/notify`."""
    check_text("level", level)
    check_text("message", message)
    return NotifyParams(level=level, message=message)


def inject_params(text: str, session_id: str) -> InjectParams:
    """The params of `host/inject`."""
    check_text("text", text)
    check_text("session_id", session_id)
    return InjectParams(session_id=session_id, text=text)


def submit_params(
    text: str, session_key: str, platform: str | None, user_id: str | None
) -> SubmitParams:
    """The params of `host/submit`."""
    check_text("text", text)
    check_text("session_key", session_key)
    check_text("platform", platform, none=True)
    check_text("user_id", user_id, none=True)
    return SubmitParams(session_key=session_key, platform=platform, user_id=user_id, text=text)


def interrupt_params(reason: str, session_id: str, turn_id: str | None) -> InterruptParams:
    """The params of `host/interrupt`."""
    check_text("reason", reason)
    check_text("session_id", session_id)
    check_text("turn_id", turn_id, none=True)
    return InterruptParams(session_id=session_id, turn_id=turn_id, reason=reason)


def ask_params(
    prompt: str,
    schema: dict[str, Any] | None,
    session_id: str,
    turn_id: str | None,
    call_id: str | None,
    timeout_s: float | None,
) -> AskParams:
    """The params of `host/ask`. Raises ValueError if the schema does not say the answer's type."""
    check_text("prompt", prompt)
    check_object("schema", schema)
    check_text("session_id", session_id)
    check_text("turn_id", turn_id, none=True)
    check_text("call_id", call_id, none=True)
    check_number("timeout_s", timeout_s, none=True)
    if schema is not None and "type" not in schema:
        raise ValueError(
            "the schema of a question needs a type: string, number, integer, boolean or object"
        )
    return AskParams(
        session_id=session_id,
        turn_id=turn_id,
        call_id=call_id,
        prompt=prompt,
        schema=schema,
        timeout_s=None if timeout_s is None else float(timeout_s),
    )


def answer_params(choice: object, session_id: str, question_id: str) -> AnswerParams:
    """The params of `host/answer`; what is no text is written as JSON, but for None."""
    check_text("session_id", session_id)
    check_text("question_id", question_id)
    if choice is None or isinstance(choice, str):
        text = choice
    else:
        text = json_of("choice", choice).decode()
    return AnswerParams(session_id=session_id, question_id=question_id, choice=text)
