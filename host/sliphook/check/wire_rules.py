"""Checks of the start, of framing and of the envelope, for every plugin."""

from __future__ import annotations

import sys

import msgspec

from sliphook.quoting import quote
from sliphook.wire import envelope
from sliphook_sdk.protocol import ErrorCode
from sliphook_sdk.protocol.limits import INITIALIZE_TIMEOUT_S, MAX_HOST_DEPTH, MAX_HOST_DIGITS

from .child import Child
from .finding import CheckFailed, Skip
from .samples import MISLEADING, message
from .session import Bench

_MANY = 200
_PADDING = "of_tomorrow" * 60
"""With it the messages of `at_once` are more than one read takes, so some are cut by its end."""
_LARGE_TEXT = "x\u00e9\u20ac\U0001f600" * 26_000
"""256 KiB of characters of 1 to 4 bytes: whatever the size of a read, some are cut by its end."""
_LONG_CHARACTERS = "\u00fc\u20ac\U0001f600"
_NUMBERS = (2**64, -(2**64), 10**MAX_HOST_DIGITS - 1, 5e-324, sys.float_info.max)
_LEVELS = MAX_HOST_DEPTH - 4
"""In the message, its params and two objects."""
_LARGEST_ID = 2**53 - 1
_OF_TOMORROW = 1_000
_SPAN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


async def handshake(bench: Bench) -> str:
    """The plugin starts as at an installation, without being told its name."""
    async with bench.started() as child:
        bench.manifest = manifest = await bench.initialize(child, None)
    has = [
        f"{len(manifest.wire.subscriptions or ())} subscriptions",
        f"{len(manifest.tools)} tools",
        f"{len(manifest.commands)} commands",
    ]
    return f"{manifest.name}: {', '.join(has)}"


async def versions(bench: Bench) -> str:
    """The plugin refuses a host that speaks only a version that it does not know."""
    async with bench.started() as child:
        params = bench.initialize_params(None, protocol_versions=[_OF_TOMORROW])
        reply = await child.ask("initialize", params, INITIALIZE_TIMEOUT_S)
    code = int(ErrorCode.INVALID_PARAMS)
    if reply.error is None or reply.error.code != code:
        raise CheckFailed(
            f"initialize with protocol_versions [{_OF_TOMORROW}], which nobody speaks",
            _shown(reply),
            f"look for a version of yours in protocol_versions; if there is none, answer {code}"
            " with a message that names the versions you speak",
        )
    return f"refused: {quote(reply.error.message)}"


async def open_sessions(bench: Bench) -> str:
    """The plugin starts while a session is open, as after a death."""
    session = {"session_id": "s-1", "session_key": None, "platform": None}
    async with bench.started() as child:
        try:
            await bench.initialize(child, bench.declared.name, sessions=[session])
        except CheckFailed as fault:
            sent = "initialize with a session that is open"
            advice = "take `sessions`: it is not empty if you are started again while one is open"
            raise CheckFailed(sent, fault.came, advice) from None
    return "the manifest came"


async def byte_by_byte(bench: Bench) -> str:
    """The plugin reads messages that come byte by byte, and ignores unknown fields."""
    async with bench.started() as child:
        id = child.next_id()
        data = message(
            "initialize",
            bench.initialize_params(bench.declared.name, of_tomorrow={"a": [1]}),
            id,
        )
        if bench.answers_ping:
            data += message("ping", {}, child.next_id())
        for start in range(len(data)):
            await child.write(data[start : start + 1])
        bench.accept(
            child,
            await child.reply(
                id,
                INITIALIZE_TIMEOUT_S,
                sent=f"initialize and ping in {len(data)} writes of one byte",
            ),
        )
        if bench.answers_ping:
            await child.reply(id + 1, sent="ping, one byte at a time")
    return f"{len(data)} bytes"


async def at_once(bench: Bench) -> str:
    """The plugin answers each of many requests in one write."""
    child = await bench.pinged()
    ids = [child.next_id() for _ in range(_MANY)]
    await child.write(b"".join(message("ping", {"of_tomorrow": _PADDING}, id) for id in ids))
    for id in ids:
        await child.reply(
            id,
            sent=f"{_MANY} pings in one write",
            advice="read on at the end of each message: one read may bring many, and a part of one",
        )
    return f"{_MANY} requests"


async def length_in_bytes(bench: Bench) -> str:
    """The plugin cuts a message by its length in bytes; the text is short, and means nothing."""
    child = await bench.pinged()
    id = child.next_id()
    await child.write(message("ping", {"of_tomorrow": _LONG_CHARACTERS}, id))
    try:
        await child.reply(
            id,
            sent=f'a ping with the text "{_LONG_CHARACTERS}"',
            advice="Content-Length counts bytes, not characters: cut the message out of the bytes,"
            " and decode it then",
        )
    except CheckFailed:
        bench.counts_bytes = await child.ended(0) is not None
        raise
    return "read"


async def numbers_and_nesting(bench: Bench) -> str:
    """The plugin lives on with numbers and nesting as they may come where others write."""
    child = await bench.pinged()
    id = child.next_id()
    params = {"numbers": _NUMBERS, "nested": msgspec.Raw(b"[" * _LEVELS + b"]" * _LEVELS)}
    await child.write(message("ping", {"of_tomorrow": params}, id))
    await child.reply(
        id,
        sent=f"a ping with integers of 20 to {MAX_HOST_DIGITS} digits, floats up to 1.8e308, and"
        f" {MAX_HOST_DEPTH} levels",
        advice="take a number beyond your integers as a double, and read so many levels",
    )
    return f"{MAX_HOST_DIGITS} digits, {MAX_HOST_DEPTH} levels"


async def large(bench: Bench) -> str:
    """The plugin reads a message that is longer than a pipe's buffer, with long characters."""
    child = await _reads_bytes(bench)
    advice = (
        "one message may come in many pieces, and a piece may end inside of a character;"
        " read until the message is whole, then decode it"
    )
    id = child.next_id()
    data = message("ping", {"of_tomorrow": _LARGE_TEXT}, id)
    await child.write(data)
    await child.reply(id, sent=f"a ping of {len(data):,} bytes", advice=advice)
    return f"{len(data):,} bytes"


async def misleading_text(bench: Bench) -> str:
    """The plugin reads one message, in spite of Unicode, escapes, and text like a message."""
    child = await _reads_bytes(bench)
    id = child.next_id()
    await child.write(message("ping", {"of_tomorrow": [MISLEADING, MISLEADING]}, id))
    advice = (
        "count bytes, not characters; split lines at LF alone;"
        " look for the method in its place, not anywhere in the line"
    )
    await child.reply(
        id, sent=f"a ping with a field that holds {quote(MISLEADING, 60)}", advice=advice
    )
    await child.ask("ping", {})
    return "one reply, and it lives on"


async def largest_id(bench: Bench) -> str:
    """The plugin keeps an id of 2^53 - 1, the host's largest."""
    child = await bench.pinged()
    id = child.expect(_LARGEST_ID)
    await child.write(message("ping", {}, id))
    await child.reply(
        id,
        sent="ping",
        advice="give the id back digit by digit: an integer of 64 bits or a double holds it,"
        " 32 bits do not",
    )
    return str(id)


async def traceparent(bench: Bench) -> str:
    """The plugin takes the span of an agent that makes some, or ignores it."""
    child = await bench.pinged()
    id = child.next_id()
    await child.write(message("ping", {}, id, traceparent=_SPAN))
    await child.reply(
        id,
        sent="a ping with traceparent in its envelope",
        advice="use `traceparent` or ignore it: each message has one if the agent makes spans",
    )
    return "read"


async def ping(bench: Bench) -> str:
    """The plugin replies to `ping`, with any result or error."""
    child = await bench.ready()
    try:
        reply = await child.ask("ping", {})
    except CheckFailed:
        bench.answers_ping = False
        raise
    return "answered" if reply.error is None else f"answered with the error {reply.error.code}"


async def unknown_request(bench: Bench) -> str:
    """The plugin answers an unknown method with the right error."""
    child = await bench.ready()
    reply = await child.ask("of_tomorrow/do", {"a": 1})
    if reply.error is None or reply.error.code != int(ErrorCode.METHOD_NOT_FOUND):
        raise CheckFailed(
            "the request of_tomorrow/do",
            _shown(reply),
            f"answer what you do not know with {ErrorCode.METHOD_NOT_FOUND.value}",
        )
    return f"{ErrorCode.METHOD_NOT_FOUND.value}"


async def unknown_notification(bench: Bench) -> str:
    """The plugin ignores unknown notifications."""
    return await _ignored(
        bench,
        message("event/of_tomorrow", {"seq": 1}) + message("of_tomorrow/happened", {}),
        "event/of_tomorrow, of_tomorrow/happened",
        "a message without an id gets no reply, not even an error; ignore those that you do not"
        " know",
    )


async def unknown_cancel(bench: Bench) -> str:
    """The plugin ignores cancels of requests that are over, and of those that never came."""
    return await _ignored(
        bench,
        message("$/cancelRequest", {"id": 1}) + message("$/cancelRequest", {"id": _LARGEST_ID - 1}),
        "$/cancelRequest for a request that is over, and for one that never came",
        "ignore a cancel whose id is unknown or already answered: it may have crossed the reply",
    )


async def _ignored(bench: Bench, told: bytes, sent: str, advice: str) -> str:
    """Send notifications; the plugin says nothing to them, and lives on."""
    child = await bench.pinged()
    await child.ask("ping", {})
    before = bench.count_breaches()
    id = child.next_id()
    await child.write(told + message("ping", {}, id))
    await child.reply(id, sent=f"{sent}, and a ping behind", advice=advice)
    came = bench.blame(before)
    if came is not None:
        raise CheckFailed(sent, came, advice)
    return "ignored"


async def _reads_bytes(bench: Bench) -> Child:
    """A process from `pinged`, for a check whose message has long characters."""
    if not bench.counts_bytes:
        raise Skip("it counts characters, as said above")
    return await bench.pinged()


def _shown(reply: envelope.Reply) -> str:
    if reply.error is not None:
        return f"the error {reply.error.code}: {quote(reply.error.message)}"
    return f"the result {quote(bytes(reply.result or b'null'))}"
