"""Pure: a schema as the library gets it, which asks on its way whether there is time left.

The library checks a value without a pause. So a part that goes into a value, or does much, is
written as `if` there is time, `then` the part, `else` false: when the time is up, all further parts
are false at once. What lies between two such questions takes a time that is known before, as it is
small or in proportion to the length of the value.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec

from .errors import SchemaError
from .keywords import DRAFTS, REF_ALONE, is_list, is_object
from .parts import SchemaPart
from .patterns import BACKTRACK_CHARS, Expression
from .reading import ReadSchema

ASK: Final = "sliphook:ask"
"""The keyword that asks; its value is the index of the part's `Stretch`."""

DIFFER: Final = "sliphook:differ"
"""Stands for `uniqueItems`."""

MAX_ASKING: Final = 200
"""The most parts that ask: each takes 50 us to compile."""

# Microseconds, measured with jsonschema-rs 0.61 on this kind of machine, rounded up.
_KEYWORD: Final = 0.05
_QUESTION: Final = 1.0
_MOST: Final = 20.0
"""More than this is never done without asking."""
_CHAR: Final = 0.0002
_MEMBER: Final = 0.01
_MULTIPLE: Final = 2.0
_ENUM_BYTE: Final = 0.01
_SMALL: Final = 8
"""An expression of so few states is tried in a time that does not depend on them."""
_SMALL_CHAR: Final = 0.006
_STATE_CHAR: Final = 0.05
"""One state at one character, if there are too many to be known before."""
_BACKTRACKING: Final = 1_500.0
"""One expression that backtracks, on the longest text that is tried."""


class Stretch(NamedTuple):
    """What a part does to one value before it asks again, in microseconds.

    Attributes:
        once: for any value.
        entry: for each item or property.
        char: for each character of a text.
        short: for a text, if expressions backtrack.
        key_char: for each character of the names of properties.
        text: for each character of all texts.
        members: for each value in the whole, as the library lists the members of an object anew
            for each keyword.
        whole: it looks at everything inside, as `uniqueItems` does.
    """

    once: float
    entry: float
    char: float
    short: float
    key_char: float
    text: float
    members: float
    whole: bool


class Written(NamedTuple):
    """A schema as the library gets it; `steps` are those of the parts that ask."""

    schema: dict[str, Any] | bool
    steps: list[Stretch]


def write(read: ReadSchema) -> Written:
    """Make the references local and put the questions in."""
    root, parts = read.root, read.parts
    if type(root.raw) is bool:
        return Written(root.raw, [])
    steps: list[Stretch] = []
    for part in parts:
        part.inner = part.values
        part.written = part.inner if is_object(part.raw) else part.raw
    complex_parts = [part for part in parts if part is root or not part.is_plain()]
    for part in _from_below(root, complex_parts):
        _weigh(part)
        if (
            part is root
            or part.asks
            or part.weight > _MOST
            or part.pattern is not None
            or part.values.get("uniqueItems") is True
            or any(True for _ in part.looped())
        ):
            part.asks = True
        if part.asks:
            part.inner = {}
            part.written = {"if": {ASK: len(steps)}, "then": part.inner, "else": False}
            steps.append(_step(part))
        elif is_object(part.raw):
            part.written = part.inner = {}
    if len(steps) > MAX_ASKING:
        raise SchemaError(
            f"has {len(steps):,} schemas for lists, patterns and the like in it; at most"
            f" {MAX_ASKING} are allowed"
        )
    for part in complex_parts:
        _fill(part, root)
    schema = dict(root.written) if is_object(root.written) else {}
    # `if` came with draft-07, which reads what those before it wrote
    draft = DRAFTS[read.uri]
    schema["$schema"] = (
        "http://json-schema.org/draft-07/schema#" if draft in REF_ALONE else read.uri
    )
    schema["$defs"] = {str(part.number): part.written for part in parts if part.number >= 0}
    return Written(schema, steps)


def _from_below(root: SchemaPart, parts: list[SchemaPart]) -> list[SchemaPart]:
    """Each part behind those that it is taken with for one value and those inside.

    A part that leads back to itself asks, so that no way round passes without a question.
    """
    order: list[SchemaPart] = []
    done: dict[int, bool] = {}
    for start in (root, *parts):
        if id(start) in done:
            continue
        done[id(start)] = False
        stack = [(start, iter((*start.beside(), *start.below())))]
        while stack:
            part, rest = stack[-1]
            following = next(rest, None)
            if following is None:
                stack.pop()
                done[id(part)] = True
                order.append(part)
            elif id(following) not in done:
                done[id(following)] = False
                if following.is_plain():
                    done[id(following)] = True
                else:
                    stack.append((following, iter((*following.beside(), *following.below()))))
            elif not done[id(following)]:
                following.asks = True
    return order


class _Seen(NamedTuple):
    """What a part costs the one that leads to it."""

    weight: float
    text: float
    members: float


_ASKED: Final = _Seen(_QUESTION, 0.0, 0.0)


def _seen(part: SchemaPart) -> _Seen:
    return _ASKED if part.asks else _Seen(part.weight, part.text, part.members)


def _weigh(part: SchemaPart) -> None:
    values = part.values
    weight, text = _KEYWORD * (1 + len(values) + len(part.named)), 0.0
    weight += _KEYWORD * len(values.get("required", ()))
    for key in ("dependentRequired", "dependencies"):
        weight += _KEYWORD * sum(1 + len(names) for names in values.get(key, {}).values())
    for key in ("enum", "const"):
        if key in values and not _only_texts(values[key]):
            weight += _ENUM_BYTE * len(msgspec.json.encode(values[key]))
    if values.keys() & {"maxLength", "minLength", "enum", "const"}:
        text += _CHAR
    members = _MEMBER * len(values.keys() & _LOOK_INTO)
    if part.named or part.every or part.patterns:
        members += _MEMBER * 3
    if "multipleOf" in values:
        weight += _MULTIPLE
    for other in part.beside():
        seen = _seen(other)
        weight += seen.weight
        text += seen.text
        members += seen.members
    # the values inside are different ones: the texts of all of them are no longer than the whole
    below = [_seen(other) for other in part.below()]
    part.weight = weight + sum(seen.weight for seen in below)
    part.text = text + max((seen.text for seen in below), default=0.0)
    part.members = members + max((seen.members for seen in below), default=0.0)


_LOOK_INTO: Final = frozenset(
    {"required", "dependentRequired", "dependencies", "minProperties", "maxProperties"}
)


def _only_texts(value: Any) -> bool:
    return type(value) is str or (is_list(value) and all(type(one) is str for one in value))


def _step(part: SchemaPart) -> Stretch:
    entry, text, members = _KEYWORD, part.text, part.members
    for other in part.looped():
        seen = _seen(other)
        entry += seen.weight
        text += seen.text
        members += seen.members
    tried = [part.pattern] if part.pattern is not None else []
    return Stretch(
        once=part.weight,
        entry=entry + _KEYWORD * 2 * len(part.patterns),
        char=sum(_char(one) for one in tried if not one.backtracks),
        short=sum(_BACKTRACKING for one in tried if one.backtracks),
        key_char=sum(_char(one) for one, _ in part.patterns.values()),
        text=text,
        members=members,
        whole=part.values.get("uniqueItems") is True,
    )


def _char(pattern: Expression) -> float:
    one = _SMALL_CHAR if pattern.weight <= _SMALL else _STATE_CHAR * pattern.weight
    return one * (1 + len(pattern.also))


def _fill(part: SchemaPart, root: SchemaPart) -> None:
    """Write a part down, but for the question before it."""
    if type(part.raw) is bool:
        return
    inner = part.inner
    inner.update(part.values)
    if inner.pop("uniqueItems", False):
        inner[DIFFER] = True
    for side, edge in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if type(inner.get(edge)) is bool:  # draft-04
            open_end = inner.pop(edge)
            if open_end and side in inner:
                inner[edge] = inner.pop(side)
    if part.target is not None:
        inner["$ref"] = _address(part.target, root)
    if part.named or "additionalProperties" in part.every:
        inner["properties"] = {name: _place(one, root) for name, one in part.named.items()}
    if part.listed:
        listed = "prefixItems" if "prefixItems" in part.raw else "items"
        inner[listed] = [_place(one, root) for one in part.listed]
    inner.update((key, _place(one, root)) for key, one in part.every.items())
    if part.patterns:
        inner["patternProperties"] = {
            text: _place(one, root) for text, (_, one) in part.patterns.items()
        }
    for (key, at), one in part.in_place:
        if key in ("allOf", "anyOf", "oneOf"):
            inner.setdefault(key, []).append(_place(one, root))
        elif at:
            inner.setdefault(key, {})[at] = _place(one, root)
        else:
            inner[key] = _place(one, root)
    if part.pattern is not None:
        inner.setdefault("allOf", []).extend(_tried(part.pattern))


def _tried(pattern: Expression) -> list[dict[str, Any]]:
    plain = {"pattern": pattern.text}
    if pattern.backtracks:
        return [{"if": {"maxLength": BACKTRACK_CHARS}, "then": plain, "else": False}]
    return [
        plain,
        *(
            {"pattern": text}
            if wanted
            else {"if": {"type": "string"}, "then": {"not": {"pattern": text}}}
            for text, wanted in pattern.also
        ),
    ]


def _place(part: SchemaPart, root: SchemaPart) -> Any:
    return {"$ref": _address(part, root)} if part.number >= 0 else part.written


def _address(part: SchemaPart, root: SchemaPart) -> str:
    return "#" if part is root else f"#/$defs/{part.number}"
