"""Pure: one hook of a configuration of another agent, in any format."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Literal

import msgspec


class Handler(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One hook: when it runs, what it runs, and what its failure means.

    Attributes:
        event: the agent's name of the event.
        matcher: which values of the event it is for; None: all.
        condition: one permission rule of Claude Code (`if`), such as `Bash(git commit:*)`.
        command: what a shell is given, or with `args` the program.
        args: its arguments, without a shell; None: `command` is for a shell.
        shell: the shell that the configuration names; None: the agent's own.
        url: the address of an HTTP hook; `command` is empty then.
        method: `POST` or `GET`.
        headers: of the request.
        timeout_s: after which it has failed.
        cwd: its folder, from the project; None: the project's.
        env: variables of its own.
        background: nothing waits for it, and it decides nothing.
        wakes: in the background; if it blocks, the model reads why.
        once: in a session.
        on_failure: what it counts as if it fails: `open` no opinion, `closed` a deny, `ignore` no
            opinion and no word of it.
        strict: its output may have nothing but what the event takes.
        sequential: the next hook of its event waits for it.
        early: it comes before those that are not.
        name: what its author calls it.
    """

    event: str
    matcher: str | None = None
    condition: str | None = None
    command: str = ""
    args: tuple[str, ...] | None = None
    shell: str | None = None
    url: str | None = None
    method: str = "POST"
    headers: Mapping[str, str] = {}
    timeout_s: float = 60.0
    cwd: str | None = None
    env: Mapping[str, str] = {}
    background: bool = False
    wakes: bool = False
    once: bool = False
    on_failure: Literal["open", "closed", "ignore"] = "open"
    strict: bool = False
    sequential: bool = False
    early: bool = False
    name: str = ""

    @property
    def what(self) -> str:
        """What people see of it: its name, or what it runs."""
        return self.name or self.url or " ".join((self.command, *(self.args or ())))


class RefusedHook(msgspec.Struct, frozen=True, kw_only=True):
    """A hook that cannot run here; `why` is a sentence."""

    event: str
    what: str
    why: str


class Definitions(msgspec.Struct, frozen=True, kw_only=True):
    """What a configuration has.

    Attributes:
        handlers: what can run, in the order of the file.
        refused: what cannot.
    """

    handlers: tuple[Handler, ...]
    refused: tuple[RefusedHook, ...] = ()


def digest(handlers: tuple[Handler, ...]) -> str:
    """SHA-256 of the hooks in a canonical form; what else the file has does not count."""
    return hashlib.sha256(canonical(handlers).encode()).hexdigest()


def canonical(value: Handler | tuple[Handler, ...]) -> str:
    """The same text for the same hooks, whatever the order of their fields."""
    plain = msgspec.to_builtins(value)
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
