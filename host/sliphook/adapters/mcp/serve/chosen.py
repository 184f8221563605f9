"""Where the tools of one client are: with the daemon of its agent's session, or in this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

import trio

from sliphook import PluginSpec
from sliphook.adapters.attached.rendezvous import agent_of
from sliphook.settings import AgentSettings, Settings

from .alone import Alone
from .backend import Backend
from .finding import find_daemon
from .joined import agent_of_client, session_in
from .relay import Relay
from .server import KnownClient


class Chooser:
    """Chooses once, at the client's first request.

    Args:
        specs: the plugins.
        agent: the attached agent, if the user has named it: then there is a daemon, or one is
            started. Otherwise a client that is an agent of ours is one if it has a daemon.
        environ: of this process.
        settings: the user's.
    """

    def __init__(
        self,
        specs: Sequence[PluginSpec],
        agent: str | None,
        environ: Mapping[str, str],
        settings: Settings,
    ) -> None:
        self._specs = specs
        self._agent = agent
        self._environ = environ
        self._settings = settings

    async def choose(
        self, nursery: trio.Nursery, client: KnownClient, changed: Callable[[], None]
    ) -> Backend:
        """See `Choose`."""
        agent = self._agent or agent_of_client(client.name)
        if agent is not None:
            session_id = client.session_id or session_in(self._environ, agent)
            parent = agent_of(os.getppid())
            if self._agent is not None or find_daemon(agent, session_id, parent) is not None:
                wanted = self._settings.agents.get(agent, AgentSettings()).plugins
                specs = [one for one in self._specs if wanted is None or one.name in wanted]
                relay = Relay(agent, session_id, parent, specs, changed)
                nursery.start_soon(relay.run)
                return relay
        alone = Alone(nursery, client.name)
        await alone.begin(
            self._specs,
            asks=client.asks,
            changed=changed,
            timeout_cap_s=self._settings.timeout_cap_s,
        )
        return alone
