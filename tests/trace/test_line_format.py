"""The format of a trace file: what every line holds, and that nothing is lost in it."""

from __future__ import annotations

import json
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook.trace.line_format import decode_line, encode_line
from sliphook.trace.record import KINDS, Kind, TraceRecord


def record(**fields: object) -> TraceRecord:
    return msgspec.convert(
        {"kind": "message", "wall_s": 1.5, "mono_s": 2.5, "plugin": "guard", **fields}, TraceRecord
    )


def test_a_message_is_embedded_as_json() -> None:
    message = record(
        direction="to_plugin",
        method="ping",
        id=3,
        size=11,
        body=b'{"id": 3}\n',
        session_id="s-1",
        seq=4,
    )
    assert encode_line(message) == (
        b'{"kind":"message","wall_s":1.5,"mono_s":2.5,"plugin":"guard","direction":"to_plugin","method":"ping","id":3,"size":11,'
        b'"session_id":"s-1","seq":4,"body":{"id": 3}}\n'
    )


@pytest.mark.parametrize(
    ("kind", "body", "field", "value"),
    [
        ("refused", b"\xff\x00", "raw", "/wA="),
        ("refused", b'{"a":"\xff"}', "raw", "eyJhIjoi/yJ9"),
        ("stray", b"hello", "raw", "aGVsbG8="),
        ("message", b"NaN", "raw", "TmFO"),
        ("message", b"", "raw", ""),
        ("stderr", b"Traceback \xff", "text", "Traceback \\xff"),
        ("stderr", b"42", "text", "42"),
        ("message", b'{"a":\r\n [1,\n2]}', "body", {"a": [1, 2]}),
        ("message", b"null", "body", None),
    ],
)
def test_what_is_no_json_is_kept_as_it_came(
    kind: str, body: bytes, field: str, value: object
) -> None:
    line = encode_line(record(kind=kind, body=body))
    assert line.count(b"\n") == 1
    assert b"\r" not in line
    fields = json.loads(line)
    assert fields[field] == value
    assert {"body", "raw", "text"} & set(fields) == {field}


def test_deep_json_is_kept_as_bytes() -> None:
    body = b"[" * 100_000 + b"]" * 100_000
    line = encode_line(record(body=body))
    assert decode_line(line).body == body


@given(
    kind=st.sampled_from(["message", "late", "refused", "stray"]),
    body=st.none()
    | st.binary(max_size=40)
    | st.text(max_size=20).map(lambda text: json.dumps({"a": text}).encode()),
    note=st.none() | st.text(max_size=10),
    request_id=st.none() | st.integers(1, 2**53 - 1) | st.text(max_size=5),
)
def test_a_line_gives_its_record_back(
    kind: str, body: bytes | None, note: str | None, request_id: int | str | None
) -> None:
    written = record(kind=kind, body=body, note=note, id=request_id)
    read = decode_line(encode_line(written))
    if read.body != written.body:  # white space around JSON
        assert read.body is not None
        assert written.body is not None
        assert json.loads(read.body) == json.loads(written.body)
    assert msgspec.structs.replace(read, body=None) == msgspec.structs.replace(written, body=None)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"[]",
        b'{"kind":"message"}',
        b'{"kind":1,"wall_s":1,"mono_s":1,"plugin":"p"}',
        b'{"raw":"?"}',
        b"\xff",
    ],
)
def test_a_torn_line_is_a_value_error(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"^it is no "):
        decode_line(line)


def test_every_kind_is_explained() -> None:
    assert sorted(KINDS) == sorted(get_args(Kind))
