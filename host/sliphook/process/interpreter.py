"""Which program runs a script, and that a shim of pyenv and the like chooses it where the agent is.

`#!/usr/bin/env python3` takes the first `python3` on PATH. If that is a shim, it chooses a version
by the folder and the variables that it is started with. A plugin has its own folder and few
variables, so it would run in another Python than `python3` in the user's shell.
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from sliphook.files.regular import open_regular
from sliphook.files.search_path import which
from sliphook.quoting import quote

from .environment import copied, plugin_environment

__all__ = ["interpreter_of", "looked_up", "own_python", "path_with_interpreter", "why_not_pinned"]

# what Linux itself reads of a file to find its interpreter (BINPRM_BUF_SIZE)
SHEBANG_BYTES: Final = 256
_ANSWER_S: Final = 10.0
_HOW_TO_ASK: Final = (
    (re.compile(r"python[\d.]*t?"), ("-I", "-S", "-c", "import sys; print(sys.executable)")),
    (re.compile(r"node|nodejs"), ("-p", "process.execPath")),
    (re.compile(r"ruby"), ("-e", "puts RbConfig.ruby")),
)
"""Programs that people install with version managers, and what makes them print their own path."""
_MANAGERS: Final = ("PYENV_", "NODENV_", "RBENV_", "ASDF_", "MISE_", "VOLTA_")
"""Variables of version managers, by their beginnings."""


def interpreter_of(path: Path) -> str | None:
    """The program that runs the script `path`, or None if it is no script or that is unclear.

    If the `#!` line uses `env`, the program is looked up on PATH.
    """
    words = _shebang(path)
    if words and os.path.basename(words[0]) == "env":
        wanted = wanted_of_env(words)
        return which(wanted) if wanted else words[0]
    return words[0] if words else None


def own_python() -> str | None:
    """The Python that runs this, to start another one; None if it is inside of another program.

    There `sys.executable` is empty, or that program: a frozen app, a web server. To start it would
    start the agent once more.
    """
    program = sys.executable
    if not program or getattr(sys, "frozen", False):
        return None
    names = os.path.basename(program), os.path.basename(os.path.realpath(program))
    return program if any("py" in name.lower() for name in names) else None


def looked_up(path: Path) -> str | None:
    """The interpreter that the script `path` finds on PATH now, behind a shim; None if it does not.

    Blocks if it has to ask a shim.
    """
    wanted = _looks_for(path)
    found = which(wanted) if wanted else None
    if found is None or not _may_be_shim(found):
        return found
    return chosen_by(found) or found


def why_not_pinned(path: Path, pinned: str) -> str | None:
    """Why a script cannot run in the interpreter that it is pinned to, in a line; or None."""
    wanted = _looks_for(path)
    if wanted is None:
        return None  # it does not look for one
    if os.path.basename(pinned) != wanted:
        return f"it wants {quote(wanted, 80)} and is pinned to {quote(pinned, 200)}"
    if not os.access(pinned, os.X_OK):
        return f"its interpreter {quote(pinned, 200)}, to which it is pinned, is not there any more"
    return None


def wanted_of_env(words: list[str]) -> str | None:
    """The program that `env` looks for, from the words of a `#!` line; None if that is unclear."""
    wanted = next((word for word in words[1:] if word != "-S" and "=" not in word), "-")
    # after any option but -S it is unclear which word is the program
    return None if wanted.startswith("-") else wanted


def path_with_interpreter(path: Path, search: str) -> str:
    """`search`, a PATH, in which the script `path` finds what the agent would find.

    If that is behind a shim, its folder is put before the shim's. The shim is asked once, in the
    folder and with the variables that the agent has then. Blocks: call it in a thread.

    Args:
        path: the plugin's file.
        search: the plugin's PATH.
    """
    wanted = _looks_for(path)
    found = which(wanted) if wanted else None
    entries = search.split(os.pathsep)
    if found is None or os.path.dirname(found) not in entries or not _may_be_shim(found):
        return search
    chosen = chosen_by(found)
    if chosen is None:
        return search  # the shim will say why, on the plugin's stderr
    entries.insert(entries.index(os.path.dirname(found)), os.path.dirname(chosen))
    return os.pathsep.join(entries)


def _looks_for(path: Path) -> str | None:
    """The program that a script has `env` find; None if it names its interpreter, or has none."""
    words = _shebang(path)
    return wanted_of_env(words) if words and os.path.basename(words[0]) == "env" else None


def _shebang(path: Path) -> list[str]:
    try:
        with open(path, "rb", opener=open_regular) as file:
            line = file.read(SHEBANG_BYTES).split(b"\n", 1)[0]
    except OSError:
        return []
    return line[2:].decode("utf-8", "replace").split() if line.startswith(b"#!") else []


def _may_be_shim(program: str) -> bool:
    """True for a script, and for a link to a program of another name, such as `mise`."""
    name = re.match(r"[a-z]*", os.path.basename(program))
    try:
        with open(program, "rb", opener=open_regular) as file:
            is_script = file.read(2) == b"#!"
    except OSError:
        return False
    real = os.path.basename(os.path.realpath(program))
    return is_script or (name is not None and not real.startswith(name[0]))


@functools.lru_cache(maxsize=64)
def chosen_by(shim: str) -> str | None:
    """The program that a shim starts here and now; None if it does not tell."""
    name = os.path.basename(shim)
    question = next((ask for pattern, ask in _HOW_TO_ASK if pattern.fullmatch(name)), None)
    if question is None:
        return None
    try:
        said = subprocess.run(
            [shim, *question],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # not all variables: other processes of the user can read them while it runs
            env=_environment(os.environ),
            timeout=_ANSWER_S,
            start_new_session=True,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    program = os.fsdecode(said.stdout).rstrip("\n")
    # the same name is needed in that folder, or `env` would not find it there
    beside = os.path.join(os.path.dirname(program), name)
    return beside if os.path.isabs(program) and os.access(beside, os.X_OK) else None


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    chooses = {key: value for key, value in copied(environ).items() if key.startswith(_MANAGERS)}
    return plugin_environment(environ, chooses)
