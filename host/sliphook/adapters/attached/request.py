"""Pure: what client and daemon say to each other, one request and one reply on a connection."""

from __future__ import annotations

from typing import Final

import msgspec

from sliphook.adapters.dialects.answer import HookReply

VERSION: Final = 1
"""Of this language. A daemon that is asked in another one ends without a word."""
ANSWER_S: Final = 60.0
"""How long a client waits at most."""
PLUGINS_S: Final = 50.0
"""How long an answer of a plugin may take, so that the client hears of it."""
MAX_HEAD_BYTES: Final = 512
MAX_STDIN_BYTES: Final = 8 * 1024 * 1024
LONG_STRING_BYTES: Final = 64 * 1024
"""If there are more than `MAX_STDIN_BYTES`, a client empties each string that is longer."""
MAX_REPLY_BYTES: Final = 32 * 1024 * 1024


class HookRequest(msgspec.Struct, frozen=True):
    """The first line of a request.

    Attributes:
        version: of the language; the other fields are empty if it is not ours.
        agent: the dialect's name.
        event: the agent's name of the event.
        parent: the process that started the client.
        closed: the event has to be denied if plugins cannot be asked.
        size: bytes of the body.
        shortened: the client has emptied its long strings.
    """

    version: int
    agent: str = ""
    event: str = ""
    parent: int = 0
    closed: bool = False
    size: int = 0
    shortened: bool = False


def read_head(line: bytes) -> HookRequest | None:
    """The request that begins with this line; None if it is none."""
    words = line.decode("ascii", "replace").split(" ")
    if len(words) < 2 or words[0] != "sliphook" or not _is_number(words[1]):
        return None
    if int(words[1]) != VERSION:
        return HookRequest(int(words[1]))
    shortened = words[7:] == ["shortened"]
    if len(words) != 7 + shortened or not _is_number(words[4]) or not _is_number(words[6]):
        return None
    if words[5] not in ("closed", "open") or int(words[6]) > MAX_STDIN_BYTES:
        return None
    return HookRequest(
        VERSION, words[2], words[3], int(words[4]), words[5] == "closed", int(words[6]), shortened
    )


def reply_bytes(reply: HookReply) -> bytes:
    """The reply as it is sent."""
    err = reply.stderr.encode("utf-8", "replace")
    head = f"sliphook {VERSION} {reply.exit_code} {len(reply.stdout)} {len(err)}\n"
    return head.encode() + reply.stdout + err


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) <= 10
