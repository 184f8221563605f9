"""What a server's tools are called here."""

from __future__ import annotations

from sliphook.adapters.mcp.names import Fitted, Offered, fit

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
        "'large': its schema has 65,564 bytes; at most 65,536 are allowed",
    ]


def test_a_schema_is_judged_as_the_host_reads_it() -> None:
    """JSON has no infinite number: null takes its place."""
    far = {"type": "object", "properties": {"x": {"maximum": float("inf")}}}
    tools, (line,) = fit("x", [Offered("far", None, far), Offered("near", None, ANY)])
    assert [tool.name for tool in tools] == ["near"]
    assert line.startswith("'far': its schema cannot be used: ")
