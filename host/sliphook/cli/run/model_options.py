"""The options that say which model is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

__all__ = ["model_options"]

_F = TypeVar("_F", bound=Callable[..., Any])


def model_options(command: _F) -> _F:
    """Adds `--model` and `--base-url`."""
    model = click.option(
        "--model",
        metavar="scripted|FILE|NAME",
        help="The scripted model, a script of replies, a model of OpenAI or of the server, or anthropic/NAME.",
    )
    base_url = click.option(
        "--base-url",
        metavar="URL",
        help="A server that speaks OpenAI's or Anthropic's API, such as http://127.0.0.1:8080/v1.",
    )
    return model(base_url(command))
