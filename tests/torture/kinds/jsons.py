"""Programs whose messages are no messages."""

from __future__ import annotations

from tests.torture.case import Case, at_first, on_hook


def _framed(name: str, body: str, says: str) -> Case:
    """In a frame, what is no JSON ends the connection."""
    return Case(
        "JSON",
        name,
        "ends the connection, told why, started again",
        at_first(f"raw(frame({body}))\ntime.sleep(100)"),
        "protocol_error",
        says=says,
    )


def _reads(name: str, body: str, says: str | None = None) -> Case:
    return Case(
        "JSON",
        name,
        "refused, and reading goes on",
        on_hook(body + "\nreply(id, {})"),
        says=says,
        restarts=0,
    )


def _violates(name: str, text: str) -> Case:
    return _reads(name, f"raw(frame({text.encode()!r}))")


def _refused(name: str, fields: str, says: str | None = None) -> Case:
    """What was meant as the reply fails the answer at once; the connection goes on."""
    head, rest = b'{"jsonrpc":"2.0","id":', (fields + "}\n").encode()
    return Case(
        "JSON",
        name,
        "the answer fails at once, never the agent",
        on_hook(f"raw({head!r} + b'%d' % id + {rest!r})"),
        "refused_answer",
        says=says,
        restarts=0,
    )


def _answers(name: str, result: str) -> Case:
    return Case(
        "JSON",
        name,
        "the answer fails, named; the connection goes on",
        on_hook(f"reply(id, {result})"),
        "refused_answer",
        restarts=0,
    )


CASES = (
    _framed("malformed", "b'{\"jsonrpc\": oops}'", "no JSON"),
    _framed("cut", 'b\'{"jsonrpc": "2.0", "id"\'', "no JSON"),
    _framed("two in a frame", "dump(id=id, result={}) * 2", "no JSON"),
    _framed("single quotes", "b\"{'jsonrpc': '2.0'}\"", "no JSON"),
    _framed("trailing comma", 'b\'{"jsonrpc":"2.0","id":1,}\'', "no JSON"),
    _framed("comment", 'b\'{/* hi */"jsonrpc":"2.0"}\'', "no JSON"),
    _framed("bad UTF-8", 'b\'{"jsonrpc":"2.0","method":"\\xff\\xfe"}\'', "no JSON"),
    _framed("overlong UTF-8", 'b\'{"jsonrpc":"2.0","method":"\\xc0\\xaf"}\'', "no JSON"),
    _framed("UTF-16", "dump(id=id, result={}).decode().encode('utf-16')", "no JSON"),
    _framed(
        "lone surrogate",
        'b\'{"jsonrpc":"2.0","id":%d,"result":{"reason":"\\\\ud800"}}\' % id',
        "no JSON",
    ),
    _framed("encoded surrogate", 'b\'{"jsonrpc":"2.0","method":"\\xed\\xa0\\x80"}\'', "no JSON"),
    _framed("NaN", 'b\'{"jsonrpc":"2.0","id":%d,"result":{"_meta":NaN}}\' % id', "no JSON"),
    _framed(
        "Infinity", 'b\'{"jsonrpc":"2.0","id":%d,"result":{"_meta":-Infinity}}\' % id', "no JSON"
    ),
    _framed(
        "number with a zero before",
        'b\'{"jsonrpc":"2.0","id":%d,"result":{"_meta":007}}\' % id',
        "no JSON",
    ),
    _framed("raw line end in a string", 'b\'{"jsonrpc":"2.0","method":"a\\nb"}\'', "no JSON"),
    _refused("129 levels", ',"result":' + "[" * 128 + "]" * 128, "nested over 128"),
    _reads("100,000 levels", "raw(frame(b'[' * 100_000 + b']' * 100_000))", "nested over 128"),
    _reads("100,000 levels of objects", "raw(frame(b'{\"a\":' * 100_000))", "nested over 128"),
    _reads("malformed line", "raw(b'{\"jsonrpc\": oops}\\n')", "oops"),
    _reads("bad UTF-8 in a line", 'raw(b\'{"jsonrpc": "\\xff"}\\n\')'),
    _violates("a number", "42"),
    _violates("null", "null"),
    _violates("true", "true"),
    _violates("a string", '"hello"'),
    _violates("an empty list", "[]"),
    _violates(
        "a batch", '[{"jsonrpc":"2.0","method":"host/log"},{"jsonrpc":"2.0","method":"host/log"}]'
    ),
    _violates("an empty object", "{}"),
    _violates("no version", '{"method":"host/log"}'),
    _violates("version 1.0", '{"jsonrpc":"1.0","method":"host/log"}'),
    _violates("version a number", '{"jsonrpc":2.0,"method":"host/log"}'),
    _violates("method a number", '{"jsonrpc":"2.0","method":7}'),
    _violates("params a list", '{"jsonrpc":"2.0","id":5,"method":"host/notify","params":[1]}'),
    _violates("params a string", '{"jsonrpc":"2.0","method":"host/log","params":"x"}'),
    _violates("neither method nor id", '{"jsonrpc":"2.0","result":null}'),
    _violates(
        "params of another shape", '{"jsonrpc":"2.0","method":"host/log","params":{"level":7}}'
    ),
    _refused("result and error", ',"result":{},"error":{"code":1,"message":"m"}'),
    _refused("neither result nor error", ""),
    _refused("error null alone", ',"error":null'),
    _refused("error a string", ',"error":"broken"'),
    _refused("error a list", ',"error":[1,"m"]'),
    _refused("error empty", ',"error":{}'),
    _refused("error without code", ',"error":{"message":"m"}'),
    _refused("error without message", ',"error":{"code":1}'),
    _refused("error code a string", ',"error":{"code":"1","message":"m"}'),
    _refused("error code a fraction", ',"error":{"code":1.5,"message":"m"}'),
    _refused("error code huge", ',"error":{"code":99999999999999999999999,"message":"m"}'),
    _refused("error message null", ',"error":{"code":1,"message":null}'),
    _refused(
        "error in order", ',"error":{"code":-32603,"message":"my database is gone","data":{"a":1}}'
    ),
    _answers("answer a string", "'fine'"),
    _answers("answer a list", "[]"),
    _answers("answer false", "False"),
    _answers("answer with a misspelt field", "{'decison': 'deny'}"),
    _answers("answer with an unknown decision", "{'decision': 'maybe'}"),
    _answers("answer of another type", "{'context': 'x'}"),
    _answers("answer that may not replace", "{'replace': {'text': 'x'}}"),
    _answers("answer with a huge number", "{'decision': 10 ** 400}"),
    _refused(
        "a name twice", ',"result":{"decision":"allow","decision":"deny"}', "'decision' twice"
    ),
    _refused("result twice", ',"result":{},"result":{}', "'result' twice"),
    _refused(
        "a name twice, one with escapes", r',"result":{"decision":"allow","\\u0064ecision":"deny"}'
    ),
    _reads(
        "two ids", 'raw(b\'{"jsonrpc":"2.0","id":99,"id":%d,"result":{}}\\n\' % id)', "'id' twice"
    ),
    _refused(
        "answer with numbers out of range", ',"result":{"_meta":[1e999,1' + "0" * 5_000 + "]}"
    ),
    _reads(
        "all fields always",
        'raw(b\'{"jsonrpc":"2.0","id":%d,"method":null,"params":null,\' % id'
        ' + b\'"result":{},"error":null}\\n\')',
    ),
)
