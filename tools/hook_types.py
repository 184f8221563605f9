"""What type checkers and editors know of each hook and event, in modules of the Python SDK."""

from __future__ import annotations

import builtins
import types
import typing
from collections.abc import Callable, Iterable
from pathlib import Path
from types import NoneType
from typing import Any, Final, get_args, get_origin, get_type_hints

import msgspec

import sliphook_sdk
from sliphook_sdk import protocol
from sliphook_sdk.protocol import CATALOGUE, Entry, match_fields
from sliphook_sdk.protocol.shapes import ToolResult

_SDK: Final = Path(sliphook_sdk.__file__).parent
_HOOKS: Final = [entry for entry in CATALOGUE.values() if entry.kind == "hook"]
_EVENTS: Final = [entry for entry in CATALOGUE.values() if entry.kind == "event"]
_COMMON: Final = {info.encode_name for info in msgspec.structs.fields(protocol.Payload)}
_COLUMNS: Final = 100


def modules() -> dict[Path, dict[str, Callable[[], str]]]:
    """What makes the generated parts of each module, by its path where Python finds it."""
    return {
        _SDK / "protocol" / "catalogue.py": {"names": _names},
        _SDK / "protocol" / "answers.py": {"answers": _answers},
        _SDK / "registration" / "answers.py": {"replace": _replace, "substitute": _substitute},
        _SDK / "decorators" / "hooks.py": {"hook": _hook},
        _SDK / "decorators" / "events.py": {"on": _on},
        _SDK / "decorators" / "handler_types.py": {"handlers": _handlers},
        _SDK / "decorators" / "match_types.py": {"match": _match},
    }


def _answers() -> str:
    """What the handlers of each hook may answer."""
    parts: list[str] = []
    for entry in _HOOKS:
        for replaces in _forms(entry):
            verbs = _verbs(entry, replaces=replaces)
            name = _answer(entry, replaces=replaces)
            line = f"{name} = Answer[Literal[{', '.join(map(_quoted, verbs))}]]"
            if len(line) > _COLUMNS:
                line = f"{name} = Answer[\n    Literal[\n{_items(verbs, 8)}    ]\n]"
            which = " with `replaces=True`" if replaces else ""
            parts.append(f'{line}\n"""What a handler of `{entry.name}`{which} may answer."""')
    return "\n".join(parts)


def _names() -> str:
    """The names of hooks and of events."""
    kinds = {"HookName": _HOOKS, "EventName": _EVENTS}
    return "\n".join(
        f"{kind} = Literal[\n{_items([entry.name for entry in entries], 4)}]"
        for kind, entries in kinds.items()
    )


def _replace() -> str:
    """The overloads of `replace()`, by the fields that each hook lets replace."""
    fields: dict[str, str] = {}
    parts: list[str] = []
    for entry in _HOOKS:
        for name in entry.replace:
            if name in fields:
                raise ValueError(
                    f"{fields[name]} and {entry.name} both replace {name}: the types of replace()"
                    " cannot tell for which of them it is"
                )
            fields[name] = entry.name
        if entry.replace:
            hints = get_type_hints(entry.payload)
            shapes = {**hints, **protocol.REPLACEMENTS}
            given = {name: _taken(shapes[name]) for name in entry.replace}
            required = entry.replace if len(entry.replace) == 1 else ()
            parts.append(_overload("replace", given, required, _changes(entry, "replace")))
    return _apart(parts)


def _substitute() -> str:
    """The overloads of `substitute()`; the first field of each must be there."""
    parts: list[str] = []
    for entry in _HOOKS:
        if entry.substitute:
            shapes = {name: protocol.SUBSTITUTES[name] for name in entry.substitute}
            # a result may also be its text alone
            given = {
                name: f"{_taken(shape)}{' | str' if shape is ToolResult else ''}"
                for name, shape in shapes.items()
            }
            said = _changes(entry, "substitute")
            parts.append(_overload("substitute", given, entry.substitute[:1], said))
    return _apart(parts)


def _overload(verb: str, given: dict[str, str], required: Iterable[str], said: str) -> str:
    rows = [
        f"    {name}: {hint},\n"
        if name in required
        else f"    {name}: {hint.removesuffix(' | None')} | None = None,\n"
        for name, hint in given.items()
    ]
    returned = f"Answer[Literal[{_quoted(said)}]]"
    return f"@overload\ndef {verb}(\n    *,\n{''.join(rows)}) -> {returned}: ...\n"


def _hook() -> str:
    """The overloads of `plugin.hook`."""
    parts: list[str] = []
    for entry in _HOOKS:
        for replaces in _forms(entry):
            rows = [
                f"match: fields.{_matched(entry)} | None = None",
                "timeout_s: float | None = None",
                "on_failure: "
                + (
                    "OnFailure | None = None"
                    if "deny" in entry.decisions
                    else 'Literal["open"] | None = None'
                ),
                "priority: int | None = None",
            ]
            if replaces:
                rows.append("replaces: Literal[True]")
            elif entry.replace or entry.substitute:
                rows.append("replaces: Literal[False] = False")
            rows += _rows_of_all(entry)
            if entry.attempts:
                rows.insert(-1, "attempts: bool = False")
            kind = f"types.{entry.payload.__name__}{'Replacer' if replaces else 'Handler'}"
            parts.append(_method("hook", entry, rows, kind))
    return "\n".join(parts)


def _on() -> str:
    """The overloads of `plugin.on`."""
    return "\n".join(
        _method(
            "on",
            entry,
            [f"match: fields.{_matched(entry)} | None = None", *_rows_of_all(entry)],
            f"types.{entry.payload.__name__}Listener",
        )
        for entry in CATALOGUE.values()
    )


def _rows_of_all(entry: Entry) -> list[str]:
    heavy = ", ".join(map(_quoted, entry.heavy))
    return [
        *([f"include: Sequence[Literal[{heavy}]] = ()"] if heavy else []),
        "subagents: bool | None = None",
        "optional: bool = False",
    ]


def _method(name: str, entry: Entry, rows: Iterable[str], kind: str) -> str:
    lines = [f"name: Literal[{_quoted(entry.name)}]", "*", *rows]
    inside = "".join(f"        {line},\n" for line in ["self", *lines])
    return f"    @overload\n    def {name}(\n{inside}    ) -> Callable[[{kind}], {kind}]: ...\n"


def _handlers() -> str:
    """A TypeVar for the functions of each entry: asked, asked and replacing, told."""
    parts: list[str] = []
    for entry in CATALOGUE.values():
        payload = f"{entry.payload.__module__.rpartition('.')[2]}.{entry.payload.__name__}"
        payload = payload.replace("model_payloads.", "payloads.")
        if entry.kind == "hook":
            for replaces in _forms(entry):
                answer = _answer(entry, replaces=replaces)
                name = f"{entry.payload.__name__}{'Replacer' if replaces else 'Handler'}"
                parts.append(_type_var(name, f"Asked[{payload}, answers.{answer}]"))
        parts.append(_type_var(f"{entry.payload.__name__}Listener", f"Function[{payload}, None]"))
    return "\n".join(parts)


def _type_var(name: str, bound: str) -> str:
    inside = f'"{name}", bound={bound}'
    for line in (f"{name} = TypeVar({inside})", f"{name} = TypeVar(\n    {inside}\n)"):
        if max(map(len, line.splitlines())) <= _COLUMNS:
            return line
    return f'{name} = TypeVar(\n    "{name}",\n    bound={bound},\n)'


def _match() -> str:
    """A TypedDict for the `match` of each entry."""
    common = [name for name in match_fields(CATALOGUE["session_end"]) if name in _COMMON]
    parts = [_typed_dict("CommonMatch", "TypedDict", "every payload", common)]
    for entry in CATALOGUE.values():
        own = [name for name in match_fields(entry) if name not in _COMMON]
        base = "TypedDict" if entry.in_interrupt else "CommonMatch"
        if own:
            name = f"{entry.payload.__name__}Match"
            parts.append(_typed_dict(name, base, f"`{entry.name}`", own))
    return _apart(parts)


def _typed_dict(name: str, base: str, whose: str, fields: Iterable[str]) -> str:
    rows = "".join(f"    {field}: Patterns\n" for field in fields)
    return f'class {name}({base}, total=False):\n    """Fields of {whose}."""\n\n{rows}'


def _matched(entry: Entry) -> str:
    own = set(match_fields(entry)) - _COMMON
    return f"{entry.payload.__name__}Match" if own else "CommonMatch"


def _forms(entry: Entry) -> tuple[bool, ...]:
    """Without `replaces` and, if something of the hook can be replaced, with it."""
    return (False, True) if entry.replace or entry.substitute else (False,)


def _answer(entry: Entry, *, replaces: bool) -> str:
    return f"{entry.payload.__name__}{'Replacement' if replaces else 'Answer'}"


def _verbs(entry: Entry, *, replaces: bool) -> list[str]:
    return [
        *entry.decisions,
        *([_changes(entry, "replace")] if replaces and entry.replace else []),
        *([_changes(entry, "substitute")] if replaces and entry.substitute else []),
        *(["context"] if entry.context else []),
        *(["continue_with"] if entry.continues else []),
    ]


def _changes(entry: Entry, verb: typing.Literal["replace", "substitute"]) -> str:
    fields = entry.replace if verb == "replace" else entry.substitute
    return f"{verb}({', '.join(fields)})"


def _taken(hint: Any) -> str:
    """The type of an argument for a value of this type: a Struct may also be a dict."""
    arguments = get_args(hint)
    match get_origin(hint):
        case typing.Union | types.UnionType:
            return " | ".join("None" if one is NoneType else _taken(one) for one in arguments)
        case builtins.list:
            return f"Sequence[{_taken(arguments[0])}]"
        case builtins.dict:
            return "Mapping[str, Any]"
        case _ if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
            return f"{hint.__name__} | Mapping[str, Any]"
        case builtins.tuple:
            return f"tuple[{', '.join(map(_taken, arguments))}]"
        case _ if hint is str or hint is int:
            return hint.__name__
        case _:
            raise ValueError(f"no way to write {hint} as the type of an argument")


def _apart(parts: Iterable[str]) -> str:
    """Functions or classes, with two empty lines behind each, as ruff has them."""
    return "".join(f"{part}\n\n" for part in parts).removesuffix("\n")


def _items(texts: Iterable[str], indent: int) -> str:
    return "".join(f"{' ' * indent}{_quoted(text)},\n" for text in texts)


def _quoted(text: str) -> str:
    return f'"{text}"'
