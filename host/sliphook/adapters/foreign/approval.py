"""What the user approves of a configuration: its hooks, and each file that a command names."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from sliphook.adapters.dialects.hosted.handler import Handler, digest
from sliphook.errors import SliphookError
from sliphook.files.held_file import seal_of, sha256_of

from .sources import Source

MAX_WORDS: Final = 200
"""Words of one command that are looked at."""
_SEPARATORS: Final = re.compile(r"[\s\"'`;|&<>()=]+")
# digits are entered at their beginning alone: else the time were quadratic
_WRITTEN: Final = re.compile(r"(?<!\d)\d*&?>{1,2}\|?\s*(\"[^\"]*\"|'[^']*'|[^\s;&|]+)")
"""What a shell writes to, which is no script."""
_VARIABLE: Final = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_OF_THE_SYSTEM: Final = ("/bin/", "/sbin/", "/usr/", "/lib/", "/dev/", "/proc/", "/etc/", "/opt/")


def approved_words(source: Source) -> tuple[str, ...]:
    """What the adapter is started with, behind the plugin's name; last the hash of the hooks."""
    return (source.system.name, str(source.path), digest(source.handlers))


def why_changed(source: Source, approved: str) -> str | None:
    """Why hooks with the hash that was approved are not these, in one line; None if they are."""
    if digest(source.handlers) == approved:
        return None
    return f"the hooks in {source.path} are not those that were approved"


def scripts(source: Source) -> tuple[Path, ...]:
    """The files that the commands name by path, each once; programs of the system are none."""
    found: dict[Path, None] = {}
    for handler in source.handlers:
        for path in scripts_of(handler, source):
            found[path] = None
    return tuple(found)


def scripts_of(handler: Handler, source: Source) -> Iterator[Path]:
    """The files that one command names."""
    bases = [source.base, source.root]
    if handler.cwd is not None:
        bases.insert(0, source.base / handler.cwd)
    for word in list(_words(handler, source))[:MAX_WORDS]:
        if not word or word.startswith(("-", *_OF_THE_SYSTEM)):
            continue
        for base in bases:
            path = Path(os.path.normpath(base / os.path.expanduser(word)))
            if _is_file(path) and not str(path).startswith(_OF_THE_SYSTEM):
                yield path
                break


def _words(handler: Handler, source: Source) -> Iterator[str]:
    values = {
        "CLAUDE_PROJECT_DIR": source.base,
        "CLAUDE_PLUGIN_ROOT": source.root,
        "GEMINI_PROJECT_DIR": source.base,
        "CURSOR_PROJECT_DIR": source.base,
        "COPILOT_PROJECT_DIR": source.base,
        "COPILOT_HOOK_DIR": source.root,
        "extensionPath": source.root,
        "HOME": os.path.expanduser("~"),  # as it stands, if there is none
        "PWD": source.base,
    }
    for text in (_WRITTEN.sub(" ", handler.command), *(handler.args or ())):
        words = _SEPARATORS.split(text)
        with suppress(ValueError):  # a quote that is not closed
            words += shlex.split(text)
        for word in words:
            yield _VARIABLE.sub(lambda one: str(values.get(one[1] or one[2], one[0])), word)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


class Scripts:
    """The scripts as they were when the plugin began, which the host has just compared.

    A script is looked at again before each run: by its seal, and if that has changed by its bytes.
    """

    def __init__(self, source: Source) -> None:
        self._of = {id(handler): tuple(scripts_of(handler, source)) for handler in source.handlers}
        paths = {path for paths in self._of.values() for path in paths}
        self._hashes = {path: sha256_of(path) for path in paths}
        self._seals = {path: seal_of(os.stat(path)) for path in paths}

    def changed(self, handler: Handler) -> str | None:
        """Which file of a hook has changed since, in words; None if none has."""
        for path in self._of.get(id(handler), ()):
            try:
                seal = seal_of(os.stat(path))
                if seal != self._seals[path]:
                    if sha256_of(path) != self._hashes[path]:
                        return f"{path} has changed since it was approved"
                    self._seals[path] = seal
            except (OSError, SliphookError):
                return f"{path} cannot be read any more"
        return None
