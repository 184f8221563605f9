"""Pure: one answer of several, and which of a result's parts stay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from sliphook.adapters.dialects.answer import HookAnswer

ValueT = TypeVar("ValueT")


def merged(answers: Sequence[HookAnswer]) -> HookAnswer:
    """One answer of those of several hooks, in the order in which they ended.

    A deny is stronger than an ask or an allow; texts are joined, and of what replaces something
    the last counts, as in the systems.
    """
    denied = [one.denied for one in answers if one.denied is not None]
    asked = [one.ask for one in answers if one.ask is not None]
    going_on = [one.continue_with for one in answers if one.continue_with is not None]
    messages = [one.message for one in answers if one.message is not None]
    decisions = [one.decision for one in answers]
    return HookAnswer(
        denied="\n".join(denied) if denied else None,
        ask="\n".join(asked) if asked and not denied else None,
        arguments=_last([one.arguments for one in answers]),
        context=tuple(text for one in answers for text in one.context),
        result=_last([one.result for one in answers]),
        continue_with="\n\n".join(going_on) if going_on else None,
        message="\n".join(messages) if messages else None,
        end=next((one.end for one in answers if one.end is not None), None),
        messages=_last([one.messages for one in answers]),
        decision="deny" if "deny" in decisions else "allow" if "allow" in decisions else None,
    )


def _last(values: Sequence[ValueT | None]) -> ValueT | None:
    return next((value for value in reversed(values) if value is not None), None)
