"""Programs that cut their messages in every way."""

from __future__ import annotations

from tests.torture.case import Case, at_first, on_hook

_ENDS = "the stream cannot be read on: it is killed, told why and started again"
_READS = "reads on"


def _ends(name: str, body: str, says: str) -> Case:
    return Case("framing", name, _ENDS, at_first(body), "protocol_error", says=says, restarts=1)


def _reads(name: str, body: str, says: str | None = None) -> Case:
    return Case("framing", name, _READS, on_hook(body), says=says, restarts=0)


def _header(name: str, header: str, says: str) -> Case:
    body = f"header = {header.encode()!r}\n" + "raw(header + dump(id=id, result={}) + b'\\n')"
    return _ends(name, body, says)


def _sized(name: str, over: int, *, framed: bool) -> Case:
    """A reply of so many bytes more than the most."""
    body = f"size = 1024 * 1024 + {over}\n"
    body += "start, end = dump(id=id, result={'_meta': ''})[:-3], b'\"}}'\n"
    body += "body = start + b'x' * (size - len(start) - len(end)) + end\n"
    body += "raw(frame(body))" if framed else "raw(body + b'\\n')"
    if over <= 0:
        return _reads(name, body)
    return Case(
        "framing",
        name,
        "the answer fails at once, told why; the connection goes on",
        on_hook(body),
        "refused_answer",
        says="1,048,57[67] are allowed",
        restarts=0,
    )


CASES = (
    _reads(
        "one byte at a time",
        "for byte in frame(dump(id=id, result={})): raw(bytes([byte])); time.sleep(.001)",
    ),
    _reads(
        "line, one byte at a time",
        "for byte in dump(id=id, result={}) + b'\\n': raw(bytes([byte])); time.sleep(.001)",
    ),
    _reads(
        "many at once",
        """
        log = frame(dump(method='host/log', params={'level': 'debug', 'message': 'm'}))
        raw(log * 400 + frame(dump(id=id, result={})) + log * 400)
        """,
    ),
    _reads(
        "split in a character",
        "body = json.dumps({'jsonrpc': '2.0', 'id': id, 'result': {'reason': 'é語'}}, "
        "ensure_ascii=False).encode()\n"
        "whole = frame(body)\ncut = whole.index('語'.encode()) + 1\nraw(whole[:cut])\n"
        "time.sleep(.1)\nraw(whole[cut:])",
    ),
    _reads(
        "split in a header",
        "whole = frame(dump(id=id, result={}))\nraw(whole[:9])\ntime.sleep(.1)\n"
        "raw(whole[9:17])\ntime.sleep(.1)\nraw(whole[17:])",
    ),
    _reads(
        "header in lower case with LF",
        "body = dump(id=id, result={})\nraw(b'content-length:%d\\n\\n' % len(body) + body)",
    ),
    _reads(
        "other headers",
        "body = dump(id=id, result={})\n"
        "raw(b'Content-Type: x\\r\\nX-A: b\\r\\nContent-Length: %d\\r\\n\\r\\n' % len(body) "
        "+ body)",
    ),
    _reads("lines with CRLF", "raw(dump(id=id, result={}) + b'\\r\\n')"),
    _reads("blank lines", "raw(b'\\r\\n\\n  \\t\\n' * 1000)\nreply(id, {})"),
    _reads("stray line", "raw(b'debug: here\\n')\nreply(id, {})", "debug: here"),
    _reads(
        "stray text without line end",
        "raw(b'debug: here')\nraw(frame(dump(id=id, result={})))",
        "debug: here",
    ),
    _reads("stray text before a line", "raw(b'debug: here')\nreply(id, {})", "debug: here"),
    _reads("stray JSON", 'raw(b\'{"level": "info"\\n{broken\\n\')\nreply(id, {})', "broken"),
    _reads("terminal codes", "raw(b'\\x1b[31mred\\x1b[0m\\n')\nreply(id, {})", r"\\x1b\[31mred"),
    _reads("NUL", "raw(b'\\0\\0\\0\\n')\nreply(id, {})", r"\\x00"),
    _reads("byte order mark", "raw(b'\\xef\\xbb\\xbf')\nreply(id, {})", "ufeff|xef"),
    _reads("100 violations", 'raw(b\'{"jsonrpc":"2.0"}\\n\' * 100)\nreply(id, {})'),
    _ends(
        "101 violations", 'raw(b\'{"jsonrpc":"2.0"}\\n\' * 101)\nreply(id, {})', "100 violations"
    ),
    _reads("stray up to the limit", "raw((b'x' * 1023 + b'\\n') * 60)\nreply(id, {})"),
    _ends("stray over the limit", "raw((b'x' * 1023 + b'\\n') * 70)\ntime.sleep(100)", "stray|64"),
    _ends("endless line", "while True: raw(b'x' * 65536)", "stray|64"),
    _ends(
        "endless line of JSON",
        'raw(b\'{"jsonrpc":"2.0","x":"\')\nwhile True: raw(b\'x\' * 65536)',
        "67,108,864",
    ),
    _ends(
        "100 MB line of JSON", "raw(b'{\"a\":\"' + b'x' * 100_000_000 + b'\"}\\n')", "67,108,864"
    ),
    _ends("100 MB frame", "raw(frame(b'x' * 100_000_000))", "100000000|67,108,864"),
    _header("length no number", "Content-Length: abc\r\n\r\n", "no decimal number"),
    _header("length empty", "Content-Length: \r\n\r\n", "no decimal number"),
    _header("length negative", "Content-Length: -5\r\n\r\n", "no decimal number"),
    _header("length with plus", "Content-Length: +5\r\n\r\n", "no decimal number"),
    _header("length in hexadecimal", "Content-Length: 0x10\r\n\r\n", "no decimal number"),
    _header("length with a fraction", "Content-Length: 40.0\r\n\r\n", "no decimal number"),
    _header("length in other digits", "Content-Length: \u0664\u0660\r\n\r\n", "no decimal number"),
    _header(
        "length huge",
        "Content-Length: 99999999999999999999\r\n\r\n",
        "99999999999999999999|67,108,864",
    ),
    _header(
        "length of 5,000 digits", "Content-Length: " + "9" * 5_000 + "\r\n\r\n", "4,096|header"
    ),
    _header(
        "length doubled",
        "Content-Length: 40\r\nContent-Length: 40\r\n\r\n",
        "more than one Content-Length",
    ),
    _header("length missing", "Content-Type: application/json\r\n\r\n", "without Content-Length"),
    _header("length zero", "Content-Length: 0\r\n\r\n", "no JSON"),
    _header("no blank line", "Content-Length: 40\r\n", "blank line|no JSON|colon|header"),
    _header(
        "header block over 4 KiB",
        "Content-Length: 2\r\n" + "X-A: b\r\n" * 800 + "\r\n",
        "header block over 4,096",
    ),
    _ends(
        "one too short",
        "body = dump(id=id, result={})\n"
        "raw(b'Content-Length: %d\\r\\n\\r\\n' % (len(body) - 1) + body)\ntime.sleep(100)",
        "no JSON",
    ),
    _ends(
        "one too long",
        "body = dump(id=id, result={})\n"
        "raw(b'Content-Length: %d\\r\\n\\r\\n' % (len(body) + 1) + body)\ntime.sleep(100)",
        "silent for 10 s",
    ),
    _ends(
        "cut at the end",
        "raw(frame(dump(id=id, result={}))[:-3])\nsys.exit(0)",
        "ended inside a message",
    ),
    _ends(
        "cut in a header",
        "raw(b'Content-Le')\nraw(b'ngth: 4')\nsys.exit(0)",
        "ended inside a header",
    ),
    _ends(
        "begun and silent",
        "raw(frame(dump(id=id, result={}))[:-3])\ntime.sleep(100)",
        "silent for 10 s",
    ),
    _ends(
        "line begun and silent", "raw(dump(id=id, result={}))\ntime.sleep(100)", "silent for 10 s"
    ),
    Case(
        "framing",
        "last line without LF",
        "counts all the same",
        at_first("raw(dump(id=id, result={}))\nsys.exit(0)"),
        restarts=1,
    ),
    _sized("one byte under 1 MiB, framed", -1, framed=True),
    _sized("1 MiB, framed", 0, framed=True),
    _sized("one byte over 1 MiB, framed", 1, framed=True),
    _sized("1 MiB, a line", 0, framed=False),
    _sized("one byte over 1 MiB, a line", 1, framed=False),
)
