"""Payloads for trying a plugin: what the user gives, and sample values for the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import click
import msgspec

from sliphook_sdk.protocol import nearest
from sliphook_sdk.protocol.describe import example_of

__all__ = ["sample"]

_P = TypeVar("_P", bound=msgspec.Struct)


def sample(struct: type[_P], given: Mapping[str, Any], *, of: str, option: str) -> _P:
    """A payload whose fields are those of `given`, and the protocol's sample values where it has none.

    Args:
        struct: The payload's type.
        given: Some of its fields, by their names on the wire.
        of: What the payload belongs to, for messages.
        option: Where `given` came from, for messages.

    Raises:
        click.UsageError: a field that the payload does not have, or a value of the wrong type; the
        message names it.
    """
    # Fields that are absent by default (`timeout_s`, `truncated`) are the host's to set.
    hosts = {
        info.encode_name for info in msgspec.structs.fields(struct) if info.default is msgspec.UNSET
    }
    fields = {name: value for name, value in example_of(struct).items() if name not in hosts}
    for name in given:
        if name in hosts:
            raise click.UsageError(
                f"{option}: {name!r} is set by the host"
                + ("; use --timeout" if name == "timeout_s" else "")
            )
        if name not in fields:
            near = nearest(name, list(fields))
            hint = f"did you mean {near!r}?" if near else f"there are: {', '.join(fields)}"
            raise click.UsageError(f"{option}: {of} has no field {name!r}; {hint}")
    try:
        return msgspec.convert({**fields, **given}, struct)
    except msgspec.ValidationError as error:
        raise click.UsageError(f"{option}: {error}") from None
