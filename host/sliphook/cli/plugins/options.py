"""A plugin's settings on the command line: `KEY=VALUE`, grants, and what is shown of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, TypeVar, cast, get_args

import click

from sliphook.cli.common import Failed
from sliphook.quoting import quote
from sliphook_sdk.protocol import Uses

_F = TypeVar("_F", bound=Callable[..., Any])
HIDDEN = "***"


def grant_options(command: _F) -> _F:
    """Adds `--grant` and `--env`, as the parameters `grants` and `env`."""
    uses = click.option(
        "--grant",
        "grants",
        multiple=True,
        type=click.Choice(get_args(Uses)),
        help="Grant it this; may be given several times.",
    )
    env = click.option(
        "--env",
        multiple=True,
        metavar="VARIABLE",
        help="Give it this environment variable; may be given several times.",
    )
    return uses(env(command))


@contextlib.contextmanager
def failing() -> Generator[None]:
    """An error of the registry ends the command."""
    from sliphook.registry import RegistryError

    try:
        yield
    except RegistryError as error:
        raise Failed(str(error)) from None


def check_env(names: Sequence[str]) -> None:
    """Refuse variables that no plugin is given.

    Raises:
        Failed: one of them is such a one.
    """
    from sliphook.process.environment import why_not_granted

    for name in names:
        why = why_not_granted(name)
        if why is not None:
            raise Failed(why)


def settings_from(given: Sequence[str], schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """The settings that `KEY=VALUE` means.

    A value is text where the plugin's schema says so or it is no JSON, else what it is in JSON.

    Raises:
        click.UsageError: one of them has no key, or a value that cannot be kept.
    """
    import msgspec

    from sliphook.wire.decoding import DECODE_ERRORS

    settings: dict[str, Any] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise click.UsageError(f"{text!r} is no setting; write KEY=VALUE")
        settings[key] = value
        if _type_of(schema, key) != "string":
            with contextlib.suppress(*DECODE_ERRORS):  # then it is text
                settings[key] = msgspec.json.decode(value.encode("utf-8", "surrogateescape"))
        why = why_not_kept(key) or why_not_kept(settings[key])
        if why is not None:
            raise click.UsageError(f"{quote(key, 80)}: {why}")
    return settings


def why_not_kept(value: object) -> str | None:
    """What a file of settings cannot hold."""
    if value is None:
        return "null cannot be kept; --unset takes a setting away"
    if isinstance(value, str) and any(0xD800 <= ord(char) <= 0xDFFF for char in value):
        return "it is no UTF-8"
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return "the number is too large"
    if isinstance(value, dict):
        return next(
            (
                why
                for inner in cast("dict[str, object]", value).values()
                if (why := why_not_kept(inner))
            ),
            None,
        )
    if isinstance(value, list):
        return next(
            (why for inner in cast("list[object]", value) if (why := why_not_kept(inner))), None
        )
    return None


def check_config(config: Mapping[str, Any], schema: dict[str, Any] | None, advice: str) -> None:
    """Hold the settings against what the plugin says of them.

    Raises:
        Failed: they do not fit; `advice` says what to do.
    """
    from sliphook.plugin.json_schema import why_arguments_do_not_fit

    if not schema:
        return
    why = why_arguments_do_not_fit(dict(config), schema, what="the plugin's config_schema")
    if why is not None:
        raise Failed(f"its settings do not fit: {why}; {advice}")


def masked(value: Any, secrets: frozenset[str]) -> Any:
    """The settings with every secret hidden."""
    if isinstance(value, Mapping):
        return {
            key: masked(inner, secrets) for key, inner in cast("Mapping[str, Any]", value).items()
        }
    if isinstance(value, list):
        return [masked(inner, secrets) for inner in cast("list[object]", value)]
    return HIDDEN if not isinstance(value, bool) and str(value) in secrets else value


def _type_of(schema: Mapping[str, Any] | None, key: str) -> object:
    found: Any = (schema or {}).get("properties")
    for name in (key, "type"):
        found = cast("dict[str, Any]", found).get(name) if isinstance(found, dict) else None
    return found
