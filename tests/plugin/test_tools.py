"""Which tool belongs to whom, for all sessions or for one."""

from __future__ import annotations

import pytest

from sliphook.plugin.checks import ManifestError
from sliphook.plugin.tools import PluginTool, ToolTable, read_tools
from sliphook_sdk.protocol import ToolSpec


def tool(name: str, description: str = "") -> PluginTool:
    return PluginTool(
        name=name, description=description, input_schema={"type": "object"}, timeout_s=30.0
    )


def names(table: ToolTable, session_id: str | None) -> list[tuple[str, str]]:
    return [(offer.plugin, offer.name) for offer in table.offers(session_id)]


def test_a_session_has_its_own_tools_and_those_of_every_session() -> None:
    table = ToolTable()
    table.replace("a", None, [tool("x"), tool("y")])
    table.replace("a", "s", [tool("z")])
    table.replace("b", "t", [tool("w")])
    assert names(table, "s") == [("a", "x"), ("a", "y"), ("a", "z")]
    assert names(table, "t") == [("a", "x"), ("a", "y"), ("b", "w")]
    assert names(table, None) == [("a", "x"), ("a", "y")]


def test_host_tools_replaces_the_tools_of_its_scope_and_no_others() -> None:
    table = ToolTable()
    table.replace("a", None, [tool("x")])
    table.replace("a", "s", [tool("y")])
    table.replace("a", None, [tool("z")])
    assert names(table, "s") == [("a", "z"), ("a", "y")]
    table.replace("a", "s", [])
    assert names(table, "s") == [("a", "z")]


def test_a_session_s_tools_go_with_it() -> None:
    table = ToolTable()
    table.replace("a", None, [tool("x")])
    table.replace("a", "s", [tool("y")])
    table.end_session("s")
    table.end_session("never opened")
    assert names(table, "s") == [("a", "x")]


def test_a_plugin_s_tools_of_every_scope_go_with_it() -> None:
    table = ToolTable()
    table.replace("a", None, [tool("x")])
    table.replace("a", "s", [tool("y")])
    table.replace("b", None, [tool("z")])
    table.remove("a")
    table.remove("never there")
    assert names(table, "s") == [("b", "z")]


def test_of_one_name_the_session_s_own_counts_there() -> None:
    table = ToolTable()
    table.replace("a", None, [tool("x", "general"), tool("y")])
    table.replace("a", "s", [tool("x", "special")])
    assert [offer.description for offer in table.offers("s")] == ["special", ""]
    found = table.find("x", "s"), table.find("x", "t"), table.find("none", "s")
    assert [offer and offer.description for offer in found] == ["special", "general", None]


def test_a_taken_name_names_who_has_it() -> None:
    table = ToolTable(reserved=["shell"])
    table.replace("a", "s", [tool("x")])
    names = ["free", "x", "shell"]
    assert table.holders(names, besides="b") == {"x": "a", "shell": "the agent"}
    assert table.holders(names, besides="a") == {"shell": "the agent"}
    assert (table.is_reserved("shell"), table.is_reserved("x")) == (True, False)


class Counted(str):
    """A name, and how often all of them were looked at."""

    looks = 0

    def __hash__(self) -> int:
        Counted.looks += 1
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        Counted.looks += 1
        return super().__eq__(other)


def test_to_look_for_names_goes_through_all_tools_once_and_for_one_through_none() -> None:
    table = ToolTable()
    table.replace("a", None, [tool(Counted(f"a{number}")) for number in range(512)])
    Counted.looks = 0
    assert table.holders([f"b{number}" for number in range(512)], besides="b") == {}
    assert Counted.looks <= 1_024
    Counted.looks = 0
    assert table.find("a511", None) is not None
    assert table.holders(["a511"], besides="b") == {"a511": "a"}
    assert Counted.looks <= 4


def test_the_shapes_that_model_apis_take() -> None:
    table = ToolTable()
    table.replace(
        "a",
        None,
        [
            PluginTool(
                name="x",
                description="Does x.",
                input_schema={"type": "object", "properties": {}},
                timeout_s=2.5,
            )
        ],
    )
    (offer,) = table.offers(None)
    assert offer.openai() == {
        "type": "function",
        "function": {
            "name": "x",
            "description": "Does x.",
            "parameters": {"type": "object", "properties": {}},
        },
    }
    assert offer.anthropic() == {
        "name": "x",
        "description": "Does x.",
        "input_schema": {"type": "object", "properties": {}},
    }
    assert offer.timeout_s == 2.5


def test_all_tools_of_a_scope_have_a_thousand_schemas_at_most() -> None:
    def offered(*sizes: int) -> list[ToolSpec]:
        return [
            ToolSpec(
                name=f"t{number}",
                input_schema={"properties": {f"k{one}": {} for one in range(size - 1)}},
            )
            for number, size in enumerate(sizes)
        ]

    assert len(read_tools(offered(500, 400, 100))) == 3
    with pytest.raises(ManifestError, match="more than 1,000 schemas in them"):
        read_tools(offered(500, 400, 101))
    with pytest.raises(ManifestError, match="the tool t0 cannot be used: has more than 700"):
        read_tools(offered(701))
