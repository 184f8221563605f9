"""Schemas that take long to read or to check, and those that cannot be used."""

from __future__ import annotations

from typing import Any

from tests.torture.case import Case, python


def _refused(name: str, schema: dict[str, Any], says: str) -> Case:
    tool = {"name": "t", "input_schema": schema}
    return Case(
        "schemas",
        name,
        "refused when it is declared, with its place",
        python("greet()\nserve()", tools=[tool]),
        None,
        "failed",
        says,
        restarts=0,
    )


def _taken(name: str, schema: dict[str, Any]) -> Case:
    tool = {"name": "t", "input_schema": schema}
    return Case(
        "schemas",
        name,
        "taken without a stall",
        python("greet()\nserve()", tools=[tool]),
        restarts=0,
    )


def _nest(depth: int, keyword: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(depth):
        schema = {keyword: [schema]}
    return schema


def _doubling(depth: int, keyword: str) -> dict[str, Any]:
    parts: dict[str, Any] = {
        f"n{level}": {keyword: [{"$ref": f"#/$defs/n{level + 1}"}] * 2} for level in range(depth)
    }
    return {"$ref": "#/$defs/n0", "$defs": {**parts, f"n{depth}": {}}}


def _patterns(expression: str, times: int) -> dict[str, Any]:
    return {"properties": {f"a{i}": {"pattern": expression.format(i)} for i in range(times)}}


CASES = (
    _refused("properties as a list", {"properties": []}, "properties is a list"),
    _refused("a type that is none", {"properties": {"a": {"type": "int"}}}, "did you mean integer"),
    _refused("round in a circle", {"$ref": "#"}, "leads back to itself"),
    _refused("from a server", {"$ref": "http://127.0.0.1:1/x"}, "nothing is fetched"),
    _refused("from a file", {"$ref": "file:///etc/passwd"}, "nothing is fetched"),
    _refused("an unknown draft", {"$schema": "http://x/y"}, "which is not known here"),
    _refused("nested in place", _nest(60, "allOf"), "nests 49 schemas"),
    _refused("dynamic", {"$dynamicRef": "#x"}, "is not followed here"),
    _refused("no expression", {"properties": {"a": {"pattern": "("}}}, "that no . closes"),
    _refused(
        "a huge expression", {"properties": {"a": {"pattern": "(a{99}){99}"}}}, "repeats too much"
    ),
    _refused(
        "a thousand parts", {"properties": {f"a{i}": {} for i in range(1_000)}}, "has more than"
    ),
    _refused(
        "a thousand names",
        {"$defs": {f"a{i}": {"$id": f"http://x/{i}"} for i in range(1_000)}},
        "has more than",
    ),
    _refused("64 KiB of a name", {"properties": {"x" * 65_600: {}}}, "bytes, over 65,536"),
    _taken("uniqueItems", {"properties": {"a": {"uniqueItems": True}}}),
    _taken("anyOf that doubles", _doubling(18, "anyOf")),
    _taken("oneOf that doubles", _doubling(18, "oneOf")),
    _taken("600 parts", {"properties": {f"a{i}": {"minLength": 1} for i in range(600)}}),
    _taken("190 loops", {"properties": {f"a{i}": {"items": {"minLength": 1}} for i in range(190)}}),
    _refused(
        "long ranges of any case", _patterns("(?i)[\u0100-\U0010ffff]{}", 4), "expressions counted"
    ),
    _refused("copies of wide classes", _patterns("[^a]{{99}}{}", 20), "expressions counted"),
    _taken("a long range of any case", _patterns("(?i)[\u0100-\U0010ffff]{}", 3)),
    _taken("twelve times copies", _patterns("[^a]{{99}}{}", 12)),
    _taken("catastrophic", {"properties": {"a": {"pattern": "^(a|a)*b$"}}}),
)
