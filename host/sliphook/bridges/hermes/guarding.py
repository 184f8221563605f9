"""Where the bridge denies if it cannot ask: where a guard that fails closed would be asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sliphook import PluginSpec
from sliphook.agent_log import agent_log
from sliphook.blocking import Interrupted, PluginHost
from sliphook.plugin.overrides import as_subscribed
from sliphook_sdk.protocol import CATALOGUE

_log = agent_log(__name__)


class Guards:
    """The guards of all plugins.

    Args:
        specs: the plugins.
        host: gives the host, open.
    """

    def __init__(self, specs: Sequence[PluginSpec], host: Callable[[], PluginHost]) -> None:
        self._specs = specs
        self._host = host

    def any(self, hook: str, **known: str | None) -> bool:
        """Whether a guard would be asked for a hook; if that cannot be told, it would.

        Args:
            hook: its name.
            known: fields of its payload.
        """
        try:
            return self._host().hears(hook, closed=True, replaces=False, **known)
        except Exception:
            _log.exception("the host cannot tell who guards")
            return may_guard(self._specs, hook)


def may_guard(specs: Iterable[PluginSpec], hook: str) -> bool:
    """Whether a plugin declares a guard for a hook; so it is if that is not known."""
    return any(
        spec.recorded is None
        or any(
            one.event == hook
            and one.mode != "event"
            and (one.on_failure or CATALOGUE[hook].on_failure) == "closed"
            for one in as_subscribed(spec.recorded, spec.overrides).subscriptions or []
        )
        for spec in specs
    )


def tools_run_elsewhere(agent: Any) -> str | None:
    """Why an agent of Hermes's does not run its tools itself, so that nothing sees their calls.

    None if it does.
    """
    if getattr(agent, "api_mode", "") == "codex_app_server":
        return "Codex runs its own tools"
    address = str(getattr(agent, "base_url", None) or "")
    if getattr(agent, "provider", "") == "copilot-acp" or address.startswith("acp"):
        return "Copilot reads and writes files by itself"
    return None


def why_failed(error: BaseException) -> str:
    """One line for the model and for people."""
    if isinstance(error, Interrupted):
        return "the turn was interrupted"
    return f"sliphook failed: {type(error).__name__}: {error}"
