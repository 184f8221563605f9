"""What a case of the torture suite is, and how its misbehaving program is made."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.heartbeat import Held
from tests.programs import filled

if TYPE_CHECKING:
    from tests.torture.stage import Stage

PATIENT_S = 30.0
"""The timeout of a hook that is answered, or fails for another reason.

No busy machine takes so long.
"""

HASTY_S = 0.3
"""The timeout of a hook that is expected not to be answered."""


class Skip(Exception):
    """The case cannot be played here; str() says why."""


class Workshop:
    """A case's own folder. What `later` is given is called when the case is over."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._later: list[Callable[[], object]] = []

    def write(self, name: str, content: str | bytes, mode: int = 0o755) -> Path:
        """An executable file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        path.chmod(mode)
        return path

    def later(self, action: Callable[[], object]) -> None:
        """Clean up."""
        self._later.append(action)

    def clean(self) -> None:
        """Do what was given to `later`."""
        while self._later:
            self._later.pop()()


Make = Callable[[Workshop], Path]
"""Makes the program of a case; returns what the host is told to start."""


@dataclass(frozen=True)
class Case:
    """One misbehaving program and what the host promises all the same.

    Attributes:
        kind: the family.
        name: unique in its kind.
        promise: what it attacks.
        make: makes the program.
        status: how its part in the first hook ends; None where it never declared itself, so that it
            is not asked.
        state: where it comes to rest after that.
        says: a regular expression that must be found in what the host said of it: problems and log.
        restarts: how often it has been started again by then; None where that is not told
            beforehand.
        act: what else is done to it beside the healthy plugin, after the first hook; it raises
            AssertionError.
        scene: plays the whole case instead of the usual course; may say what was seen.
    """

    kind: str
    name: str
    promise: str
    make: Make
    status: str | None = "answered"
    state: str = "ready"
    says: str | None = None
    restarts: int | None = None
    act: Callable[[Stage], Awaitable[None]] | None = None
    scene: Callable[[Workshop], Awaitable[str | None]] | None = None

    @property
    def title(self) -> str:
        """`kind/name`, without spaces."""
        return f"{self.kind}/{self.name.replace(' ', '-')}"


@dataclass
class Verdict:
    """What came of a case. `faults` is empty where the whole promise was kept.

    Attributes:
        seen: how it ended, in the words of the table.
        held: how long the loop was held meanwhile; cases that run in a process of their own have
            another loop.
    """

    case: Case
    seen: str = ""
    held: Held = field(default_factory=Held)
    faults: list[str] = field(default_factory=list[str])
    skipped: str | None = None
    seconds: float = 0.0


_BASE = Path(__file__).parent / "programs" / "base.py"


def python(body: str, *, name: str = "bad", timeout_s: float = PATIENT_S, **manifest: Any) -> Make:
    """A program in Python, without the SDK, with a hook and the events of turns and interrupts."""
    hears: list[dict[str, Any]] = [{"event": "user_prompt_submit", "timeout_s": timeout_s}]
    hears += [
        {"event": event, "mode": "event"}
        for event in (
            "session_start",
            "turn_start",
            "turn_end",
            "agent_loop_stopped",
            "session_end",
        )
    ]
    declared = {"protocol_version": 1, "name": name, "subscriptions": hears, **manifest}
    base = filled(_BASE, MANIFEST=json.dumps(declared))
    text = f"#!{sys.executable} -SE\n{base}\n{textwrap.dedent(body).strip()}\n"
    return lambda shop: shop.write(name, text)


def on_hook(body: str, *, timeout_s: float = PATIENT_S, **manifest: Any) -> Make:
    """A program in Python that misbehaves in its first hook alone, whose id is `id`."""
    return python(
        f"greet()\nid = hook()\n{textwrap.dedent(body).strip()}\nserve()",
        timeout_s=timeout_s,
        **manifest,
    )


def at_first(body: str, *, timeout_s: float = PATIENT_S) -> Make:
    """As `on_hook`, but only in the first process of the plugin: the next one behaves."""
    inner = textwrap.indent(textwrap.dedent(body).strip(), "    ")
    return python(f"greet()\nif once():\n    id = hook()\n{inner}\nserve()", timeout_s=timeout_s)


def sh(text: str, name: str = "bad") -> Make:
    """A program for the shell."""
    return lambda shop: shop.write(name, "#!/bin/sh\n" + textwrap.dedent(text).strip("\n") + "\n")


_compiled: dict[str, bytes] = {}
_compiling = threading.Lock()


def c(source: str, name: str = "bad") -> Make:
    """A program in C; each is compiled once a run."""

    def make(shop: Workshop) -> Path:
        compiler = shutil.which("cc")
        if compiler is None:
            raise Skip("there is no C compiler (cc) on PATH")
        with _compiling:
            if source not in _compiled:
                code = shop.write("bad.c", source, 0o600)
                target = shop.folder / "compiled"
                subprocess.run(
                    [compiler, "-o", str(target), str(code)],
                    check=True,
                    capture_output=True,
                    timeout=120,
                )
                _compiled[source] = target.read_bytes()
        return shop.write(name, _compiled[source])

    return make


def plain(content: str | bytes, mode: int = 0o755, name: str = "bad") -> Make:
    """A file with that content."""
    return lambda shop: shop.write(name, content, mode)


def nothing(shop: Workshop) -> Path:
    """No program: the scene makes its own."""
    return shop.folder / "nothing"


def is_root() -> bool:
    """Permissions mean nothing to root."""
    return os.geteuid() == 0
