"""The plugins' tools and slash commands, as Hermes's own."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any, Final

from sliphook import HostError, PluginSpec, ToolOffer
from sliphook.agent_log import agent_log
from sliphook.blocking import Interrupted, PluginHost
from sliphook.quoting import quote

from .run import CURRENT
from .sessions import Sessions
from .tool_calls import ToolCalls

TOOLSET: Final = "sliphook"
_log = agent_log(__name__)


def offer_tools(ctx: Any, offers: Iterable[ToolOffer], calls: ToolCalls) -> set[str]:
    """Register each tool; returns the names that Hermes has taken.

    Hermes fixes an agent's tools when it makes the agent, so these are the tools of the manifests
    that the user approved. None takes the place of a tool of Hermes's.
    """
    taken: set[str] = set()
    own = _own_tools()
    for offer in offers:
        schema = {
            "name": offer.name,
            "description": offer.description,
            "parameters": offer.input_schema,
        }
        handler = _handler(offer.name, calls)
        try:
            if offer.name not in own:
                ctx.register_tool(offer.name, TOOLSET, schema, handler)
                # a name that is taken is dropped without a word
                if _handler_of(offer.name) is handler:
                    taken.add(offer.name)
        except Exception:
            _log.exception("Hermes refuses a tool")
        if offer.name not in taken:
            _log.warning(
                "plugin %s: Hermes does not take its tool %s", quote(offer.plugin), offer.name
            )
    return taken


def _own_tools() -> set[str]:
    """The names of Hermes's tools, also of those that are not registered yet."""
    sets: dict[str, Any] = importlib.import_module("toolsets").TOOLSETS
    return {name for one in sets.values() for name in one.get("tools", ())}


def _handler_of(name: str) -> object:
    entry: Any = importlib.import_module("tools.registry").registry.get_entry(name)
    return entry.handler if entry is not None else None


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
