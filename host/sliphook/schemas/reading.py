"""Pure: reads a schema: its form, its references, and that no reference leads round in a circle."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urljoin

import msgspec

from sliphook.quoting import quote
from sliphook_sdk.protocol import nearest

from .errors import SchemaError, TooManySchemas
from .keywords import (
    DRAFTS,
    EVERY,
    IN_PLACE,
    IN_PLACE_LISTS,
    LISTED_ITEMS,
    MAPS,
    NOT_FOLLOWED,
    REF_ALONE,
    STORES,
    TYPES,
    VALUES,
    is_list,
    is_object,
    kind_of,
)
from .order import in_order
from .parts import SchemaPart
from .patterns import read_pattern

MAX_PARTS: Final = 700
"""The most schemas in one, counted by what they take to read: each 10 us at most (`_worth`)."""
_NAMING: Final = ("$ref", "$id", "id", "$anchor")
_PLACE: Final = re.compile(r"\d{1,9}", re.ASCII)
"""In a list; `int` refuses thousands of digits."""
_JOINED_CHARS: Final = 100
"""So many characters of two addresses that are joined take as long as to read a schema."""
MAX_LOOPS: Final = 200
"""Of lists, expressions, and parts referred to: each may take 40 us more to compile."""


class ReadSchema(NamedTuple):
    """A schema that has been read.

    Attributes:
        uri: its `$schema`.
        root: the whole.
        parts: every schema in it, each behind those that are taken for the same value.
        size: how many schemas it counts as, expressions among them.
    """

    uri: str
    root: SchemaPart
    parts: list[SchemaPart]
    size: int


def read_schema(raw: Any, at_most: int = MAX_PARTS) -> ReadSchema:
    """Read a schema as it was decoded from JSON.

    Args:
        raw: the schema.
        at_most: how many schemas may be in it, as they are counted.

    Raises:
        TooManySchemas: there are more, but not more than `MAX_PARTS`.
        SchemaError: its form is wrong, a reference leads nowhere or round in a circle, or it is too
            large.
    """
    return _Reader(raw, at_most).read()


def _worth(raw: dict[str, Any] | bool) -> int:
    """How many schemas a schema counts as, but for its expressions (`Expression.worth`)."""
    if not is_object(raw):
        return 1
    return 1 + len(raw) // 6 + sum([name in raw for name in _NAMING])


class _Reader:
    def __init__(self, raw: Any, at_most: int) -> None:
        if not (is_object(raw) or type(raw) is bool):
            raise SchemaError(f"is {kind_of(raw)}; a schema is an object")
        uri: object = raw.get("$schema", next(iter(DRAFTS))) if is_object(raw) else ""
        plain = uri.rstrip("#") if type(uri) is str else ""
        if is_object(raw) and plain not in DRAFTS:
            known = ", ".join(DRAFTS)
            raise SchemaError(
                f"is {quote(repr(uri), 80)}, which is not known here; leave it out, or name one"
                f" of {known}",
                "$schema",
            )
        self._uri = plain or next(iter(DRAFTS))
        self._draft = DRAFTS[self._uri]
        self._id = "id" if self._draft == "draft-04" else "$id"
        self._root = SchemaPart(raw, None, (), "")
        self._parts: list[SchemaPart] = []
        self._size = 0
        self._at_most = at_most
        self._by_raw: dict[int, SchemaPart] = {}
        self._by_address: dict[str, SchemaPart] = {}
        self._waiting: list[SchemaPart] = [self._root]

    def read(self) -> ReadSchema:
        self._walk()
        number = 0
        done = 0
        # a reference may lead to a place that no keyword leads to; that part is read then
        while done < len(self._parts):
            part = self._parts[done]
            done += 1
            if part.refers is None:
                continue
            target = part.target = self._find(part, part.refers)
            if target.number < 0 and target is not self._root:
                target.number = number
                number += 1
            self._walk()
        loops = sum(part.pattern is not None or part.loops() for part in self._parts)
        if loops + number > MAX_LOOPS:
            raise SchemaError(
                f"has {loops + number:,} lists, patterns, references and the like;"
                f" at most {MAX_LOOPS} are allowed"
            )
        return ReadSchema(self._uri, self._root, in_order(self._parts), self._size)

    def _walk(self) -> None:
        while self._waiting:
            part = self._waiting.pop()
            self._parts.append(part)
            self._count(_worth(part.raw))
            if is_object(part.raw):
                self._by_raw[id(part.raw)] = part
                self._read_keywords(part, part.raw)

    def _count(self, more: int) -> None:
        self._size += more
        if self._size > MAX_PARTS:
            why = f"has more than {MAX_PARTS} schemas, expressions counted; simplify it"
            raise SchemaError(why)
        if self._size > self._at_most:
            raise TooManySchemas(f"has more than {self._at_most} schemas, expressions counted")

    def _pattern(self, part: SchemaPart, keyword: str, text: str) -> Any:
        try:
            found = read_pattern(text)
        except SchemaError as error:
            raise part.wrong(keyword, f"{quote(text, 80)} {error.why}") from None
        self._count(found.worth)
        return found

    def _read_keywords(self, part: SchemaPart, raw: dict[str, Any]) -> None:
        self._name(part, raw)
        if (refers := raw.get("$ref")) is not None:
            if type(refers) is not str:
                raise part.wrong("$ref", f"is {kind_of(refers)}; it must be text such as #/$defs/x")
            part.refers = refers
            if self._draft in REF_ALONE:
                # what lies beside it says nothing, but something may refer to it
                raw = {key: raw[key] for key in raw.keys() & STORES}
        for key, value in raw.items():
            if (known := VALUES.get(key)) is not None:
                fits, what = known
                if not fits(value):
                    raise part.wrong(key, _must(key, value, what))
                part.values[key] = value
            elif key in EVERY:
                if key == "items" and is_list(value):
                    part.listed = self._several(part, key, value)
                else:
                    part.every = {**part.every, key: self._one(part, value, key)}
            elif key in IN_PLACE:
                part.in_place = [*part.in_place, ((key, ""), self._one(part, value, key))]
            elif key in IN_PLACE_LISTS:
                if not value:
                    raise part.wrong(key, "must be a list with at least one schema")
                several = self._several(part, key, value)
                part.in_place = [
                    *part.in_place,
                    *(((key, str(at)), one) for at, one in enumerate(several)),
                ]
            elif key in MAPS:
                self._read_map(part, key, value)
            elif key == "prefixItems":
                part.listed = self._several(part, key, value)
            elif key == "dependencies":
                self._read_dependencies(part, value)
            elif key in STORES:
                self._map(part, key, value)
            elif key in NOT_FOLLOWED:
                raise part.wrong(key, "is not followed here; refer with $ref to a part under $defs")
        if (pattern := part.values.pop("pattern", None)) is not None:
            part.pattern = self._pattern(part, "pattern", pattern)

    def _read_map(self, part: SchemaPart, key: str, value: Any) -> None:
        schemas = self._map(part, key, value)
        if key == "properties":
            part.named = schemas
        elif key == "patternProperties":
            part.patterns = {
                text: (self._pattern(part, key, text), one) for text, one in schemas.items()
            }
        else:
            part.in_place = [
                *part.in_place,
                *(((key, name), one) for name, one in schemas.items()),
            ]

    def _read_dependencies(self, part: SchemaPart, value: Any) -> None:
        """`dependencies` of older drafts: lists of names, or schemas."""
        if not is_object(value):
            raise part.wrong("dependencies", f"is {kind_of(value)}; it must be an object")
        names = {key: one for key, one in value.items() if is_list(one)}
        fits, what = VALUES["dependentRequired"]
        if not fits(names):
            raise part.wrong("dependencies", f"must be {what}, or of schemas")
        part.values["dependencies"] = names
        part.in_place = [
            *part.in_place,
            *(
                (("dependencies", name), self._one(part, one, "dependencies", name))
                for name, one in value.items()
                if not is_list(one)
            ),
        ]

    def _one(self, above: SchemaPart, raw: Any, *place: str) -> SchemaPart:
        if not (is_object(raw) or type(raw) is bool):
            raise above.wrong(
                ".".join(place), f"is {kind_of(raw)}; it must be a schema, which is an object"
            )
        part = SchemaPart(raw, above, place, above.base)
        self._waiting.append(part)
        return part

    def _several(self, above: SchemaPart, key: str, value: Any) -> list[SchemaPart]:
        if key == "items" and self._draft not in LISTED_ITEMS:
            raise above.wrong(
                key, f"is a list; in draft {self._draft} a list of schemas is prefixItems"
            )
        if not is_list(value):
            raise above.wrong(key, f"is {kind_of(value)}; it must be a list of schemas")
        return [self._one(above, raw, key, str(at)) for at, raw in enumerate(value)]

    def _map(self, above: SchemaPart, key: str, value: Any) -> dict[str, SchemaPart]:
        if not is_object(value):
            raise above.wrong(key, f"is {kind_of(value)}; it must be an object of schemas")
        return {name: self._one(above, raw, key, name) for name, raw in value.items()}

    def _name(self, part: SchemaPart, raw: dict[str, Any]) -> None:
        """Take note of the part's `$id` and `$anchor`."""
        address = raw.get(self._id)
        if type(address) is str and not (self._draft in REF_ALONE and "$ref" in raw):
            if address.startswith("#"):
                self._enter(part, part.base + address)  # the anchors of older drafts
            else:
                part.base = self._joined(part, address.rstrip("#"))
                self._enter(part, part.base)
        anchor = raw.get("$anchor")
        if type(anchor) is str:
            self._enter(part, f"{part.base}#{anchor}")
        if part is self._root:
            self._by_address[part.base] = part

    def _enter(self, part: SchemaPart, address: str) -> None:
        if self._by_address.setdefault(address, part) is not part:
            raise part.wrong(self._id, f"names {quote(address, 80)}, as another part does")

    def _find(self, part: SchemaPart, refers: str) -> SchemaPart:
        where, _, fragment = refers.partition("#")
        base = self._joined(part, where) if where else part.base
        resource = self._by_address.get(base)
        if resource is None:
            raise part.wrong(
                "$ref",
                f"leads to {quote(refers, 80)}, which is not inside of this schema, and nothing is"
                " fetched; put it under $defs and refer to #/$defs/NAME",
            )
        fragment = unquote(fragment)
        if not fragment:
            return resource
        if not fragment.startswith("/"):
            found = self._by_address.get(f"{base}#{fragment}")
            if found is None:
                raise part.wrong(
                    "$ref", f"leads to {quote(refers, 80)}, an $anchor that no part has"
                )
            return found
        raw: Any = resource.raw
        for step in fragment[1:].split("/"):
            step = step.replace("~1", "/").replace("~0", "~")
            if is_object(raw) and step in raw:
                raw = raw[step]
            elif is_list(raw) and _PLACE.fullmatch(step) and int(step) < len(raw):
                raw = raw[int(step)]
            else:
                raise part.wrong("$ref", f"leads to {quote(refers, 80)}, where there is nothing")
        known = self._by_raw.get(id(raw))
        if known is not None:
            return known
        # `true`, `false`, or a place that no keyword leads to
        return self._one(resource, raw, *fragment[1:].split("/"))

    def _joined(self, part: SchemaPart, address: str) -> str:
        if not part.base:
            return address
        self._count((len(part.base) + len(address)) // _JOINED_CHARS)
        try:
            return urljoin(part.base, address)
        except ValueError:
            raise part.wrong("$ref", f"is no address: {quote(address, 80)}") from None


def _must(key: str, value: Any, what: str) -> str:
    close = nearest(value, list(TYPES)) if key == "type" and type(value) is str else None
    shown = quote(msgspec.json.encode(value).decode("utf-8", "replace"), 40)
    hint = f"; did you mean {close}?" if close else ""
    return f"is {shown}; it must be {what}{hint}"
