"""Framing: what the host writes, and what it reads."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import pytest
import trio
from trio.testing import MockClock

from sliphook import PluginHost
from sliphook_sdk.protocol import CATALOGUE, METHOD_BY_NAME, Message, ModelTool, Usage
from tests.programs import EVERYTHING

from .says import limit, says
from .wire import BY_HAND, NO_ARGUMENTS, Fields, Seen, Wire, host_of

ODD = 'a/b \u2028\u2029\u0085 \x00\x1f\n"{"jsonrpc":"2.0" \U0001f600 \u00e9'
FRAME = re.compile(rb"Content-Length: ([0-9]+)\r\n\r\n")
LAST = ("text", "arguments", "result", "messages", "response", "last_assistant_message")


async def a_day(host: PluginHost, wire: Wire) -> None:
    """All kinds of messages that a host writes but `ping`, with odd texts in all of them."""
    wire.send(id=ODD, method="host/unknown")
    wire.send(id=7, method="host/log", params={"level": "info", "message": "as a request"})
    async with host.session(meta={"note": ODD}, cwd="/a/b", model=ODD) as session:
        async with session.turn(ODD) as turn:
            await turn.submit()
            said = Message(role="user", content=ODD)
            tool = ModelTool(name="shell", description=ODD, input_schema={"type": "object"})
            await turn.pre_llm_call(provider=None, model=ODD, messages=[said], tools=[tool])
            turn.llm_call_failed(attempt=1, kind="http", status=500, message=ODD, will_retry=True)
            turn.post_llm_call(
                provider=None,
                model=ODD,
                response=said,
                finish_reason=None,
                usage=Usage(),
                duration_ms=None,
            )
            await turn.call_tool("mine", {"text": ODD})
            async with turn.subagent(ODD):
                pass
            await turn.stop()
            session.notification("info", ODD, "agent")
        session.reset()
        await session.run_command("mine", ODD)
        async with session.turn("next") as turn:
            wire.answers["tool/call"] = BY_HAND
            async with trio.open_nursery() as nursery:
                nursery.start_soon(turn.call_tool, "mine", NO_ARGUMENTS)
                await wire.hears("tool/call", 2)
                session.interrupt("user_stop", ODD)


@pytest.fixture
async def written() -> bytes:
    """The bytes of such a day."""
    wire = Wire(
        subscriptions=[{"event": one, "include": list(CATALOGUE[one].heavy)} for one in EVERYTHING],
        answers={"tool/call": {"content": ODD}, "command/run": {"text": ODD}},
        tools=[{"name": "mine"}],
        commands=[{"name": "mine"}],
    )
    async with host_of(wire) as (host, _):
        await a_day(host, wire)
    return bytes(wire.bytes)


def framed(stream: bytes) -> list[bytes]:
    """The bodies as a reader by headers cuts them; nothing is left over."""
    bodies: list[bytes] = []
    while stream:
        header = FRAME.match(stream)
        assert header is not None, stream[:80]
        end = header.end() + int(header[1])
        bodies.append(stream[header.end() : end])
        stream = stream[end:]
    return bodies


@says(
    "Every message is a header, an empty line, the message as compact JSON, and a line feed:",
    "The length is in bytes and includes the line feed.",
    "JSON may end in white space, so a library that reads the header framing of language servers"
    " parses the body as it is.",
    "A program that reads *lines* and skips every line that does not start with `{` gets exactly"
    " the messages.",
    "The same bytes can be read in two ways, by headers or by lines;",
    "`Content-Length` is the first header, spelt exactly so, and so far the only one.",
    "A small reader may rely on this:",
    "On the wire a message of the host is one line.",
)
async def test_both_ways_to_read_give_the_same(written: bytes) -> None:
    bodies = framed(written)
    assert len(bodies) > 30
    assert all(body.endswith(b"\n") and body.count(b"\n") == 1 for body in bodies)
    assert [line + b"\n" for line in written.split(b"\n") if line.startswith(b"{")] == bodies
    assert all(isinstance(json.loads(body), dict) for body in bodies)


@says(
    "There is no space between tokens, no raw line feed inside a message, and no key twice in one"
    " object.",
    "Only control characters are written as `\\u`; `/` is never escaped; the text is UTF-8 without"
    " a byte order mark.",
    "A line ends at LF, and nowhere else.",
    "Functions that split at other characters too break messages, since text may contain U+2028,"
    " U+2029 or U+0085 unescaped.",
    "Strings may hold anything, lone NUL escapes and U+2028 included.",
    'Every message has `"jsonrpc":"2.0"`.',
)
async def test_the_bytes_of_a_message(written: bytes) -> None:
    def once(pairs: list[tuple[str, Any]]) -> Fields:
        assert len({key for key, _ in pairs}) == len(pairs)
        return dict(pairs)

    for body in framed(written):
        value = json.loads(body, object_pairs_hook=once)
        assert value["jsonrpc"] == "2.0"
        compact = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
        # numbers may be written in other ways, and a DEL is no control character of JSON
        assert len(compact) == len(body) - 1 or b"e" in body
        assert all(int(code, 16) < 0x20 for code in re.findall(rb"\\u([0-9a-fA-F]{4})", body))
        assert b"\\/" not in body
    text = written.decode()
    assert "\ufeff" not in text
    assert all(char in text for char in "\u2028\u2029\u0085")
    assert "\\u0000" in text


@says(
    "The keys of the envelope come in the order `jsonrpc`, `id`, `method`, `traceparent` (mostly"
    " absent), `params`.",
    "Those of a reply come in the order `jsonrpc`, `id`, then `result` or `error`.",
    "The keys of params come in the order of the lists below.",
    "Values that other people write (`text`, `arguments`, `result`, `messages`, `response`,"
    " `last_assistant_message`) come last.",
    "The only exception is `meta`, which the agent writes and which comes before them.",
    "They come before the values that other people write.",
    "Every hook, every event, `tool/call` and `command/run` begin with these fields, in this order.",
    "A **request** has `id`, `method` and `params`,",
    "A **notification** has no `id`",
    "`params` is always an object;",
    "A **reply** has the `id` and exactly one of `result`, which may be null, and `error`, an object"
    " with `code` (integer), `message` (string) and optionally `data`.",
)
async def test_the_order_of_keys(written: bytes) -> None:
    seen: set[str] = set()
    for message in map(json.loads, framed(written)):
        keys = list(message)
        if "method" not in message:
            assert keys in (["jsonrpc", "id", "result"], ["jsonrpc", "id", "error"])
            assert list(message.get("error", {})) in ([], ["code", "message"])
            continue
        assert keys in (["jsonrpc", "id", "method", "params"], ["jsonrpc", "method", "params"])
        method, params = message["method"], message["params"]
        family, _, name = method.partition("/")
        struct = (
            CATALOGUE[name].payload
            if family in ("hook", "event")
            else METHOD_BY_NAME[method].params
        )
        order = [field.encode_name for field in msgspec.structs.fields(struct)]
        assert list(params) == [one for one in order if one in params]
        # what others write is at the end, whatever else there is
        ours = [one for one in params if one not in (*LAST, "meta")]
        theirs = [one for one in params if one in LAST]
        assert [one for one in params if one != "meta"] == ours + theirs
        seen.add(method)
    assert len(seen) > 20


@says(
    "The host's ids are integers from 1 to 2^53 - 1 and are never used again in the life of a"
    " process.",
    "The host's ids fit into a double.",
    "messages *arrive* in the order in which they were sent.",
)
async def test_the_hosts_ids(written: bytes) -> None:
    messages = list(map(json.loads, framed(written)))
    ids = [one["id"] for one in messages if "method" in one and "id" in one]
    assert ids == list(range(1, len(ids) + 1))
    seqs = [one["params"]["seq"] for one in messages if "seq" in one.get("params", {})]
    assert [seq for seq in seqs if seq == 1], "it began anew after the reset"


# -- what the host reads


async def logged(data: bytes, *, end: bool = False) -> tuple[Wire, Seen, Any]:
    """What a host makes of these bytes, and then of a request on a line."""
    wire = Wire()
    async with host_of(wire) as (host, seen):
        await wire.pour(data)
        if end:
            wire.process.end(0)
            await wire.restarts()
        else:
            await wire.is_read()
        return wire, seen, host.plugins[0]


def note(text: str) -> bytes:
    params = {"level": "info", "message": text}
    return json.dumps({"jsonrpc": "2.0", "method": "host/log", "params": params}).encode()


def header(body: bytes, head: bytes = b"Content-Length: %d\r\n\r\n") -> bytes:
    return head % len(body) + body


@says(
    "the host reads both.",
    "A plugin MAY write each message in either form, and MAY mix them: a line of JSON that starts"
    " with `{` and ends with LF, or a header block followed by the body.",
    "Between two messages the host skips spaces, tabs, CR and LF, and looks at what follows:",
    "`{` begins a line of JSON.",
    "A line that begins with `Content-Length:` or `Content-Type:`, in upper or lower case, begins a"
    " header block.",
    "The block consists of lines that end with LF or CRLF, up to an empty one, with exactly one"
    " length in ASCII digits.",
    "The body is that many bytes.",
)
async def test_both_forms_are_read_and_may_be_mixed() -> None:
    stream = (
        note("line")
        + b"\n \t\r\n"
        + header(note("framed"))
        + header(note("lf"), b"content-length: %d\n\n")
        + header(note("type"), b"Content-Type: any\r\nCONTENT-LENGTH:%d\r\nX-Y: z\r\n\r\n")
        + header(note("white") + b" \n")
        + note("last").replace(b",", b" , ")
        + b"\r\n"
    )
    _, seen, _ = await logged(stream)
    assert seen.lines("info") == ["line", "framed", "lf", "type", "white", "last"]
    assert seen.lines() == []


@says("The last line before the end of the stream counts without its LF.")
async def test_the_last_line() -> None:
    _, seen, _ = await logged(note("unended"), end=True)
    assert seen.lines("info") == ["unended"]


@says(
    "It MUST NOT contain a raw line feed.",
    "Anything else is **stray output**, up to its LF, or up to a `Content-Length:` or"
    ' `{"jsonrpc"` in the middle of the line.',
    "The host puts it into the plugin's log, with a warning that quotes it, and reads on.",
    "A line that starts with `{` and is not JSON is stray output too.",
    "So a forgotten `print` does no harm.",
)
async def test_stray_output() -> None:
    broken = note("in two lines").replace(b": ", b":\n", 1)
    stream = (
        b"loading...\n"
        + b"50 %"
        + header(note("one"))
        + b"done"
        + note("two")
        + b"\n"
        + broken
        + b"\n{oops}\n"
        + note("three")
        + b"\n"
    )
    _, seen, status = await logged(stream)
    assert seen.lines("info") == ["one", "two", "three"]
    assert status.state == "ready"
    stray = "stray output on stdout, which is for messages alone (log to stderr)"
    lines = seen.lines()
    assert lines[:3] == [f'{stray}: "{text}"' for text in ("loading...", "50 %", "done")]
    assert lines[3].startswith("stray output: it starts with { but is no JSON")
    assert '"{oops}"' in lines[-1]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"Content-Length: 5\r\n\r\n{oops", "a framed body of 5 bytes is no JSON"),
        (b"Content-Type: any\r\n\r\n{}", "a header block without Content-Length"),
        (b"Content-Length: 1e3\r\n\r\n{}", "Content-Length"),
        (b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", "more than one Content-Length"),
        (header(b'{"jsonrpc":"2.0","method":"m\xff"}'), "not UTF-8"),
        (header(b'{"jsonrpc":"2.0","method":"m\\ud800"}'), "is no JSON"),
        (header(b'{"jsonrpc":"2.0","method":"m","params":{"x":NaN}}'), "is no JSON"),
        (header(b'{"jsonrpc":"2.0","method":"m","params":{"x":Infinity}}'), "is no JSON"),
    ],
)
@says(
    "What cannot be repaired ends the connection, with an excerpt in the log, and counts as a crash"
    " (`protocol_error`): a framed body that is not JSON, a broken header block,",
    "JSON MUST be UTF-8, without lone surrogates, `NaN` or `Infinity`.",
)
async def test_what_cannot_be_repaired(data: bytes, why: str) -> None:
    wire = Wire(hears=["stop"], answers={"hook/stop": BY_HAND})
    async with (
        host_of(wire) as (host, seen),
        host.session() as session,
        session.turn("x") as turn,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(turn.stop)
        await wire.hears("hook/stop")
        await wire.pour(data)
        await wire.restarts()
    assert any(why in line and '"' in line for line in seen.problems), seen.problems


@says(
    "A plugin MUST write each message with one write, and flush it: two writers on one pipe garble"
    " each other's lines.",
)
async def test_two_writers() -> None:
    one, two = note("one"), note("two")
    _, seen, _ = await logged(one[:20] + two + b"\n" + one[20:] + b"\n")
    assert seen.lines("info") == ["two"], "and the first one is lost"
    assert len(seen.lines()) == 2


# -- limits of framing


@limit("a header block")
@says("and whatever exceeds one of the [limits](#limits) that end it.")
async def test_a_long_header() -> None:
    body = note("long")
    room = 4 * 1024 - len(b"Content-Length: %d\r\nX: \r\n\r\n" % len(body))
    for more, starts in ((0, 1), (1, 2)):
        wire = Wire()
        async with host_of(wire) as (_, seen):
            filler = b"x" * (room + more)
            await wire.pour(header(body, b"Content-Length: %d\r\nX: " + filler + b"\r\n\r\n"))
            if starts == 2:
                await wire.restarts()
            else:
                await wire.is_read()
            assert (seen.lines("info") == ["long"]) is (starts == 1)


@limit("stray output in a row")
async def test_much_stray_output() -> None:
    for size, starts in ((64 * 1024, 1), (64 * 1024 + 1, 2)):
        wire = Wire()
        async with host_of(wire) as (_, seen):
            await wire.pour(b"x" * size + b"\n")
            if starts == 2:
                await wire.restarts()
                assert "more than 65,536 bytes of stray output in a row" in seen.problems[0]
            else:
                await wire.is_read()


@limit("silence inside a message that was begun")
async def test_a_message_that_does_not_go_on(autojump_clock: MockClock) -> None:
    for pause_s, starts in ((9.5, 1), (10.5, 2)):
        wire = Wire()
        async with host_of(wire) as (_, seen):
            body = note("slow") + b"\n"
            await wire.pour(body[:20])
            await trio.sleep(pause_s)
            if starts == 1:
                await wire.pour(body[20:])
                await wire.is_read()
                assert seen.lines("info") == ["slow"]
            else:
                await wire.restarts()
