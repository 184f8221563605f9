"""The published streams of `tests/vectors`, read by the SDK."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sliphook_sdk.framing import FrameSplitter
from tests.docs.protocol_sentences.says import says

VECTORS = Path(__file__).resolve().parents[1] / "vectors" / "framing.json"
CASES: list[dict[str, Any]] = json.loads(VECTORS.read_text(encoding="utf-8"))["host_writes"]


@says(
    "Feed each stream of `host_writes` to your reader three times: whole, in pieces, and byte by byte.",
    "It gives the same messages each time.",
)
@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in CASES])
@pytest.mark.parametrize("size", [1, 7, 1_000_000])
def test_what_a_host_writes(case: dict[str, Any], size: int) -> None:
    stream: bytes = case["stream"].encode()
    splitter = FrameSplitter()
    chunks = (stream[at : at + size] for at in range(0, len(stream), size))
    bodies = [body for chunk in chunks for body in splitter.feed(chunk)]
    assert [body.decode().rstrip("\n") for body in bodies] == case["messages"]
    # a reader of lines finds the same
    lines = stream.split(b"\n")
    assert [line.decode() for line in lines if line.startswith(b"{")] == case["messages"]
