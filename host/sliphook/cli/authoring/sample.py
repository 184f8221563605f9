"""Payloads for trying a plugin: what the user gives, and sample values for the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import click
import msgspec

from sliphook_sdk.protocol import nearest
from sliphook_sdk.protocol.describe import example_of, example_to_send

__all__ = ["payload_with"]

_P = TypeVar("_P", bound=msgspec.Struct)


def payload_with(given: Mapping[str, Any], struct: type[_P], *, of: str, option: str) -> _P:
    """A payload with the fields that the user gives; the others have the protocol's examples.

    Args:
        given: some fields, by their names on the wire.
        struct: the payload's type.
        of: what the payload belongs to, for messages.
        option: where `given` comes from, for messages.

    Raises:
        click.UsageError: the payload has no such field, or a value has the wrong type; the message
            names it.
    """
    fields = example_to_send(struct)
    for name in given:
        if name in fields:
            continue
        if name in example_of(struct):
            hint = "; use --timeout" if name == "timeout_s" else ""
            raise click.UsageError(f"{option}: {name!r} is set by the host{hint}")
        near = nearest(name, list(fields))
        hint = f"did you mean {near!r}?" if near else f"there are: {', '.join(fields)}"
        raise click.UsageError(f"{option}: {of} has no field {name!r}; {hint}")
    try:
        return msgspec.convert({**fields, **given}, struct)
    except msgspec.ValidationError as error:
        raise click.UsageError(f"{option}: {error}") from None
