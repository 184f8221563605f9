"""What the host promises of the messages that it writes."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sliphook.wire import envelope
from sliphook.wire.envelope import (
    ErrorObject,
    Request,
)
from sliphook_sdk.protocol import ErrorCode, Message, ToolResult
from sliphook_sdk.protocol.limits import MAX_ID_CHARS


@pytest.mark.parametrize(
    ("value", "body"),
    [
        (
            {"jsonrpc": "2.0", "id": 1, "params": {"a": [1, 2.5, None, True, "x"]}},
            b'{"jsonrpc":"2.0","id":1,"params":{"a":[1,2.5,null,true,"x"]}}',
        ),
        ("a/b", b'"a/b"'),
        ('"\\', b'"\\"\\\\"'),
        ("\n\r\t\b\f\0\x1f", b'"\\n\\r\\t\\b\\f\\u0000\\u001f"'),
        ("\x7f\x85\u2028\u2029\ufeffé😀", '"\x7f\x85\u2028\u2029\ufeffé😀"'.encode()),
        ([float("nan"), float("inf"), float("-inf")], b"[null,null,null]"),
        ((1, (2,)), b"[1,[2]]"),
        ({3}, b"[3]"),
        (frozenset({3}), b"[3]"),
        (2**63, b"9223372036854775808"),
        ({1: "a"}, b'{"1":"a"}'),
        (ErrorCode.BUSY, b"-32004"),
        (datetime(2026, 1, 1, tzinfo=UTC), b'"2026-01-01T00:00:00Z"'),
        (msgspec.Raw(b'{"a":1}'), b'{"a":1}'),
        (ErrorObject(1, "x"), b'{"code":1,"message":"x"}'),
        (ErrorObject(1, "x", msgspec.Raw(b"[]")), b'{"code":1,"message":"x","data":[]}'),
    ],
)
def test_what_encode_promises(value: Any, body: bytes) -> None:
    assert envelope.encode(value) == body


class Renamed(msgspec.Struct, omit_defaults=True):
    text: str
    meta_: Any = msgspec.field(default=None, name="_meta")
    raw: Any = None


@pytest.mark.parametrize(
    ("value", "body"),
    [
        ("a\ud800b\udfff", '"a\ufffdb\ufffd"'),
        ({"\udcff": ["\ud800", {"k": ("\udc00",)}]}, '{"\ufffd":["\ufffd",{"k":["\ufffd"]}]}'),
        (dict.fromkeys(["\ud800", "\ud801"], 2), '{"\ufffd":2}'),
        (Renamed("\ud800"), '{"text":"\ufffd"}'),
        (
            Renamed("\ud800", meta_={1: float("nan")}, raw=msgspec.Raw(b'{ "a":1}')),
            '{"text":"\ufffd","_meta":{"1":null},"raw":{ "a":1}}',
        ),
        (ToolResult(content="\ud800"), '{"content":"\ufffd","is_error":false,"data":null}'),
        ([{"\ud800"}, 1, None, True, 1.5], '[["\ufffd"],1,null,true,1.5]'),
    ],
)
def test_a_lone_surrogate_is_replaced(value: Any, body: str) -> None:
    assert envelope.encode(value) == body.encode()


@pytest.mark.parametrize(
    "bad", [[0], [49_999], range(0, 50_000, 250), range(0, 2_000, 2), range(5_000)], ids=str
)
def test_lone_surrogates_are_replaced_among_many_texts(bad: Sequence[int]) -> None:
    texts = ["x"] * 50_000
    for index in bad:
        texts[index] = "a\ud800"
    expected = ["x"] * 50_000
    for index in bad:
        expected[index] = "a\ufffd"
    assert json.loads(envelope.encode([Message(role="user", content=text) for text in texts])) == [
        {"role": "user", "content": text} for text in expected
    ]


@pytest.mark.parametrize(
    "value",
    [
        [Message(role="user", content="\ud800")] * 50_000,
        [Message(role="user", content="x\ud800"), Message(role="user", content="x")] * 25_000,
        [["\ud800"]] * 50_000,
        {f"{number}\ud800": 1 for number in range(100_000)},
        {"a": [{"b": ["\ud800"] * 100}] * 1_000},
    ],
    ids=["all", "half", "lists", "names", "deep"],
)
def test_too_many_lone_surrogates_are_refused_in_time(value: Any) -> None:
    began = time.thread_time()
    with pytest.raises(TypeError, match="too many of its texts have halves of characters"):
        envelope.encode(value)
    # some of these took 0.15 s, others a second
    assert time.thread_time() - began < 0.1


def test_a_text_of_lone_surrogates_is_mended_in_time() -> None:
    text = "?\ud800" * 1_000_000
    began = time.thread_time()
    assert envelope.encode(text) == b'"%b"' % ("?\ufffd" * 1_000_000).encode()
    assert time.thread_time() - began < 0.1


def test_one_half_beside_many_long_numbers_is_replaced() -> None:
    body = envelope.encode({"half": "\ud800", **{f"k{index}": 2**70 for index in range(6_000)}})
    numbers = b",".join(b'"k%d":1180591620717411303424' % index for index in range(6_000))
    assert body == b'{"half":"\xef\xbf\xbd",%b}' % numbers


@pytest.mark.parametrize("names", [("text", "half", "long"), ("long", "text", "half")])
def test_a_half_far_below_a_long_text_is_mended_in_time(names: Sequence[str]) -> None:
    parts = {"text": "\n" * 1_900_000, "half": "\ud800", "long": 2**70}
    value: Any = {name: parts[name] for name in names}
    for _ in range(7):
        value = {"in": value, "beside": 0}
    began = time.thread_time()
    body = envelope.encode(value)
    # plain encoding takes 0.01 s; at each level once more it took 0.11
    assert time.thread_time() - began < 0.06
    written = {
        "text": b'"%b"' % (rb"\n" * 1_900_000),
        "half": b'"\xef\xbf\xbd"',
        "long": b"1180591620717411303424",
    }
    inner = b"{%b}" % b",".join(b'"%b":%b' % (name.encode(), written[name]) for name in names)
    assert body == b'{"in":' * 7 + inner + b',"beside":0}' * 7


@pytest.mark.parametrize("text", ["a?\ud800\ufffd?", "\ufdd0?\ud800\ufffd"])
def test_what_stands_for_a_surrogate_meanwhile_stays(text: str) -> None:
    assert envelope.encode(text) == f'"{text}"'.replace("\ud800", "\ufffd").encode()


@pytest.mark.parametrize("levels", [1, 7, 8, 9, 90])
def test_a_lone_surrogate_is_replaced_at_any_depth(levels: int) -> None:
    value: Any = "\ufffd\udfff\ud800"
    for _ in range(levels):
        value = [{"\ud800": value, "number": 1.5}, {"é": None}]
    body = envelope.encode(value)
    assert body.count("\ufffd\ufffd\ufffd".encode()) == 1
    assert body.count("\ufffd".encode()) == levels + 3
    assert body.count(b'"number":1.5') == levels


def test_a_raw_part_brings_no_newline() -> None:
    assert envelope.encode({"a": msgspec.Raw(b'{\n  "b": "x\\ny"\r\n}')}) == b'{"a":{"b":"x\\ny"}}'


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (object(), "object"),
        ({"a": [range(3)]}, "range"),
        (ValueError("x"), "ValueError"),
        (["\ud800", object()], "object"),
        ({None: 1}, "keys"),
        pytest.param(10**5000, "int cannot be encoded", id="5001 digits"),
        ([msgspec.Raw(b"\nno")], "list cannot be encoded"),
    ],
)
def test_what_has_no_form_in_json_is_a_type_error_that_names_it(value: Any, says: str) -> None:
    with pytest.raises(TypeError, match=says):
        envelope.encode(value)


class Text(str):
    pass


class Count(int):
    pass


class Share(float):
    pass


@pytest.mark.parametrize("beside", ["", "\ud800"])
def test_texts_and_numbers_of_a_subclass_are_as_others(beside: str) -> None:
    value = [{Text("a"): Text("b")}, Count(2**70), Share(0.5), beside]
    whole = [{"a": "b"}, 2**70, 0.5, "\ufffd" if beside else ""]
    assert envelope.encode(value) == envelope.encode(whole)
    assert envelope.encode([value] * 100) == envelope.encode([whole] * 100)


@pytest.mark.parametrize("key", [True, (1, 2), None])
def test_no_other_keys_than_texts_and_numbers(key: Any) -> None:
    with pytest.raises(TypeError, match=r"^Only dicts with str-like or number-like keys"):
        envelope.encode({key: 1})


def test_what_contains_itself_is_a_type_error() -> None:
    loop: list[Any] = ["\ud800"]
    loop.append(loop)
    for value in (loop, loop[1:]):
        with pytest.raises(
            TypeError, match="list cannot be encoded: it is nested too deep, or contains itself"
        ):
            envelope.encode(value)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda items: st.lists(items, max_size=4) | st.dictionaries(st.text(), items, max_size=4),
    max_leaves=12,
)


ESCAPES = {rb"\\", rb"\"", rb"\b", rb"\f", rb"\n", rb"\r", rb"\t"} | {
    b"\\u%04x" % code for code in range(32)
}


@given(JSON)
@example(1e-05)
@example(["/\0\x1f\x7f\u2028"])
@example({"a b": ["c: d", ", "]})
def test_any_json_comes_back_and_is_compact(value: Any) -> None:
    body = envelope.encode(value)
    assert json.loads(body) == value
    strings = re.compile(rb'"(?:[^"\\]|\\.)*"')
    assert not re.search(rb"\s", strings.sub(b"", body))
    for string in strings.findall(body):
        assert set(re.findall(rb"\\u[0-9a-f]{4}|\\.", string)) <= ESCAPES


@given(
    st.integers() | st.text(max_size=MAX_ID_CHARS),
    st.text(),
    st.dictionaries(st.text(), JSON, max_size=4),
)
def test_any_request_comes_back(id: int | str, method: str, params: dict[str, Any]) -> None:
    message = envelope.decode(
        envelope.encode({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    )
    assert isinstance(message, Request)
    assert message.id == id
    assert message.method == method
    assert json.loads(bytes(message.params)) == params


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_any_text_can_be_encoded(text: str) -> None:
    assert len(json.loads(envelope.encode([text]))[0]) == len(text)
