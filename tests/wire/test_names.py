"""A name twice in one object is found, held to what Python's own decoder sees of each object."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook.wire import envelope
from sliphook_sdk.protocol.names import doubled_in
from sliphook_sdk.protocol.weight import Weight, weigh

NAME = st.text('ab"\\é\n:{}[],\0\1', max_size=2)
SCALARS = st.none() | st.booleans() | st.integers() | NAME
Pairs = tuple[tuple[str, Any], ...]
JSON: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.lists(st.tuples(NAME, inner), max_size=4).map(tuple)
    ),
    max_leaves=20,
)


def written(value: Any, blank: str, escaped: bool) -> str:
    """JSON in which a tuple of pairs is an object, so that a name may be there twice."""
    if isinstance(value, str):
        if escaped:
            return '"' + "".join(f"\\u{ord(char):04X}" for char in value) + '"'
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        items = cast("Sequence[Any]", value)
        parts = [written(part, blank, escaped) for part in items]
        return f"[{blank}{f'{blank},{blank}'.join(parts)}{blank}]"
    if isinstance(value, tuple):
        pairs = cast(Pairs, value)
        fields = [
            # of two equal names one may be written with escapes
            f"{written(name, blank, escaped ^ (at % 2 == 1))}{blank}:{written(part, blank, escaped)}"
            for at, (name, part) in enumerate(pairs)
        ]
        return f"{{{blank}{f'{blank},'.join(fields)}{blank}}}"
    return json.dumps(value)


def doubled_names(text: str) -> set[str]:
    """What a decoder finds that is given each object's names."""
    found: set[str] = set()

    def look(pairs: list[tuple[str, Any]]) -> None:
        names = [name for name, _ in pairs]
        found.update(name for name in names if names.count(name) > 1)

    json.loads(text, object_pairs_hook=look)
    return found


@given(JSON, st.sampled_from(["", " ", "\r\n\t"]), st.booleans(), st.lists(st.integers(1, 9)))
def test_a_name_is_found_where_a_decoder_sees_it_twice_however_the_text_is_cut(
    value: Any, blank: str, escaped: bool, cuts: list[int]
) -> None:
    text = written(value, blank, escaped)
    body, expected = text.encode(), doubled_names(text)
    weight, at = Weight(), 0
    for size in cuts:
        weight.add(body[at : at + size])
        at += size
    weight.add(body[at:])
    for found in (doubled_in(body), weight.doubled_name()):
        assert (found is not None) == bool(expected)
        assert found is None or found.name in expected


@given(st.binary(max_size=200) | st.text('\\"[]{},:0 ').map(str.encode))
def test_what_is_no_json_raises_nothing(body: bytes) -> None:
    doubled_in(body)
    weight = Weight()
    weight.add(body)
    weight.doubled_name()


@pytest.mark.parametrize(
    ("text", "name", "level"),
    [
        (b'{"a":1,"a":1}', "a", 1),
        (b'{"a":1,"b":{"a":1},"a":2}', "a", 1),
        (b'{"a":{"b":1,"c":[],"b":2}}', "b", 2),
        (b'[[{"x":{}},{"x":0,"x":0}]]', "x", 1),
        (b'{"":1,"":2}', "", 1),
        (rb'{"decision":1,"\u0064ecision":2}', "decision", 1),
        (rb'{"\"":1,"\u0022":2}', '"', 1),
        (rb'{"\\":1,"\u005c":2}', "\\", 1),
        ('{"é":1,"\\u00e9":2}'.encode(), "é", 1),
        (b'{"a" : 1 , "a" \n : 2}', "a", 1),
    ],
)
def test_the_name_and_its_level(text: bytes, name: str, level: int) -> None:
    assert doubled_in(text) == (name, level)
    large = b"%b%b" % (text, b" " * 20_000)
    assert weigh(large).doubled_name() == (name, level)


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":"a"}',
        b'{"a":{"a":{"a":"a"}}}',
        b'[{"a":1},{"a":1}]',
        b'{"a":["b","b","b:"],"b":"a"}',
        b'{"a":"\\",\\"a\\":1"}',
        rb'{"\\u0061":1,"a":2}',
        rb'{"\\":1,"\\\\":2,"\u0000":3,"\"":4,"\u0001":5}',
        b'"a"',
        b"",
    ],
)
def test_what_only_looks_so(text: bytes) -> None:
    assert doubled_in(text) is None


def test_a_long_string_across_many_slices_is_one_name() -> None:
    name = b"n" * 100_000
    assert weigh(b'{"%b":1,"%b":2}' % (name, name)).doubled_name() == (name.decode(), 1)
    assert weigh(b'{"%b":1,"%bn":2}' % (name, name)).doubled_name() is None


@pytest.mark.parametrize(
    ("body", "code", "id", "is_reply"),
    [
        (b'{"jsonrpc":"2.0","id":3,"result":{"a":1,"a":2}}', -32602, 3, True),
        (b'{"jsonrpc":"2.0","id":3,"result":[[{"a":1,"\\u0061":2}]]}', -32602, 3, True),
        (b'{"jsonrpc":"2.0","id":3,"error":{"code":1,"code":2,"message":"m"}}', -32602, 3, True),
        (b'{"jsonrpc":"2.0","id":3,"result":1,"result":2}', -32600, 3, True),
        (b'{"jsonrpc":"2.0","id":3,"id":4,"result":1}', -32600, None, True),
        (b'{"jsonrpc":"2.0","id":3,"error":null,"error":null,"result":1}', -32600, 3, True),
        (b'{"jsonrpc":"2.0","jsonrpc":"2.0","id":"x","method":"m"}', -32600, "x", False),
        (b'{"jsonrpc":"2.0","id":"x","method":"m","method":"n"}', -32600, "x", False),
        (b'{"jsonrpc":"2.0","id":"x","method":"m","params":{},"params":{}}', -32600, "x", False),
        (b'{"jsonrpc":"2.0","id":"x","method":"m","params":{"a":1,"a":1}}', -32602, "x", False),
        (b'{"jsonrpc":"2.0","method":"m","params":{"a":1,"a":1}}', -32602, None, False),
        (b'{"jsonrpc":"2.0","id":"x","method":"m","new":{"a":1,"a":1}}', -32602, "x", False),
    ],
)
@pytest.mark.parametrize("more", [b"", b" " * 2_000], ids=["small", "large"])
def test_a_message_with_a_name_twice_is_refused(
    body: bytes, code: int, id: int | str | None, is_reply: bool, more: bytes
) -> None:
    with pytest.raises(envelope.NameTwice, match="twice in one object") as caught:
        envelope.decode(body + more)
    found = caught.value
    assert (found.code, found.id, found.is_reply) == (code, id, is_reply)
