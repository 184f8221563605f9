"""The bridge: the user's plugins in one process of Hermes."""

from __future__ import annotations

import atexit
import importlib
import sys
import threading
from collections.abc import Sequence
from typing import Any, Final

from sliphook import Interruption, PluginSpec
from sliphook.agent_log import agent_log
from sliphook.blocking import PluginHost
from sliphook.quoting import quote

from .approvals import Approvals
from .guarding import Guards
from .model_calls import ModelCalls
from .offers import offer_commands, offer_tools
from .run import CURRENT
from .runs import Runs
from .seams import (
    HOOKS,
    MIDDLEWARE,
    RunCall,
    check_middleware,
    check_names,
    wrap_agent,
    wrap_runs,
)
from .sessions import Sessions
from .subagents import Subagents
from .tool_calls import ToolCalls

_OPEN_WAIT_S: Final = 5.0
"""How long the first run waits for the plugins: one that still starts hears no `turn_start`."""
_log = agent_log("sliphook.hermes")


class Bridge:
    """One host for the process, opened when the first run begins.

    Args:
        specs: the plugins.
    """

    def __init__(self, specs: Sequence[PluginSpec]) -> None:
        self._specs = specs
        self._lock = threading.Lock()
        self._opened = self._closed = False
        self._approvals = Approvals()
        self._host = PluginHost(
            specs,
            name="hermes-agent",
            approver=self._approvals.approve,
            on_notify=_notified,
            on_problem=_problem,
            open_wait_s=_OPEN_WAIT_S,
        )
        self._offered: set[str] = set()
        self._sessions = Sessions(self.host, self._interrupted_turn)
        self._children = Subagents()
        guards = Guards(specs, self.host)
        self._runs = Runs(self._sessions, self._children, guards)
        self._tools = ToolCalls(self.host, guards, self._offered)
        self._models = ModelCalls(self.host, guards)

    def host(self) -> PluginHost:
        """The host, open. Processes that never run an agent start no plugin."""
        with self._lock:
            if not self._opened:
                self._host.enter()
                self._opened = True
                atexit.register(self.close)
            return self._host

    def close(self) -> None:
        """End the plugins."""
        with self._lock:
            if not self._opened or self._closed:
                return
            self._closed = True
        self._host.leave()

    def register(self, ctx: Any) -> None:
        """Register at Hermes's context for plugins.

        Raises:
            DoesNotFit: this Hermes is not the one that the bridge knows; nothing is registered.
        """
        plugins: Any = importlib.import_module("hermes_cli.plugins")
        loop: Any = importlib.import_module("agent.conversation_loop")
        check_names(getattr(plugins, "VALID_HOOKS", ()), HOOKS, "hook")
        check_names(getattr(plugins, "VALID_MIDDLEWARE", ()), MIDDLEWARE, "middleware")
        check_middleware(importlib.import_module("hermes_cli.middleware"))
        # Hermes may look for plugins while it imports `run_agent`: then it is done at the first run
        cls = getattr(sys.modules.get("run_agent"), "AIAgent", None)
        if cls is not None:
            wrap_agent(cls, self)
        wrap_runs(loop, self)
        self._offered |= offer_tools(ctx, self._host.tools(), self._tools)
        offer_commands(ctx, self._specs, self.host, self._sessions)
        for name, callback in {
            "pre_llm_call": self._models.context,
            "pre_tool_call": self._tools.asked,
            "post_tool_call": self._tools.blocked,
            "api_request_error": self._models.failed,
            "on_session_finalize": self._finalized,
            "on_session_reset": self._reset,
            "subagent_start": self._child_announced,
            "subagent_stop": self._child_stopped,
            "pre_approval_request": self._approvals.required,
            "post_approval_response": self._approvals.received,
        }.items():
            ctx.register_hook(name, callback)
        ctx.register_middleware("llm_execution", self._models.execution)
        ctx.register_middleware("tool_execution", self._tools.execution)

    def run(self, call: RunCall) -> Any:
        """See `Seams`."""
        return self._runs.run(call)

    def interrupting(self, agent: Any, message: object) -> None:
        """See `Seams`."""
        self._runs.interrupting(agent, message)

    def interrupted(self, agent: Any) -> None:
        """See `Seams`."""
        self._runs.interrupted(agent)

    def closed(self, agent: Any) -> None:
        """See `Seams`."""
        # the close of a child, in its parent's run, ends no session
        if CURRENT.get() is None:
            self._sessions.close_agent(agent)

    def _interrupted_turn(self, interruption: Interruption) -> None:
        self._runs.on_interrupt(interruption)

    def _finalized(self, session_id: Any = None, reason: Any = None, **_: Any) -> None:
        self._sessions.finalize(session_id, reason)

    def _reset(self, session_id: Any = None, old_session_id: Any = None, **_: Any) -> None:
        self._sessions.reset(session_id, old_session_id)

    def _child_announced(
        self, child_session_id: Any = None, child_goal: Any = "", **_: Any
    ) -> None:
        self._children.announced(child_session_id, child_goal)

    def _child_stopped(self, child_session_id: Any = None, **_: Any) -> None:
        self._children.stopped(child_session_id)


def _notified(plugin: str, level: str, message: str) -> None:
    # Hermes has no hook to show a text: its log is where a user finds it
    _log.warning("%s (%s): %s", quote(plugin), level, quote(message))


def _problem(plugin: str, message: str) -> None:
    _log.warning("plugin %s: %s", quote(plugin), quote(message))
