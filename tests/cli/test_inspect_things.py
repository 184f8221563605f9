"""What the page of `sliphook inspect` offers to send."""

from __future__ import annotations

from typing import Any

import pytest

from sliphook.cli.inspector import things
from sliphook_sdk.protocol import CATALOGUE, Manifest, Subscription


def test_the_schemas_are_read_once_and_not_at_each_message_of_a_plugin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = things.things_of(None, (), "/work")
    assert {one.name for one in before} == set(CATALOGUE)

    def again(*_: Any) -> Any:
        raise AssertionError("all of them take 50 ms")

    monkeypatch.setattr("sliphook.cli.inspector.things.msgspec.json.schema", again)
    manifest = Manifest(
        protocol_version=1, name="mine", subscriptions=[Subscription(event="stop", mode="hook")]
    )
    first, *_ = things.things_of(manifest, (), "/work")
    assert (first.name, first.declared) == ("stop", True)
    assert first.schema == next(one.schema for one in before if one.name == "stop")
