"""What JSON does not have, and what it says in another way: the list that both SDKs keep to.

`tests/vectors/author_values.json`: `results` has what a tool returns, as an expression of each
language (null: the language has no such value), and what becomes of it; `arguments` what a tool is
called with, and what it sees.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sliphook_sdk import Plugin, RegistrationError, ToolResult, replace
from sliphook_sdk.testing import Harness, PluginError

LIST: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).resolve().parents[1] / "vectors" / "author_values.json").read_text("utf-8")
)
NAMES = """
import dataclasses, datetime, decimal
from typing import Dict, List, Optional

@dataclasses.dataclass
class Point:
    x: float

async def awaited(): ...

def later():
    coroutine = awaited()
    coroutine.close()
    return coroutine

def circle():
    value = {}
    value["a"] = [value]
    return value
"""
RESULTS = [row for row in LIST["results"] if row["python"] is not None]


def returning(value: Any) -> ToolResult:
    plugin = Plugin("values")

    @plugin.tool
    def stats() -> Any:
        return value

    return Harness(plugin).call_tool("stats")


def sent(result: ToolResult) -> Any:
    """The data as the host reads it."""
    return json.loads(msgspec.json.encode(result.data))


def with_signature(signature: str) -> Harness:
    plugin = Plugin("values")
    names: dict[str, Any] = {}
    exec(f"{NAMES}\ndef echo({signature}):\n    return locals()", names)
    plugin.tool(names["echo"])
    return Harness(plugin)


@pytest.mark.parametrize("row", RESULTS, ids=lambda row: row["name"])
def test_what_a_tool_returns(row: dict[str, Any]) -> None:
    names: dict[str, Any] = {}
    exec(NAMES, names)
    result = returning(eval(row["python"], names))
    if "error" in row:
        assert result.is_error
        assert result.content.startswith("stats: returned ")
        assert ", which JSON cannot hold: $" in result.content
        assert row["error"] in result.content
        return
    assert not result.is_error
    data = sent(result)
    if "match" in row:
        assert data.keys() == row["match"].keys()
        assert [key for key in row["match"] if not re.search(row["match"][key], data[key])] == []
    else:
        assert data == row["data"]
    assert result.content == row.get("content", json.dumps(data, separators=(",", ":")))


@pytest.mark.parametrize("row", LIST["arguments"], ids=lambda row: row["name"])
def test_what_a_tool_sees(row: dict[str, Any]) -> None:
    harness = with_signature(row["python"])
    result = harness.call_tool("echo", **json.loads(row["arguments"]))
    assert not result.is_error, result.content
    assert sent(result) == row["seen"]


@pytest.mark.parametrize("row", LIST["refused_arguments"], ids=lambda row: row["name"])
def test_what_a_tool_refuses(row: dict[str, Any]) -> None:
    harness = with_signature(row["python"])
    result = harness.call_tool("echo", **json.loads(row["arguments"]))
    assert result.is_error
    assert result.content == f"the arguments do not fit: {row['error']}"


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        ("Dict[bool, str]", "bool"),
        ("List[Dict[Optional[int], str]]", "none"),
        ("Optional[Dict[tuple, str]]", "vartuple"),
    ],
)
def test_keys_that_no_text_can_be_are_refused_at_registration(kind: str, named: str) -> None:
    with pytest.raises(RegistrationError, match=rf"keys of type {named}: JSON's keys are texts"):
        with_signature(f"n: {kind}")


def test_the_data_of_a_result_is_checked_too() -> None:
    result = returning(ToolResult(content="ok", data={"mean": float("nan")}))
    assert result.is_error
    assert result.content == "stats: returned dict, which JSON cannot hold: $.mean is NaN"
    wrong: Any = 3
    assert returning(ToolResult(content=wrong)).content == (
        "stats: returned a ToolResult whose content is int, not str"
    )


def test_the_values_of_an_answer_are_checked_too() -> None:
    plugin = Plugin("values")

    @plugin.hook("pre_tool_call", replaces=True)
    def guard(call: object) -> Any:
        return replace(arguments={"limit": float("inf")})

    with pytest.raises(
        PluginError,
        match=r"replace\(\) has what JSON does not have: \$\.arguments\.limit is Infinity",
    ):
        Harness(plugin).fire("pre_tool_call")
