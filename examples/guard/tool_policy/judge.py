"""What a policy says to a tool call. Nothing here runs anything, or looks at more than paths."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Any

from .paths import Match, PathPattern
from .policy import DECISIONS, Decision, Policy, Rule, texts_of
from .programs import SHELLS
from .runners import effects, effects_of_words
from .shell import Command, Effect, Redirect, Unknown, Unparsable
from .words import UNKNOWN_WORD, Word

_COMMANDS = ("command", "cmd", "script")
_TYPED = {"chars", "input", "stdin", "data", "text", "code"}
_ENVIRONMENTS = ("env", "environment")
_SAYS_NO_COMMAND = {
    *("bash_id", "shell_id", "task_id", "session_id", "sessionId", "shellId", "id", "filter"),
    *("description", "block", "wait"),
}
"""Arguments of the tools that look at a shell or end it."""
_FOLDERS = ("cwd", "workdir", "working_directory", "dir_path", "directory")
_PATHS = (
    *("path", "paths", "file_path", "filePath", "absolute_path", "notebook_path", "file"),
    *("file_name", "filename", "files", "target_file", "folder", "source", "destination"),
    *_FOLDERS,
)
_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$", re.MULTILINE)
_MAX_BASES = 16
_MAX_S = 1.0
"""Of the processor; the host waits for 5 s."""


@dataclass(frozen=True)
class Call:
    """A tool call; `kind` and `cwd` are None if the agent does not say them."""

    tool: str
    kind: str | None
    arguments: Mapping[str, Any]
    cwd: str | None


@dataclass(frozen=True)
class Verdict:
    """`line`: of the rule that decided; None if none did."""

    decision: Decision
    reason: str
    line: int | None = None


@dataclass(frozen=True)
class _Deed:
    """One thing that a call does: the call itself, or a command or an opened file of a shell.

    Attributes:
        kind: what it does; None if that is not known.
        what: for people.
        command: the words, if it is a command.
        paths: what it names; None if that is not known.
    """

    kind: str | None
    what: str
    command: tuple[Word, ...] | None = None
    paths: tuple[Word, ...] | None = None


class _Place:
    """Where a call acts, and until when it may be thought about.

    Attributes:
        bases: the folders that a relative path may begin in.
    """

    def __init__(self, cwd: str | None, bases: frozenset[str | None], until: float) -> None:
        self._cwd, self.bases, self._until = cwd, bases, until
        self._patterns = dict[str, PathPattern]()

    def goes_on(self) -> None:
        """Raise Unparsable if the time is over."""
        if time.thread_time() > self._until:
            raise Unparsable("it takes too long to judge this")

    def pattern(self, text: str) -> PathPattern:
        """A pattern of the policy, as it is to be read here."""
        if text not in self._patterns:
            self._patterns[text] = PathPattern(text, self._cwd)
        return self._patterns[text]


def judge(policy: Policy, call: Call) -> Verdict:
    """The strongest of what the policy says to all that the call does."""
    try:
        found, unknown = _deeds(call)
        place = _Place(call.cwd, _bases(call, found), time.thread_time() + _MAX_S)
        verdicts = [Verdict(policy.unknown, why) for why in unknown]
        verdicts += [_verdict(policy, call, deed, place) for deed in found]
    except Unparsable as error:
        return Verdict("deny", str(error))
    return _strongest(verdicts) or Verdict(policy.default, "it does nothing that a rule fits")


def _strongest(verdicts: list[Verdict]) -> Verdict | None:
    """Of equal ones that of a rule, or the first."""

    def weight(verdict: Verdict) -> tuple[int, bool]:
        return DECISIONS.index(verdict.decision), verdict.line is not None

    return max(verdicts, key=weight, default=None)


def _deeds(call: Call) -> tuple[list[_Deed], list[str]]:
    """What a call does, and what of it is not known."""
    commands = [call.arguments[name] for name in _COMMANDS if name in call.arguments]
    if commands and call.kind in (None, "shell", "mcp"):
        deeds, unknown = _of_shell(call, commands)
        typed = sorted(_TYPED & set(call.arguments))
        return deeds, [*unknown, *(f"{call.tool} has {name} beside a command" for name in typed)]
    paths = tuple(_paths(call))
    named = paths or ((Word("."),) if call.kind == "search" else None)
    deed = _Deed(call.kind, f"{call.tool}", paths=named)
    if call.kind == "shell" and (more := set(call.arguments) - _SAYS_NO_COMMAND):
        return [deed], [f"{call.tool} has {', '.join(sorted(more))}, and no command that is known"]
    return [deed], []


def _of_shell(call: Call, commands: list[object]) -> tuple[list[_Deed], list[str]]:
    """What all the commands do: which of them the tool takes is not known."""
    shell = str(call.arguments.get("shell") or "sh").rpartition("/")[2]
    if re.search("powershell|pwsh|cmd", call.tool, re.IGNORECASE) or shell not in SHELLS:
        return [_Deed(call.kind, call.tool)], [f"{call.tool} is a shell that is not known here"]
    deeds, unknown = list[_Deed](), list[str]()
    for name in _ENVIRONMENTS:
        if call.arguments.get(name):
            unknown.append(f"its {name} may change what runs")
    for effect in (effect for command in commands for effect in _effects(command)):
        if isinstance(effect, Unknown):
            unknown.append(effect.why)
        else:
            deeds.append(_deed(call, effect))
    return deeds, unknown


def _effects(command: object) -> list[Effect]:
    if isinstance(command, str):
        return effects(command)
    words = texts_of(command)
    if words is None:
        raise Unparsable("the command is neither a text nor a list of texts")
    return effects_of_words(words)


def _deed(call: Call, effect: Effect) -> _Deed:
    if isinstance(effect, Redirect):
        return _Deed(effect.kind, f"{effect.kind} {effect.target.text}", paths=(effect.target,))
    assert isinstance(effect, Command)
    words = effect.words
    what = " ".join(word.text if word.known else "…" for word in words)
    return _Deed(call.kind, what, command=words, paths=words[1:])


def _paths(call: Call) -> Iterator[Word]:
    """The paths among the arguments of a tool."""
    for name in _PATHS:
        value = call.arguments.get(name)
        texts = texts_of(value)
        for text in texts or ():
            yield Word(text, glob=bool(set(text) & set("*?[")) and not isinstance(value, str))
        if texts is None and value is not None:
            yield UNKNOWN_WORD
    for value in map(call.arguments.get, ("patch", "input", "command")):
        if isinstance(value, str):
            yield from map(Word, _PATCHED.findall(value))


def _bases(call: Call, deeds: list[_Deed]) -> frozenset[str | None]:
    """The folders that a relative path may begin in: `cd` moves on."""
    if any(deed.command is not None for deed in deeds):
        moved = [call.arguments[name] for name in _FOLDERS if name in call.arguments]
        bases: list[str | None] = [call.cwd]
        for folder in moved:
            bases.append(_joined(call.cwd, folder))
    else:
        bases, moved = [call.cwd], []
    for deed in deeds:
        for target in _moves(deed.command or ()):
            text = target.text if target.known and not target.glob else None
            more = [None if text is None else _joined(base, text) for base in bases]
            bases = list(dict.fromkeys([*bases, *more]))[:_MAX_BASES]
            if len(bases) == _MAX_BASES or (text and ".." in text):
                bases.append(None)  # a loop may go on from there
    return frozenset(bases)


def _joined(base: str | None, text: object) -> str | None:
    if not isinstance(text, str):
        return None
    text = os.path.expanduser(text)
    if text.startswith("/"):
        return text
    return None if base is None else f"{base}/{text}"


def _moves(words: tuple[Word, ...]) -> Iterator[Word]:
    """Where a command goes, for itself or for those behind it."""
    if not words:
        return
    name, rest = words[0].text.rpartition("/")[2], words[1:]
    if name in ("cd", "pushd", "chdir"):
        operands = [word for word in rest if not word.text.startswith("-")]
        back = any(word.text == "-" for word in rest)
        yield UNKNOWN_WORD if back else operands[0] if operands else Word("~")
    for word, following in pairwise(rest):
        if word.text in ("-C", "--directory", "--chdir", "--cwd", "--prefix"):
            yield following
        elif word.text.startswith("-C"):
            yield Word(word.text[2:])


def _verdict(policy: Policy, call: Call, deed: _Deed, place: _Place) -> Verdict:
    """What all rules together say to one deed."""
    place.goes_on()
    said = list[Verdict]()
    for rule in policy.rules:
        fits = _fits(rule, call, deed, place)
        if fits is Match.YES:
            said.append(Verdict(rule.decision, f"{rule.reason} ({deed.what[:200]})", rule.line))
        elif fits is Match.MAYBE and rule.decision != "allow":
            decision: Decision = "ask" if rule.decision == "ask" else policy.unknown
            why = f"this may be what the rule in line {rule.line} is about, {rule.reason}"
            said.append(Verdict(decision, f"{why} ({deed.what[:200]})", rule.line))
    nothing = Verdict(policy.default, f"no rule is about it ({deed.what[:200]})")
    return _strongest(said) or nothing


def _fits(rule: Rule, call: Call, deed: _Deed, place: _Place) -> Match:
    """Whether a rule fits. What allows has to fit for certain, what forbids in any way."""
    allows = rule.decision == "allow"
    if rule.kind and deed.kind not in rule.kind and (allows or deed.kind is not None):
        return Match.NO
    if rule.tool and not any(fnmatchcase(call.tool, pattern) for pattern in rule.tool):
        return Match.NO
    found = [_fits_argument(call, name, rule.arguments[name]) for name in rule.arguments]
    if rule.command:
        found.append(_fits_command(rule, deed.command or ()))
    if rule.path and Match.NO not in found:
        found.append(_fits_path(rule, deed, place))
    return min(found, default=Match.YES)


def _fits_argument(call: Call, name: str, patterns: tuple[str, ...]) -> Match:
    value = call.arguments.get(name)
    if value is None:
        return Match.NO
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return Match.YES if any(fnmatchcase(text, one) for one in patterns) else Match.NO


def _fits_command(rule: Rule, words: tuple[Word, ...]) -> Match:
    if not words or not words[0].known:
        return Match.NO  # a name that is not known is `unknown` on its own account
    allows, name, rest = rule.decision == "allow", words[0].text, words[1:]
    if not allows:
        name = name.rpartition("/")[2].lower()
    if not any(fnmatchcase(name, one if allows else one.lower()) for one in rule.command):
        return Match.NO
    if allows and "/" in name and not any("/" in one for one in rule.command):
        return Match.NO  # `./ls` is not `ls`
    found = [_fits_words(rule.words, rest, at_once=allows)] if rule.words else []
    return min([*found, *(_fits_option(one, rest) for one in rule.options)], default=Match.YES)


def _fits_words(patterns: tuple[str, ...], words: tuple[Word, ...], *, at_once: bool) -> Match:
    """Whether the words are there in this order, or `at_once` right at the beginning."""
    if at_once:
        pairs = list(zip(patterns, words, strict=False))
        fits = all(word.known and fnmatchcase(word.text, one) for one, word in pairs)
        return Match.YES if fits and len(pairs) == len(patterns) else Match.NO
    left = iter(words)
    if all(any(word.known and fnmatchcase(word.text, one) for word in left) for one in patterns):
        return Match.YES
    return Match.MAYBE if any(not word.known or word.glob for word in words) else Match.NO


def _fits_option(alternatives: str, words: tuple[Word, ...]) -> Match:
    """Whether an option is there, alone, in a cluster such as `-xrf`, or cut short."""
    for option in alternatives.split("|"):
        for word in words:
            if word.text == "--":
                break
            given = word.text.partition("=")[0]
            if option.startswith("--"):
                is_it = len(given) > 2 and option.startswith(given)
            elif len(option) == 2:
                is_it = given[:1] == "-" != given[1:2] and option[1] in given
            else:
                is_it = given == option
            if word.known and is_it:
                return Match.YES
    may_be = any(not word.known or (word.glob and word.text[0] in "*?[-") for word in words)
    return Match.MAYBE if may_be else Match.NO


def _fits_path(rule: Rule, deed: _Deed, place: _Place) -> Match:
    allows = rule.decision == "allow"
    if deed.paths is None:
        return Match.NO if allows else Match.MAYBE
    found = [
        max(place.pattern(text).matches(word, place.bases, surely=allows) for text in rule.path)
        for word in deed.paths
        if not (word.known and re.fullmatch(r"-[^/=]*", word.text))
    ]
    if not found:
        return Match.YES if allows else Match.NO
    return min(found) if allows else max(found)
