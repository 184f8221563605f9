"""The short cut of framing: one read is one message, and the pieces are the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook.wire.envelope import Reply
from sliphook.wire.framing import Body, FrameReader, FramingError, Stray
from sliphook_sdk.framing import frame

from .framed import A, B

REPLY = b'{"jsonrpc":"2.0","id":1,"result":null}'


@pytest.mark.parametrize(
    "data", [A + b"\n", frame(A), b"Content-Length: %d\r\n\r\n%b" % (len(A), A), REPLY + b"\n"]
)
def test_a_whole_message_is_taken_as_it_is(data: bytes) -> None:
    reader, other = FrameReader(), FrameReader()
    other.feed(data)
    whole = reader.whole(data)
    assert whole is not None
    assert whole == other.next()
    assert (reader.next(), other.next()) == (None, None)
    assert reader.mid_message is False


@pytest.mark.parametrize(
    "data",
    [
        A,
        A[:-1],
        A + b"\n" + A + b"\n",
        A + b"\n\n",
        b"\n" + A + b"\n",
        A + b" \r\n" + A,
        frame(A) + A,
        frame(A)[:-2],
        frame(A) + frame(A),
        b"content-length: %d\r\n\r\n%b" % (len(A), A),
        b"hello\n",
        b"{hello}\n",
        b"[]\n",
        b'{"jsonrpc":"2.0"}\n',
        b'{"jsonrpc":"2.0","id":1,"result":%b}\n' % (b"[" * 200 + b"]" * 200),
        b"Content-Length: 3\r\n\r\n{x}",
    ],
)
def test_anything_else_is_left_to_be_fed(data: bytes) -> None:
    reader = FrameReader()
    assert reader.whole(data) is None
    other = FrameReader()
    for one in (reader, other):
        one.feed(data)
    assert next_of(reader) == next_of(other)


def test_a_whole_message_ends_a_row_of_stray_output() -> None:
    """64 KiB in a row are too much, not in the life of a plugin."""
    reader = FrameReader()
    for _ in range(4):
        reader.feed(b"x" * 30_000 + b"\n")
        assert isinstance(reader.next(), Stray)
        assert reader.next() is None
        assert reader.whole(REPLY + b"\n") is not None


def next_of(reader: FrameReader) -> str:
    try:
        return repr(reader.next())
    except FramingError as error:
        return str(error)


@pytest.mark.parametrize(
    "before", [b"x", b"{", b"Content-Length: 10\r\n", b"Content-Length: 100\r\n\r\n{", A]
)
def test_in_the_middle_of_something_nothing_is_whole(before: bytes) -> None:
    reader = FrameReader()
    reader.feed(before)
    assert reader.next() is None
    assert reader.whole(A + b"\n") is None


@given(
    st.lists(
        st.sampled_from([A + b"\n", frame(B), b"stray\n", A, b"\n", B[:7], B[7:] + b"\n", b"{"]),
        max_size=12,
    )
)
def test_with_the_short_cut_the_pieces_are_the_same(chunks: list[bytes]) -> None:
    taken: list[tuple[bytes, str]] = []
    fed: list[tuple[bytes, str]] = []
    reader, other = FrameReader(), FrameReader()
    for chunk in chunks:
        whole = reader.whole(chunk)
        if whole is not None:
            taken.append(said(whole))
        else:
            reader.feed(chunk)
        other.feed(chunk)
        for pieces, one in ((taken, reader), (fed, other)):
            while (piece := one.next()) is not None:
                pieces.append(said(piece))
    assert taken == fed


def said(piece: Body | Stray) -> tuple[bytes, str]:
    match piece:
        case Body(data, Reply() as reply):
            return data, f"reply {reply.id}"
        case Body(data, message):
            return data, str(message)
        case Stray(data, why):
            return data, why
