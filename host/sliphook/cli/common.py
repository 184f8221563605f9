"""What the commands share: options, JSON on both sides, the trace, and how a failure is told."""

from __future__ import annotations

import contextlib
import math
import signal
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import click

if TYPE_CHECKING:
    from sliphook.trace.record import TraceSink
    from sliphook_sdk.protocol import Entry

__all__ = [
    "EXIT_FAILED",
    "EXIT_INTERRUPTED",
    "EXIT_OK",
    "EXIT_PLUGIN",
    "EXIT_USAGE",
    "Failed",
    "find_entry",
    "json_option",
    "open_trace",
    "plugin_option",
    "print_json",
    "read_object",
    "timeout_option",
    "trace_options",
]

EXIT_OK: Final = 0
EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_PLUGIN: Final = 3
EXIT_INTERRUPTED: Final = 128 + signal.SIGINT

_F = TypeVar("_F", bound=Callable[..., Any])


class Failed(click.ClickException):
    """The operation failed: one line that says what, and what to do. Exit 1."""

    exit_code = EXIT_FAILED


class _Seconds(click.ParamType[float]):
    """A timeout as the protocol allows it."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        from sliphook_sdk.protocol.limits import MAX_TIMEOUT_S, MIN_TIMEOUT_S

        try:
            seconds = float(value)
        except ValueError:
            seconds = math.nan
        if not MIN_TIMEOUT_S <= seconds <= MAX_TIMEOUT_S:  # NaN is not, either
            self.fail(f"{value!r} is no timeout: give {MIN_TIMEOUT_S:g} to {MAX_TIMEOUT_S:g} seconds", param, ctx)
        return seconds


plugin_option = click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="A plugin's executable; may be given several times.",
)
timeout_option = click.option(
    "--timeout", "timeout_s", type=_Seconds(), metavar="S", help="Seconds that a plugin has to answer, whatever it asks for itself."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


def trace_options(command: _F) -> _F:
    """Adds `--trace` and `--trace-file FILE`, as the parameters `trace` and `trace_file`."""
    in_file = click.option(
        "--trace-file",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Write every message to FILE as JSON lines; what it held before is gone.",
    )
    live = click.option("--trace", is_flag=True, help="Show every message on stderr as it passes.")
    return live(in_file(command))


@contextlib.contextmanager
def open_trace(live: bool, path: Path | None, secrets: tuple[str, ...] = ()) -> Generator[TraceSink | None]:
    """The sink that the options ask for, or None. At the end it tells on stderr what was lost.

    Args:
        live: Show the messages on stderr.
        path: Write them to this file.
        secrets: Texts to hide in both.

    Raises:
        Failed: the file cannot be written.
    """
    if not live and path is None:
        yield None
        return
    from sliphook.trace.file import FileTrace
    from sliphook.trace.live import LiveTrace
    from sliphook.trace.record import Tee
    from sliphook.trace.redact import Redactor

    redactor = Redactor(secrets)
    sinks: list[FileTrace | LiveTrace] = []
    if path is not None:
        try:
            sinks.append(FileTrace(path, redactor))
        except OSError as error:
            raise Failed(f"cannot write the trace to {path}: {error.strerror or error}") from None
    if live:
        sinks.append(LiveTrace(sys.stderr, redactor))
    try:
        yield sinks[0] if len(sinks) == 1 else Tee(sinks)
    finally:
        for sink in sinks:
            lost = sink.close()
            if lost is not None:
                click.echo(f"sliphook: {lost}", err=True)


def find_entry(name: str) -> Entry:
    """The entry of the catalogue that `name` means: case does not matter, and `-` may stand for `_`.

    Raises:
        click.UsageError: there is none; the message names the nearest.
    """
    from sliphook_sdk.protocol import CATALOGUE, nearest

    entry = CATALOGUE.get(name.lower().replace("-", "_"))
    if entry is None:
        near = nearest(name, list(CATALOGUE))
        hint = f"did you mean {near!r}?" if near else "`sliphook events` shows them all"
        raise click.UsageError(f"there is no hook or event {name!r}; {hint}")
    return entry


def read_object(given: str | None, option: str) -> dict[str, Any]:
    """The JSON object of an option that takes `JSON` or `@FILE`; `{}` where it was not given.

    Raises:
        click.UsageError: it is no JSON object, or the file cannot be read.
    """
    import msgspec

    if given is None:
        return {}
    source = option
    data = given.encode("utf-8", "surrogateescape")
    if given.startswith("@"):
        source = given[1:]
        try:
            data = Path(source).read_bytes()
        except OSError as error:
            raise click.UsageError(f"{option}: cannot read {source}: {error.strerror or error}") from None
    try:
        value: Any = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise click.UsageError(f"{source} is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise click.UsageError(f'{source} must be a JSON object, like \'{{"key": "value"}}\'')
    return cast("dict[str, Any]", value)


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2))
