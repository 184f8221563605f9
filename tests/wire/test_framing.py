"""Both framings on one stream, sentence by sentence, and whatever else a plugin may write."""

from __future__ import annotations

import gc

import pytest

from sliphook.wire.envelope import InvalidMessage, Notification, Reply, Request
from sliphook.wire.framing import Body, FrameReader, FramingError, Stray
from sliphook_sdk.framing import frame

from .framed import A, B, Piece, failure, pieces_of

MIB = 1024 * 1024
KIB_64 = 64 * 1024


@pytest.mark.parametrize(
    ("stream", "pieces"),
    [
        # A line of JSON, and a header block with its body.
        (A + b"\n", [("body", A)]),
        (b"Content-Length: 30\r\n\r\n" + A, [("body", A)]),
        (b"Content-Length: 31\r\n\r\n" + A + b"\n", [("body", A + b"\n")]),
        # Either form, message by message.
        (
            A + b"\nContent-Length: 42\r\n\r\n" + B + A + b"\n" + B + b"\n",
            [("body", A), ("body", B), ("body", A), ("body", B)],
        ),
        # A body may hold newlines and anything else that JSON may.
        (
            b'Content-Length: 33\r\n\r\n\n{"jsonrpc":"2.0",\r\n"method":"a"}',
            [("body", b'\n{"jsonrpc":"2.0",\r\n"method":"a"}')],
        ),
        # At a boundary it skips spaces, tabs, CR and LF.
        (
            b" \t\r\n\n" + A + b"\r\n\r\n  " + B + b"  \n\t",
            [("body", A + b"\r"), ("body", B + b"  ")],
        ),
        (b"\n\t Content-Length: 30\r\n\r\n" + A + b"\n\n", [("body", A)]),
        # content-(length|type) in any case; other fields, CRLF or LF.
        (b"content-length:30\n\n" + A, [("body", A)]),
        ((b"content-length:30\n\n" + A) * 2, [("body", A), ("body", A)]),
        (b"CONTENT-TYPE: application/json\r\nCONTENT-LENGTH: \t0030 \r\n\r\n" + A, [("body", A)]),
        (
            b"Content-Length: 30\r\nX-Trace: 1\r\nContent-Type: x; charset=utf-8\r\n\r\n" + A,
            [("body", A)],
        ),
        # Stray output up to its LF, then on.
        (b"hello\n" + A + b"\n", [("stray", b"hello"), ("body", A)]),
        (
            b"hello\r\n\r\nyou there\n" + A + b"\n",
            [("stray", b"hello"), ("stray", b"you there"), ("body", A)],
        ),
        (
            b"42\n[]\n\xff\0\n" + A + b"\n",
            [("stray", b"42"), ("stray", b"[]"), ("stray", b"\xff\0"), ("body", A)],
        ),
        (b"\xef\xbb\xbf" + A + b"\n", [("stray", b"\xef\xbb\xbf"), ("body", A)]),
        (b"Content-Len\n" + A + b"\n", [("stray", b"Content-Len"), ("body", A)]),
        (b"Content-Length\n" + A + b"\n", [("stray", b"Content-Length"), ("body", A)]),
        (b"Content-Range: 1\n" + A + b"\n", [("stray", b"Content-Range: 1"), ("body", A)]),
        # ... or up to a `Content-Length:` or `{"jsonrpc"` inside the line.
        (b"50% " + A + b"\n", [("stray", b"50% "), ("body", A)]),
        (
            b"50% Content-Length: 30\r\n\r\n" + A + b"done\n",
            [("stray", b"50% "), ("body", A), ("stray", b"done")],
        ),
        (
            b'say {"json" content-length: 5\n' + A + b"\n",
            [("stray", b'say {"json" content-length: 5'), ("body", A)],
        ),
        # A line that starts with `{` but is no JSON is stray too.
        (b"{oops}\n" + A + b"\n", [("stray", b"{oops}"), ("body", A)]),
        (b"{\n" + A + b"\n", [("stray", b"{"), ("body", A)]),
        (A + b"]\n" + A + b"\n", [("stray", A + b"]"), ("body", A)]),
        (
            A[:-3] + b"\xe9" + A[-3:] + b"\n" + B + b"\n",
            [("stray", A[:-3] + b"\xe9" + A[-3:]), ("body", B)],
        ),
        (A[:12] + A + b"\n" + B + b"\n", [("stray", A[:12]), ("body", A), ("body", B)]),
        (A[:12] + b"Content-Length: 30\r\n\r\n" + A, [("stray", A[:12]), ("body", A)]),
        (A + b"Content-Length: 42\r\n\r\n" + B, [("body", A), ("body", B)]),
        (
            A + B + A + b"\r\n" + B + b"\n",
            [("body", A), ("body", B), ("body", A + b"\r"), ("body", B)],
        ),
        (A + A[:20] + b"\n" + B + b"\n", [("body", A), ("stray", A[:20]), ("body", B)]),
        # A line that is an array of messages is a batch, and any other that begins so is stray.
        (b"[" + A + b"]\n" + A + b"\n", [("invalid", b"[" + A + b"]"), ("body", A)]),
        (b" [ " + A + b", 7 ]\r\n" + B, [("invalid", b"[ " + A + b", 7 ]\r"), ("body", B)]),
        (B + b"\n[" + A + b"]", [("body", B), ("invalid", b"[" + A + b"]")]),
        (b"[1] " + A + b"\n" + B + b"\n", [("stray", b"[1] "), ("body", A), ("body", B)]),
        (b"[" + A + b"\n" + B + b"\n", [("stray", b"["), ("body", A), ("body", B)]),
        (b"[]\n[{}]\n" + A, [("stray", b"[]"), ("stray", b"[{}]"), ("body", A)]),
        (b"[x\n[y\n" + A, [("stray", b"[x"), ("stray", b"[y"), ("body", A)]),
        # JSON that is no valid message is one all the same.
        (b'{"a":1}\n' + A + b"\n", [("invalid", b'{"a":1}'), ("body", A)]),
        (b"Content-Length: 2\r\n\r\n42" + A + b"\n", [("invalid", b"42"), ("body", A)]),
        (
            b"Content-Length: 32\r\n\r\n[" + A + b"]" + A + b"\n",
            [("invalid", b"[" + A + b"]"), ("body", A)],
        ),
        # The last line before EOF counts without its LF.
        (B + b"\n" + A, [("body", B), ("body", A)]),
        (B + b"\nbye", [("body", B), ("stray", b"bye")]),
        (B + b"\nContent-", [("body", B), ("stray", b"Content-")]),
        (B + b"\n" + A[:-1], [("body", B), ("stray", A[:-1])]),
        (A + B, [("body", A), ("body", B)]),
        (b" \r\n", []),
        (b"", []),
        # The end inside a message, and what cannot be read on.
        (
            B + b"\nContent-Length: 30\r\n",
            [("body", B), ("error", b"the output ended inside a header block")],
        ),
        (
            B + b"\nContent-Length: 30\r\n\r\n{",
            [
                ("body", B),
                ("error", b"the output ended inside a message: N of N bytes are missing"),
            ],
        ),
        (
            b"x\nContent-Length: 2\r\n\r\n{ }",
            [
                ("stray", b"x"),
                ("error", b"a framed body of N bytes is no JSON (Input data was truncated)"),
            ],
        ),
        (
            B + b"\nContent-Type: x\r\n\r\n{}",
            [("body", B), ("error", b"a header block without Content-Length")],
        ),
    ],
)
def test_pieces_however_the_stream_is_split(stream: bytes, pieces: list[Piece]) -> None:
    assert pieces_of(stream) == pieces
    assert pieces_of(*(stream[at : at + 1] for at in range(len(stream)))) == pieces
    for cut in range(len(stream)):
        assert pieces_of(stream[:cut], stream[cut:]) == pieces


def test_a_message_is_decoded_once_and_comes_with_its_body() -> None:
    reader = FrameReader()
    reader.feed(A + b"\n" + frame(B) + b'{"jsonrpc":"2.0","id":"q","method":"m"}\n{"id":5}\n')
    messages = [piece.message for piece in iter(reader.next, None) if isinstance(piece, Body)]
    assert [type(message) for message in messages] == [Notification, Reply, Request, InvalidMessage]
    assert isinstance(messages[3], InvalidMessage)
    assert (messages[3].id, messages[3].__traceback__) == (5, None)


def test_stray_output_is_quoted_harmlessly() -> None:
    reader = FrameReader()
    reader.feed(b"\x1b[2Jhi\rthere\xff\n{no\x07\n")
    first, second = reader.next(), reader.next()
    assert isinstance(first, Stray)
    assert first.why == (
        "stray output on stdout, which is for messages alone (log to stderr): "
        '"\\x1b[2Jhi\\rthere\\xff"'
    )
    assert isinstance(second, Stray)
    assert second.why == (
        "stray output: it starts with { but is no JSON, object keys must be strings (byte "
        '1): "{no\\x07"'
    )


@pytest.mark.parametrize(
    "pending", [b"C", b"content-", b"Content-Length", b"CONTENT-TYPE", b"  Content-L"]
)
def test_a_partial_header_name_is_not_taken_for_stray(pending: bytes) -> None:
    reader = FrameReader()
    reader.feed(pending)
    assert reader.next() is None
    assert not reader.mid_message


def test_a_partial_marker_inside_a_line_is_held_back() -> None:
    assert pieces_of(b"x" * 20 + b"Content-Len", b"gth: 30\r\n\r\n" + A) == [
        ("stray", b"x" * 20),
        ("body", A),
    ]
    assert pieces_of(b"x" * 20 + b'{"jsonr', A[7:] + b"\n") == [("stray", b"x" * 20), ("body", A)]


@pytest.mark.parametrize(
    ("stream", "why", "excerpt"),
    [
        (
            b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
            "a header block with more than one Content-Length",
            "Content-Length: 2",
        ),
        (
            b"Content-Type: x\n\n{}",
            "a header block without Content-Length",
            "Content-Type: x\\n\\n",
        ),
        (b"Content-Length: \r\n", "a Content-Length that is no decimal number", "Content-Length: "),
        (
            b"Content-Length: +2\r\n",
            "a Content-Length that is no decimal number",
            "Content-Length: +2",
        ),
        (
            b"Content-Length: -2\r\n",
            "a Content-Length that is no decimal number",
            "Content-Length: -2",
        ),
        (
            b"Content-Length: 2.0\r\n",
            "a Content-Length that is no decimal number",
            "Content-Length: 2.0",
        ),
        (
            b"Content-Length: 0x2\r\n",
            "a Content-Length that is no decimal number",
            "Content-Length: 0x2",
        ),
        (
            b"Content-Length: 2 2\r\n",
            "a Content-Length that is no decimal number",
            "Content-Length: 2 2",
        ),
        (
            "Content-Length: ٣\r\n".encode(),
            "a Content-Length that is no decimal number",
            "Content-Length: ٣",
        ),
        (
            b'Content-Length: 7\n{"a":1}\n',
            "a header block that a blank line should have ended",
            '{"a":1}',
        ),
        (
            b"Content-Length: 7\nhello\n",
            "a header block that a blank line should have ended",
            "hello",
        ),
        (
            b"Content-Length: 0\r\n\r\n",
            "a framed body of 0 bytes is no JSON (Input data was truncated)",
            "",
        ),
        (
            b"Content-Length: 5\r\n\r\n\x1bnope",
            "a framed body of 5 bytes is no JSON (invalid character (byte 0))",
            "\\x1bnope",
        ),
        (
            b'Content-Length: 12\r\n\r\n{"a":"\xc3\xbc\xc3\xbc\xc3\xbc"}\n',
            "Content-Length counts bytes, not characters: a framed body of 12 bytes is no JSON"
            " (Input data was truncated)",
            '{"a":"\u00fc\u00fc\u00fc',
        ),
        (
            b'Content-Length: 4\r\n\r\n"\xe9 "',
            "a framed body of 4 bytes is no JSON (not UTF-8 (byte 1))",
            '"\\xe9 "',
        ),
        (
            b"Content-Length: 67108865\r\n\r\n",
            "a message over 67,108,864 bytes",
            "Content-Length: 67108865",
        ),
        (
            b"Content-Length: " + b"9" * 3000 + b"\r\n",
            "a message over 67,108,864 bytes",
            "Content-Length: " + "9" * 103 + "…",
        ),
    ],
)
def test_what_ends_the_connection(stream: bytes, why: str, excerpt: str) -> None:
    error = failure(stream)
    assert (error.why, error.excerpt) == (why, excerpt)


def test_a_header_block_may_have_4_kib() -> None:
    start = b"Content-Length: 30\r\nX: "
    assert pieces_of(start + b"x" * (4096 - len(start) - 4) + b"\r\n\r\n" + A) == [("body", A)]
    over = start + b"x" * (4096 - len(start) - 3) + b"\r\n\r\n" + A
    assert failure(over).why == "a header block over 4,096 bytes"
    assert failure(over[:4096]).why == "a header block over 4,096 bytes"
    reader = FrameReader()
    reader.feed(over[:4095])
    assert reader.next() is None


def test_a_message_may_have_a_mib_and_a_larger_one_is_passed_over() -> None:
    body = A[:-1] + b" " * (MIB - len(A)) + b"}"
    over = A[:-1] + b" " * (MIB - len(A) + 1) + b"}"
    assert pieces_of(b"Content-Length: 1048576\r\n\r\n" + body) == [("body", body)]
    assert pieces_of(body + b"\n", close=False) == [("body", body)]
    expected = [("invalid", over[:1024]), ("body", B)]
    assert pieces_of(over + b"\n" + B + b"\n") == expected
    assert pieces_of(b"Content-Length: 1048577\r\n\r\n" + over + B + b"\n") == expected
    assert pieces_of(over) == expected[:1]


def test_of_what_is_passed_over_nothing_is_kept_but_its_beginning() -> None:
    reader = FrameReader()
    reader.feed(b'{"jsonrpc":"2.0","id":7,"result":"')
    for _ in range(64):
        reader.feed(b"x" * 64 * 1024)
        assert reader.next() is None
        assert len(reader._buffer) <= MIB + 128 * 1024  # pyright: ignore[reportPrivateUsage]
    reader.feed(b'"}\n')
    piece = reader.next()
    assert isinstance(piece, Body)
    assert isinstance(piece.message, InvalidMessage)
    assert (piece.message.id, piece.message.is_reply, len(piece.data)) == (7, True, 1024)
    assert piece.size == 64 * 64 * 1024 + 36
    assert piece.message.why == (
        "it has 4,194,340 bytes, at most 1,048,576 are allowed:"
        " write it to a file and send the path, or send it in pieces"
    )


@pytest.mark.parametrize(
    ("head", "tail", "id", "is_reply"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":"', b'"}', 7, True),
        (b'{"id":"a-1","jsonrpc":"2.0","error":{"m":"', b'"}}', "a-1", True),
        (b'{ "jsonrpc": "2.0", "id": 7, "method": "x", "params": {"a":"', b'"}}', 7, False),
        (b'{"jsonrpc":"2.0","method":"x","id":9,"params":{"id":1,"a":"', b'"}}', 9, False),
        (b'{"jsonrpc":"2.0","result":"', b'","id":12}', 12, True),
        (b'{"result":"', b'", "id": 12, "jsonrpc": "2.0" }\n', 12, True),
        (b'{"jsonrpc":"2.0","method":"x","params":{"a":"', b'","id":3}}', None, False),
        (b'{"jsonrpc":"2.0","method":"x","params":"', b'","id":3}', None, False),
        (b'{"x":"', b'"}', None, False),
        (b'{"jsonrpc":"2.0","id":"' + b"9" * 200 + b'","result":"', b'"}', None, True),
        (b'{"jsonrpc":"2.0","id":007,"result":"', b'"}', None, True),
        (b'{"jsonrpc":"2.0","id":"\x01","result":"', b'"}', None, True),
        (b'{"jsonrpc":"2.0","id":"\xff","method":"x","params":"', b'"}', None, False),
        (b'{"jsonrpc":"2.0","result":"', b'","id":-01}', None, True),
        (b'{"jsonrpc":"2.0","result":"', b'","id":"\xed\xa0\x80"}', None, True),
    ],
)
def test_the_id_of_what_is_passed_over_is_found_at_its_ends(
    head: bytes, tail: bytes, id: int | str | None, is_reply: bool
) -> None:
    reader = FrameReader()
    body = head + b"x" * MIB + tail
    reader.feed(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    piece = reader.next()
    assert isinstance(piece, Body)
    assert isinstance(piece.message, InvalidMessage)
    assert (piece.message.id, piece.message.is_reply) == (id, is_reply)


def test_nesting_may_be_128_deep() -> None:
    def deep(levels: int) -> bytes:
        return (
            b'{"jsonrpc":"2.0","id":1,"result":' + b"[" * (levels - 1) + b"]" * (levels - 1) + b"}"
        )

    assert pieces_of(deep(128) + b"\n" + frame(deep(128))) == [
        ("body", deep(128)),
        ("body", deep(128) + b"\n"),
    ]
    assert pieces_of(deep(129) + b"\n" + frame(deep(129)) + A) == [
        ("invalid", deep(129)),
        ("invalid", deep(129) + b"\n"),
        ("body", A),
    ]


def test_stray_output_in_a_row_may_have_64_kib() -> None:
    why = "more than 65,536 bytes of stray output in a row"
    assert pieces_of(b"x" * KIB_64 + b"\n" + A) == [("stray", b"x" * KIB_64), ("body", A)]
    assert pieces_of(b"x" * KIB_64 + A) == [("stray", b"x" * KIB_64), ("body", A)]
    assert failure(b"x" * (KIB_64 + 1) + b"\n" + A).why == why
    assert failure(b"x" * (KIB_64 + 100)).why == why  # that is enough, no LF is awaited
    assert failure(b"{" + b"x" * KIB_64 + b"\n").why == why
    assert failure((b"x" * 1023 + b"\n\n") * 65).why == why
    assert failure(b"x" * 100_000).excerpt == "x" * 119 + "…"


def test_a_message_between_ends_the_row_and_stray_lines_are_no_violations() -> None:
    stream = (b"x" * 60_000 + b"\n" + A + b"\n") * 150
    assert pieces_of(stream) == [("stray", b"x" * 60_000), ("body", A)] * 150
    assert pieces_of(b"a print\n" * 1000 + A) == [("stray", b"a print")] * 1000 + [("body", A)]


def test_100_violations_are_allowed_and_the_next_ends_the_connection() -> None:
    reader = FrameReader()
    for _ in range(100):
        reader.violation("a batch")
    reader.feed(A + b"\n")
    assert isinstance(reader.next(), Body)
    with pytest.raises(FramingError, match=r"^more than 100 violations, the last: a batch$"):
        reader.violation("a batch")
    with pytest.raises(FramingError, match="100 violations"):
        reader.next()


def test_after_an_error_the_reader_is_dead() -> None:
    reader = FrameReader()
    reader.feed(b"Content-Length: x\r\n\r\n" + A + b"\n")
    for _ in range(3):
        with pytest.raises(FramingError, match="no decimal number"):
            reader.next()
        reader.feed(A + b"\n")
        reader.close()
    assert not reader.mid_message


@pytest.mark.parametrize(
    ("stream", "mid_message", "unfinished"),
    [
        (b"", False, ""),
        (A + b"\n \n", False, ""),
        (b"{", True, "{"),
        (A + b"\n  " + B, True, '{"jsonrpc":"2.0","id":1,"result":{"b":[]}}'),
        (b"Content-Length:", True, "Content-Length:"),
        (b"content-type: x\r\n", True, "content-type: x\\r\\n"),
        (b"Content-Length: 30\r\n\r\n", True, ""),
        (b"Content-Length: 30\r\n\r\n" + A[:9], True, '{"jsonrpc'),
        (b"Name? ", False, "Name? "),
    ],
)
def test_mid_message_tells_of_a_message_that_has_begun(
    stream: bytes, mid_message: bool, unfinished: str
) -> None:
    reader = FrameReader()
    reader.feed(stream)
    while reader.next() is not None:
        pass
    assert (reader.mid_message, reader.unfinished) == (mid_message, unfinished)


def test_pieces_are_pulled_one_by_one_while_more_is_fed() -> None:
    reader = FrameReader()
    reader.feed((A + b"\n") * 5)
    assert isinstance(reader.next(), Body)
    reader.feed(b"x\n" + frame(B))
    assert [type(piece) for piece in iter(reader.next, None)] == [Body] * 4 + [Stray, Body]


@pytest.mark.parametrize(
    "line",
    [
        b'{"a":1}',
        b'{"jsonrpc":"2.0","method":5}',
        b'{"jsonrpc":"2.0","id":1,"result":{},"result":{}}',
        b'{"jsonrpc":"2.0","id":[],"method":"x"}',
        b'[{"jsonrpc":"2.0","method":"x"}]',
        b'{"jsonrpc":"2.0","method":"x","params":[]}',
        b'{"jsonrpc":"2.0","method":"x","params":' + b"[" * 200 + b"]" * 200 + b"}",
        b'{"jsonrpc":"2.0","id":1,"result":' + b"[" * 5_000 + b"]" * 5_000 + b"}",
        b'{"jsonrpc"',
        b"{}x",
    ],
    ids=range(10),
)
def test_what_is_refused_is_freed_at_once(line: bytes) -> None:
    """Until a collection, a cycle would keep a megabyte for each of many messages."""
    reader = FrameReader()
    reader.feed(line + b"\n")
    assert reader.next() is not None
    gc.collect()
    gc.disable()
    try:
        reader.feed(line + b"\n")
        assert reader.next() is not None
        assert gc.collect() == 0
    finally:
        gc.enable()
