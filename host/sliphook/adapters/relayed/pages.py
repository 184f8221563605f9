"""Pure: long lists of offers in pages, each of which is made and read in one step of the loop."""

from __future__ import annotations

from collections.abc import Iterator
from operator import is_
from typing import Final, TypeVar

import msgspec

T = TypeVar("T")

MOST_OFFERS: Final = 200
"""In one page. The SDK `mcp` takes 20 us for a small tool."""
MOST_BYTES: Final = 128 * 1024
"""Of one page as JSON, unless a single offer has more. The SDK takes 7 ms for 40,000 values."""


def page_end(offers: tuple[object, ...], begin: int) -> int:
    """Where the page that begins there ends: behind one offer at least, if there is one."""
    end = min(len(offers), begin + MOST_OFFERS)
    size = 0
    for at in range(begin, end):
        size += len(msgspec.json.encode(offers[at]))
        if size > MOST_BYTES:
            return max(at, begin + 1)
    return end


def in_pages(offers: tuple[T, ...]) -> Iterator[tuple[T, ...]]:
    """All of them; each page is found when it is asked for."""
    begin = 0
    while begin < len(offers):
        end = page_end(offers, begin)
        yield offers[begin:end]
        begin = end


def are_same(some: tuple[object, ...], others: tuple[object, ...]) -> bool:
    """Whether they are the same objects: what is equal may be long to compare."""
    return len(some) == len(others) and all(map(is_, some, others))
