"""The options of `run` and `chat` that choose the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from sliphook.cli.completion import model_names

__all__ = ["model_options"]

_F = TypeVar("_F", bound=Callable[..., Any])


def model_options(command: _F) -> _F:
    """Add `--model` and `--base-url`."""
    model = click.option(
        "--model",
        metavar="scripted|FILE|NAME",
        shell_complete=model_names,
        help="The model: the scripted one, a script of replies, a model of OpenAI or of the server,"
        " openai/NAME, anthropic/NAME, or PROVIDER/NAME for a provider of config.toml.",
    )
    base_url = click.option(
        "--base-url",
        metavar="URL",
        help="A server that speaks OpenAI's or Anthropic's API, such as http://127.0.0.1:8080/v1.",
    )
    return model(base_url(command))
