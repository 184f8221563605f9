"""Checks of texts: what the plugin gives back of a text is what the host sent, in valid messages.

Nothing in the protocol makes a plugin give a text back, but most do somewhere: in the message for
an unknown method or tool, in the result of a tool, in the reason of a guard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, cast

import msgspec

from sliphook.plugin.tools import PluginTool
from sliphook.quoting import quote
from sliphook.wire import envelope
from sliphook.wire.decoding import DECODE_ERRORS
from sliphook_sdk.protocol import CommandRunParams, ToolCallParams
from sliphook_sdk.protocol.limits import COMMAND_TIMEOUT_S

from .call_rules import ToolRule
from .finding import CheckFailed, Skip
from .hook_rules import HookRule
from .samples import arguments_for, message, sample, with_text
from .session import Bench

_INSIDE: Final = "\u00fc\u20ac\U0001f600"
MARK: Final = f"k7{_INSIDE}7k"
"""A text with characters of 2, 3 and 4 bytes, between others that no reading changes."""

_MANGLED: Final = {
    "UTF-8 was read as Latin-1": _INSIDE.encode().decode("latin-1"),
    "UTF-8 was read as Windows-1252": _INSIDE.encode().decode("cp1252", "replace"),
    "each character outside ASCII became a question mark": "???",
    "each byte outside ASCII became a question mark": "?" * 9,
    "each character outside ASCII became U+FFFD": "\ufffd" * 3,
    "each byte outside ASCII became U+FFFD": "\ufffd" * 9,
    "characters of 4 bytes were cut to 16 bits": "\u00fc\u20ac\uf600",
    "characters of 4 bytes became a question mark": "\u00fc\u20ac?",
    "characters of 4 bytes became two question marks": "\u00fc\u20ac??",
    "characters of 4 bytes became U+FFFD": "\u00fc\u20ac\ufffd",
    "characters of 4 bytes became U+FFFD twice": "\u00fc\u20ac\ufffd\ufffd",
}
_MOST: Final = 8
"""So many tools, commands and hooks of each kind are asked."""
_WAIT_S: Final = 1.0
Request = Callable[[int], bytes]
"""A request by its id."""

_AWKWARD: Final = 'k7"\\/\b\t\r\n\x01{7k'
"""What JSON writes as escapes, and what it need not."""


async def utf8(bench: Bench, hooks: list[HookRule]) -> str:
    """What comes back of a text has the characters that were sent."""
    child = await bench.ready()
    intact: str | None = None
    for what, request in _requests(bench, hooks, MARK):
        id = child.next_id()
        await child.write(request(id))
        try:
            reply = await child.reply(id, _WAIT_S, sent=what)
        except CheckFailed:
            # it is slow or has ended, which other checks see
            await bench.drop()
            child = await bench.ready()
            continue
        text = _text(reply)
        for how, inside in _MANGLED.items():
            at = text.find(f"k7{inside}7k")
            if at >= 0:
                came = f"{how}: {quote(text[at:], 80)}"
                raise CheckFailed(f"{what} with the text {MARK}", came, _ADVICE)
        if MARK in text:
            intact = intact or what
    if intact is None:
        raise Skip(_NONE_GIVEN_BACK)
    return f"the text came back intact in the answer to {intact}"


async def escapes(bench: Bench, hooks: list[HookRule]) -> str:
    """Messages that give back quotes, backslashes and control characters are valid."""
    child = await bench.ready()
    before = bench.count_breaches()
    came_back = False
    for what, request in _requests(bench, hooks, _AWKWARD):
        id = child.next_id()
        await child.write(request(id))
        reply: envelope.Reply | None = None
        with suppress(CheckFailed):  # it is slow or has ended, or the next line knows why
            reply = await child.reply(id, _WAIT_S, sent=what)
        came = bench.blame(before, "stdout", "invalid")
        if came is not None:
            sent = f"{what} with the text {quote(msgspec.json.encode(_AWKWARD))}"
            raise CheckFailed(sent, came, _ESCAPES_ADVICE)
        if reply is None:
            await bench.drop()
            child = await bench.ready()
        else:
            came_back = came_back or "k7" in _text(reply)
    if not came_back:
        raise Skip(_NONE_GIVEN_BACK)
    return "what gives it back is valid JSON"


_NONE_GIVEN_BACK: Final = (
    "no answer gives back a text; to have it checked, let the error for an unknown method name the"
    " method"
)
_ESCAPES_ADVICE: Final = (
    'write a quote, a backslash and each character below U+0020 as an escape, such as \\" and \\n;'
    " a JSON library does"
)
_ADVICE: Final = (
    "decode what you read as UTF-8 and write UTF-8, whatever the locale is, or JSON in ASCII with"
    " escapes in pairs"
)


def _requests(bench: Bench, hooks: list[HookRule], text: str) -> Iterator[tuple[str, Request]]:
    """What is sent, in words, and the request, with the text where it may come back."""
    yield "an unknown request", partial(message, f"of_tomorrow/{text}", {})
    manifest = bench.declared
    if manifest.wire.disabled is not None:
        return
    for hook in hooks[:_MOST]:
        yield f"hook/{hook.route.entry.name}", hook.message_with(text)
    for tool in manifest.tools[:_MOST]:
        yield f"tool/call {tool.name}", _call(tool, text)
    if manifest.tools:
        unknown = sample(ToolCallParams, name=text)
        yield "a call of an unknown tool", partial(message, "tool/call", unknown)
    for command in manifest.commands[:_MOST]:
        params = sample(
            CommandRunParams, name=command.name, timeout_s=COMMAND_TIMEOUT_S, arguments=text
        )
        yield f"command/run {command.name}", partial(message, "command/run", params)


def _call(tool: PluginTool, text: str) -> Request:
    rule = ToolRule(tool)
    return partial(rule.message, arguments=with_text(arguments_for(tool.input_schema), text))


def _text(reply: envelope.Reply) -> str:
    """All texts of a reply, its escapes read."""
    if reply.error is not None:
        return reply.error.message
    try:
        return "\n".join(_texts(msgspec.json.decode(reply.result or b"null")))
    except DECODE_ERRORS:  # other checks say what is wrong with it
        return ""


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in cast("dict[str, Any]", value).values():
            yield from _texts(part)
    elif isinstance(value, list):
        for part in cast("Sequence[Any]", value):
            yield from _texts(part)
