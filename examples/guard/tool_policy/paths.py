"""Paths of a policy, and the paths that a word may be."""

from __future__ import annotations

import os
import re
import sys
from enum import IntEnum
from itertools import islice

from .words import Word

MAX_ENTRIES = 1_000
"""So many entries of a folder are looked at for a word such as `build/*`."""


class Match(IntEnum):
    """Whether something fits; `and` of two is their min, `or` their max."""

    NO = 0
    MAYBE = 1
    YES = 2


class PathPattern:
    """A path with `*` (not across `/`), `**` and `?`; relative ones begin in the project's folder.

    `FOLDER/**` is the folder itself too.
    """

    def __init__(self, text: str, cwd: str | None) -> None:
        text = os.path.expanduser(text)
        parts = text.split("/")
        fixed = next((at for at, part in enumerate(parts) if set(part) & set("*?[")), len(parts))
        head = "/".join(parts[:fixed]) or ("/" if text.startswith("/") else ".")
        base = _resolved(head, cwd)
        self._head = base
        tail = parts[fixed:]
        self._deep = len(tail) > 1 or tail[:1] == ["**"]
        within = tail[-1:] == ["**"]
        translated = [_translated(part) for part in (tail[:-1] if within else tail)]
        root = "" if base == "/" else re.escape(base or "")
        self._regex = re.compile(
            "/".join([root, *translated]) + ("(/.*)?" if within else ""), re.DOTALL
        )

    def matches(self, word: Word, bases: frozenset[str | None], *, surely: bool) -> Match:
        """Whether a word names such a path.

        Args:
            word: of a command, or an argument of a tool.
            bases: the folders that it may be relative to; None is one that is not known.
            surely: all that the word may be has to fit for YES, else one is enough.
        """
        if not word.known or self._head is None:
            return Match.MAYBE
        found = [self._fits(text, word.glob, base) for text in _readings(word) for base in bases]
        if not found:
            return Match.NO
        return min(found) if surely else max(found)

    def _fits(self, text: str, glob: bool, base: str | None) -> Match:
        if not glob:
            path = _resolved(text, base)
            if path is None:
                return Match.MAYBE
            if self._regex.fullmatch(path):
                return Match.YES
            return Match.MAYBE if self._is_above(path) else Match.NO
        folder, _, _ = text.rpartition("/")
        path = _resolved(folder or ("/" if text.startswith("/") else "."), base)
        if path is None or set(folder) & set("*?["):
            return Match.MAYBE
        head = self._head or ""
        found = {self._fits(f"{path}/\1", False, None), *self._links(path)}
        if Match.YES not in found and (path == head or _is_in(head, path) or _is_in(path, head)):
            found.add(Match.MAYBE)  # it may be one of those that the pattern names
        return found.pop() if len(found) == 1 else Match.MAYBE

    def _is_above(self, path: str) -> bool:
        """Whether what the pattern names may be in this folder."""
        head = self._head or ""
        if self._deep and _is_in(path, head) and os.path.isdir(path):
            return True
        return path == head or _is_in(head, path)

    def _links(self, folder: str) -> list[Match]:
        """How the links in a folder fit, which lead elsewhere."""
        try:
            with os.scandir(folder) as entries:
                some = list(islice(entries, MAX_ENTRIES + 1))
        except OSError:
            return []
        if len(some) > MAX_ENTRIES:
            return [Match.MAYBE]
        return [self._fits(entry.path, False, None) for entry in some if entry.is_symlink()]


def _is_in(path: str, folder: str) -> bool:
    """Whether a path is below a folder: what is done to that may be done to it."""
    return path != folder and path.startswith(f"{folder.rstrip('/')}/")


def _translated(part: str) -> str:
    pieces = re.split(r"(\*\*|\*|\?)", _cased(part))
    regexes = {"**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(regexes.get(one, re.escape(one)) for one in pieces)


def _cased(text: str) -> str:
    """On macOS `A` and `a` are one file."""
    return text.casefold() if sys.platform == "darwin" else text


def _resolved(text: str, base: str | None) -> str | None:
    """The path without `..`, links and `~`; None if that is not known here."""
    text = os.path.expanduser(text)
    if base is None and not os.path.isabs(text):
        return None
    path = os.path.join(base or "/", text)
    if re.match(r"/+(proc|dev/fd)/", os.path.normpath(path)):
        return None  # the plugin's own folders and files would be seen there
    return _cased(os.path.realpath(path))


def _readings(word: Word) -> list[str]:
    """What in a word may be a path: all of it, or what stands behind `=`, `@` or an option."""
    text = word.text
    behind = text.partition("=")[2]
    readings = [text, behind, text.lstrip("@"), behind.lstrip("@")]
    if text.startswith("-"):
        letters = re.match(r"-\w*", text)
        readings = [text[at:] for at in range(2, letters.end() + 1)] if letters else [text]
        readings.append(behind)  # `-rf/x` is a file behind -f
    if text.startswith("file:"):
        readings = [re.sub("^file:/*", "/", text)]
    return list(dict.fromkeys(one for one in readings if one))
