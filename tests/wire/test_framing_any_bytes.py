"""Framing of any bytes: cost, splits, mutations, and no message that is lost."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sliphook.wire.framing import Body, FrameReader
from sliphook_sdk.framing import frame

from .framed import A, B, pieces_of


def timed(stream: bytes, step: int) -> float:
    reader = FrameReader()
    start = time.thread_time()
    bodies = 0
    for at in range(0, len(stream), step):
        reader.feed(stream[at : at + step])
        while (piece := reader.next()) is not None:
            bodies += isinstance(piece, Body)
    assert bodies > 0
    return time.thread_time() - start


@pytest.mark.parametrize(
    ("size", "step"),
    [(300_000, 1), (8_388_000, 65_536), (8_388_000, 8_388_700)],
)
def test_cost_is_linear_however_the_bytes_come(size: int, step: int) -> None:
    body = A[:-1] + b" " * (size - len(A)) + b"}"
    assert timed(body + b"\n", step) < 10  # rescanning or recopying takes minutes
    assert timed(frame(body), step) < 10


def test_cost_is_linear_in_a_line_of_many_messages_and_in_small_frames() -> None:
    assert timed(A * 100_000 + b"\n", 3_000_001) < 10
    assert timed(frame(A) * 50_000, 3_000_001) < 10
    assert (
        timed(b"Content-Type: x\r\n" + b"X: y\r\n" * 600 + b"Content-Length: 30\r\n\r\n" + A, 1)
        < 10
    )


VALID = (
    A + b"\n",
    B + b"\n",
    frame(A),
    frame(B),
    b"content-length: 30\n\n" + A,
    b"hello\n",
    b"{no json\n",
    b"50% ",
    b"\r\n",
    b'{"id":1}\n',
    b"Content-Type: x\r\nContent-Length: 42\r\n\r\n" + B,
)
STREAMS = st.lists(st.sampled_from(VALID), max_size=6).map(b"".join)
EDITS = st.lists(
    st.tuples(
        st.integers(0, 300),
        st.integers(0, 4),
        st.sampled_from((b"", b"\n", b"{", b'"', b"\xff", b"\0", b"9", A, b"Content-Length: ")),
    ),
    max_size=4,
)


def split(stream: bytes, cuts: list[int]) -> list[bytes]:
    inner = sorted(cut for cut in cuts if cut < len(stream))
    return [
        stream[start:end] for start, end in zip([0, *inner], [*inner, len(stream)], strict=True)
    ]


@given(STREAMS, EDITS, st.lists(st.integers(0, 400), max_size=8))
@example(b"x" * 10 + A, [], [5])
def test_split_anywhere_and_mutate_anything(
    stream: bytes, edits: list[tuple[int, int, bytes]], cuts: list[int]
) -> None:
    for at, removed, inserted in edits:
        stream = stream[:at] + inserted + stream[at + removed :]
    # Anything raised but FramingError would come through.
    assert pieces_of(*split(stream, cuts)) == pieces_of(stream)


@given(st.lists(st.binary(max_size=12), max_size=6))
def test_arbitrary_bytes_raise_only_framing_errors(chunks: list[bytes]) -> None:
    assert pieces_of(*chunks) == pieces_of(b"".join(chunks))


STRAY_LINES = st.binary(max_size=40).filter(
    lambda line: (
        b"\n" not in line
        and b"content-" not in line.lower()
        and not line.strip(b" \t\r").startswith(b"{")
    )
)


@given(
    st.lists(
        st.one_of(
            STRAY_LINES.map(lambda line: line + b"\n"),
            st.sampled_from((A + b"\n", frame(B), b"{x\n")),
        )
    ),
    st.integers(1, 50),
)
def test_no_message_is_lost_after_a_stray_line(parts: list[bytes], step: int) -> None:
    stream = b"".join(parts)
    found = [
        data
        for kind, data in pieces_of(*(stream[at : at + step] for at in range(0, len(stream), step)))
        if kind == "body"
    ]
    assert found == [
        A if part == A + b"\n" else B + b"\n" for part in parts if part in (A + b"\n", frame(B))
    ]
