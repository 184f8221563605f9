"""Whatever a server lists as its tools, the SDK can read what is passed on to it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import methods

from sliphook.adapters.mcp.transports.tool_lists import MOST_LIST_BYTES, ToolLists, readable

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
SCHEMAS = JSON | st.fixed_dictionaries({"type": st.just("object") | JSON}, optional={"a": JSON})
TOOLS = JSON | st.fixed_dictionaries(
    {"name": st.text() | JSON},
    optional={
        "inputSchema": SCHEMAS,
        "outputSchema": SCHEMAS,
        **dict.fromkeys(
            ("description", "title", "annotations", "icons", "execution", "_meta"), JSON
        ),
    },
)
ENVELOPES: dict[str, dict[str, Any]] = {
    "2025-06-18": {},
    "2025-11-25": {},
    "2026-07-28": {"resultType": "complete", "ttlMs": 1, "cacheScope": "private"},
}
OBJECT = {"type": "object"}


@pytest.mark.parametrize("version", ENVELOPES)
@given(tools=st.lists(TOOLS, max_size=30))
def test_the_sdk_reads_what_is_left(version: str, tools: list[Any]) -> None:
    lists = ToolLists()
    read = lists.read({**ENVELOPES[version], "tools": tools})
    methods.validate_server_result("tools/list", version, read)
    assert bool(lists.left_out) is (len(read["tools"]) < len(tools))
    assert len(lists.left_out) <= 20


@pytest.mark.parametrize(
    ("tool", "found"),
    [
        ({"name": "a"}, {"name": "a", "inputSchema": OBJECT}),
        ({"name": "a", "inputSchema": None}, {"name": "a", "inputSchema": OBJECT}),
        ({"name": "a", "inputSchema": {}}, {"name": "a", "inputSchema": OBJECT}),
        (
            {"name": "a", "inputSchema": {"required": ["x"]}, "description": "Reads."},
            {
                "name": "a",
                "inputSchema": {"type": "object", "required": ["x"]},
                "description": "Reads.",
            },
        ),
        (
            {"name": "a", "outputSchema": {"title": "b"}, "annotations": {"title": 3}},
            {"name": "a", "inputSchema": OBJECT, "outputSchema": {"type": "object", "title": "b"}},
        ),
        ({"name": "a", "outputSchema": {"type": "array"}}, {"name": "a", "inputSchema": OBJECT}),
    ],
)
def test_what_is_used_of_a_tool(tool: object, found: dict[str, Any]) -> None:
    assert readable(tool) == found


@pytest.mark.parametrize(
    ("tool", "why"),
    [
        ("a" * 1_000, "it is no object"),
        ({"inputSchema": OBJECT}, "its name is no text"),
        ({"name": "a" * 1_000, "inputSchema": {"type": "array"}}, "must describe an object"),
        ({"name": "a", "inputSchema": {"type": None}}, "must describe an object"),
        ({"name": "a", "inputSchema": [OBJECT]}, "must describe an object"),
    ],
)
def test_what_is_no_tool_is_told_in_a_short_line(tool: object, why: str) -> None:
    with pytest.raises(ValueError, match=why) as told:
        readable(tool)
    assert len(str(told.value)) < 200


def test_what_is_no_list_of_tools_stays_as_it_is() -> None:
    result: dict[str, Any] = {"content": [], "tools": {"a": 1}}
    assert ToolLists().read(result) is result


def test_a_list_has_an_end() -> None:
    lists = ToolLists()
    page = {
        "tools": [{"name": f"t{at}", "outputSchema": {"x": "a" * 1_000_000}} for at in range(3)]
    }
    read = [len(lists.read(page)["tools"]) for _ in range(4)]
    assert (read, lists.is_full) == ([3, 3, 2, 0], True)
    line = next(iter(lists.left_out))
    assert line == "'t2', and those behind it: the list has more than 8 MiB"
    small = {"tools": [{"name": f"t{at}"} for at in range(20_000)]}
    lists.begin()
    assert len(lists.read(small)["tools"]) < MOST_LIST_BYTES // 1_024
    assert len(lists.left_out) == 1


def test_what_is_too_long_to_be_used_of_a_description_is_not_kept() -> None:
    assert readable({"name": "a", "description": "x" * 1_000_000})["description"] == "x" * 4_000
