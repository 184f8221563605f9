"""Pure: a schema as the library gets it: references made local, and questions put in.

A part that asks is written as `if` there is time, `then` the part, `else` false: when the time is
up, all further parts are false at once. `anyOf` and `oneOf` are written in a way in which the
library does not collect every error of every alternative.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from .keywords import DRAFTS, REF_ALONE, is_object
from .parts import SchemaPart
from .patterns import BACKTRACK_CHARS, Expression
from .reading import ReadSchema
from .work import Stretch, find_work, stretch_of

ASK: Final = "sliphook:ask"
"""The keyword that asks; its value is the index of the part's `Stretch`."""
DIFFER: Final = "sliphook:differ"
"""Stands for `uniqueItems`."""
NONE_FITS: Final = "sliphook:none-fits"
"""Fits no value; its value says why."""


class WrittenSchema(NamedTuple):
    """A schema as the library gets it; `stretches` are those of the parts that ask."""

    schema: dict[str, Any] | bool
    stretches: list[Stretch]


def write(read: ReadSchema) -> WrittenSchema:
    """Write a schema that has been read."""
    if type(read.root.raw) is bool:
        return WrittenSchema(read.root.raw, [])
    find_work(read)
    return _Writer(read).write()


class _Writer:
    def __init__(self, read: ReadSchema) -> None:
        self._read = read
        self._stretches: list[Stretch] = []
        self._numbers = sum(part.number >= 0 for part in read.parts)

    def write(self) -> WrittenSchema:
        read = self._read
        longer = [part for part in read.parts if not self._is_written(part)]
        for part in longer:
            self._fill(part)
        schema: dict[str, Any] = dict(read.root.written) if is_object(read.root.written) else {}
        # `if` came with draft-07, which reads what those before it wrote
        older = DRAFTS[read.uri] in REF_ALONE
        schema["$schema"] = "http://json-schema.org/draft-07/schema#" if older else read.uri
        schema["$defs"] = {
            str(part.number): part.written for part in read.parts if part.number >= 0
        }
        return WrittenSchema(schema, self._stretches)

    def _is_written(self, part: SchemaPart) -> bool:
        """Prepare a part; True if nothing more has to be written."""
        if not is_object(part.raw):
            part.written = part.raw
            return True
        if part.asks:
            part.inner = {}
            part.written = {"if": {ASK: len(self._stretches)}, "then": part.inner, "else": False}
            self._stretches.append(stretch_of(part))
            return False
        part.written = part.inner = part.values
        return part.is_leaf() and not part.values.keys() & _WRITTEN_ANEW

    def _fill(self, part: SchemaPart) -> None:
        inner = part.inner
        inner.update(part.values)
        _write_anew(inner)
        if part.target is not None:
            inner["$ref"] = self._address(part.target)
        if part.named or "additionalProperties" in part.every:
            inner["properties"] = {name: self._place(one) for name, one in part.named.items()}
        if part.listed:
            listed = "prefixItems" if "prefixItems" in part.raw_object() else "items"
            inner[listed] = [self._place(one) for one in part.listed]
        for key, one in part.every.items():
            inner[key] = self._place(one)
        if part.patterns:
            inner["patternProperties"] = {
                text: self._place(one) for text, (_, one) in part.patterns.items()
            }
        # more that must fit, beside what is under `allOf`
        also: list[Any] = []
        alternatives: dict[str, list[SchemaPart]] = {}
        for (key, at), one in part.in_place:
            if key == "allOf":
                also.append(self._place(one))
            elif key in ("anyOf", "oneOf"):
                alternatives.setdefault(key, []).append(one)
            elif at:
                inner[key] = {**inner.get(key, {}), at: self._place(one)}
            else:
                inner[key] = self._place(one)
        also += [self._alternatives(key, parts) for key, parts in alternatives.items()]
        if part.pattern is not None:
            also += _tried(part.pattern)
        if also:
            inner["allOf"] = also

    def _alternatives(self, key: str, parts: list[SchemaPart]) -> dict[str, Any]:
        """`anyOf` or `oneOf`; `else` says what is wrong, as the library's own error is too long."""
        why = f"{'none' if key == 'anyOf' else 'not exactly one'} of {len(parts)} alternatives fits"
        otherwise: dict[str, Any] = {NONE_FITS: why}
        others = [part for part in parts if part.values.get("type") != "null"]
        if key == "anyOf" and len(others) == 1:
            # a value that may be missing: what is wrong with it is said
            (only,) = others
            if only.number < 0 and only is not self._read.root:
                only.number = self._numbers
                self._numbers += 1
            otherwise = {"$ref": self._address(only)}
        return {"if": {key: [self._place(one) for one in parts]}, "then": True, "else": otherwise}

    def _place(self, part: SchemaPart) -> Any:
        return {"$ref": self._address(part)} if part.number >= 0 else part.written

    def _address(self, part: SchemaPart) -> str:
        return "#" if part is self._read.root else f"#/$defs/{part.number}"


_WRITTEN_ANEW: Final = frozenset(
    {"uniqueItems", "exclusiveMinimum", "exclusiveMaximum", "required", "type"}
)


def _write_anew(inner: dict[str, Any]) -> None:
    """Write keywords in the form of draft-07 and later."""
    if inner.pop("uniqueItems", False):
        inner[DIFFER] = True
    for side, edge in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if type(inner.get(edge)) is bool:  # draft-04
            is_open = inner.pop(edge)
            if is_open and side in inner:
                inner[edge] = inner.pop(side)
    for key in ("required", "type"):
        if isinstance(inner.get(key), list):
            inner[key] = list(dict.fromkeys(inner[key]))
    for key in ("dependentRequired", "dependencies"):
        if key in inner:
            inner[key] = {name: list(dict.fromkeys(names)) for name, names in inner[key].items()}


def _tried(pattern: Expression) -> list[dict[str, Any]]:
    plain = {"pattern": pattern.text}
    if pattern.backtracks:
        long = {NONE_FITS: f"is longer than {BACKTRACK_CHARS} characters, as its pattern allows"}
        return [{"if": {"maxLength": BACKTRACK_CHARS}, "then": plain, "else": long}]
    return [
        plain,
        *(
            {"pattern": text}
            if wanted
            else {"if": {"type": "string"}, "then": {"not": {"pattern": text}}}
            for text, wanted in pattern.also
        ),
    ]
