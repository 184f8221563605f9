"""`--shell` and `--yes` of `run` and `chat`: a tool that runs commands."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar, cast

import click

__all__ = ["ShellOption", "shell_options"]

_F = TypeVar("_F", bound=Callable[..., Any])


class ShellOption(NamedTuple):
    """The values of the two options.

    Attributes:
        given: the model gets the tool `shell`.
        asks: the user approves each command.
    """

    given: bool
    asks: bool


def shell_options(command: _F) -> _F:
    """Add `--shell` and `--yes`; the command gets them as one parameter, `shell`."""

    @wraps(command)
    def with_shell(*args: Any, shell: bool, yes: bool, **others: Any) -> Any:
        if yes and not shell:
            raise click.UsageError("--yes is for the commands of --shell: give that too")
        return command(*args, shell=ShellOption(shell, not yes), **others)

    shell = click.option(
        "--shell",
        is_flag=True,
        help="Give the model a tool `shell`, which runs commands in this folder. You are asked"
        " before each.",
    )
    yes = click.option(
        "--yes", is_flag=True, help="Run the commands of --shell without asking you."
    )
    return cast("_F", shell(yes(with_shell)))
