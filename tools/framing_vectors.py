"""Test vectors of the framing: streams, and the messages in them.

The tables are written by hand; lengths and JSON escapes are generated.
"""

from __future__ import annotations

import json
from typing import Any, Final

_A: Final = '{"jsonrpc":"2.0","method":"exit","params":{}}'
_B: Final = '{"jsonrpc":"2.0","id":9007199254740991,"method":"ping","params":{}}'
_MANY: Final = (
    '{"jsonrpc":"2.0","id":1,"method":"tool/call",'
    '"params":{"arguments":{"text":"é \u2028 \u0085 😀 \\u0000 \\\\ \\n"}}}'
)
_SLY: Final = (
    '{"jsonrpc":"2.0","id":1,"method":"tool/call",'
    '"params":{"arguments":{"text":"Content-Length: 5\\r\\n\\r\\n{\\"id\\":2}"}}}'
)
_LINES: Final = '{"jsonrpc":"2.0",\n"method":"exit",\n"params":{}}'
_BAD_ID: Final = '{"jsonrpc":"2.0","id":1.5,"method":"host/notify","params":{}}'
_DEEP: Final = '{"jsonrpc":"2.0","method":"a","params":{"a":' + "[" * 127 + "]" * 127 + "}}"
_LARGE: Final = (
    '{"jsonrpc":"2.0","method":"event/turn_end","params":{"last_assistant_message":"'
    + "0123456789abcdef" * 5000
    + '"}}'
)


def _framed(*bodies: str) -> str:
    return "".join(f"Content-Length: {len(body.encode()) + 1}\r\n\r\n{body}\n" for body in bodies)


_HOST: Final[tuple[tuple[str, str, list[str]], ...]] = (
    ("one message", _framed(_A), [_A]),
    ("several in one read", _framed(_B, _A, _B), [_B, _A, _B]),
    (
        "text of many bytes: the length counts bytes, and only LF ends a line",
        _framed(_MANY, _A),
        [_MANY, _A],
    ),
    ("a header inside a text is no header", _framed(_SLY, _A), [_SLY, _A]),
    ("more than one read", _framed(_LARGE, _A), [_LARGE, _A]),
)
"""Streams of a host: a name, the stream, its messages."""

_PLUGIN: Final[tuple[tuple[str, str, list[str], list[str]], ...]] = (
    ("a line", f"{_A}\n", [_A], []),
    ("a header and a body", f"Content-Length: 45\r\n\r\n{_A}", [_A], []),
    ("the length counts the newline", _framed(_A), [_A], []),
    ("both forms mixed", f"{_A}\n{_framed(_B)}{_A}\n", [_A, _B, _A], []),
    (
        "headers in lower case, LF alone, fields that nobody knows",
        f"content-type: x\nx-trace: 1\ncontent-length:45\n\n{_A}",
        [_A],
        [],
    ),
    ("blank space between messages", f" \t\r\n\n{_A}\r\n\r\n {_framed(_B)}", [_A, _B], []),
    ("the last line without its LF", f"{_A}\n{_B}", [_A, _B], []),
    ("text of many bytes", _framed(_MANY), [_MANY], []),
    ("a body over several lines", f"Content-Length: 47\r\n\r\n{_LINES}", [_LINES], []),
    ("a print", f"hello\n{_A}\n", [_A], ["hello"]),
    ("a print without its LF", f"50% {_A}\n", [_A], ["50% "]),
    ("a print before a header", f"50% {_framed(_A)}", [_A], ["50% "]),
    ("a line that begins like JSON", f"{{oops}}\n{_A}\n", [_A], ["{oops}"]),
    ("JSON that is no object, as a line", f"42\n{_A}\n", [_A], ["42"]),
    ("nested over 128 levels, so refused", f"{_DEEP}\n{_A}\n", [_DEEP, _A], []),
    ("JSON that is no valid message", f"{_BAD_ID}\n{_A}\n", [_BAD_ID, _A], []),
)
"""Streams of a plugin that end no connection: a name, the stream, its messages, stray output.

A message may be invalid.
"""

_ENDING: Final[tuple[tuple[str, bytes], ...]] = (
    ("a framed body that is no JSON", b"Content-Length: 4\r\n\r\noops"),
    ("a length that is no number", b"Content-Length: four\r\n\r\n{}"),
    ("a negative length", b"Content-Length: -4\r\n\r\n{}"),
    ("two lengths", b"Content-Length: 45\r\nContent-Length: 45\r\n\r\n" + _A.encode()),
    ("no length", b"Content-Type: application/json\r\n\r\n" + _A.encode()),
    ("a length over 64 MiB", b"Content-Length: 67108865\r\n\r\n{"),
    (
        "a body that is not UTF-8",
        b'Content-Length: 34\r\n\r\n{"jsonrpc":"2.0","method":"\xff\xfeabcd"}',
    ),
    (
        "a body with NaN",
        b'Content-Length: 50\r\n\r\n{"jsonrpc":"2.0","method":"a","params":{"a": NaN}}',
    ),
    (
        "a header block over 4 KiB",
        b"Content-Length: 45\r\nX: " + b"x" * 4096 + b"\r\n\r\n" + _A.encode(),
    ),
    ("over 64 KiB of stray output in a row", (b"." * 1023 + b"\n") * 65),
)
"""Streams of a plugin that end the connection: a name, the stream."""


def framing() -> str:
    """Streams and their messages: `tests/vectors/framing.json`."""
    host = [
        {"name": name, "stream": stream, "messages": messages} for name, stream, messages in _HOST
    ]
    plugin = [
        {"name": name, "stream": stream, "messages": messages, "stray": stray}
        for name, stream, messages, stray in _PLUGIN
    ]
    ending = [{"name": name, "stream_hex": stream.hex()} for name, stream in _ENDING]
    parts: dict[str, list[dict[str, Any]]] = {
        "host_writes": host,
        "plugin_may_write": plugin,
        "ends_the_connection": ending,
    }
    return (
        "{\n"
        + ",\n".join(
            f"  {json.dumps(name)}: [\n{_lines(cases)}\n  ]" for name, cases in parts.items()
        )
        + "\n}\n"
    )


def _lines(cases: list[dict[str, Any]]) -> str:
    return ",\n".join(f"    {json.dumps(case, ensure_ascii=False)}" for case in cases)
