"""What a plugin has nearly said is found without work that grows with the types of the protocol."""

from __future__ import annotations

import msgspec
import pytest

from sliphook.wire.near_misses import NearMisses, known_fields
from sliphook_sdk.protocol import ToolResult, ToolSpec


def test_no_type_is_evaluated_for_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """`msgspec.structs.fields` takes 0.3 ms a Struct; a manifest may have hundreds of tools."""

    def evaluates(struct: object) -> None:
        raise AssertionError(f"the types of {struct} are evaluated")

    monkeypatch.setattr(msgspec.structs, "fields", evaluates)
    tools: list[dict[str, object]] = [
        {"name": f"t-{index}", "inputSchema": {}} for index in range(3)
    ]
    manifest = msgspec.json.encode({"protocol_version": 1, "name": "guard", "tools": tools})
    assert list(NearMisses().found_in("initialize", manifest)) == [
        "the tool t-0 has the unknown field 'inputSchema', which is ignored;"
        " did you mean input_schema?"
    ]
    assert list(NearMisses().found_in("tool/call", b'{"content":"x"}')) == []


def test_names_are_those_on_the_wire() -> None:
    assert known_fields(ToolSpec)[:3] == ("name", "description", "input_schema")
    assert known_fields(ToolResult) == ("content", "is_error", "data", "parts")
