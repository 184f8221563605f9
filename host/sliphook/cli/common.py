"""What the commands share: options, JSON in both directions, and messages on stderr."""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import signal
import sys
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, Final, cast

import click

from sliphook.quoting import quote, visible_json

if TYPE_CHECKING:
    from sliphook.agent.ui.terminal import TerminalPerson
    from sliphook_sdk.protocol import Entry

__all__ = [
    "EXIT_FAILED",
    "EXIT_INTERRUPTED",
    "EXIT_OK",
    "EXIT_PLUGIN",
    "EXIT_USAGE",
    "LEAVE_S",
    "Failed",
    "comment",
    "complain",
    "did_you_mean",
    "find_entry",
    "json_option",
    "leave_within",
    "person_at_terminal",
    "print_json",
    "read_object",
    "read_seconds",
    "stay",
    "timeout_option",
    "with_options",
]

EXIT_OK: Final = 0
EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_PLUGIN: Final = 3
EXIT_INTERRUPTED: Final = 128 + signal.SIGINT
LEAVE_S: Final = 5.0
"""How long the way out may take after a signal that ends the process."""

_MESSAGE_CHARS: Final = 4_000
"""The longest message on stderr."""


class Failed(click.ClickException):
    """The operation failed: exit status 1. The message is one line: why, and what to do."""

    exit_code = EXIT_FAILED


def complain(message: str) -> None:
    """Write a message to stderr, in one line after the program's name."""
    # the message may quote a file or a plugin; quoting it a second time changes nothing
    comment(f"sliphook: {quote(' '.join(message.split()), _MESSAGE_CHARS)}")


def comment(line: str) -> None:
    """Write a line to stderr; it is lost if stderr takes nothing more.

    What a command does and its exit status never depend on that.
    """
    with contextlib.suppress(OSError):
        click.echo(line, err=True)


def leave_within(seconds: float, status: int) -> None:
    """End the process with this exit status if it is still there then, whatever holds it.

    No thread is needed, and no output is waited for. Each call takes the place of the one before.
    """

    def leave(_number: int, _frame: object) -> None:
        with contextlib.suppress(OSError):
            os.set_blocking(2, False)  # a pipe that no one reads would hold the end
            os.write(2, b"sliphook: something did not end; left without it\n")
        with contextlib.suppress(OSError):
            os.set_blocking(2, True)  # other programs share it
        os._exit(status)

    signal.signal(signal.SIGALRM, leave)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    # at its end Python puts the default handlers back: the alarm would kill it, with another code
    atexit.unregister(stay)
    atexit.register(stay)


def stay() -> None:
    """Take back `leave_within`."""
    signal.setitimer(signal.ITIMER_REAL, 0)


class _Seconds(click.ParamType[float]):
    """A timeout in the limits of the protocol."""

    name = "seconds"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        try:
            return read_seconds(str(value))
        except click.UsageError as error:
            self.fail(error.message, param, ctx)


def read_seconds(value: str) -> float:
    """A timeout in the limits of the protocol.

    Raises:
        click.UsageError: it is no such timeout.
    """
    from sliphook_sdk.protocol.limits import MAX_TIMEOUT_S, MIN_TIMEOUT_S

    try:
        seconds = float(value)
    except ValueError:
        seconds = math.nan
    if not MIN_TIMEOUT_S <= seconds <= MAX_TIMEOUT_S:  # NaN fails here too
        raise click.UsageError(
            f"{value!r} is no timeout: give {MIN_TIMEOUT_S:g} to {MAX_TIMEOUT_S:g} seconds"
        )
    return seconds


def with_options(command: Callable[..., Any], *options: Callable[..., Any]) -> Any:
    """The command with these options of click, in the order in which its help lists them."""
    # click lists the option that was added last first
    for option in reversed(options):
        command = option(command)
    return command


timeout_option = click.option(
    "--timeout",
    "timeout_s",
    type=_Seconds(),
    metavar="S",
    help="Give a plugin S seconds to answer, instead of the time that it asks for.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


def did_you_mean(name: str, known: Collection[str], otherwise: str) -> str:
    """A hint for a name that is not known: the closest one that is, else `otherwise`."""
    from sliphook_sdk.protocol import nearest

    near = nearest(name, list(known))
    return f"did you mean {near!r}?" if near else otherwise


def find_entry(name: str) -> Entry:
    """The catalogue's entry for `name`. Case does not matter, and `-` may stand for `_`.

    Raises:
        click.UsageError: there is none; the message names the closest.
    """
    from sliphook_sdk.protocol import CATALOGUE

    entry = CATALOGUE.get(name.lower().replace("-", "_"))
    if entry is None:
        hint = did_you_mean(name, CATALOGUE, "`sliphook events` shows them all")
        raise click.UsageError(f"there is no hook or event {name!r}; {hint}")
    return entry


def read_object(given: str | None, option: str) -> dict[str, Any]:
    """The JSON object of an option that takes `JSON` or `@FILE`; `{}` without the option.

    Raises:
        click.UsageError: it is no JSON object, or the file cannot be read.
    """
    import msgspec

    from sliphook.wire.decoding import DECODE_ERRORS
    from sliphook_sdk.protocol.limits import MAX_HOST_MESSAGE_BYTES

    if given is None:
        return {}
    source = option
    # the bytes as the shell gave them: Python puts surrogates for those that are no UTF-8
    data = given.encode("utf-8", "surrogateescape")
    if given.startswith("@"):
        source = given[1:]
        try:
            with open(source, "rb") as file:
                # one byte more tells a file that is too large, also one without an end
                data = file.read(MAX_HOST_MESSAGE_BYTES + 1)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise click.UsageError(f"{option}: cannot read {source}: {why}") from None
        if len(data) > MAX_HOST_MESSAGE_BYTES:
            raise click.UsageError(
                f"{option}: {source} is over {MAX_HOST_MESSAGE_BYTES // 2**20} MiB, the most that a"
                " plugin can be sent"
            )
    try:
        value: Any = msgspec.json.decode(data)
    except DECODE_ERRORS as error:
        raise click.UsageError(f"{source} is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise click.UsageError(f'{source} must be a JSON object, like \'{{"key": "value"}}\'')
    return cast("dict[str, Any]", value)


def person_at_terminal() -> TerminalPerson | None:
    """The user at the terminal; None if stdin or stderr is no terminal."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    from sliphook.agent.ui.terminal import TerminalPerson  # rich is needed for a terminal only

    return TerminalPerson()


def print_json(value: Any) -> None:
    """Print one JSON document to stdout."""
    import msgspec

    from sliphook.wire.surrogates import escaping_json

    # a file's name may be no UTF-8; JSON must be
    text = msgspec.json.format(escaping_json(value), indent=2)
    click.echo(visible_json(text.decode()))
