"""What is put to plugins outside any session, by tools that try them."""

from __future__ import annotations

from typing import Any, Final, cast

import msgspec
import trio

from sliphook.dispatch.broadcast import listeners_among, tell
from sliphook.dispatch.fire import Fire
from sliphook.dispatch.outcome import Outcome, Part
from sliphook.errors import HostError
from sliphook.quoting import quote
from sliphook.session.arguments.plain import (
    check_number,
    check_text,
    check_texts,
    shown,
    type_of,
)
from sliphook.session.arguments.structs import check_struct
from sliphook.session.plugin_calls import ToolAnswer, why_failed
from sliphook.transport.call import Call
from sliphook.wire import envelope
from sliphook_sdk.protocol import CATALOGUE, Payload, ToolCallParams
from sliphook_sdk.protocol.limits import MAX_HOST_PARAMS_BYTES, MIN_TIMEOUT_S

from .admission import with_timeout
from .state import HostState

_METHOD_CHARS: Final = 200


class RawReply(msgspec.Struct, frozen=True, kw_only=True):
    """How a request of any content ended.

    Attributes:
        status: `answered`, `error` if the plugin sent an error, `timed_out`, `crashed` and so on.
        result: what it answered, as it came; None without an answer.
        error: what went wrong, one line, or None.
        elapsed_ms: how long it took.
    """

    status: str
    result: msgspec.Raw | None
    error: str | None
    elapsed_ms: float


class OutsideSessions:
    """The part of `PluginHost` that is not for agents, but for tools that try plugins."""

    _state: HostState

    @trio.lowlevel.enable_ki_protection
    async def fire(self, name: str, payload: Payload, *, timeout_s: float | None = None) -> Outcome:
        """Put one complete payload to all plugins, outside any session.

        For tools that try plugins, not for agents.

        Args:
            name: the hook or event.
            payload: all of it.
            timeout_s: used in place of the subscriptions' own timeouts.

        Raises:
            TypeError, ValueError: there is no such hook or event, or the payload is none of it.
        """
        check_number("timeout_s", timeout_s, low=MIN_TIMEOUT_S, none=True)
        check_text("name", name)
        if name not in CATALOGUE:
            raise ValueError(f"{shown(name)} is no hook or event; there are {', '.join(CATALOGUE)}")
        state = self._state
        entry = CATALOGUE[name]
        check_struct("payload", payload, entry.payload)
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
        fire = Fire(
            entry, payload, subscribers, state.plugins_by_name, state.deadlines, record=record
        )
        with state.outside.under_way(payload.session_id):
            fire.begin()
            return await fire.wait()

    @trio.lowlevel.enable_ki_protection
    async def call_plugin_tool(self, name: str, params: ToolCallParams) -> ToolAnswer:
        """Call one tool outside any session, without hooks.

        For tools that try plugins, not for agents.

        Raises:
            HostError: no plugin has the tool.
            TypeError, ValueError: the params are none.
        """
        check_text("name", name)
        check_struct("params", params, ToolCallParams)
        calls = self._state.plugin_calls
        offer = calls.find(name, params.session_id)
        if offer is None:
            names = ", ".join(calls.names(params.session_id)) or "none"
            raise HostError(f"no plugin has a tool named {quote(name, 64)}; there is {names}")
        with self._state.outside.under_way(params.session_id):
            return await calls.call_tool(offer, params)

    @trio.lowlevel.enable_ki_protection
    async def ask_raw(
        self, name: str, method: str, params: dict[str, Any], *, timeout_s: float | None
    ) -> RawReply:
        """Send one plugin a message of any method, with params that are not checked.

        For tools that try plugins, not for agents.

        Args:
            name: the plugin.
            method: the method; it need not be one of the protocol.
            params: the params.
            timeout_s: how long the plugin may take; None sends a notification, which has no reply:
                the status is `told`.

        Raises:
            HostError: there is no such plugin, or the message cannot be sent to any.
        """
        check_number("timeout_s", timeout_s, low=MIN_TIMEOUT_S, none=True)
        check_texts(name=name, method=method)
        if not isinstance(cast(object, params), dict):
            raise TypeError(f"params must be a dict, not {type_of(params)}")
        plugin = self._state.plugins_by_name.get(name)
        if plugin is None:
            raise HostError(f"no plugin {quote(name, 64)} runs")
        if not 0 < len(method) <= _METHOD_CHARS:
            raise HostError(f"a method has 1 to {_METHOD_CHARS} characters, not {len(method)}")
        try:
            body = envelope.encode(params)
        except (TypeError, RecursionError) as error:
            raise HostError(f"the params have no form in JSON: {quote(str(error), 200)}") from None
        if len(body) > MAX_HOST_PARAMS_BYTES:
            raise HostError(f"the params are {len(body):,} bytes, over {MAX_HOST_PARAMS_BYTES:,}")
        if timeout_s is None:
            if plugin.connection is None:
                raise HostError(f"the plugin {plugin.name} is not ready")
            plugin.connection.notify(method, msgspec.Raw(body))
            return RawReply(status="told", result=None, error=None, elapsed_ms=0.0)
        with self._state.outside.under_way(str(params.get("session_id", ""))):
            settled = trio.Event()
            call = Call(method, timeout_s, lambda _: settled.set())
            plugin.ask(call, msgspec.Raw(body))
            try:
                await settled.wait()
            except BaseException:  # cancelled, or Ctrl+C
                plugin.cancel(call)
                raise
        return RawReply(
            status=str(call.status),
            result=call.result,
            error=None if call.status == "answered" else why_failed(call),
            elapsed_ms=call.elapsed_ms,
        )
