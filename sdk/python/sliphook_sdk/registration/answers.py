"""Answers to hooks: a function for each part of an answer; `|` joins answers.

    return deny("deleting whole trees is not for agents")
    return allow() | context("this folder is a git checkout")

A handler that returns None abstains.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from sliphook_sdk.errors import AnswerError
from sliphook_sdk.protocol import Answer, Entry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Literal

    from sliphook_sdk.protocol import Message, ModelRoute, ModelTool, ToolResult, Usage


def allow(reason: str | None = None) -> Answer[Literal["allow"]]:
    """The plugin is in favour. An opinion: all of the agent's own rules still apply."""
    return Answer(decision="allow", reason=reason)


def deny(reason: str) -> Answer[Literal["deny"]]:
    """It must not happen. People and the model read the reason."""
    return Answer(decision="deny", reason=reason)


def ask(reason: str) -> Answer[Literal["ask"]]:
    """A person shall decide, and reads the reason."""
    return Answer(decision="ask", reason=reason)


# generated: replace
@overload
def replace(
    *,
    text: str,
) -> Answer[Literal["replace(text)"]]: ...


@overload
def replace(
    *,
    model: str | None = None,
    route: ModelRoute | Mapping[str, Any] | None = None,
    messages: Sequence[Message | Mapping[str, Any] | tuple[int, int]] | None = None,
    tools: Sequence[ModelTool | Mapping[str, Any]] | None = None,
) -> Answer[Literal["replace(model, route, messages, tools)"]]: ...


@overload
def replace(
    *,
    arguments: Mapping[str, Any],
) -> Answer[Literal["replace(arguments)"]]: ...


@overload
def replace(
    *,
    result: ToolResult | Mapping[str, Any] | None,
) -> Answer[Literal["replace(result)"]]: ...


# end


def replace(**fields: Any) -> Answer[Any]:
    """New values for fields of the payload, each replacing the whole old value.

    Needs `replaces=True`.
    """
    return Answer(replace=fields)


# generated: substitute
@overload
def substitute(
    *,
    response: Message | Mapping[str, Any],
    usage: Usage | Mapping[str, Any] | None = None,
    finish_reason: str | None = None,
) -> Answer[Literal["substitute(response, usage, finish_reason)"]]: ...


@overload
def substitute(
    *,
    result: ToolResult | Mapping[str, Any] | str,
) -> Answer[Literal["substitute(result)"]]: ...


# end


def substitute(**fields: Any) -> Answer[Any]:
    """A result in place of the call, which then does not happen. Needs `replaces=True`."""
    return Answer(substitute=fields)


def context(*texts: str) -> Answer[Literal["context"]]:
    """Texts for the model; the host labels them with the plugin's name."""
    return Answer(context=list(texts))


def continue_with(text: str) -> Answer[Literal["continue_with"]]:
    """In `stop`: the agent goes on, with this as the next message."""
    return Answer(continue_with=text)


def check_answer(entry: Entry, answer: Answer, *, replaces: bool) -> None:
    """Check that the hook allows the answer.

    Args:
        entry: the hook.
        answer: what the handler returned.
        replaces: the subscription has `replaces`.

    Raises:
        AnswerError: the hook does not; the message says what it allows.
    """
    if answer.decision is not None and answer.decision not in entry.decisions:
        raise AnswerError(f"{entry.name} takes no {answer.decision}(); it takes {_allowed(entry)}")
    if answer.continue_with is not None and not entry.continues:
        raise AnswerError(f"{entry.name} takes no continue_with(); it takes {_allowed(entry)}")
    if answer.context and not entry.context:
        raise AnswerError(f"{entry.name} takes no context(); it takes {_allowed(entry)}")
    for verb, given, known in (
        ("replace", answer.replace, entry.replace),
        ("substitute", answer.substitute, entry.substitute),
    ):
        if not given:
            continue
        unknown = [name for name in given if name not in known]
        if unknown:
            raise AnswerError(
                f"{entry.name} takes no {verb}({unknown[0]}=...); it takes {_allowed(entry)}"
            )
        if not replaces:
            raise AnswerError(
                f"{verb}() needs replaces=True in the decorator of the handler of {entry.name}"
            )


def _allowed(entry: Entry) -> str:
    names = [f"{decision}()" for decision in entry.decisions]
    names += [f"replace({name}=...)" for name in entry.replace]
    names += [f"substitute({name}=...)" for name in entry.substitute]
    names += ["context()"] if entry.context else []
    names += ["continue_with()"] if entry.continues else []
    return ", ".join(names)
