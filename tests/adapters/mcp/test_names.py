"""What a server's tools are called here."""

from __future__ import annotations

import json
from functools import reduce
from typing import Any

import pytest

from sliphook.adapters.mcp.names import Fitted, Offered, fit
from sliphook_sdk.protocol.weight import weigh

ANY = {"type": "object"}


def test_a_name_is_made_to_fit() -> None:
    tools, left_out = fit("files", [Offered("read.file/v2", "Reads.", ANY)])
    assert tools == [Fitted("read_file_v2", "read.file/v2", "[files] Reads.", ANY)]
    assert left_out == []


def test_a_name_that_is_taken_is_left_out() -> None:
    tools, left_out = fit("x", [Offered("a.b", None, ANY), Offered("a/b", None, ANY)])
    assert [tool.name for tool in tools] == ["a.b"]
    assert left_out == ["'a/b': its name here, a_b, is that of 'a.b' too"]


def test_what_has_no_name_or_too_large_a_schema_is_left_out() -> None:
    large = {"type": "object", "title": "x" * 65_536}
    tools, left_out = fit("x", [Offered("", None, ANY), Offered("large", None, large)])
    assert tools == []
    assert left_out == [
        "'': it has no name",
        "'large': its schema cannot be used: it has 65,564 bytes; at most 65,536 are allowed",
    ]


def test_a_schema_is_judged_as_the_host_reads_it() -> None:
    """JSON has no infinite number: null takes its place."""
    far = {"type": "object", "properties": {"x": {"maximum": float("inf")}}}
    tools, (line,) = fit("x", [Offered("far", None, far), Offered("near", None, ANY)])
    assert [tool.name for tool in tools] == ["near"]
    assert line.startswith("'far': its schema cannot be used: ")


def test_a_number_that_json_does_not_have_is_sent_as_null() -> None:
    far = {"type": "object", "properties": {"x": {"default": float("nan")}}}
    (tool,), _ = fit("x", [Offered("far", None, far)])
    assert tool.schema == {"type": "object", "properties": {"x": {"default": None}}}


CHOICES = {"type": "object", "properties": {"a": {"enum": [str(n) for n in range(300)]}}}
DEEP: dict[str, Any] = reduce(
    lambda inner, _: {"type": "object", "properties": {"x": inner}}, range(62), {"type": "string"}
)


@pytest.mark.parametrize(
    ("description", "schema", "why"),
    [
        ("x" * 4_000, ANY, "with it the tools have more than 393,216 bytes"),
        ("", CHOICES, "with it the tools have more than 19,000 values"),
        ("", DEEP, "it is nested over 128 levels deep"),
    ],
)
def test_what_does_not_fit_into_one_message_is_left_out(
    description: str, schema: dict[str, Any], why: str
) -> None:
    many = [Offered(f"t{n}", description, schema) for n in range(200)]
    tools, left_out = fit("x", [Offered("first", None, ANY), *many])
    body = json.dumps({"result": {"tools": [{"s": tool.schema} for tool in tools]}}).encode()
    assert tools[0].name == "first"
    assert len(body) < 512 * 1024
    assert weigh(body).excess is None
    assert left_out[-1].endswith(why)


def test_the_same_line_is_told_once() -> None:
    _, left_out = fit("x", [Offered("a", None, ANY)] * 30)
    assert left_out == ["'a': its name here, a, is that of 'a' too"]
