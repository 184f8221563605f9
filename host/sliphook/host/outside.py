"""What is put to plugins outside any session, by tools that try them."""

from __future__ import annotations

from collections.abc import Sequence

from sliphook.dispatch.broadcast import listeners_among, tell
from sliphook.dispatch.fire import Fire
from sliphook.dispatch.outcome import Outcome, Part
from sliphook.errors import HostError
from sliphook.plugin.tools import ToolOffer
from sliphook.quoting import quote
from sliphook.session.plugin_calls import ToolAnswer
from sliphook_sdk.protocol import CATALOGUE, Payload, ToolCallParams

from .admission import with_timeout
from .state import HostState


async def fire_outside(
    state: HostState, name: str, payload: Payload, timeout_s: float | None
) -> Outcome:
    """See `PluginHost.fire`."""
    entry = CATALOGUE[name]
    subscribers = [
        with_timeout(one, timeout_s) if timeout_s is not None else one
        for one in state.subscribers(name)
    ]
    if entry.kind == "event":
        told = tell(entry, payload, listeners_among(subscribers, state.plugins_by_name))
        return Outcome(
            payload=payload, parts=tuple(Part(plugin=plugin, status="told") for plugin in told)
        )
    record = state.recorder.hook(name, payload) if state.recorder is not None else None
    fire = Fire(entry, payload, subscribers, state.plugins_by_name, state.deadlines, record=record)
    with state.outside.under_way(payload.session_id):
        fire.begin()
        return await fire.wait()


async def call_outside(
    state: HostState, name: str, params: ToolCallParams, known: Sequence[ToolOffer]
) -> ToolAnswer:
    """See `PluginHost.call_plugin_tool`; `known` are the tools that there are."""
    offer = state.plugin_calls.table.find(name, params.session_id)
    if offer is None:
        names = ", ".join(one.name for one in known) or "none"
        raise HostError(f"no plugin has a tool named {quote(name, 64)}; there is {names}")
    with state.outside.under_way(params.session_id):
        return await state.plugin_calls.call_tool(offer, params)
