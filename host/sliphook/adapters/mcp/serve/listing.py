"""Pure: a list for the client in pages, as MCP has them."""

from __future__ import annotations

from typing import Generic, TypeVar

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from sliphook.adapters.relayed.pages import are_same, page_at

T = TypeVar("T")


class Listing(Generic[T]):
    """The tools, or the commands. A list that has begun goes on as it was until another begins."""

    def __init__(self) -> None:
        self._offers: tuple[T, ...] = ()
        self._number = 0
        self._begins: dict[str, int] = {}  # of the pages, by the cursors that were given

    def begin(self, offers: tuple[T, ...]) -> None:
        """From now on there are these; the cursors stay as long as they are the same."""
        if not are_same(offers, self._offers):
            self._offers = offers
            self._number += 1
            self._begins = {}

    def page(self, cursor: str | None) -> tuple[tuple[T, ...], str | None]:
        """One page, and the cursor of the next one; None behind the last.

        Raises:
            MCPError: the cursor is none of this list. The client's fault.
        """
        begin = 0 if cursor is None else self._begins.get(cursor)
        if begin is None:
            raise MCPError(INVALID_PARAMS, "this list is over; list again from the beginning")
        end = begin + len(page_at(self._offers, begin))
        page = self._offers[begin:end]
        if end == len(self._offers):
            return page, None
        following = f"{self._number}-{end}"
        self._begins[following] = end
        return page, following
