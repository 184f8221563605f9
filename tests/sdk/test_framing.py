"""How both sides write, and how the plugin's side reads."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook_sdk.framing import FrameSplitter, FramingError, frame


def test_frame_is_header_body_and_a_newline_that_the_length_counts() -> None:
    assert frame(b'{"a":1}') == b'Content-Length: 8\r\n\r\n{"a":1}\n'
    assert frame("é".encode()) == b"Content-Length: 3\r\n\r\n\xc3\xa9\n"


@pytest.mark.parametrize(
    ("stream", "bodies"),
    [
        (b'Content-Length: 8\r\n\r\n{"a":1}\n', [b'{"a":1}\n']),
        (b'Content-Length: 7\r\n\r\n{"a":1}', [b'{"a":1}']),
        (b'Content-Length: 7\r\n\r\n{"a":1}Content-Length: 2\r\n\r\n{}', [b'{"a":1}', b"{}"]),
        (b'{"a":1}\n{"b":2}\r\n', [b'{"a":1}', b'{"b":2}\r']),
        (b' \t\r\n\n{"a":1}\n\n\nContent-Length: 3\r\n\r\n{}\n {}\n', [b'{"a":1}', b"{}\n", b"{}"]),
        (b"Content-Length: 4\r\n\r\n\n{}\n", [b"\n{}\n"]),
        (b"Content-Length: 3\r\n\r\n{}", []),
        (b'{"a":', []),
        (b"Content-Le", []),
        (b"", []),
    ],
)
def test_bodies_however_the_stream_is_split(stream: bytes, bodies: list[bytes]) -> None:
    assert FrameSplitter().feed(stream) == bodies
    for cut in range(len(stream)):
        splitter = FrameSplitter()
        assert splitter.feed(stream[:cut]) + splitter.feed(stream[cut:]) == bodies
    splitter = FrameSplitter()
    assert [body for byte in stream for body in splitter.feed(bytes([byte]))] == bodies


@pytest.mark.parametrize(
    "stream",
    [
        b"hello\n",
        b"content-length: 2\r\n\r\n{}",
        b"Content-Length:2\r\n\r\n{}",
        b"Content-Length: \r\n\r\n{}",
        b"Content-Length: -2\r\n\r\n{}",
        b"Content-Length: 2x\r\n\r\n{}",
        "Content-Length: ²\r\n\r\n{}".encode(),
        b"Content-Length: 2\r\nContent-Type: x\r\n\r\n{}",
        b"Content-Length: 2\n\n{}" + b" " * 60,
        b"Content-Lengthy",
        b"[]\n",
        b"\xef\xbb\xbf{}\n",
        b"Content-Length: " + b"1" * 60,
    ],
)
def test_anything_else_is_an_error(stream: bytes) -> None:
    with pytest.raises(FramingError, match="neither a Content-Length header nor a line of JSON"):
        FrameSplitter().feed(stream)


def test_the_error_quotes_what_came_on_one_line() -> None:
    with pytest.raises(FramingError) as caught:
        FrameSplitter().feed(b"ho\x1b\nho")
    assert caught.value.excerpt == "ho\\x1b\\nho"
    assert str(caught.value) == 'neither a Content-Length header nor a line of JSON: "ho\\x1b\\nho"'


def test_a_large_body_in_small_pieces_costs_linear_time() -> None:
    stream = frame(b"{" + b" " * 300_000 + b"}") + b"{" + b" " * 300_000 + b"}\n"
    splitter = FrameSplitter()
    start = time.thread_time()
    bodies = [body for byte in stream for body in splitter.feed(bytes([byte]))]
    assert [len(body) for body in bodies] == [300_003, 300_002]
    assert time.thread_time() - start < 10  # rescanning or recopying takes minutes


@given(st.lists(st.binary(max_size=30)), st.data())
def test_what_was_framed_comes_back(bodies: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(map(frame, bodies))
    cuts = sorted(data.draw(st.lists(st.integers(min_value=0, max_value=len(stream)), max_size=6)))
    splitter = FrameSplitter()
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)])]
    assert [body for piece in pieces for body in splitter.feed(piece)] == [
        body + b"\n" for body in bodies
    ]
