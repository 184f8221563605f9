"""The plugins for one client, which are started at its first request."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import trio

from sliphook import PluginSpec

from .alone import Alone
from .backend import Backend
from .server import Choose, KnownClient


def alone(specs: Sequence[PluginSpec], timeout_cap_s: float | None = None) -> Choose:
    """A host of this process for the client.

    Args:
        specs: the plugins.
        timeout_cap_s: of the user's settings.
    """

    async def choose(
        nursery: trio.Nursery, client: KnownClient, changed: Callable[[], None]
    ) -> Backend:
        backend = Alone(nursery, client.name)
        await backend.begin(specs, asks=client.asks, changed=changed, timeout_cap_s=timeout_cap_s)
        return backend

    return choose
