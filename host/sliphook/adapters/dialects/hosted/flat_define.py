"""Pure: configurations with a plain list of hooks for each event: Copilot CLI's and Cursor's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sliphook.adapters.dialects.reading import Fields

from .claude_define import MAX_HOOKS, collect, groups, seconds, strings
from .handler import Definitions, Handler, RefusedHook


def define_copilot(config: Mapping[str, Any]) -> Definitions:
    """The hooks of one file of Copilot CLI; Claude Code's nested form is taken too."""
    if Fields(config).flag("disableAllHooks"):
        return Definitions(handlers=())
    return collect((event, _copilot(event, group, hook)) for event, group, hook in groups(config))


def _copilot(event: str, group: Fields, hook: Fields) -> Handler | RefusedHook:
    kind = hook.name("type") or "command"
    if kind not in ("command", "http"):
        what = hook.text("prompt") or kind
        return RefusedHook(event=event, what=what[:200], why=f"its type {kind!r} cannot run here.")
    command = hook.text("bash", "command") or ""
    if kind == "command" and not command:
        return RefusedHook(event=event, what=kind, why="it has a command for PowerShell alone.")
    return Handler(
        event=event,
        matcher=group.text("matcher") or hook.text("matcher"),
        command=command if kind == "command" else "",
        url=hook.needed_text("url") if kind == "http" else None,
        headers=strings(hook, "headers"),
        timeout_s=seconds(hook, "timeoutSec", 1.0, seconds(hook, "timeout", 1.0, 30.0)),
        cwd=hook.path("cwd"),
        env=strings(hook, "env"),
        on_failure="closed" if event in ("preToolUse", "PreToolUse") else "open",
    )


def define_cursor(config: Mapping[str, Any]) -> Definitions:
    """The hooks of Cursor's `hooks.json`."""

    def found() -> Iterator[tuple[str, Handler | RefusedHook]]:
        for event, listed in Fields(config).object("hooks").items():
            for hook in Fields({"hooks": listed}).all_objects("hooks", MAX_HOOKS):
                yield event, _cursor(event, hook)

    return collect(found())


def _cursor(event: str, hook: Fields) -> Handler | RefusedHook:
    kind = hook.name("type") or "command"
    if kind != "command":
        what = hook.text("prompt") or kind
        return RefusedHook(event=event, what=what[:200], why="it asks a model of Cursor.")
    return Handler(
        event=event,
        matcher=hook.text("matcher"),
        command=hook.needed_text("command"),
        timeout_s=seconds(hook, "timeout", 1.0, 60.0),
        on_failure="closed" if hook.flag("failClosed") else "open",
    )
