"""The clients that an agent keeps: one for each endpoint, few, and none closed that is in use."""

from __future__ import annotations

from contextlib import AsyncExitStack, aclosing

import pytest
import trio

from sliphook.agent.models.address import Endpoint, SetBy
from sliphook.agent.models.base import ModelError
from sliphook.agent.models.pool import Client, ClientPool


def endpoint(number: int, key: str | None = None) -> Endpoint:
    return Endpoint(
        api="openai",
        base_url=f"http://127.0.0.1:{number}/v1",
        api_key=key,
        set_by=SetBy(key="SOME_KEY"),
    )


async def client_of(pool: ClientPool, of: Endpoint) -> Client:
    with trio.fail_after(120):
        async with pool.client(of) as client:
            return client


async def test_a_client_is_kept_for_its_address_and_its_key() -> None:
    async with aclosing(ClientPool()) as pool:
        first = await client_of(pool, endpoint(1))
        assert await client_of(pool, endpoint(1)) is first
        assert await client_of(pool, endpoint(1, "a-key")) is not first
        assert await client_of(pool, endpoint(2)) is not first
        assert not first.is_closed
    assert first.is_closed


async def test_eight_are_kept_and_the_longest_unused_is_closed_first() -> None:
    async with aclosing(ClientPool()) as pool:
        clients = [await client_of(pool, endpoint(number)) for number in range(1, 9)]
        assert await client_of(pool, endpoint(1)) is clients[0]
        await client_of(pool, endpoint(9))
        assert [number for number, one in enumerate(clients, 1) if one.is_closed] == [2]


async def test_a_client_in_use_is_not_closed() -> None:
    async with aclosing(ClientPool()) as pool:
        async with AsyncExitStack() as stack:
            used = [
                await stack.enter_async_context(pool.client(endpoint(number)))
                for number in range(1, 11)
            ]
            again = await stack.enter_async_context(pool.client(endpoint(1)))
            assert again is used[0]
            assert not any(one.is_closed for one in used)
        # the first two ends of use closed one each, which was not among those still in use
        assert sum(one.is_closed for one in used) == 2


async def test_a_key_that_no_header_takes_leaves_nothing_in_the_pool() -> None:
    async with aclosing(ClientPool()) as pool:
        with pytest.raises(ModelError, match="set SOME_KEY anew") as caught:
            await client_of(pool, endpoint(1, "se cret"))
        assert "se cret" not in str(caught.value)
        assert not (await client_of(pool, endpoint(1))).is_closed
