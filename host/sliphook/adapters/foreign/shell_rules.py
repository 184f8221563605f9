"""Pure: whether a shell's command may have a part that a rule such as `git push:*` is for.

No shell is played here: the text is cut at all that could begin a command, quoted or not, and of
each part the first words are compared. A word that a shell would make another of fits all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Final

from sliphook_sdk.protocol import Globs

MAX_COMMAND_CHARS: Final = 10_000
_RULE: Final = re.compile(r"[\w@%+=:,./* -]+")
_PLAIN: Final = re.compile(r"[\w@%+=:,./;|&\s-]*")
"""A command in which nothing is quoted, expanded or redirected."""
_WORD: Final = re.compile(r"[\w@%+=:,./-]+|\[\[?")
_CUTS: Final = re.compile(r"[;&|\n()]")
_ASSIGNMENT: Final = re.compile(r"[a-z_]\w*(\[.*\])?\+?=")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_KEYWORDS: Final = _words("if then elif else fi while until for do done case esac in select ! { }")
_SHELLS: Final = _words("sh bash dash zsh ksh mksh ash fish csh tcsh")
_RUN_OTHERS: Final = _SHELLS | _words(
    "sudo doas su runuser env command builtin exec eval nohup nice ionice chrt taskset time timeout"
    " stdbuf setsid chroot unshare nsenter flock xargs parallel find watch entr busybox toybox ssh"
    " script strace ltrace trap alias export function coproc source ."
)
"""Commands of whose arguments some are a command, or become one."""
_FIND_NAMES: Final = _words("-name -iname -path -ipath -wholename")
"""What stands behind one of these is a pattern of `find` alone."""


def may_run(rule: str, command: str) -> bool:
    """True if it cannot be told for certain that no part of the command fits.

    Args:
        rule: what stands in the brackets of `Bash(...)`.
        command: what a shell is given.
    """
    if not _RULE.fullmatch(rule) or len(command) > MAX_COMMAND_CHARS:
        return True
    pattern = " ".join(re.sub(r":\*$", " *", rule).casefold().split())
    if re.match(r"\w+:", pattern) or re.search(r"[?*+@!]\(", command):
        return True  # a rule about some argument; a pattern of file names
    head = _head(pattern)
    globs = Globs([pattern, pattern.removesuffix(" *")])
    plain = _PLAIN.fullmatch(command) is not None
    # a line that goes on, but not behind a comment
    for text in {command, command.replace("\\\n", "")}:
        # what a substitution gives stands in a word of its own
        marked = re.sub(r"['\"\\]", "", text.replace("`", "$(")).casefold()
        if any(_may_be(part.split(), head, globs, plain) for part in _CUTS.split(marked)):
            return True
    return False


def _head(pattern: str) -> list[str]:
    """The words of a pattern up to its first star, which the last one may end with."""
    begun, star, _ = pattern.partition("*")
    return f"{begun}{star}".split()


def _may_be(words: Sequence[str], head: Sequence[str], globs: Globs, plain: bool) -> bool:
    at = 0
    while at < len(words) and words[at] in _KEYWORDS:
        at += 1
    for start in range(min(at + 1, len(words))):
        text = " ".join(words[start:])
        exact = globs.fits(text) or globs.fits(f"{_base(words[start])} {text.partition(' ')[2]}")
        if _begins(words, start, head) and (exact or not plain):
            return True
    first = words[at] if at < len(words) else ""
    if _base(first) not in _RUN_OTHERS and not _ASSIGNMENT.match(first):
        return False
    each = [one for word in words for one in word.split("=")]
    return any(
        _begins(each, start, head) or _reads(each, start)
        for start in range(len(each))
        if _base(first) != "find" or each[start - 1] not in _FIND_NAMES
    )


def _reads(words: Sequence[str], start: int) -> bool:
    """Whether a shell stands there that is told nowhere what to run, so that it reads it."""
    return _base(words[start]) in _SHELLS and all(
        word.startswith("-") for word in islice(words, start + 1, None)
    )


def _begins(words: Sequence[str], start: int, head: Sequence[str]) -> bool:
    """Whether the words from `start` on may be those of the head."""
    for offset, wanted in enumerate(head):
        if start + offset >= len(words):
            return wanted == "*"
        word = words[start + offset]
        named = re.split("[<>]", word, maxsplit=1)[0]
        if named != word and (not named or named.isdigit()):
            return True  # a redirection, which may stand anywhere
        if not _WORD.fullmatch(named):
            return True
        names = (named, _base(named)) if offset == 0 else (named,)
        if not any(map(Globs([wanted]).fits, names)):
            return False
    return True


def _base(word: str) -> str:
    return word.rpartition("/")[2]
