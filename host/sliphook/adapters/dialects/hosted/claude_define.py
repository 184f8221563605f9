"""Pure: the hooks of a configuration in Claude Code's shape, which Codex and Gemini CLI share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from sliphook.adapters.dialects.reading import Fields, WrongField

from .handler import Definitions, Handler, RefusedHook

MAX_HOOKS: Final = 256
"""Hooks of one configuration."""

NEEDS_A_MODEL: Final = {
    "prompt": "it asks a model of the agent that it was written for",
    "agent": "it starts an agent of the one that it was written for",
    "mcp_tool": "it calls a tool of a server of the agent that it was written for",
}


def groups(config: Mapping[str, Any]) -> Iterator[tuple[str, Fields, Fields]]:
    """Each hook under `hooks`: its event, its group and itself.

    Raises:
        WrongField: the shape is another.
    """
    for event, listed in Fields(config).object("hooks").items():
        for group in Fields({"hooks": listed}).all_objects("hooks", MAX_HOOKS):
            if group.raw("hooks") is None:  # not in a group, as some write it
                yield event, Fields({}), group
                continue
            for hook in group.all_objects("hooks", MAX_HOOKS):
                yield event, group, hook


def collect(
    found: Iterator[tuple[str, Handler | RefusedHook]],
) -> Definitions:
    """All hooks, at most 256.

    Raises:
        WrongField: there are more.
    """
    handlers: list[Handler] = []
    refused: list[RefusedHook] = []
    for _, one in found:
        if isinstance(one, Handler):
            handlers.append(one)
        else:
            refused.append(one)
        if len(handlers) + len(refused) > MAX_HOOKS:
            raise WrongField(f"it has more than {MAX_HOOKS} hooks")
    return Definitions(handlers=tuple(handlers), refused=tuple(refused))


def strings(fields: Fields, name: str) -> dict[str, str]:
    """An object of texts; empty if it is not there."""
    values = fields.object(name)
    for key, value in values.items():
        if not isinstance(value, str):
            raise WrongField(f"{name}.{key} is no text")
    return values


def seconds(fields: Fields, name: str, unit_s: float, default_s: float) -> float:
    """A time in seconds; the default if it is not there or 0."""
    given = fields.number(name)
    return given * unit_s if given else default_s


def define(config: Mapping[str, Any]) -> Definitions:
    """The hooks of Claude Code's `settings.json`, or of a plugin's `hooks.json`."""
    if Fields(config).flag("disableAllHooks"):
        return Definitions(handlers=())
    return collect((event, _hook(event, group, hook)) for event, group, hook in groups(config))


DEFAULT_S: Final = {"UserPromptSubmit": 30.0, "MessageDisplay": 10.0, "SessionEnd": 1.5}


def _hook(event: str, group: Fields, hook: Fields) -> Handler | RefusedHook:
    kind = hook.name("type") or "command"
    what = hook.text("command", "url", "prompt", "tool") or kind
    if kind in NEEDS_A_MODEL:
        return RefusedHook(event=event, what=f"{kind}: {what[:200]}", why=f"{NEEDS_A_MODEL[kind]}.")
    if kind not in ("command", "http"):
        return RefusedHook(event=event, what=what[:200], why=f"its type {kind!r} is not known.")
    if hook.name("shell") == "powershell":
        return RefusedHook(event=event, what=what[:200], why="it is for PowerShell.")
    wakes = hook.flag("asyncRewake")
    return Handler(
        event=event,
        matcher=group.text("matcher"),
        condition=hook.text("if"),
        command=hook.needed_text("command") if kind == "command" else "",
        args=arguments(hook),
        shell=hook.name("shell"),
        url=hook.needed_text("url") if kind == "http" else None,
        headers=strings(hook, "headers"),
        timeout_s=seconds(hook, "timeout", 1.0, DEFAULT_S.get(event, 600.0)),
        background=hook.flag("async") or wakes,
        wakes=wakes,
        once=hook.flag("once"),
        on_failure="closed" if hook.name("onFailure") == "block" else "open",
    )


def arguments(hook: Fields) -> tuple[str, ...] | None:
    """`args`, a list of texts; None if it is not there."""
    given = hook.raw("args")
    if given is None:
        return None
    words = cast(Sequence[Any], given) if isinstance(given, list) else ()
    if not isinstance(given, list) or not all(isinstance(one, str) for one in words):
        raise WrongField("args is no list of texts")
    return tuple(words)
