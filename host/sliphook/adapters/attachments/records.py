"""Which configurations of agents have our lines: one small file for each, in the data folder."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from sliphook.adapters.dialects.known import DIALECTS
from sliphook.files import paths
from sliphook.files.atomic import write_atomically
from sliphook.files.private import make_private_folder
from sliphook.files.regular import open_regular

MOST: Final = 1_000
_MOST_BYTES: Final = 16 * 1024


class Attached(msgspec.Struct, frozen=True):
    """An agent that plugins were attached to.

    Attributes:
        agent: the dialect's name.
        file: the agent's configuration.
        server: the agent's configuration with our MCP server; None if that was not attached.
    """

    agent: str
    file: str
    server: str | None = None


_decoder: Final = msgspec.json.Decoder(Attached)


def remember(agent: str, file: Path, server: Path | None = None) -> None:
    """Our lines are in this file, and our server in that; one that was there before stays.

    Raises:
        OSError: the data folder cannot be written.
    """
    one = Attached(agent, str(file.absolute()), str(server.absolute()) if server else None)
    make_private_folder(_folder())
    if one.server is None:
        one = _read(_place(one)) or one
    write_atomically(_place(one), msgspec.json.encode(one).decode())


def forget(agent: str, file: Path) -> None:
    """They are not any more."""
    with suppress(OSError):
        _place(Attached(agent, str(file.absolute()))).unlink()


def remembered() -> list[Attached]:
    """All, in the order of the agents; what cannot be read is left out."""
    found: list[Attached] = []
    try:
        files = sorted(_folder().iterdir())[:MOST]
    except OSError:
        return []
    for file in files:
        one = _read(file)
        if one is not None and one.agent in DIALECTS:
            found.append(one)
    return sorted(found, key=lambda one: ([*DIALECTS].index(one.agent), one.file))


def _read(file: Path) -> Attached | None:
    with suppress(OSError, msgspec.MsgspecError, UnicodeError):
        with open(file, "rb", opener=open_regular) as opened:
            data = opened.read(_MOST_BYTES + 1)
        if len(data) <= _MOST_BYTES:
            return _decoder.decode(data)
    return None


def _folder() -> Path:
    return paths.data_home() / "attached" / "files"


def _place(one: Attached) -> Path:
    name = hashlib.sha256(f"{one.agent} {one.file}".encode("utf-8", "surrogateescape"))
    return _folder() / f"{name.hexdigest()[:16]}.json"
