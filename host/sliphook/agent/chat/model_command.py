"""The command `/model`: which model answers, what else there is, and how to take it."""

from __future__ import annotations

from sliphook.agent.models.base import Model, ModelError
from sliphook.agent.models.choice import Models, full_name
from sliphook.agent.models.pool import ServedModel
from sliphook.quoting import quote

from .columns import columns

_NAME_CHARS = 64


def models_text(model: Model, models: Models | None) -> str:
    """The model that answers and the providers, one on a line.

    Args:
        model: answers now.
        models: those that can be chosen; None if there is no other.
    """
    answers = f"{quote(full_name(model), _NAME_CHARS)} answers"
    if models is None:
        return f"{answers}; there is no other model here"
    if not models.providers:
        return f"{answers}; /model NAME takes another. There are no providers."
    rows = (
        (
            name,
            f"{quote(provider.model or 'its only model', _NAME_CHARS)} at {provider.base_url}",
        )
        for name, provider in models.providers.items()
    )
    return (
        f"{answers}\n{columns(rows)}\n"
        "/model NAME takes one of these, /model NAME/MODEL another model there"
    )


def taken_text(model: Model) -> str:
    """That the model answers from now on, and where: a name alone may mean another server."""
    name = quote(full_name(model), _NAME_CHARS)
    at = ""
    if isinstance(model, ServedModel) and full_name(model) != model.endpoint.url:
        at = f" at {quote(model.endpoint.url, 200)}"
    return f"{name}{at} answers from the next model call on"


def choose(name: str, models: Models | None) -> Model | str:
    """The model of that name, or why there is none, a line for the user."""
    if models is None:
        return "there is no other model here"
    if len(name.split()) > 1:
        return "there is /model and /model NAME, and nothing goes behind it"
    try:
        return models.named(name)
    except ModelError as error:
        return str(error)
