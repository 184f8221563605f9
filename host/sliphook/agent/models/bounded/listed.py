"""Pure: the names in the list of models that a server offers."""

from __future__ import annotations

from typing import Final

import msgspec

from .limits import MAX_NAME_CHARS
from .written import decode


class _ListedModel(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_ListedModel] = []


_MODELS: Final = msgspec.json.Decoder(_Models)


def names_in(body: bytes) -> list[str]:
    """The names; empty if it is no list of models.

    What no terminal can show, or is no name for its length, is left out.

    Raises:
        TooMuch: it has too many objects. The server's fault.
    """
    try:
        listed, _ = decode(_MODELS, body.decode())
    except UnicodeDecodeError:  # to replace what is none in megabytes would take 30 ms
        return []
    names = [model.id for model in listed.data] if listed is not None else []
    return [name for name in names if len(name) <= MAX_NAME_CHARS and name.isprintable()]
