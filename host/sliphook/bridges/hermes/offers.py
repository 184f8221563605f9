"""The plugins' tools and slash commands, as Hermes's own."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any, Final

from sliphook import HostError, PluginSpec, ToolOffer
from sliphook.blocking import Interrupted, PluginHost

from .run import CURRENT
from .sessions import Sessions
from .tool_calls import ToolCalls

TOOLSET: Final = "sliphook"
_log = logging.getLogger(__name__)


def offer_tools(ctx: Any, offers: Iterable[ToolOffer], calls: ToolCalls) -> set[str]:
    """Register each tool; returns the names that Hermes has taken.

    Hermes fixes an agent's tools when it makes the agent, so these are the tools of the manifests
    that the user approved.
    """
    taken: set[str] = set()
    for offer in offers:
        schema = {
            "name": offer.name,
            "description": offer.description,
            "parameters": offer.input_schema,
        }
        try:
            ctx.register_tool(offer.name, TOOLSET, schema, _handler(offer.name, calls))
        except Exception:
            _log.exception("Hermes does not take the tool %s", offer.name)
        else:
            taken.add(offer.name)
    return taken


def offer_commands(
    ctx: Any,
    specs: Iterable[PluginSpec],
    host: Callable[[], PluginHost],
    sessions: Sessions,
) -> None:
    """Register each slash command of the approved manifests."""
    for spec in specs:
        for command in (spec.recorded.commands or []) if spec.recorded is not None else []:
            ctx.register_command(
                command.name, _run_command(command.name, host, sessions), command.description
            )


def _handler(name: str, calls: ToolCalls) -> Callable[..., Any]:
    # reached only if another plugin of Hermes passes the middleware by: asked all the same
    def run(args: Any, **kwargs: Any) -> Any:
        return calls.execution(
            tool_name=name, args=args, tool_call_id=kwargs.get("tool_call_id") or ""
        )

    return run


def _run_command(
    name: str, host: Callable[[], PluginHost], sessions: Sessions
) -> Callable[[str], str]:
    def run(arguments: str = "") -> str:
        try:
            current = CURRENT.get()
            # Hermes does not tell whose command it is
            session = current.session if current is not None else sessions.only()
            if session is not None:
                return session.run_command(name, arguments or "")
            with host().session(session_key="command", meta={"agent": "hermes"}) as beside:
                return beside.run_command(name, arguments or "")
        except HostError as error:
            return str(error)
        except Interrupted:
            return f"/{name} was interrupted"

    return run
