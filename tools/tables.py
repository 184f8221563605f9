"""The tables of protocol.md, made from the definition in `sliphook_sdk.protocol`.

The states of a plugin and the trace records come from the host.
"""

from __future__ import annotations

import builtins
import re
import types
import typing
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial
from types import NoneType
from typing import Any, Final, get_args, get_origin, get_type_hints

import msgspec

from sliphook.plugin import lifecycle
from sliphook.trace import bodies
from sliphook.trace.record import KINDS, Kind, TraceRecord
from sliphook_sdk import protocol
from sliphook_sdk.protocol import limits, shapes
from sliphook_sdk.protocol.describe import field_docs
from sliphook_sdk.protocol.payloads import Payload

_COMMON: Final = tuple(field.encode_name for field in msgspec.structs.fields(Payload))

_SHARED_STRUCTS: Final[tuple[type[msgspec.Struct], ...]] = (
    shapes.Message,
    shapes.ToolCallRequest,
    shapes.ToolResult,
    shapes.Usage,
    shapes.ModelTool,
    shapes.Inflight,
    protocol.ToolSpec,
    protocol.Subscription,
    protocol.CommandSpec,
    protocol.EnvWant,
    protocol.HostInfo,
    protocol.PluginInfo,
    protocol.SessionInfo,
    protocol.Answer,
)
"""Structs that are no params and no result, and yet have a table in the document."""


def table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table in Markdown. Bars inside a cell are escaped."""
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def _codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


_HOOKS: Final = "(#hooks-and-events)"

_WORDS: Final[dict[object, str]] = {
    str: "string",
    bytes: "any value",
    int: "integer",
    float: "number",
    bool: "boolean",
    NoneType: "null",
    Any: "any value",
    Kind: "one of those below",
}


def plain_type(hint: Any) -> str:
    """The type in the words of JSON: `string or null`, `list of Message`, or its values."""
    if hint in _WORDS:
        return _WORDS[hint]
    arguments = get_args(hint)
    match get_origin(hint):
        case typing.Annotated:
            return plain_type(arguments[0])
        case typing.Union | types.UnionType:
            return " or ".join(
                plain_type(argument) for argument in arguments if argument is not msgspec.UnsetType
            )
        case typing.Literal:
            return ", ".join(f'`"{value}"`' for value in arguments)
        case builtins.list | builtins.tuple | builtins.frozenset:
            return f"list of {_one_of(arguments[0])}"
        case builtins.dict:
            return "object" if arguments[1] is Any else f"object of {_one_of(arguments[1])}"
        case _ if hint is datetime:
            return "date and time"
        case _ if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
            return f"[{hint.__name__}](#{hint.__name__.lower()})"
        case _:
            raise TypeError(
                f"protocol.md has no words for the type {hint!r}; add them in tools/tables.py"
            )


def _one_of(hint: Any) -> str:
    words = plain_type(hint)
    return f"({words})" if " or " in words or ", " in words else words


def _fields(struct: type[msgspec.Struct], without: Iterable[str] = ()) -> str:
    """Every field of a struct in wire order. A `?` after the name: the field may be absent."""
    hints, docs = get_type_hints(struct, include_extras=True), field_docs(struct)
    return table(
        ("field", "type", "what"),
        (
            (
                f"`{field.encode_name}`" + ("" if field.required else "?"),
                plain_type(hints[field.name]),
                docs[field.encode_name].description or "",
            )
            for field in msgspec.structs.fields(struct)
            if field.encode_name not in without
        ),
    )


def _methods(by: str) -> str:
    rows: list[tuple[str, ...]] = []
    if by == "host":
        rows.append(
            (
                f"[`hook/NAME`]{_HOOKS}",
                "request",
                plain_type(protocol.Answer),
                "may change what happens; null or `{}` abstains",
            )
        )
        rows.append((f"[`event/NAME`]{_HOOKS}", "notification", "", "told, not asked"))
    for method in protocol.METHODS:
        if method.by == by:
            says = f"{method.says}; needs `{method.grant}`" if method.grant else method.says
            rows.append((_linked(method.name), method.kind, _answer(method), says))
    return table(("method", "kind", "answer", "what for"), rows)


def _answer(method: protocol.Method) -> str:
    if method.kind == "notification":
        return ""
    if method.result is None:
        return "anything"
    return "`{}`" if method.result is protocol.Empty else plain_type(method.result)


def _linked(name: str) -> str:
    """The name as code, with a link to its heading.

    An anchor keeps only letters, digits, `_` and `-`.
    """
    return f"[`{name}`](#{re.sub(r'[^a-z0-9_-]', '', name.lower())})"


def _catalogue() -> str:
    return table(
        (
            "name",
            "kind",
            "fires",
            "fields beside the common ones",
            "what an answer may do",
            "on failure",
        ),
        (
            (
                _linked(entry.name),
                entry.kind,
                entry.fires,
                _codes(own_fields(entry)),
                _powers(entry),
                f"**{entry.on_failure}**"
                if entry.on_failure == "closed"
                else entry.on_failure or "",
            )
            for entry in protocol.CATALOGUE.values()
        ),
    )


def own_fields(entry: protocol.Entry) -> list[str]:
    """The payload's fields, without the common ones and those that only the wire adds."""
    return [
        field.encode_name
        for field in msgspec.structs.fields(entry.payload)
        if field.encode_name not in (*_COMMON, "timeout_s", "truncated")
    ]


def _powers(entry: protocol.Entry) -> str:
    powers = [f"`{decision}`" for decision in entry.decisions]
    powers += [f"`replace.{name}`" for name in entry.replace]
    powers += [f"`substitute.{name}`" for name in entry.substitute]
    if entry.context:
        powers.append(f"`context`: {entry.context}")
    if entry.continues:
        powers.append("`continue_with`")
    return ", ".join(powers)


def _heavy() -> str:
    return table(
        (
            "name",
            "fields that are null unless `include` names them",
            "a subscription that does not say hears child agents",
        ),
        (
            (f"`{entry.name}`", _codes(entry.heavy), "yes" if entry.subagents else "no")
            for entry in protocol.CATALOGUE.values()
            if entry.heavy or entry.subagents
        ),
    )


def _errors() -> str:
    return table(
        ("code", "standard message", "meaning"),
        ((f"`{code.value}`", code.text, code.meaning) for code in protocol.ErrorCode),
    )


def _limits() -> str:
    return table(("what", "limit", "beyond it"), limits.LIMITS)


def _names() -> str:
    rows = [(kind, f"`{pattern}`") for kind, pattern in protocol.NAME_PATTERNS.items()]
    rows.append(("no plugin", _codes(protocol.RESERVED_PLUGINS)))
    rows.append(("commands that are the agent's", _codes(protocol.RESERVED_COMMANDS)))
    rows.append(("`uses`", _codes(get_args(protocol.Uses))))
    return table(("name of", "what it may be"), rows)


def _lifecycle() -> str:
    """The states of a plugin, as a diagram that can also be read as text."""
    moves = "\n".join(
        f"    {state.value} --> {after.value}: {happening.value}"
        for (state, happening), after in lifecycle.TABLE.items()
    )
    return f"```mermaid\nstateDiagram-v2\n{moves}\n```"


def _trace_kinds() -> str:
    return table(("kind", "what it says"), ((f"`{kind}`", says) for kind, says in KINDS.items()))


def all_tables() -> dict[str, Callable[[], str]]:
    """Every table by the name of its marker. protocol.md must have each marker once."""
    tables: dict[str, Callable[[], str]] = {
        "methods host": partial(_methods, "host"),
        "methods plugin": partial(_methods, "plugin"),
        "catalogue": _catalogue,
        "heavy": _heavy,
        "errors": _errors,
        "limits": _limits,
        "lifecycle": _lifecycle,
        "names": _names,
        "fields Common": partial(_fields, Payload),
        "trace kinds": _trace_kinds,
        "fields TraceRecord": partial(_fields, TraceRecord),
    }
    for entry in protocol.CATALOGUE.values():
        tables[f"fields {entry.name}"] = partial(_fields, entry.payload, _COMMON)
    structs: list[type[msgspec.Struct]] = [
        *_SHARED_STRUCTS,
        *(method.params for method in protocol.METHODS),
    ]
    structs += [method.result for method in protocol.METHODS if method.result is not None]
    structs += [bodies.Header, bodies.OutcomeBody, bodies.PartBody, bodies.Lost]
    for struct in structs:
        if struct is not protocol.Empty:
            tables[f"fields {struct.__name__}"] = partial(
                _fields, struct, _COMMON if issubclass(struct, Payload) else ()
            )
    return tables
