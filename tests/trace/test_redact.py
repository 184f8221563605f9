"""Secrets do not reach the trace, however JSON spells them."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook.trace.record import TraceRecord
from sliphook.trace.redact import REDACTED, Redactor


def record(**fields: object) -> TraceRecord:
    return msgspec.convert(
        {"kind": "message", "wall_s": 1.0, "mono_s": 2.0, "plugin": "guard", **fields}, TraceRecord
    )


@pytest.mark.parametrize(
    ("secret", "body", "expected"),
    [
        ("tok-123", b'{"a":"tok-123"}', b'{"a":"[redacted]"}'),
        (
            "tok-123",
            b'{"a":{"b":["x","Bearer tok-123!"]}}',
            b'{"a":{"b":["x","Bearer [redacted]!"]}}',
        ),
        ("tok-123", b'{"tok-123":1}', b'{"[redacted]":1}'),
        ("tok-123", rb'{"a":"{\"b\":\"tok-123\"}"}', rb'{"a":"{\"b\":\"[redacted]\"}"}'),
        ('p"w\\d', rb'{"a":"p\"w\\d"}', b'{"a":"[redacted]"}'),
        ('p"w\\d', rb'{"a":"{\"b\":\"p\\\"w\\\\d\"}"}', rb'{"a":"{\"b\":\"[redacted]\"}"}'),
        ("line\nline", rb'{"a":"line\nline"}', b'{"a":"[redacted]"}'),
        ("line\nline", rb'{"a":"line\u000aline"}', b'{"a":"[redacted]"}'),
        ("a/b/c/d", rb'{"a":"a\/b\/c/d"}', b'{"a":"[redacted]"}'),
        ("geheimé", rb'{"a":"geheim\u00E9"}', b'{"a":"[redacted]"}'),
        ("geheimé", '{"a":"geheimé"}'.encode(), b'{"a":"[redacted]"}'),
        ("key😀key", rb'{"a":"key\ud83d\ude00key"}', b'{"a":"[redacted]"}'),
        ("tok-123", b"a traceback with tok-123 in it", b"a traceback with [redacted] in it"),
        (
            "1234",
            b'{"pin":1234,"pins":[1234],"count":12345}',
            b'{"pin":"[redacted]","pins":["[redacted]"],"count":12345}',
        ),
        ("BEGIN KEY\nabcdefgh\nEND", b"the key: abcdefgh, END", b"the key: [redacted], END"),
        ("1234", b'{"pin": 1234\n}', b'{"pin": "[redacted]"\n}'),
        ("1234", b'{"t":1234.5,"u":0.1234}', b'{"t":1234.5,"u":0.1234}'),
        ("42", rb'{"a":"{\"pin\":42}"}', rb'{"a":"{\"pin\":\"[redacted]\"}"}'),
        ("42", b'{"a":"[42]"}', b'{"a":"[null]"}'),
        ("1e20", b'{"pin":1e20}', b'{"pin":"[redacted]"}'),
        ("tok-123", "stray: Bearer tok-1…".encode(), "stray: Bearer [redacted]…".encode()),
        (
            "tok-123",
            'tok-… and "tok-12…" and to…'.encode(),
            '[redacted]… and "[redacted]…" and to…'.encode(),
        ),
        ("yes", b'{"yesterday":"yes"}', b'{"yesterday":"[redacted]"}'),
        (
            "yes",
            rb'{"a":"{\"b\":\"yes\"}","c":"yesterday"}',
            rb'{"a":"{\"b\":\"[redacted]\"}","c":"yesterday"}',
        ),
    ],
)
def test_a_secret_is_found_in_every_spelling(secret: str, body: bytes, expected: bytes) -> None:
    assert Redactor([secret]).data(body) == expected


def test_the_longer_of_two_secrets_goes_whole() -> None:
    assert Redactor(["abcd", "abcdefgh"]).text("abcdefgh abcd") == "[redacted] [redacted]"


def test_a_secret_may_become_known_later() -> None:
    redactor = Redactor()
    assert redactor.text("tok-123") == "tok-123"
    redactor.add(["tok-123", ""])
    assert redactor.text("tok-123") == "[redacted]"


def test_every_field_that_can_hold_a_plugins_text_is_redacted() -> None:
    shown = Redactor(["tok-123"]).record(
        record(
            body=b'"tok-123"',
            method="hook/tok-123",
            verdict="tok-123",
            note="a tok-123",
            id="tok-123",
        )
    )
    assert shown == record(
        body=b'"[redacted]"',
        method="hook/[redacted]",
        verdict="[redacted]",
        note="a [redacted]",
        id="[redacted]",
    )


def test_a_record_without_a_secret_is_the_same_object() -> None:
    same = record(body=b"{}")
    assert Redactor(["tok-123"]).record(same) is same
    assert Redactor().record(same) is same


secrets = st.text(min_size=4, max_size=12)


@given(
    secret=secrets, before=st.text(max_size=4), ensure_ascii=st.booleans(), levels=st.integers(1, 3)
)
def test_no_depth_of_json_hides_a_secret(
    secret: str, before: str, ensure_ascii: bool, levels: int
) -> None:
    value: object = f"{before} {secret}"  # a secret number is not looked for inside of a longer one
    for _ in range(levels):
        value = json.dumps({"k": value}, ensure_ascii=ensure_ascii)
    redacted = Redactor([secret]).text(str(value))
    assert REDACTED in redacted
