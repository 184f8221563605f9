"""The protocol for the Node SDK: tables for its code and types for authors of plugins.

They are made from `sliphook_sdk.protocol`.
"""

from __future__ import annotations

import builtins
import json
import types
import typing
from collections.abc import Iterable
from types import NoneType
from typing import Any, Final, get_args, get_origin, get_type_hints

import msgspec

from sliphook_sdk import protocol
from sliphook_sdk.protocol import limits, match_fields, shapes, unmatchable_fields
from sliphook_sdk.protocol.describe import example_of, field_docs
from sliphook_sdk.protocol.patterns.domains import values_of

_MADE: Final = "// Made from the definition of the protocol by `make generate`; edit that instead."

_STRUCTS: Final[tuple[type[msgspec.Struct], ...]] = (
    shapes.ToolCallRequest,
    protocol.Resource,
    protocol.Part,
    shapes.Message,
    shapes.Usage,
    shapes.ToolResult,
    shapes.ToolSpec,
    shapes.ModelTool,
    shapes.ModelRoute,
    shapes.LlmFailure,
    shapes.Inflight,
    shapes.LateEnd,
    protocol.Answer,
    protocol.SessionInfo,
    protocol.Subscription,
    protocol.CommandSpec,
    protocol.EnvWant,
    protocol.Manifest,
    protocol.Payload,
    *(entry.payload for entry in protocol.CATALOGUE.values()),
    protocol.ToolCallParams,
    protocol.CommandRunParams,
    protocol.SubmitResult,
    protocol.AskParams,
    protocol.AskResult,
)
"""Every struct that an author of plugins uses; a struct follows those that it is made of."""


def code() -> str:
    """The module `src/protocol.js`: the catalogue, the codes, the numbers and the names."""
    parts = {
        "CATALOGUE": {entry.name: _entry(entry) for entry in protocol.CATALOGUE.values()},
        "ErrorCode": {code.name: code.value for code in protocol.ErrorCode},
        "LIMITS": {
            name: value
            for name, value in vars(limits).items()
            if name.isupper() and isinstance(value, int | float)
        },
        "MESSAGE_LIMITS": {
            method: limit._asdict()
            for method, limit in {
                **limits.LIMIT_BY_METHOD,
                "hook": limits.HOOK_LIMIT,
                "error": limits.ERROR_LIMIT,
                "other": limits.OTHER_LIMIT,
            }.items()
        },
        "PROTOCOL_VERSIONS": list(limits.PROTOCOL_VERSIONS),
        "NAME_PATTERNS": protocol.NAME_PATTERNS,
        "RESERVED_COMMANDS": list(protocol.RESERVED_COMMANDS),
        "RESERVED_PLUGINS": list(protocol.RESERVED_PLUGINS),
        "USES": list(get_args(protocol.Uses)),
        "GRANTS": {
            method.name: method.grant for method in protocol.METHODS if method.grant is not None
        },
        "NULL_FITS": sorted(protocol.NULL_FITS),
        "ANSWER_FIELDS": [field.encode_name for field in msgspec.structs.fields(protocol.Answer)],
    }
    exports = [f"export const {name} = {_rows(value)};" for name, value in parts.items()]
    return "\n\n".join([_MADE, *exports]) + "\n"


def samples() -> str:
    """The module `src/samples.js`, for the harness.

    It has sample params of every hook and event, of a tool call and of a command.
    """
    structs = {entry.name: entry.payload for entry in protocol.CATALOGUE.values()}
    structs |= {"tool/call": protocol.ToolCallParams, "command/run": protocol.CommandRunParams}
    rows = _rows({name: example_of(struct) for name, struct in structs.items()})
    return f"{_MADE}\n\nexport const SAMPLES = {rows};\n"


def declarations() -> str:
    """The module `types/protocol.d.ts`."""
    unions = {
        "HookName": [entry.name for entry in protocol.CATALOGUE.values() if entry.kind == "hook"],
        "EventName": [entry.name for entry in protocol.CATALOGUE.values() if entry.kind == "event"],
        "Uses": get_args(protocol.Uses),
        "Level": get_args(shapes.Level),
        "AlertLevel": get_args(shapes.AlertLevel),
        "ToolKind": get_args(shapes.ToolKind),
        "Decision": get_args(protocol.Decision),
        "OnFailure": get_args(protocol.OnFailure),
        "DeniableHook": [
            entry.name for entry in protocol.CATALOGUE.values() if "deny" in entry.decisions
        ],
        "ReplaceableHook": [
            entry.name for entry in protocol.CATALOGUE.values() if entry.replace or entry.substitute
        ],
        "AttemptedHook": [entry.name for entry in protocol.CATALOGUE.values() if entry.attempts],
    }
    payloads = ((entry.name, entry.payload.__name__) for entry in protocol.CATALOGUE.values())
    parts = [_MADE]
    parts += [f"export type {name} = {_union(values)};" for name, values in unions.items()]
    parts += [_interface(struct) for struct in _STRUCTS]
    parts.append(_mapping("Payloads", "The payload of every hook and event.", payloads))
    hooks = [entry for entry in protocol.CATALOGUE.values() if entry.kind == "hook"]
    parts.append(
        _mapping(
            "Answers",
            "What an answer to each hook may hold, of a handler with `replaces`.",
            ((entry.name, _answer(entry)) for entry in hooks),
        )
    )
    parts.append(
        _fields(
            "Replaced",
            "What `replace` may name in some hook.",
            {name: _replaced(entry, name) for entry in hooks for name in entry.replace},
        )
    )
    parts.append(
        _fields(
            "Substituted",
            "What `substitute` may name in some hook.",
            {name: _substitute(name) for entry in hooks for name in entry.substitute},
        )
    )
    parts.append(
        _mapping(
            "Matched",
            "The fields that `match` may name.",
            ((entry.name, _union(match_fields(entry))) for entry in protocol.CATALOGUE.values()),
        )
    )
    heavy = (
        (entry.name, _union(entry.heavy) if entry.heavy else "never")
        for entry in protocol.CATALOGUE.values()
    )
    parts.append(_mapping("Heavy", "The fields that are null unless `include` names them.", heavy))
    return "\n\n".join(parts) + "\n"


def _rows(value: Any) -> str:
    """JSON with one line for each entry of the outermost object."""
    if not isinstance(value, dict):
        return json.dumps(value)
    rows = (
        f"  {name if name.isidentifier() else json.dumps(name)}: {json.dumps(inside)},"
        for name, inside in typing.cast("dict[str, Any]", value).items()
    )
    return "\n".join(["{", *rows, "}"])


def _entry(entry: protocol.Entry) -> dict[str, Any]:
    return {
        "kind": entry.kind,
        "decisions": entry.decisions,
        "replace": entry.replace,
        "substitute": entry.substitute,
        "context": bool(entry.context),
        "continues": entry.continues,
        "attempts": entry.attempts,
        "heavy": entry.heavy,
        "subagents": entry.subagents,
        "strings": {field: _values(entry, field) for field in match_fields(entry)},
        "unmatchable": unmatchable_fields(entry),
    }


def _values(entry: protocol.Entry, field: str) -> dict[str, Any]:
    """What is known of the values of a string field, as `domains.js` reads it."""
    values = values_of(entry.payload, field)
    domains = [
        {name: value for name, value in domain._asdict().items() if value not in (None, 0, "", ())}
        for domain in values.domains
    ]
    known = {
        "are": values.are,
        "nullable": values.nullable or None,
        "foreign": values.foreign or None,
    }
    return {
        "domains": domains,
        **{name: value for name, value in known.items() if value is not None},
    }


def _answer(entry: protocol.Entry) -> str:
    """All fields of an answer: those that the hook does not take are `never`."""
    fields = {field.encode_name: "never" for field in msgspec.structs.fields(protocol.Answer)}
    if entry.decisions:
        fields |= {"decision": _union(entry.decisions), "reason": "string"}
    if entry.replace:
        fields["replace"] = _record(
            {f"{name}?": _replaced(entry, name) for name in entry.replace}
            | {f"{name}?": "never" for name in _others("replace", entry.replace)}
        )
    if entry.substitute:
        first, *more = entry.substitute
        fields["substitute"] = _record(
            {first: _substitute(first)}
            | {f"{name}?": _substitute(name) for name in more}
            | {f"{name}?": "never" for name in _others("substitute", entry.substitute)}
        )
    if entry.context:
        fields["context"] = "readonly string[]"
    if entry.continues:
        fields["continue_with"] = "string"
    fields["_meta"] = "unknown"
    return _record({f"{name}?": hint for name, hint in fields.items()})


def _others(verb: typing.Literal["replace", "substitute"], own: Iterable[str]) -> list[str]:
    """The fields that other hooks let replace or substitute."""
    every = {
        name: None
        for entry in protocol.CATALOGUE.values()
        for name in (entry.replace if verb == "replace" else entry.substitute)
    }
    return [name for name in every if name not in own]


def _record(fields: dict[str, str]) -> str:
    return "{ " + "; ".join(f"{name}: {hint}" for name, hint in fields.items()) + " }"


def _replaced(entry: protocol.Entry, name: str) -> str:
    if name in protocol.REPLACEMENTS:
        return _type(protocol.REPLACEMENTS[name])
    return f"{entry.payload.__name__}[{json.dumps(name)}]"


def _substitute(name: str) -> str:
    shape = protocol.SUBSTITUTES[name]
    if shape is shapes.ToolResult:
        return f"{shape.__name__} | string"
    return "string" if shape is str else shape.__name__


def _interface(struct: type[msgspec.Struct]) -> str:
    """One interface, with a comment on each field. The common fields of payloads are inherited."""
    inherits = issubclass(struct, protocol.Payload) and struct is not protocol.Payload
    common = (
        {field.name for field in msgspec.structs.fields(protocol.Payload)}
        if inherits
        else set[str]()
    )
    hints, docs = get_type_hints(struct, include_extras=True), field_docs(struct)
    summary = (struct.__doc__ or "").splitlines()[0]
    lines = [
        f"/** {summary} */",
        f"export interface {struct.__name__}{' extends Payload' if inherits else ''} {{",
    ]
    for field in msgspec.structs.fields(struct):
        if field.name not in common:
            lines.append(f"  /** {docs[field.encode_name].description} */")
            lines.append(
                f"  {field.encode_name}{'' if field.required else '?'}: {_type(hints[field.name])};"
            )
    return "\n".join([*lines, "}"])


def _mapping(name: str, summary: str, rows: Iterable[tuple[str, str]]) -> str:
    return "\n".join(
        [
            f"/** {summary} */",
            f"export interface {name} {{",
            *(f"  {key}: {hint};" for key, hint in rows),
            "}",
        ]
    )


def _fields(name: str, summary: str, fields: dict[str, str]) -> str:
    return _mapping(name, summary, ((f"{field}?", hint) for field, hint in fields.items()))


def _union(values: Iterable[str]) -> str:
    return " | ".join(json.dumps(value) for value in values)


_WORDS: Final[dict[object, str]] = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    NoneType: "null",
    Any: "unknown",
}


def _type(hint: Any) -> str:
    """The type in TypeScript's words."""
    if hint in _WORDS:
        return _WORDS[hint]
    arguments = get_args(hint)
    match get_origin(hint):
        case typing.Annotated:
            return _type(arguments[0])
        case typing.Union | types.UnionType:
            return " | ".join(
                _type(argument) for argument in arguments if argument is not msgspec.UnsetType
            )
        case typing.Literal:
            return _union(arguments)
        case builtins.list:
            inner = _type(arguments[0])
            return f"({inner})[]" if " | " in inner else f"{inner}[]"
        case builtins.tuple:
            return f"[{', '.join(map(_type, arguments))}]"
        case builtins.dict:
            return f"Record<string, {'any' if arguments[1] is Any else _type(arguments[1])}>"
        case _ if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
            return hint.__name__
        case _:
            raise TypeError(
                f"TypeScript has no words here for the type {hint!r}; add them in tools/node.py"
            )
