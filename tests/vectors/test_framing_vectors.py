"""The published streams, read by the host and by the SDK for Node; tests/sdk has the one for Python."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sliphook.wire.envelope import InvalidMessage
from sliphook.wire.framing import Body, FrameReader, FramingError, Stray

HERE = Path(__file__).resolve().parent
VECTORS: dict[str, list[dict[str, Any]]] = json.loads(
    (HERE / "framing.json").read_text(encoding="utf-8")
)
NODE = shutil.which("node")

IN_NODE = """
import fs from "node:fs";
const { FrameSplitter } = await import(process.argv[1]);
const cases = JSON.parse(fs.readFileSync(process.argv[2], "utf8")).host_writes;
const read = ({ stream }) => [1, 7, 1e9].map((size) => {
  const [splitter, bytes, texts] = [new FrameSplitter(), Buffer.from(stream), []];
  for (let at = 0; at < bytes.length; at += size)
    texts.push(...splitter.feed(bytes.subarray(at, at + size)));
  return texts.map((text) => text.trimEnd());
});
console.log(JSON.stringify(cases.map(read)));
"""


def named(part: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "case", [pytest.param(case, id=case["name"]) for case in VECTORS[part]]
    )


def chunks(stream: bytes, size: int) -> Iterator[bytes]:
    return (stream[at : at + size] for at in range(0, len(stream), size))


def read_by_host(stream: bytes, size: int) -> tuple[list[str], list[str], list[str]]:
    """The messages, those of them that are not valid, and the stray output."""
    reader = FrameReader()
    pieces: list[Body | Stray] = []
    for chunk in chunks(stream, size):
        reader.feed(chunk)
        pieces += iter(reader.next, None)
    reader.close()
    pieces += iter(reader.next, None)
    bodies = [piece for piece in pieces if isinstance(piece, Body)]
    invalid = [body for body in bodies if isinstance(body.message, InvalidMessage)]
    texts = [[part.data.decode().rstrip("\r\n") for part in parts] for parts in (bodies, invalid)]
    return texts[0], texts[1], [piece.data.decode() for piece in pieces if isinstance(piece, Stray)]


def test_how_many_there_are() -> None:
    assert {part: len(cases) for part, cases in VECTORS.items()} == {
        "host_writes": 5,
        "plugin_may_write": 16,
        "ends_the_connection": 10,
    }


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_what_a_host_writes_in_node() -> None:
    assert NODE is not None
    sdk = (HERE.parents[1] / "sdk" / "node" / "src" / "framing.js").as_uri()
    command = [NODE, "--input-type=module", "-e", IN_NODE, sdk, str(HERE / "framing.json")]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [[case["messages"]] * 3 for case in VECTORS["host_writes"]]


@named("plugin_may_write")
@pytest.mark.parametrize("size", [1, 7, 1_000_000])
def test_what_a_plugin_may_write(case: dict[str, Any], size: int) -> None:
    messages, invalid, stray = read_by_host(case["stream"].encode(), size)
    assert (messages, stray) == (case["messages"], case["stray"])
    refused = ("JSON that is no valid message", "nested over 128 levels, so refused")
    assert len(invalid) == (case["name"] in refused)


@named("ends_the_connection")
@pytest.mark.parametrize("size", [7, 1_000_000])
def test_what_ends_the_connection(case: dict[str, Any], size: int) -> None:
    with pytest.raises(FramingError):
        read_by_host(bytes.fromhex(case["stream_hex"]), size)
