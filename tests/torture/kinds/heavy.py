"""Programs whose messages are much work: each legal in bytes, and much in what is in it."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Awaitable, Callable
from typing import Any

import trio

from tests.torture.case import PATIENT_S, Case, Workshop, nothing, on_hook, python
from tests.torture.stage import HEALTHY, Stage, check_healthy, make_all

_MANY = """
def often(message):
    until = time.monotonic() + 1.0
    for _ in range(50):
        if time.monotonic() < until: raw(frame(message))
def fill(unit, size=1_000_000):
    return (unit * (size // len(unit) + 1))[:size // len(unit) * len(unit)]
"""


def _sends(name: str, message: str, says: str | None = None) -> Case:
    """The same notification, as often as it can be written in a second; then the answer."""
    return Case(
        "heavy",
        name,
        "refused or taken, and nothing else waits for it",
        on_hook(f"{_MANY}\noften({message})\nreply(id, {{}})"),
        says=says,
        restarts=0,
    )


def _refuses(name: str, message: str) -> Case:
    return _sends(name, message, "refused|jsonrpc|an id of")


def _answers(name: str, result: str, says: str | None = None, **manifest: Any) -> Case:
    """One answer to a hook."""
    body = (
        f'{_MANY}\nraw(frame(b\'{{"jsonrpc":"2.0","id":%d,"result":\' % id + {result} + b\'}}\'))'
    )
    return Case(
        "heavy",
        name,
        "the answer is taken, or fails at once and is told why",
        on_hook(body, **manifest),
        "answered" if says is None else "refused_answer",
        says=says,
        restarts=0,
    )


def _greets(name: str, fields: str, says: str) -> Case:
    body = f'{_MANY}\nraw(frame(b\'{{"jsonrpc":"2.0","id":%d,"result":\' % initialize()'
    body += " + dump(protocol_version=1, name='bad')[:-1]"
    body += f" + b',' + {fields} + b'}}}}'))\nserve()"
    return Case(
        "heavy",
        name,
        "left out, told why",
        python(body),
        None,
        "failed",
        says=says,
    )


def _log(fields: str) -> str:
    head = b'{"jsonrpc":"2.0","method":"host/log","params":{"level":"info","message":"m","fields":{'
    return f"{head!r} + {fields} + b'}}}}}}'"


_LINES = "b','.join(b'\"k%d\":\"%s\"' % (i, b'\\\\n' * 50) for i in range(400))"

_EXPRESSIONS = (
    """b'"tools":' + json.dumps([{"name": f"t{i}", "input_schema": {"properties": {"k%%d" %% j:"""
    """ {"pattern": "\\\\p{L}+%%d" %% (i * 1_000 + j)} for j in range(%d)}}} for i in range(12)])"""
    """.encode()"""
)
_FIVE_HUNDRED = (
    """b'"tools":' + json.dumps([{"name": f"t{i}", "input_schema": {"properties": {"a": {"type":"""
    """ "string"}, "b": {"items": {"type": "number"}}}}} for i in range(500)]).encode()"""
)
_KEYWORDS = (
    """b'"tools":' + json.dumps([{"name": f"t{i}", "input_schema": {"properties": {"k%d" % j:"""
    """ {"type": ["string", "null"], "title": "t", "description": "d", "default": 1, "minimum": 1,"""
    """ "maximum": 4, "minLength": 1, "maxLength": 5, "enum": [1, 2], "const": 1, "format": "x"}"""
    """ for j in range(24)}}} for i in range(22)]).encode()"""
)
_REFERENCES = (
    """b'"tools":' + json.dumps([{"name": f"t{i}", "input_schema": {"$defs": {"a": {}}, "properties":"""
    """ {"k%d" % j: {"$ref": "#/$defs/a"} for j in range(195)}}} for i in range(5)]).encode()"""
)
_PATTERNS = (
    """b'"subscriptions":' + json.dumps([{"event": "pre_tool_call", "on_failure": "closed", "match":"""
    """ {"origin": origin}} for origin in (["*:*"], ["?" * n for n in range(1016, 1023)])]).encode()"""
)

_GUARDS = (
    """b'"subscriptions":' + json.dumps([{"event": event, "on_failure": "closed", "match": {"cwd":"""
    """ f"*{number:03}"}} for event in ("pre_tool_call", "pre_llm_call", "user_prompt_submit")"""
    """ for number in range(85)]).encode()"""
)
_SUBSCRIPTIONS = [
    {
        "event": "user_prompt_submit",
        "replaces": True,
        "timeout_s": PATIENT_S,
        "match": {} if number == 255 else {"source": "*", "platform": "*", "cwd": f"/no/{number}"},
    }
    for number in range(256)
]


def _many(
    count: int,
    text: str,
    meanwhile: Callable[[Workshop], Awaitable[None]],
    timeout_s: float = PATIENT_S,
) -> Callable[[Workshop], Awaitable[str]]:
    """So many that do the same, while the healthy one is asked before and after."""

    async def scene(shop: Workshop) -> str:
        makes = [python(text, name=f"bad{number}", timeout_s=timeout_s) for number in range(count)]
        programs = await trio.to_thread.run_sync(lambda: make_all(shop, *makes, HEALTHY))
        stage = Stage(shop)
        async with stage.open_host(programs) as host, host.session() as stage.session:
            check_healthy(await stage.ask())
            await meanwhile(shop)
            check_healthy(await stage.ask())
            assert {plugin.state for plugin in host.plugins} == {"ready"}
        return "answered"

    return scene


def _flood(write: str, *, owes: bool = False) -> str:
    """Writes without end for a second and a half; `owes`: before it answers its second hook."""
    return f"""
    greet()
    reply(hook(), {{}})
    owed = hook() if {owes} else None
    until = time.monotonic() + 1.5
    noise = (b"x" * 900 + b"\\x07\\n") * 70
    log = dump(method="host/log", params={{"level": "info", "message": "m", "fields": {{"k": "v"}}}})
    while time.monotonic() < until: {write}
    if owed: reply(owed, {{}})
    serve()
    """


async def _a_second(_: Workshop) -> None:
    await trio.sleep(1.0)


async def _nothing(_: Workshop) -> None:
    pass


def _twelve_answer(name: str, result: str) -> Case:
    """Twelve plugins whose first answer to a hook is this."""
    text = f"""
    {textwrap.indent(_MANY, "    ").strip()}
    greet()
    result = {result}
    raw(frame(b'{{"jsonrpc":"2.0","id":%d,"result":' % hook() + result + b'}}'))
    serve()
    """
    return Case(
        "heavy",
        f"twelve that answer at once with {name}",
        "each answer is read in its reader's time, and what is merged is small",
        nothing,
        scene=_many(12, text, _nothing),
    )


_BURSTS = """
    greet()
    reply(hook(), {})
    for _ in range(3):
        while not os.path.exists("../go"): time.sleep(0.001)
        os.write(2, (b"x" * 900 + b"\\x07\\n") * 36)
        while os.path.exists("../go"): time.sleep(0.001)
    serve()
    """
"""Writes as much as a pipe takes, when it is told to."""


async def _all_at_once(shop: Workshop) -> None:
    """They write while the loop stands still, so they wake at once."""
    go = shop.folder / "data" / "go"
    for _ in range(3):
        go.touch()
        time.sleep(0.1)  # noqa: ASYNC251 - takes no CPU, and no task reads meanwhile
        go.unlink()
        await trio.sleep(0.2)


async def _ends_many_at_once(shop: Workshop) -> None:
    """So many tool calls wait for one that answers all in one piece, and then ask the others."""
    calls = 250
    bad = python(
        f"""
        greet()
        ids = [hook() for _ in range({calls})]
        raw(b"".join(dump(id=id, result=None) + b"\\n" for id in ids))
        serve()
        """,
        subscriptions=[{"event": "pre_tool_call", "timeout_s": PATIENT_S}],
    )
    heard = [{"event": "post_tool_call", "timeout_s": PATIENT_S}]
    ears = [
        python("greet()\nserve()", name=f"ear{number}", subscriptions=heard) for number in range(24)
    ]
    programs = await trio.to_thread.run_sync(lambda: make_all(shop, bad, *ears))
    statuses: list[str] = []

    async def own(_: dict[str, Any]) -> str:
        return "done"

    async with (
        Stage(shop).open_host(programs) as host,
        host.session() as session,
        session.turn("x") as turn,
        trio.open_nursery() as nursery,
    ):

        async def call() -> None:
            statuses.append((await turn.call_tool("own", {}, run=own)).status)

        for _ in range(calls // 10):
            for _ in range(10):
                nursery.start_soon(call)
            await trio.lowlevel.checkpoint()
    assert statuses == ["ok"] * calls, statuses


CASES = (
    Case(
        "heavy",
        "twenty that write to stderr at once",
        "few of them in one pass of the loop",
        nothing,
        scene=_many(20, _BURSTS, _all_at_once),
    ),
    Case(
        "heavy",
        "twelve that flood stderr",
        "few of them in one pass of the loop",
        nothing,
        scene=_many(12, _flood("os.write(2, noise)"), _a_second),
    ),
    Case(
        "heavy",
        "twenty that flood stdout",
        "they share the time of a pass of the loop",
        nothing,
        scene=_many(20, _flood('raw((log + b"\\n") * 600)'), _a_second),
    ),
    Case(
        "heavy",
        "twenty that flood stdout while their hooks expire",
        "what can be read before that is looked for within the time of a pass",
        nothing,
        scene=_many(20, _flood('raw((log + b"\\n") * 600)', owes=True), _a_second, timeout_s=0.5),
    ),
    Case(
        "heavy",
        "250 hooks that are answered in one piece",
        "few of those that wait for them go on in one pass of the loop",
        nothing,
        scene=_ends_many_at_once,
    ),
    _twelve_answer("meta", "b'{\"_meta\":[' + fill(b'{\"\":{}},', 52_000) + b'0]}'"),
    _twelve_answer("texts", "b'{\"context\":[' + fill(b'\"x\",', 76_000) + b'\"\"]}'"),
    _twelve_answer("escapes", "b'{\"context\":[\"' + fill(b'\\\\n') + b'\"]}'"),
    _twelve_answer("names", "b'{' + b','.join(b'\"%x\":0' % i for i in range(9_000)) + b'}'"),
    _twelve_answer(
        "replacements",
        "b'{\"replace\":{\"text\":[' + fill(b'{\"\":{}},', 52_000) + b'0]}}'",
    ),
    _sends("a log message of 20,000 lines", _log(_LINES), "more lines"),
    _sends(
        "a log message of one long field", _log("b'\"k\":\"' + fill(b'ab\\\\n', 60_000) + b'\"'")
    ),
    _sends(
        "a log message of control characters", _log("b'\"k\":\"' + fill(b'\\x7f', 60_000) + b'\"'")
    ),
    _sends(
        "texts of a $/progress that nobody has asked for",
        'b\'{"jsonrpc":"2.0","method":"$/progress","params":{"id":1,"text":"\''
        " + fill(b'\\\\u0001', 60_000) + b'\"}}'",
    ),
    _refuses("log fields of empty lists", _log("b'\"k\":[' + fill(b'[],') + b'0]'")),
    _refuses("log fields of long integers", _log("b'\"k\":[' + fill(b'9' * 4_300 + b',') + b'0]'")),
    _refuses(
        "log fields of long floats",
        _log("b'\"k\":[' + fill(b'1.' + b'9' * 760 + b'e-300,') + b'0]'"),
    ),
    _sends(
        "small messages of slow numbers",
        _log("b'\"k\":[' + fill(b'9e307,', 800) + b'0]'"),
    ),
    _refuses(
        "keys and no envelope", "b'{' + b','.join(b'\"%x\":0' % i for i in range(90_000)) + b'}'"
    ),
    _refuses(
        "an unknown notification of brackets",
        'b\'{"jsonrpc":"2.0","method":"x","params":{"a":[\' + fill(b\'[],\') + b\'0]}}\'',
    ),
    _refuses(
        "an unknown notification of 20 MB",
        'b\'{"jsonrpc":"2.0","method":"x","params":{"a":"\' + fill(b\'x\', 20_000_000) + b\'"}}\'',
    ),
    _refuses(
        "ids of a megabyte",
        'b\'{"jsonrpc":"2.0","id":"\' + fill(b\'\\\\u0001\') + b\'","method":"x"}\'',
    ),
    _answers("an answer of escapes", "b'{\"reason\":\"' + fill(b'\\\\u0001') + b'\"}'"),
    _answers(
        "an answer of characters and escapes",
        "b'{\"reason\":\"' + fill('aé漢😀\\\\n'.encode()) + b'\"}'",
    ),
    _answers("an answer of 19,000 lists", "b'{\"_meta\":[' + fill(b'[[[[]]]],', 42_000) + b'0]}'"),
    _answers("an answer of many lists", "b'{\"_meta\":[' + fill(b'[],') + b'0]}'", "20,000 values"),
    _answers(
        "an answer of strings", "b'{\"context\":[' + fill(b'\"\",') + b'\"\"]}'", "20,000 values"
    ),
    _answers(
        "an answer of names",
        "b'{' + b','.join(b'\"%x\":0' % i for i in range(9_000)) + b'}'",
        "unknown field",
    ),
    _answers(
        "an answer of names in escapes",
        "b'{\"_meta\":{' + b','.join(b'\"%b%d\":0' % (b'\\\\n' * 45, i) for i in range(9_900)) + b'}}'",
    ),
    _answers(
        "an answer of small objects", "b'{\"_meta\":[' + fill(b'{\"\":{}},', 52_000) + b'0]}'"
    ),
    _answers("an answer of texts", "b'{\"context\":[' + fill(b'\"x\",', 76_000) + b'\"\"]}'"),
    _answers("an answer of integers", "b'{\"_meta\":[' + fill(b'9' * 256 + b',') + b'0]}'"),
    _answers(
        "an answer of numbers half way between two floats",
        "b'{\"replace\":{\"text\":[' + fill(b'72687284882248027837e99,', 450_000) + b'0]}}'",
        "longer than a double",
        subscriptions=[
            {"event": "user_prompt_submit", "replaces": True, "timeout_s": PATIENT_S},
        ],
    ),
    _answers(
        "an answer of 20 MB",
        "b'{\"reason\":\"' + fill(b'x', 20_000_000) + b'\"}'",
        "1,048,576 are allowed",
    ),
    _greets(
        "a manifest of subscriptions",
        "b'\"subscriptions\":[' + fill(b'{\"event\":\"x\"},') + b'0]'",
        "20,000 values",
    ),
    _greets(
        "a manifest of 5,000 subscriptions",
        'b\'"subscriptions":[\' + fill(b\'{"event":"x"},\', 70_000) + b\'{"event":"x"}]\'',
        "256 are allowed",
    ),
    _greets(
        "a config_schema of lists",
        "b'\"config_schema\":{\"a\":[' + fill(b'[],') + b'0]}'",
        "20,000 values",
    ),
    _greets("a manifest of long patterns", _PATTERNS, "overlap in too many ways"),
    _greets("a manifest of guards", _GUARDS, "overlap in too many ways"),
    _greets("a manifest of expressions", _EXPRESSIONS % 199, "more than 700 schemas"),
    _greets("a manifest of many expressions", _EXPRESSIONS % 12, "more than 1,000 schemas"),
    _greets("a manifest of 500 tools", _FIVE_HUNDRED, "more than 1,000 schemas"),
    _greets("a manifest of many keywords", _KEYWORDS, "more than 1,000 schemas"),
    _greets("a manifest of references", _REFERENCES, "more than 1,000 schemas"),
    Case(
        "heavy",
        "as many subscriptions to one hook as there may be",
        "each is looked at once for a payload",
        on_hook("reply(id, {})", subscriptions=_SUBSCRIPTIONS),
        restarts=0,
    ),
    Case(
        "heavy",
        "a line of thirty thousand beginnings",
        "read in parts, and nothing else waits for it",
        on_hook(
            'raw(b\'{x\' + b\'{"jsonrpc":"2.0","method":"x"}\' * 30_000 + b\'\\n\')\nreply(id, {})'
        ),
        restarts=0,
    ),
    Case(
        "heavy",
        "a line of one beginning and a megabyte",
        "stray output beyond its limit ends the connection",
        on_hook("if once(): raw(b'{{\"jsonrpc\"' + b'{C' * 400_000 + b'\\n')\nreply(id, {})"),
        "protocol_error",
        says="stray output",
    ),
    Case(
        "heavy",
        "a grandchild that floods after the end",
        "read for a while; the plugin is started again",
        on_hook(
            """
            if once():
                plugin = os.getpid()
                if os.fork() == 0:
                    os.setsid()
                    while os.getppid() == plugin: time.sleep(0.0005)
                    until = time.monotonic() + 2
                    try:
                        while time.monotonic() < until:
                            os.write(1, (dump(method="host/log", params={}) + b"\\n") * 500)
                    except OSError:
                        pass
                    os._exit(0)
                os._exit(1)
            reply(id, {})
            """
        ),
        "crashed",
        restarts=1,
    ),
)
