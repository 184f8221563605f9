"""Pure: what a plugin can be asked and told, each with the schema and a sample of its fields."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final, Literal

import msgspec

from sliphook.plugin.tools import ToolOffer
from sliphook_sdk.protocol import (
    CATALOGUE,
    CommandRunParams,
    Entry,
    Manifest,
    Payload,
)
from sliphook_sdk.protocol.describe import example_to_send

ThingKind = Literal["hook", "event", "tool", "command"]

_OBJECT: Final[dict[str, Any]] = {"type": "object", "properties": {}}
_COMMAND: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"arguments": {"type": "string", "description": "what follows the name"}},
}


class Thing(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that the form of the page can be filled in for.

    Attributes:
        kind: what it is.
        name: its name.
        description: a sentence for people; a plugin may have written it.
        declared: the plugin has subscribed to it, or offers it.
        schema: JSON Schema of what the user fills in, an object.
        sample: values to begin with.
        common: the fields among them that most payloads have.
    """

    kind: ThingKind
    name: str
    description: str
    declared: bool
    schema: dict[str, Any]
    sample: dict[str, Any]
    common: tuple[str, ...] = ()


def things_of(manifest: Manifest | None, tools: Sequence[ToolOffer], cwd: str) -> list[Thing]:
    """All things of the plugin, what it has declared first.

    Args:
        manifest: what the plugin has declared; None while nothing is known of it.
        tools: what it offers now, `host/tools` included.
        cwd: the folder that payloads name as the project's.
    """
    subscribed = {one.event for one in (manifest.subscriptions or ())} if manifest else set[str]()
    entries = [_entry(entry, entry.name in subscribed, cwd) for entry in CATALOGUE.values()]
    return sorted(
        [*_tools(tools), *_commands(manifest), *entries], key=lambda thing: not thing.declared
    )


def command_params(name: str, given: dict[str, Any], cwd: str) -> dict[str, Any]:
    """The params of `command/run` for what the user has filled in."""
    return {**_sample(CommandRunParams, cwd), "name": name, **given}


def _tools(tools: Sequence[ToolOffer]) -> Iterator[Thing]:
    for tool in tools:
        yield Thing(
            kind="tool",
            name=tool.name,
            description=tool.description,
            declared=True,
            schema=tool.input_schema or _OBJECT,
            sample={},
        )


def _commands(manifest: Manifest | None) -> Iterator[Thing]:
    for command in (manifest.commands if manifest is not None else None) or ():
        yield Thing(
            kind="command",
            name=command.name,
            description=command.description or "",
            declared=True,
            schema=_COMMAND,
            sample={"arguments": ""},
        )


def _entry(entry: Entry, declared: bool, cwd: str) -> Thing:
    schema = _schema(entry.name)
    return Thing(
        kind="event" if entry.kind == "event" else "hook",
        name=entry.name,
        description=entry.fires,
        declared=declared,
        schema=schema,
        sample=_sample(entry.payload, cwd),
        common=tuple(name for name in Payload.__struct_fields__ if name in schema["properties"]),
    )


@cache
def _schema(event: str) -> dict[str, Any]:
    payload = CATALOGUE[event].payload
    definitions = msgspec.json.schema(payload).get("$defs", {})
    own = definitions.get(payload.__name__, {})
    # the host sets it
    fields = {name: one for name, one in own.get("properties", {}).items() if name != "timeout_s"}
    return {**own, "properties": fields, "$defs": definitions}


def _sample(struct: type[msgspec.Struct], cwd: str) -> dict[str, Any]:
    fields = _example(struct)
    return {**fields, "cwd": cwd} if "cwd" in fields else fields


_example: Final = cache(example_to_send)
