"""Long lists of tools and prompts, in pages."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pytest

from sliphook import CommandOffer, ToolOffer
from sliphook.adapters.relayed.messages import Offers
from sliphook.adapters.relayed.pages import MOST_BYTES, MOST_OFFERS, in_pages, page_at

from .test_wire import Fixed, Pipes, served


def tools(count: int, schema: dict[str, Any] | None = None) -> tuple[ToolOffer, ...]:
    return tuple(
        ToolOffer(
            name=f"t{at}",
            description="",
            input_schema=schema or {"type": "object"},
            timeout_s=60,
            plugin="p",
        )
        for at in range(count)
    )


class Many(Fixed):
    """As many as are set."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.tools = tools(count)
        commands = [f"c{at}" for at in range(count)]
        self.commands = tuple(CommandOffer(name=n, description="", plugin="p") for n in commands)

    async def offers(self) -> Offers:
        await super().offers()
        return Offers(self.tools, self.commands)


async def page(client: Pipes, cursor: str | None = None, what: str = "tools") -> dict[str, Any]:
    params = {} if cursor is None else {"cursor": cursor}
    await client.say(id=1, method=f"{what}/list", params=params)
    return await client.hear()


async def all_names(client: Pipes, what: str, first: dict[str, Any]) -> list[list[str]]:
    """The names of that page and of those behind it."""
    found = [[one["name"] for one in first["result"][what]]]
    while (cursor := first["result"].get("nextCursor")) is not None:
        first = await page(client, cursor, what)
        found.append([one["name"] for one in first["result"][what]])
    return found


@pytest.mark.parametrize("what", ["tools", "prompts"])
async def test_a_long_list_comes_in_pages(what: str) -> None:
    async with served(Many(450)) as client:
        await client.initialize()
        pages = await all_names(client, what, await page(client, what=what))
    assert [len(names) for names in pages] == [200, 200, 50]
    letter = "t" if what == "tools" else "c"
    assert [*chain(*pages)] == [f"{letter}{at}" for at in range(450)]


async def test_a_short_list_is_one_page() -> None:
    async with served(Many(200)) as client:
        await client.initialize()
        assert "nextCursor" not in (await page(client))["result"]


async def test_a_list_that_has_begun_goes_on_as_it_was() -> None:
    backend = Many(300)
    async with served(backend) as client:
        await client.initialize()
        first = await page(client)
        backend.tools = tools(3)
        assert [len(names) for names in await all_names(client, "tools", first)] == [200, 100]


async def test_two_lists_of_the_same_tools_are_one() -> None:
    async with served(Many(300)) as client:
        await client.initialize()
        first, second = await page(client), await page(client)
        assert first["result"] == second["result"]
        assert [len(names) for names in await all_names(client, "tools", first)] == [200, 100]


@pytest.mark.parametrize("cursor", ["", "1-0", "1-199", "2-200", "x", "\u0662-200"])
async def test_a_cursor_that_was_never_given_is_an_error(cursor: str) -> None:
    async with served(Many(300)) as client:
        await client.initialize()
        await page(client)
        assert (await page(client, cursor))["error"] == {
            "code": -32602,
            "message": "this list is over; list again from the beginning",
        }


async def test_a_cursor_of_an_older_list_is_an_error() -> None:
    backend = Many(300)
    async with served(backend) as client:
        await client.initialize()
        old = (await page(client))["result"]["nextCursor"]
        backend.tools = tools(300)
        new = (await page(client))["result"]["nextCursor"]
        assert (await page(client, old))["error"]["code"] == -32602
        assert len((await page(client, new))["result"]["tools"]) == 100


def test_a_page_has_so_many_offers_and_bytes() -> None:
    assert [len(page) for page in in_pages(tools(2 * MOST_OFFERS + 1))] == [200, 200, 1]
    heavy = tools(5, {"type": "object", "description": "x" * (MOST_BYTES // 3)})
    assert [len(page) for page in in_pages(heavy)] == [2, 2, 1]
    huge = tools(3, {"type": "object", "description": "x" * MOST_BYTES})
    assert [len(page) for page in in_pages(huge)] == [1, 1, 1]
    assert list(in_pages(())) == []
    assert page_at((), 0) == []
