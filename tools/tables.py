"""The tables and lists of protocol.md, made from the definition in `sliphook_sdk.protocol`.

What a manifest is refused for, the states of a plugin (docs/processes.md) and the trace records
(docs/trace.md) come from the host.
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
from typing import Any, Final, TypeAlias, get_args, get_origin, get_type_hints

import msgspec

from sliphook.plugin import lifecycle
from sliphook.trace import bodies
from sliphook.trace.record import KINDS, Kind, TraceRecord
from sliphook_sdk import protocol
from sliphook_sdk.protocol import Payload, shapes
from sliphook_sdk.protocol.describe import field_docs

from . import manifest_faults
from .limits import LIMITS

_COMMON: Final = tuple(field.encode_name for field in msgspec.structs.fields(Payload))
_ONLY_ON_THE_WIRE: Final = ("timeout_s", "truncated")
"""Fields that the host adds; the document says once what they are."""

_OWN_TABLES: Final[tuple[type[msgspec.Struct], ...]] = (
    protocol.Manifest,
    protocol.Subscription,
    protocol.ToolSpec,
    protocol.Answer,
)
"""Structs that have a list of their own under a heading with their name."""

_DECLARED: Final[tuple[type[msgspec.Struct], ...]] = (protocol.CommandSpec, protocol.EnvWant)
"""Structs of the manifest that share a list."""

_SHAPES: Final[tuple[type[msgspec.Struct], ...]] = (
    shapes.Message,
    shapes.ToolCallRequest,
    shapes.ModelTool,
    shapes.Usage,
    shapes.ModelRoute,
    shapes.LlmFailure,
    shapes.Inflight,
    shapes.LateEnd,
)
"""Structs that share the list under Shapes."""

_HOME_OF: Final = {
    **{struct.__name__: "shapes" for struct in _SHAPES},
    **{struct.__name__: "commandspec-and-envwant" for struct in _DECLARED},
    "ToolResult": "toolcall",
    "Part": "toolcall",
    "HostInfo": "initialize",
    "PluginInfo": "initialize",
    "SessionInfo": "initialize",
    "CommandResult": "commandrun",
    "InjectResult": "hostinject",
    "InterruptResult": "hostinterrupt",
    "SubmitResult": "hostsubmit",
    "AskResult": "hostask",
    "AnswerResult": "hostanswer",
}
"""The anchor of the list that a struct is in, if it is not the struct's name."""


def table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table in Markdown. Bars inside a cell are escaped."""
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def _listed(rows: Iterable[tuple[str, str, str]]) -> str:
    """A list in Markdown of fields, types and what they are."""
    return "\n".join(f"- {name} ({kind}): {what}" for name, kind, what in rows)


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
            name = hint.__name__
            return f"[{name}](#{_HOME_OF.get(name, name.lower())})"
        case _:
            raise TypeError(
                f"protocol.md has no words for the type {hint!r}; add them in tools/tables.py"
            )


def _one_of(hint: Any) -> str:
    words = plain_type(hint)
    return f"({words})" if " or " in words or ", " in words else words


_Row: TypeAlias = tuple[str, str, str]


def _rows(
    struct: type[msgspec.Struct], without: Iterable[str] = (), before: str = ""
) -> list[_Row]:
    """Name, type and meaning of each field, in wire order. A `?`: the field may be absent."""
    hints, docs = get_type_hints(struct, include_extras=True), field_docs(struct)
    return [
        (
            f"`{before}{field.encode_name}`" + ("" if field.required else "?"),
            plain_type(hints[field.name]),
            docs[field.encode_name].description or "",
        )
        for field in msgspec.structs.fields(struct)
        if field.encode_name not in without
    ]


def _fields(struct: type[msgspec.Struct], without: Iterable[str] = ()) -> str:
    return _listed(_rows(struct, without))


def _initialize() -> str:
    """The params with the fields of the objects in them."""
    inside = {
        "host": _rows(protocol.HostInfo, before="host."),
        "plugin": _rows(protocol.PluginInfo, before="plugin."),
        "sessions": _rows(protocol.SessionInfo, before="sessions[]."),
    }
    rows: list[_Row] = []
    for row in _rows(protocol.InitializeParams):
        name = row[0].strip("`?")
        rows += [row] if name == "sessions" else []
        rows += inside.get(name, [row])
    return _listed(rows)


def _method(method: protocol.Method) -> str:
    """The params after the common ones, then the fields of the answer."""
    common = _COMMON if issubclass(method.params, Payload) else ()
    rows = _rows(method.params, common)
    if method.result is not None and method.result not in _OWN_TABLES:
        rows += [(f"answer: {name}", kind, says) for name, kind, says in _rows(method.result)]
    return _listed(rows)


def _together(structs: Iterable[type[msgspec.Struct]]) -> str:
    """One list for several structs."""
    return _listed(row for struct in structs for row in _rows(struct, before=f"{struct.__name__}."))


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
        if field.encode_name not in (*_COMMON, *_ONLY_ON_THE_WIRE)
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


def _errors() -> str:
    return table(
        ("code", "standard message", "meaning"),
        ((f"`{code.value}`", code.text, code.meaning) for code in protocol.ErrorCode),
    )


def _limits() -> str:
    return table(("what", "limit", "beyond it"), LIMITS)


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


def _trace_fields(struct: type[msgspec.Struct]) -> str:
    return table(("field", "type", "what"), _rows(struct))


def _trace_kinds() -> str:
    return table(("kind", "what it says"), ((f"`{kind}`", says) for kind, says in KINDS.items()))


def all_tables() -> dict[str, Callable[[], str]]:
    """Every table and list by the name of its marker. protocol.md must have each marker once."""
    tables: dict[str, Callable[[], str]] = {
        "manifest faults": lambda: table(
            ("in the manifest", "the host says"), manifest_faults.rows()
        ),
        "methods host": partial(_methods, "host"),
        "methods plugin": partial(_methods, "plugin"),
        "catalogue": _catalogue,
        "errors": _errors,
        "limits": _limits,
        "names": _names,
        "fields Common": partial(_fields, Payload),
        "fields initialize": _initialize,
        "fields declared": partial(_together, _DECLARED),
        "shapes": partial(_together, _SHAPES),
    }
    for entry in protocol.CATALOGUE.values():
        without = (*_COMMON, *_ONLY_ON_THE_WIRE)
        tables[f"fields {entry.name}"] = partial(_fields, entry.payload, without)
    for struct in _OWN_TABLES:
        tables[f"fields {struct.__name__}"] = partial(_fields, struct)
    for method in protocol.METHODS:
        if method.params is not protocol.Empty and method.name != "initialize":
            tables[f"fields {method.name}"] = partial(_method, method)
    return tables


def process_tables() -> dict[str, Callable[[], str]]:
    """The generated parts of docs/processes.md."""
    return {"lifecycle": _lifecycle}


def trace_tables() -> dict[str, Callable[[], str]]:
    """The generated parts of docs/trace.md."""
    structs = (TraceRecord, bodies.Header, bodies.OutcomeBody, bodies.PartBody, bodies.Lost)
    return {
        "trace kinds": _trace_kinds,
        **{f"fields {struct.__name__}": partial(_trace_fields, struct) for struct in structs},
    }
