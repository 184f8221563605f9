"""What the commands share: options, JSON on both sides, and how a failure is told."""

from __future__ import annotations

import math
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import click

from sliphook.quoting import quote

if TYPE_CHECKING:
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
    "plugin_option",
    "print_json",
    "read_object",
    "read_seconds",
    "refuse_what_others_could_change",
    "timeout_option",
]

EXIT_OK: Final = 0
EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_PLUGIN: Final = 3
EXIT_INTERRUPTED: Final = 128 + signal.SIGINT


class Failed(click.ClickException):
    """The operation failed: one line that says what, and what to do. Exit 1."""

    exit_code = EXIT_FAILED


class _Seconds(click.ParamType[float]):
    """A timeout as the protocol allows it."""

    name = "seconds"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        try:
            return read_seconds(str(value))
        except click.UsageError as error:
            self.fail(error.message, param, ctx)


def read_seconds(value: str) -> float:
    """A timeout as the protocol allows it.

    Raises:
        click.UsageError: it is none.
    """
    from sliphook_sdk.protocol.limits import MAX_TIMEOUT_S, MIN_TIMEOUT_S

    try:
        seconds = float(value)
    except ValueError:
        seconds = math.nan
    if not MIN_TIMEOUT_S <= seconds <= MAX_TIMEOUT_S:  # NaN is not, either
        raise click.UsageError(
            f"{value!r} is no timeout: give {MIN_TIMEOUT_S:g} to {MAX_TIMEOUT_S:g} seconds"
        )
    return seconds


def refuse_what_others_could_change(path: Path) -> None:
    """To be called for every executable that an option names.

    Raises:
        Failed: somebody else could have written it.
    """
    from sliphook.files.ownership import why_unsafe

    why = why_unsafe(path)
    if why is not None:
        raise Failed(f"{quote(str(path), 200)} is not started: {why}")


def _refuse_some(
    _ctx: click.Context, _param: click.Parameter, paths: tuple[Path, ...]
) -> tuple[Path, ...]:
    for path in paths:
        refuse_what_others_could_change(path)
    return paths


plugin_option = click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="PATH",
    type=click.Path(path_type=Path),
    callback=_refuse_some,
    help="A plugin's executable; may be given several times.",
)
timeout_option = click.option(
    "--timeout",
    "timeout_s",
    type=_Seconds(),
    metavar="S",
    help="Seconds that a plugin has to answer, whatever it asks for itself.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


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

    from sliphook.wire.decoding import DECODE_ERRORS

    if given is None:
        return {}
    source = option
    data = given.encode("utf-8", "surrogateescape")
    if given.startswith("@"):
        source = given[1:]
        try:
            data = Path(source).read_bytes()
        except OSError as error:
            raise click.UsageError(
                f"{option}: cannot read {source}: {error.strerror or error}"
            ) from None
    try:
        value: Any = msgspec.json.decode(data)
    except DECODE_ERRORS as error:
        raise click.UsageError(f"{source} is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise click.UsageError(f'{source} must be a JSON object, like \'{{"key": "value"}}\'')
    return cast("dict[str, Any]", value)


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    import msgspec

    try:
        text = msgspec.json.encode(value)
    except UnicodeEncodeError:  # a file's name that is no UTF-8, which JSON must be
        text = msgspec.json.encode(_readable(msgspec.to_builtins(value)))
    click.echo(msgspec.json.format(text, indent=2))


def _readable(value: Any) -> Any:
    """Every text as UTF-8, with what is none escaped."""
    if isinstance(value, dict):
        return {
            _readable(key): _readable(inner) for key, inner in cast("dict[str, Any]", value).items()
        }
    if isinstance(value, list):
        return [_readable(inner) for inner in cast("list[object]", value)]
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
