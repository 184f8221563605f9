"""`KEY=VALUE`: the settings of a plugin, read and checked by what it declares."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import click

from sliphook.cli.common import Failed
from sliphook.quoting import quote

__all__ = ["check_settings", "settings_from"]


def settings_from(given: Sequence[str], schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """The settings that `KEY=VALUE` arguments give.

    A value is text if the plugin's schema says so, or if it is no JSON; else it is that JSON.

    Raises:
        click.UsageError: an argument has no key, or a value that the plugin's file cannot hold.
    """
    import msgspec

    from sliphook.files.toml import BadKey, check_plain_data
    from sliphook.registry.settings_schema import settings_of
    from sliphook.wire.decoding import DECODE_ERRORS

    settings: dict[str, Any] = {}
    known = settings_of(schema)
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise click.UsageError(f"{text!r} is no setting; write KEY=VALUE")
        settings[key] = value
        if key not in known or known[key].kind not in ("string", "string or null"):
            with contextlib.suppress(*DECODE_ERRORS):  # then it is text
                settings[key] = msgspec.json.decode(value.encode("utf-8", "surrogateescape"))
        try:
            check_plain_data(key, ())
            check_plain_data(settings[key], ())
        except BadKey as error:
            hint = "; --unset takes a setting away" if settings[key] is None else ""
            raise click.UsageError(f"{quote(key, 80)}: {error.why}{hint}") from None
    return settings


def check_settings(
    settings: Mapping[str, Any], schema: Mapping[str, Any] | None, advice: str
) -> None:
    """Check the settings by the plugin's `config_schema`.

    Raises:
        Failed: they do not fit, or the plugin has no such setting; `advice` ends the message.
    """
    from sliphook.registry.settings_schema import unknown_setting
    from sliphook.schemas import why_arguments_do_not_fit

    for name in settings:
        if (why := unknown_setting(name, schema)) is not None:
            raise Failed(f"{quote(why, 300)}; {advice}")

    if not schema:
        return
    why = why_arguments_do_not_fit(dict(settings), dict(schema), what="the plugin's config_schema")
    if why is not None:
        raise Failed(f"its settings do not fit: {why}; {advice}")
