"""What the server serves, wherever it comes from."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from sliphook.adapters.relayed.messages import Called, Offers
from sliphook.adapters.relayed.waiting_calls import Person, Report


def untold(fraction: float | None, message: str | None) -> None:
    """A report that no one wants."""


class AskedFor(msgspec.Struct, frozen=True, kw_only=True):
    """One tool call or command of the client.

    Attributes:
        name: the tool or the command.
        arguments: of a tool.
        text: of a command: what stands behind its name.
        session_id: the agent's session; None if the client does not say.
        model_call_id: the model's id of the call; None if the client does not say.
    """

    name: str
    arguments: dict[str, Any] = {}
    text: str = ""
    session_id: str | None = None
    model_call_id: str | None = None


class Backend(Protocol):
    """Where tools and commands are."""

    async def offers(self) -> Offers:
        """The tools and commands now.

        Raises:
            HostError: they cannot be had; str() is one line.
        """
        ...

    async def call(self, request: AskedFor, person: Person | None, report: Report) -> Called:
        """Make one tool call; a cancel reaches the plugin.

        Raises:
            HostError: the call could not be made.
        """
        ...

    async def run_command(self, request: AskedFor) -> str:
        """Run a slash command.

        Raises:
            HostError: there is no such command, or it failed.
        """
        ...

    async def end(self) -> None:
        """End what it has begun."""
        ...
