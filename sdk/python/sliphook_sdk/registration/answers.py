"""Answers to hooks: one function for each thing an answer can say, joined by `|`.

    return deny("deleting whole trees is not for agents")
    return allow() | context("this folder is a git checkout")

None, or no answer at all, abstains.
"""

from __future__ import annotations

from typing import Any

from sliphook_sdk.errors import AnswerError
from sliphook_sdk.protocol import Answer, Entry


def allow(reason: str | None = None) -> Answer:
    """The plugin is for it. An opinion: it skips none of the agent's own rules."""
    return Answer(decision="allow", reason=reason)


def deny(reason: str) -> Answer:
    """It must not happen. The reason is for people and for the model."""
    return Answer(decision="deny", reason=reason)


def ask(reason: str) -> Answer:
    """A person shall decide. The reason is what they read."""
    return Answer(decision="ask", reason=reason)


def replace(**fields: Any) -> Answer:
    """Other values for fields of the payload, each put whole in the place of the old one; needs `replaces=True`."""
    return Answer(replace=fields)


def substitute(**fields: Any) -> Answer:
    """What stands in for the call, which then does not happen; needs `replaces=True`."""
    return Answer(substitute=fields)


def context(*texts: str) -> Answer:
    """Texts that the model shall read; the host labels them with the plugin's name."""
    return Answer(context=list(texts))


def continue_with(text: str) -> Answer:
    """In `stop`: do not stop, go on with this as the next message."""
    return Answer(continue_with=text)


def check_answer(entry: Entry, answer: Answer, *, replaces: bool) -> None:
    """Check that an answer is allowed where it was given.

    Args:
        entry: the hook that was asked.
        answer: what the handler returned.
        replaces: the subscription says `replaces`.

    Raises:
        AnswerError: it is not; the message names what is.
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
