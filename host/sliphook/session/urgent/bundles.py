"""Pure: the events that an interrupt tells, gathered for all plugins that are sent the same."""

from __future__ import annotations

from typing import Final

from sliphook.dispatch.broadcast import Listeners
from sliphook.transport.outbox import Item
from sliphook_sdk.protocol import Entry

_PIECE_BYTES: Final = 16 * 1024
"""So much of small messages is joined: less than each of fifty plugins is written at once."""


class Bundles:
    """Events of one name that wait to be told: one piece for all plugins that are sent the same.

    A hundred tool calls beside fifty plugins are 5,000 messages, of a hundred texts.

    Args:
        joined: small ones go as one item; not if each is to be recorded.
    """

    def __init__(self, *, joined: bool) -> None:
        self._is_joined = joined
        self._name = ""
        self._by_group: dict[int, tuple[Listeners, list[Item]]] = {}

    def add(self, entry: Entry, group: Listeners, item: Item) -> None:
        """Tell an item to these plugins, behind all that was told before."""
        if entry.name != self._name:
            # other groups of the same plugins
            self.send()
            self._name = entry.name
        # by identity: the host keeps its groups until the state of a plugin changes
        self._by_group.setdefault(id(group), (group, []))[1].append(item)

    def send(self) -> None:
        """Hand what waits to the connections, which the caller flushes."""
        waiting, self._by_group = self._by_group, {}
        for group, items in waiting.values():
            pieces = _joined(items) if self._is_joined else items
            for connection in group.connections:
                for piece in pieces:
                    connection.tell_urgently(piece)


def _joined(items: list[Item]) -> list[Item]:
    """The same bytes in fewer items; large ones stay as they are."""
    pieces: list[Item] = []
    frames: list[bytes] = []
    size = 0
    for item in items:
        if frames and (item.more or size + item.size > _PIECE_BYTES):
            pieces.append(_piece(frames, items[0]))
            frames, size = [], 0
        if item.more:
            pieces.append(item)
        else:
            frames.append(item.frame)
            size += item.size
    return [*pieces, _piece(frames, items[0])] if frames else pieces


def _piece(frames: list[bytes], like: Item) -> Item:
    return Item(b"".join(frames), like.method, session_id=like.session_id)
