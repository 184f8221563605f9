"""The envelope, sentence by sentence, and what the host promises of what it writes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook.wire import envelope
from sliphook.wire.envelope import (
    ErrorObject,
    InvalidMessage,
    Message,
    Notification,
    NotJson,
    OverLimit,
    Reply,
    Request,
)
from sliphook_sdk.protocol import ErrorCode


def shown(message: Message) -> tuple[Any, ...]:
    """A message with its raw parts as bytes."""

    def plain(value: Any) -> Any:
        if isinstance(value, ErrorObject):
            return (value.code, value.message, plain(value.data))
        return bytes(value) if isinstance(value, msgspec.Raw) else value

    return (
        type(message).__name__,
        *(plain(getattr(message, field)) for field in message.__struct_fields__),
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            b'{"jsonrpc":"2.0","id":1,"method":"host/tools","params":{"a":[1]}}',
            ("Request", 1, "host/tools", b'{"a":[1]}'),
        ),
        (b'{"jsonrpc":"2.0","method":"host/log","params":{}}', ("Notification", "host/log", b"{}")),
        (
            b'{"jsonrpc":"2.0","id":1,"result":{"decision":"deny"}}',
            ("Reply", 1, b'{"decision":"deny"}', None),
        ),
        (
            b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}',
            ("Reply", 1, None, (-32601, "no", b"null")),
        ),
        (
            b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"","data":[0]}}',
            ("Reply", 1, None, (1, "", b"[0]")),
        ),
    ],
)
def test_the_kinds_of_message(body: bytes, message: tuple[Any, ...]) -> None:
    assert shown(envelope.decode(body)) == message


@pytest.mark.parametrize(
    "body",
    [
        b' \r\n{ "params" : { "a" : 1 } , "method" : "m" , "id" : 1 , "jsonrpc" : "2.0" } \n',
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":{ "a" : 1 },"more":[{}],"_meta":0}',
        b'{"\\u006asonrpc":"2.\\u0030","id":1,"method":"\\u006d","params":{ "a" : 1 }}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":{ "a" : 1 },"result":null,"error":null}',
    ],
    ids=[
        "space and order",
        "unknown fields are ignored",
        "escapes",
        "null means absent",
    ],
)
def test_forms_that_mean_the_same(body: bytes) -> None:
    assert shown(envelope.decode(body)) == ("Request", 1, "m", b'{ "a" : 1 }')


@pytest.mark.parametrize("params", [b"", b',"params":null', b',"params":{}'])
def test_params_that_are_missing_or_null_mean_an_empty_object(params: bytes) -> None:
    assert shown(envelope.decode(b'{"jsonrpc":"2.0","method":"m"%b}' % params)) == (
        "Notification",
        "m",
        b"{}",
    )
    assert shown(envelope.decode(b'{"jsonrpc":"2.0","id":"x","method":"m"%b}' % params)) == (
        "Request",
        "x",
        "m",
        b"{}",
    )


@pytest.mark.parametrize(
    ("raw", "id"),
    [
        (b"0", 0),
        (b"-7", -7),
        (b"9007199254740993", 9007199254740993),
        (b"1" * 40, int("1" * 40)),
        (b'""', ""),
        (b'"a-1"', "a-1"),
        (b'"\\ud83d\\ude00"', "😀"),
    ],
)
def test_ids_are_integers_or_strings(raw: bytes, id: int | str) -> None:
    assert envelope.decode(b'{"jsonrpc":"2.0","id":%b,"method":"m"}' % raw) == Request(
        id, "m", msgspec.Raw(b"{}")
    )
    reply = envelope.decode(b'{"jsonrpc":"2.0","id":%b,"result":0}' % raw)
    assert isinstance(reply, Reply)
    assert reply.id == id


def test_a_result_may_be_null() -> None:
    assert shown(envelope.decode(b'{"jsonrpc":"2.0","id":1,"result":null}')) == (
        "Reply",
        1,
        b"null",
        None,
    )
    assert shown(envelope.decode(b'{"jsonrpc":"2.0","id":1,"result":null,"error":null}')) == (
        "Reply",
        1,
        b"null",
        None,
    )


@pytest.mark.parametrize(
    "id",
    [b"0", b"1", b"42", b"999999999999999", b"1000000000000000", b"-1", b"01", b"1.0", b'"1"'],
)
@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\n\n", b" ", b",", b"}"])
def test_the_most_frequent_reply_is_read_as_any_other(id: bytes, end: bytes) -> None:
    body = b'{"jsonrpc":"2.0","id":%b,"result":null}%b' % (id, end)
    # with a blank in front it takes the long way
    assert read(body) == read(b" " + body)


def read(body: bytes) -> object:
    """The message, or why it is none."""
    try:
        return shown(envelope.decode(body))
    except (InvalidMessage, NotJson) as error:
        return type(error), str(error).partition(" (byte ")[0]


def test_beside_an_error_a_null_result_is_absent() -> None:
    body = b'{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":1,"message":"x"}}'
    assert shown(envelope.decode(body)) == ("Reply", 1, None, (1, "x", b"null"))


def test_extra_keys_of_an_error_object_are_ignored() -> None:
    body = b'{"jsonrpc":"2.0","id":1,"error":{"message":"x","stack":[],"code":5}}'
    assert shown(envelope.decode(body)) == ("Reply", 1, None, (5, "x", b"null"))


@pytest.mark.parametrize(
    ("body", "id", "is_reply", "why"),
    [
        (b"{}", None, False, 'a message without "jsonrpc":"2.0"'),
        (b'{"id":3,"method":"m"}', 3, False, 'a message without "jsonrpc":"2.0"'),
        (
            b'{"jsonrpc":"1.0","id":"a","method":"m"}',
            "a",
            False,
            '"jsonrpc" is not "2.0" but "1.0"',
        ),
        (b'{"jsonrpc":2.0,"id":3,"result":0}', 3, True, '"jsonrpc" is not "2.0" but 2.0'),
        (b'{"jsonrpc":"2.0"}', None, False, "a message with neither a method nor an id"),
        (
            b'{"jsonrpc":"2.0","id":3}',
            3,
            False,
            "a message with neither a method, a result nor an error",
        ),
        (
            b'{"jsonrpc":"2.0","id":3,"error":null}',
            3,
            False,
            "a message with neither a method, a result nor an error",
        ),
        (b'{"jsonrpc":"2.0","result":{}}', None, True, "a reply without an id"),
        (
            b'[{"jsonrpc":"2.0","id":3,"method":"m"}]',
            None,
            False,
            "a batch; each message is sent on its own",
        ),
        (b" []", None, False, "a batch; each message is sent on its own"),
        (b"42", None, False, "JSON that is no object: 42"),
        (b"null", None, False, "JSON that is no object: null"),
        (b'"\\u001b\x7f"', None, False, 'JSON that is no object: "\\u001b\\x7f"'),
        (
            b'{"jsonrpc":"2.0","id":null,"method":"m"}',
            None,
            False,
            "an id is an integer or a string, not null",
        ),
        (
            b'{"jsonrpc":"2.0","id":1.0,"method":"m"}',
            None,
            False,
            "an id is an integer or a string, not 1.0",
        ),
        (
            b'{"jsonrpc":"2.0","id":true,"method":"m"}',
            None,
            False,
            "an id is an integer or a string, not true",
        ),
        (
            b'{"jsonrpc":"2.0","id":[1],"result":0}',
            None,
            True,
            "an id is an integer or a string, not [1]",
        ),
        (
            b'{"jsonrpc":"2.0","id":%b,"method":"m"}' % (b"9" * 5000),
            None,
            False,
            "an id is an integer or a string, not " + "9" * 119 + "…",
        ),
        (
            b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}',
            None,
            True,
            "an error reply without a usable id, so the plugin could not read a message: "
            '{"code":-32700,"message":"parse error"}',
        ),
        (
            b'{"jsonrpc":"2.0","id":3,"result":{},"error":{"code":1,"message":"x"}}',
            3,
            True,
            "a reply with both a result and an error",
        ),
        (
            b'{"jsonrpc":"2.0","id":3,"method":"m","result":{}}',
            3,
            False,
            "a message with both a method and a result or error",
        ),
        (
            b'{"jsonrpc":"2.0","method":"m","error":{"code":1,"message":"x"}}',
            None,
            False,
            "a message with both a method and a result or error",
        ),
        (
            b'{"jsonrpc":"2.0","id":3,"method":"m","params":[1]}',
            3,
            False,
            'the params of "m" are not an object: [1]',
        ),
        (
            b'{"jsonrpc":"2.0","method":"m\\u001b","params":"x"}',
            None,
            False,
            'the params of "m\\x1b" are not an object: "x"',
        ),
        (
            b'{"jsonrpc":"2.0","id":3,"method":"m","params":0}',
            3,
            False,
            'the params of "m" are not an object: 0',
        ),
        (
            b'{"jsonrpc":"2.0","id":3,"method":5}',
            3,
            False,
            "a message with a wrong field: Expected `str | null`, got `int` - at `$.method`",
        ),
        (
            b'{"jsonrpc":"2.0","id":3,"error":"no"}',
            3,
            True,
            "a message with a wrong field: Expected `object | null`, got `str` - at `$.error`",
        ),
        (
            b'{"jsonrpc":"2.0","id":3,"error":{"code":1}}',
            3,
            True,
            "a message with a wrong field: Object missing required field `message` - at `$.error`",
        ),
        (
            b'{"jsonrpc":"2.0","id":3,"error":{"message":"x"}}',
            3,
            True,
            "a message with a wrong field: Object missing required field `code` - at `$.error`",
        ),
        (
            b'{"jsonrpc":"2.0","id":3,"error":{"code":1.0,"message":"x"}}',
            3,
            True,
            "a message with a wrong field: Expected `int`, got `float` - at `$.error.code`",
        ),
    ],
)
def test_json_that_is_no_valid_message_is_32600_with_the_id_if_usable(
    body: bytes, id: int | str | None, is_reply: bool, why: str
) -> None:
    with pytest.raises(InvalidMessage) as caught:
        envelope.decode(body)
    error = caught.value
    assert error.code == ErrorCode.INVALID_REQUEST
    assert error.id == id
    assert error.is_reply == is_reply
    assert error.why == why
    assert int(error.code) == -32600


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "Input data was truncated"),
        (b"\n", "Input data was truncated"),
        (b"hello", "invalid character (byte 0)"),
        (b'{"jsonrpc":"2.0","id":1,"result":{', "Input data was truncated"),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}}', "trailing characters (byte 37)"),
        (
            b'{"jsonrpc":"2.0","id":1,"result":0}{"jsonrpc":"2.0","id":2,"result":0}',
            "trailing characters (byte 36)",
        ),
        (b'{"jsonrpc":"2.0","id":1,"result":NaN}', "invalid character (byte 33)"),
        (b'{"jsonrpc":"2.0","id":1,"result":[01]}', "invalid number (byte 35)"),
        (b'{"jsonrpc":"2.0","id":1,"result":"a\nb"}', "invalid character (byte 35)"),
        (b'{"jsonrpc":"2.0","id":1,"result":\0}', "invalid character (byte 33)"),
        (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"result":0}', "invalid character (byte 0)"),
        (b'{"jsonrpc":"1.0",nonsense', "expected '\"' (byte 17)"),
        (b'{"jsonrpc":"2.0","id":1,"method":5,}', "trailing comma in object (byte 35)"),
        (b"[1,", "Input data was truncated"),
    ],
)
def test_what_is_no_json(body: bytes, why: str) -> None:
    with pytest.raises(NotJson) as caught:
        envelope.decode(body)
    assert caught.value.why == why


@pytest.mark.parametrize(
    ("body", "byte"),
    [
        (b'{"jsonrpc":"2.0","id":1,"result":"\xff"}', 34),
        (b'{"jsonrpc":"2.0","id":1,"result":{"\xc3":0}}', 35),
        (b'{"jsonrpc":"2.0","id":"\xe9","result":0}', 23),
        (b'{"\xff":0,"jsonrpc":"2.0","method":"m"}', 2),
        (b'{"jsonrpc":"2.0","method":"m","params":{"a":"\xed\xa0\x80"}}', 45),
    ],
)
def test_utf8_only_everywhere_in_the_body(body: bytes, byte: int) -> None:
    with pytest.raises(NotJson) as caught:
        envelope.decode(body)
    assert caught.value.why == f"not UTF-8 (byte {byte})"


@pytest.mark.parametrize(
    "text", [b"\\ud800", b"\\udc00", b"\\ud800x", b"\\ud800\\u0041", b"\\udc00\\ud800"]
)
def test_no_lone_surrogates(text: bytes) -> None:
    for body in (
        b'{"jsonrpc":"2.0","id":1,"result":"%b more"}',
        b'{"jsonrpc":"2.0","id":"%b","result":0}',
        b'{"jsonrpc":"2.0","method":"%b"}',
    ):
        with pytest.raises(NotJson):
            envelope.decode(body % text)


def nested(levels: int, inside: bytes = b"") -> bytes:
    """A notification of so many levels, the message itself and its params among them."""
    return (
        b'{"jsonrpc":"2.0","method":"m","params":{"a":'
        + b"[" * (levels - 2)
        + inside
        + b"]" * (levels - 2)
        + b"}}"
    )


def test_nesting_of_128_is_the_limit_and_the_message_is_the_first_level() -> None:
    assert isinstance(envelope.decode(nested(128)), Notification)
    with pytest.raises(OverLimit, match="nested over 128 levels deep"):
        envelope.decode(nested(129))
    with pytest.raises(OverLimit):
        envelope.decode(nested(100_000))


def test_objects_count_as_arrays_do() -> None:
    def deep(levels: int) -> bytes:
        return (
            b'{"jsonrpc":"2.0","id":1,"result":'
            + b'{"a":[' * (levels // 2)
            + b"]}" * (levels // 2)
            + b"}"
        )

    assert isinstance(envelope.decode(deep(126)), Reply)
    with pytest.raises(OverLimit):
        envelope.decode(deep(128))


@pytest.mark.parametrize(
    "inside",
    [
        b'"' + b"[" * 500 + b'"',
        b'"\\"' + b"[{" * 500 + b'\\\\"',
        b'"\\\\","' + b"{" * 500 + b'"',
        b"[],{}," * 500 + b"0",
        b'{"' + b"[" * 500 + b'":0}',
    ],
)
def test_brackets_in_strings_and_side_by_side_are_not_depth(inside: bytes) -> None:
    assert isinstance(envelope.decode(nested(120, inside)), Notification)


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 8_000_000,
        b'"' * 8_000_000,
        b'{"' + b'\\"' * 4_000_000 + b"[" * 200,
        b'{"jsonrpc":"2.0","id":1,"error":[' + b'["",{}],' * 1_000_000,
        b'{"a":"' + b"\xc3\xa9" * 4_000_000,
    ],
    ids=["brackets", "quotes", "escapes", "small items", "not ASCII"],
)
def test_a_hostile_body_is_refused_as_what_it_is(body: bytes) -> None:
    with pytest.raises((NotJson, OverLimit)):
        envelope.decode(body)


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (b"[" + b"[]," * 20_000 + b"0]", "it has more than 20,000 values"),
        (
            b"[" + b"9" * 257 + b',"' + b"x" * 1000 + b'"]',
            "it has a number of more than 256 characters",
        ),
        (
            b"[" + b"1e-300," * 400 + b"0]",
            "it has more than 100 numbers with an exponent of three digits, or longer than a double"
            " is written",
        ),
        (b"[" * 128 + b"]" * 128, "it is nested over 128 levels deep"),
    ],
)
def test_what_has_too_much_in_it_is_refused_with_its_id_wherever_that_stands(
    result: bytes, why: str
) -> None:
    for body in (
        b'{"jsonrpc":"2.0","id":7,"result":%b}' % result,
        b'{"result":%b,"id":7,"jsonrpc":"2.0"}' % result,
    ):
        with pytest.raises(OverLimit) as caught:
            envelope.decode(body)
        error = caught.value
        assert (error.why, error.id, error.is_reply, error.code) == (why, 7, True, -32602)


def test_an_id_has_an_end() -> None:
    text = b'{"jsonrpc":"2.0","id":"%b","method":"m"}'
    assert isinstance(envelope.decode(text % (b"x" * 128)), Request)
    with pytest.raises(InvalidMessage, match="an id of 129 characters, over 128") as caught:
        envelope.decode(text % (b"x" * 129))
    assert caught.value.id is None


VALID = (
    b'{"jsonrpc":"2.0","id":12,"method":"host/inject",'
    b'"params":{"session_id":"s-1","text":"h\xc3\xa9 \\u00e9"}}',
    b'{"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"x","data":[1,2.5e3,null]}}',
    b'{"jsonrpc":"2.0","id":7,"result":{"decision":"deny","context":["a",{"b":[]}]}}',
)


@given(
    st.sampled_from(VALID),
    st.lists(
        st.tuples(st.integers(0, 110), st.integers(0, 3), st.binary(max_size=3)),
        min_size=1,
        max_size=4,
    ),
)
def test_mutated_messages_raise_only_ours(body: bytes, edits: list[tuple[int, int, bytes]]) -> None:
    for at, removed, inserted in edits:
        body = body[:at] + inserted + body[at + removed :]
    try:
        message = envelope.decode(body)
    except (NotJson, InvalidMessage):
        return
    assert isinstance(message, Request | Notification | Reply)


@given(st.binary(max_size=60))
def test_arbitrary_bytes_raise_only_ours(body: bytes) -> None:
    with pytest.raises((NotJson, InvalidMessage)):
        envelope.decode(body)


def test_what_is_no_object_and_too_deep_is_refused_for_one_of_both() -> None:
    # how deep msgspec goes differs from Python to Python, and so which of both it comes upon
    with pytest.raises(InvalidMessage, match=r"nested over 128 levels deep|a batch"):
        envelope.decode(b"[" * 100_000 + b"]" * 100_000)
