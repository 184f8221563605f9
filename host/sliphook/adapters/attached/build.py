"""The thin client: compiled once, or the same in Python; kept in the data folder by its hash."""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from sliphook.adapters.dialects.dialect import Dialect
from sliphook.adapters.dialects.known import DIALECTS
from sliphook.files import paths
from sliphook.files.private import make_private_folder, temporary_folder
from sliphook.files.search_path import which

from .request import (
    ANSWER_S,
    LONG_STRING_BYTES,
    MAX_HEAD_BYTES,
    MAX_REPLY_BYTES,
    MAX_STDIN_BYTES,
    VERSION,
)

START_S: Final = 5.0
"""How long a client waits for a daemon that it has started."""
ROOM_FOR_NAME: Final = 48
"""Bytes of a socket's path that its name may need."""
MODULE: Final = "sliphook.adapters.attached"
_COMPILE_S: Final = 120.0
_USAGE: Final = 64
"""What a client without words exits with."""
_BARE: Final = (
    *("-O2", "-static", "-nostdlib", "-DBARE", "-fno-pie", "-no-pie", "-fno-stack-protector"),
    *("-ffreestanding", "-fno-builtin", "-fno-tree-loop-distribute-patterns", "-U_FORTIFY_SOURCE"),
)
"""Without a C library (`bare.h`)."""
_ENVIRONMENT: Final = (
    *("PATH", "HOME", "LANG", "TZ", "TMPDIR", "TERM", "USER", "LOGNAME", "SHELL"),
    *(name for dialect in DIALECTS.values() for name in dialect.environment),
)
"""The variables that a daemon may have, beside `LC_*` and `XDG_*`: none that holds a key."""


def daemon_environment(environ: Mapping[str, str], granted: Iterable[str]) -> dict[str, str]:
    """What of an environment a daemon gets, as the client gives it."""
    names = {*_ENVIRONMENT, *granted}
    return {
        name: value
        for name, value in environ.items()
        if name.startswith(("LC_", "XDG_")) or name in names
    }


class Client(msgspec.Struct, frozen=True):
    """A client on the disk.

    Attributes:
        words: the program with its first arguments.
        compiled: it is no Python.
    """

    words: tuple[str, ...]
    compiled: bool

    def command(self, agent: str, event: str, *, closed: bool) -> str:
        """What the agent runs."""
        words = [*self.words, agent, event, *(["--closed"] if closed else [])]
        # some shells would fork and wait
        return shlex.join(["exec", *words] if DIALECTS[agent].config.in_shell else words)


def build(
    granted: Iterable[str] = (), *, compiler: str | None = "cc", python: str = sys.executable
) -> Client:
    """The client, which is made if it is not there.

    Args:
        granted: more variables that the daemon may have: the user has granted them to plugins.
        compiler: the C compiler; None, or one that fails: the client in Python.
        python: the interpreter that runs the daemon.

    Raises:
        OSError: the data folder cannot be written.
    """
    (program, header), (script, text) = _places(granted, python)
    found = which(compiler) if compiler is not None else None
    if found is not None:
        make_private_folder(program.parent)
        if os.access(program, os.X_OK) or _compile(found, header, program):
            return Client((str(program),), compiled=True)
    make_private_folder(script.parent)
    if not script.exists():
        _put(script, text)
    return Client((python, "-I", "-S", "-E", str(script)), compiled=False)


def current(granted: Iterable[str] = (), *, python: str = sys.executable) -> tuple[str, str]:
    """The paths that `build` would give: of the program, and of the script. Makes nothing."""
    (program, _), (script, _) = _places(granted, python)
    return str(program), str(script)


def _places(granted: Iterable[str], python: str) -> tuple[tuple[Path, str], tuple[Path, str]]:
    """Where the two clients are, with the header of the one and the text of the other."""
    facts = _facts(python, tuple(dict.fromkeys([*_ENVIRONMENT, *granted])))
    header = _header(facts)
    text = _source("client.py").replace('"@FACTS@"', repr(facts), 1)
    program = _folder(_source("client.c"), _source("bare.h"), header) / "client"
    return (program, header), (_folder(text) / "client.py", text)


def _facts(python: str, environment: tuple[str, ...]) -> dict[str, Any]:
    guards = {
        (dialect.name, event): (reply.exit_code, reply.stdout, reply.stderr.encode())
        for dialect in DIALECTS.values()
        for event, reply in dialect.guards.items()
    }
    ends = {event for dialect in DIALECTS.values() for event in _ends(dialect)}
    return {
        "version": VERSION,
        "python": python,
        "module": MODULE,
        "answer_ms": round(ANSWER_S * 1000),
        "start_ms": round(START_S * 1000),
        "max_head": MAX_HEAD_BYTES,
        "max_stdin": MAX_STDIN_BYTES,
        "long_string": LONG_STRING_BYTES,
        "max_reply": MAX_REPLY_BYTES,
        "room_for_name": ROOM_FOR_NAME,
        "environment": environment,
        "no_start": tuple(sorted(ends)),
        "guards": guards,
    }


def _ends(dialect: Dialect) -> tuple[str, ...]:
    """The events that end a session and nothing else."""
    theirs = dialect.entry("session_end").theirs
    return tuple(event for event in theirs if event in dialect.life)


def _header(facts: dict[str, Any]) -> str:
    """`facts.h`: the same facts for C."""
    lines = [
        f"#define {name.upper()} {value}" for name, value in facts.items() if type(value) is int
    ]
    lines += [f"#define {name.upper()} {_c(facts[name])}" for name in ("python", "module")]
    for name in ("environment", "no_start"):
        words = "".join(f"{_c(word)}, " for word in facts[name])
        lines.append(f"static const char *const {name.upper()}[] = {{ {words}NULL }};")
    lines.append("static const struct guard GUARDS[] = {")
    for (agent, event), (code, out, err) in facts["guards"].items():
        lines.append(f"  {{ {_c(agent)}, {_c(event)}, {_c(out)}, {_c(err)}, {code} }},")
    return "\n".join([*lines, "  { NULL, NULL, NULL, NULL, 0 } };", ""])


def _c(text: str | bytes) -> str:
    """A string of C, in which every byte but letters, digits and a few signs is octal."""
    data = os.fsencode(text) if isinstance(text, str) else text
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-./:,;{}"
    return '"' + "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in data) + '"'


def _compile(compiler: str, header: str, program: Path) -> bool:
    """Compile in the first way that works; False if none does."""
    with temporary_folder("build-", program.parent) as folder:
        source, made = folder / "client.c", folder / "client"
        texts = {"client.c": _source("client.c"), "bare.h": _source("bare.h"), "facts.h": header}
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
            (folder / name).chmod(0o600)  # whatever the umask is: the compiler reads them
        for options in (_BARE, ("-O2", "-static"), ("-O2",)):
            compiled = _exit_code(compiler, *options, "-o", str(made), str(source)) == 0
            if not compiled or _exit_code(str(made)) != _USAGE:
                continue
            made.chmod(0o700)
            made.replace(program)
            return True
    return False


def _exit_code(*words: str) -> int | None:
    """Of a program that says nothing; None if it cannot be run, or does not end."""
    nothing = subprocess.DEVNULL
    try:
        return subprocess.run(
            words, check=False, stdin=nothing, stdout=nothing, stderr=nothing, timeout=_COMPILE_S
        ).returncode
    except (OSError, subprocess.SubprocessError):
        return None


def _put(path: Path, text: str) -> None:
    from sliphook.files.atomic import write_atomically

    write_atomically(path, text)


def _folder(*texts: str) -> Path:
    name = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
    return paths.data_home() / "attached" / name


def _source(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
