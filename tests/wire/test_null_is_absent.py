"""null is the same as absent, in every field of the protocol that is optional."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from sliphook_sdk.protocol import (
    CATALOGUE,
    METHODS,
    SUBSTITUTES,
    Answer,
    CommandResult,
    InterruptParams,
    LogParams,
    Manifest,
    NotifyParams,
    Subscription,
    ToolResult,
    ToolsParams,
    ToolSpec,
)
from sliphook_sdk.protocol.describe import example_of


def structs_in(annotation: Any) -> Iterator[type[msgspec.Struct]]:
    """The Structs of a type, and of the fields of each."""
    if inspect.isclass(annotation) and issubclass(annotation, msgspec.Struct):
        yield annotation
        for field in msgspec.structs.fields(annotation):
            yield from structs_in(field.type)
    for argument in typing.get_args(annotation):
        yield from structs_in(argument)


ROOTS: list[Any] = [
    *(method.params for method in METHODS),
    *(method.result for method in METHODS if method.result is not None),
    *(entry.payload for entry in CATALOGUE.values()),
    *SUBSTITUTES.values(),
    Answer,
]
STRUCTS = sorted(
    {struct for root in ROOTS for struct in structs_in(root)}, key=lambda struct: struct.__name__
)


def test_the_walk_finds_what_is_nested() -> None:
    names = {struct.__name__ for struct in STRUCTS}
    assert {"Subscription", "EnvWant", "ToolSpec", "Usage", "SessionInfo", "Inflight"} <= names
    assert len(names) > 40


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: struct.__name__)
def test_every_optional_field_takes_null(struct: type[msgspec.Struct]) -> None:
    example = example_of(struct)
    fields = {field.encode_name: field for field in msgspec.structs.fields(struct)}
    nulls = {name: example[name] if field.required else None for name, field in fields.items()}
    msgspec.convert(nulls, struct)


@pytest.mark.parametrize(
    ("struct", "name"),
    [
        (Manifest, "protocol_version"),
        (Manifest, "name"),
        (Subscription, "event"),
        (ToolSpec, "name"),
        (ToolResult, "content"),
        (LogParams, "message"),
        (NotifyParams, "level"),
        (ToolsParams, "tools"),
        (InterruptParams, "reason"),
    ],
)
def test_what_is_required_takes_none(struct: type[msgspec.Struct], name: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=f"got `null` - at `\\$.{name}`"):
        msgspec.convert({**example_of(struct), name: None}, struct)


def test_what_a_null_counts_as() -> None:
    result = msgspec.json.decode(b'{"content":"","is_error":null,"data":null}', type=ToolResult)
    assert result == ToolResult(content="", is_error=False, data=None)
    assert result.is_error is False
    assert msgspec.json.decode(b'{"text":null}', type=CommandResult) == CommandResult()
