"""Which of our hooks Codex runs: only those whose definition its user has accepted in `/hooks`.

It keeps a hash of each accepted definition in its config.toml, under the file, the event and the
place of the hook. The hash is of what was seen with 0.171.0; a Codex that makes it in another way
is told of as one whose hooks have changed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from sliphook.files.toml import read_toml

from .configs import HookLine

_WITHOUT_MATCHER: Final = frozenset({"user_prompt_submit", "stop", "interrupt"})
_DEFAULT_TIMEOUT_S: Final = 600
_SHORT: Final[Mapping[str, int]] = {"session_end": 3, "interrupt": 3}
"""Codex counts no more time than this, in seconds, whatever the hook says."""


class _State(msgspec.Struct, frozen=True):
    trusted_hash: str | None = None
    enabled: bool | None = None


class _Hooks(msgspec.Struct, frozen=True):
    state: dict[str, _State] = {}


class _Config(msgspec.Struct, frozen=True):
    hooks: _Hooks = _Hooks()


def skipped(config: Path, file: Path, lines: Sequence[HookLine]) -> dict[str, str]:
    """Why Codex skips some of these hooks, by event; empty if it runs all.

    Args:
        config: Codex's config.toml.
        file: where the hooks are written.
        lines: ours in it.

    Raises:
        TomlError: config.toml cannot be read.
    """
    try:
        states = read_toml(config, _Config).hooks.state
    except FileNotFoundError:
        states = {}
    found: dict[str, str] = {}
    for line in lines:
        event = re.sub(r"(?<!^)(?=[A-Z])", "_", line.event).lower()
        keys = {f"{path}:{event}:{line.place[0]}:{line.place[1]}" for path in _names(file)}
        state = next((states[key] for key in keys if key in states), _State())
        if state.enabled is False:
            found[line.event] = "switched off"
        elif state.trusted_hash is None:
            found[line.event] = "not accepted"
        elif state.trusted_hash != hash_of(event, line.matcher, line.handler):
            found[line.event] = "changed since they were accepted"
    return found


def hash_of(event: str, matcher: str | None, handler: Mapping[str, Any]) -> str:
    """The hash of one definition, as Codex makes it; `event` in its small letters."""
    given = handler.get("timeout", _DEFAULT_TIMEOUT_S)
    timeout = given if isinstance(given, int | float) else _DEFAULT_TIMEOUT_S
    named: dict[str, Any] = {
        "event_name": event,
        "hooks": [
            {
                "type": "command",
                "command": handler.get("command"),
                "timeout": min(timeout, _SHORT.get(event, timeout)),
                "async": False,
            }
        ],
    }
    if matcher is not None and event not in _WITHOUT_MATCHER:
        named["matcher"] = matcher
    text = json.dumps(named, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _names(file: Path) -> tuple[str, str]:
    return str(file), str(file.resolve())
