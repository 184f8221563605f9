"""The policy: a TOML file of rules, checked as a whole when it is loaded."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec
import tomllib

Decision = Literal["allow", "ask", "deny"]
DECISIONS: tuple[Decision, ...] = get_args(Decision)
"""From the weakest to the strongest."""
KINDS = ("shell", "read", "write", "edit", "fetch", "search", "agent", "mcp", "other")
MAX_BYTES = 65_536
MAX_RULES = 500

_LISTS = ("kind", "tool", "command", "words", "options", "path")
_RULE_KEYS = ("decision", *_LISTS, "arguments", "reason")
_TOP_KEYS = ("default", "unknown", "rule")


class PolicyError(Exception):
    """The policy cannot be used; the text says where and why."""


@dataclass(frozen=True)
class Rule:
    """One `[[rule]]`; it fits if all that it names fits, each list by one of its entries.

    Attributes:
        line: where it begins in the file.
        decision: what it says.
        reason: why, for people and for the model.
        kind: what the tool does.
        tool: the tool's name.
        command: the name of a shell's command.
        words: words of the command, all of them, in this order.
        options: options of the command, all of them; `-r|--recursive` is either.
        path: paths that the call or the command names.
        arguments: of the tool, by name.
    """

    line: int
    decision: Decision
    reason: str
    kind: tuple[str, ...] = ()
    tool: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    arguments: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


@dataclass(frozen=True)
class Policy:
    """All rules.

    Attributes:
        default: what is decided about a call, or a command in it, that no rule fits.
        unknown: what is decided about what only the run will show: `ask` or `deny`.
    """

    rules: tuple[Rule, ...]
    default: Decision
    unknown: Decision


class PolicyFile:
    """The file, read at each call, so that a change counts at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._text: bytes | None = None
        self._policy: Policy | None = None

    def current(self) -> Policy:
        """The policy as the file says it now. Raises PolicyError."""
        try:
            with self._path.open("rb") as file:
                text = file.read(MAX_BYTES + 1)
        except OSError as error:
            raise PolicyError(f"{self._path}: {error.strerror}") from None
        if text != self._text or self._policy is None:
            self._text, self._policy = None, None
            try:
                self._policy = parsed(text)
            except PolicyError as error:
                raise PolicyError(f"{self._path}: {error}") from None
            self._text = text
        return self._policy


def parsed(data: bytes) -> Policy:
    """Raises PolicyError, which names the line."""
    if len(data) > MAX_BYTES:
        raise PolicyError(f"it has more than {MAX_BYTES:,} bytes")
    try:
        text = data.decode()
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise PolicyError(f"it is not TOML: {error}") from None
    lines = _Lines(text)
    lines.knows(table, _TOP_KEYS, lines.top, "the policy")
    default = _choice(table, "default", DECISIONS, lines.top)
    unknown = _choice(table, "unknown", ("ask", "deny"), lines.top)
    try:
        rules = msgspec.convert(table.get("rule", []), list[dict[str, Any]])
    except msgspec.ValidationError:
        raise PolicyError("a rule begins with [[rule]]") from None
    if len(rules) > MAX_RULES:
        raise PolicyError(f"it has more than {MAX_RULES} rules")
    found = tuple(_rule(one, lines, at) for at, one in enumerate(rules))
    return Policy(found, default, unknown)


class _Lines:
    """Where a key stands. tomllib does not tell, and these tables are flat."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        self.starts = [
            number
            for number, line in enumerate(self._lines, 1)
            if re.match(r"\s*\[\[\s*rule\s*\]\]", line)
        ]
        self.top = {"begin": 1, "end": self.starts[0] if self.starts else len(self._lines) + 1}

    def rule(self, at: int) -> dict[str, int]:
        bounds = [*self.starts, len(self._lines) + 1]
        if at + 1 >= len(bounds):  # written as `rule = [...]`
            return {"begin": 1, "end": len(self._lines) + 1}
        return {"begin": bounds[at], "end": bounds[at + 1]}

    def of(self, key: str, part: dict[str, int]) -> int:
        """The line of a key, or else that of its table."""
        pattern = re.compile(rf"""\s*(\[rule\.)?["']?{re.escape(key)}["']?\s*[=.\]]""")
        inside = range(part["begin"], part["end"])
        return next((at for at in inside if pattern.match(self._lines[at - 1])), part["begin"])

    def knows(
        self, table: dict[str, Any], keys: tuple[str, ...], part: dict[str, int], what: str
    ) -> None:
        for key in table:
            if key not in keys:
                near = difflib.get_close_matches(key, keys, 1)
                hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(keys)}"
                raise PolicyError(f"line {self.of(key, part)}: {what} has no key {key!r}; {hint}")
        self._table, self._part = table, part

    def fault(self, key: str, text: str) -> PolicyError:
        return PolicyError(f"line {self.of(key, self._part)}: {key} {text}")


def _choice(table: dict[str, Any], key: str, choices: tuple[Any, ...], part: dict[str, int]) -> Any:
    if table.get(key) not in choices:
        found = f"is {table[key]!r}" if key in table else "is missing"
        line = f"line {part['begin']}"
        raise PolicyError(f"{line}: {key} {found}; it must be {' or '.join(choices)}")
    return table[key]


def _rule(table: dict[str, Any], lines: _Lines, at: int) -> Rule:
    part = lines.rule(at)
    lines.knows(table, _RULE_KEYS, part, "a rule")
    decision = _choice(table, "decision", DECISIONS, part)
    lists = {key: _texts(table[key], key, lines) for key in _LISTS if key in table}
    for kind in lists.get("kind", ()):
        if kind not in KINDS:
            near = difflib.get_close_matches(kind, KINDS, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(KINDS)}"
            raise lines.fault("kind", f"names {kind!r}, which is none; {hint}")
    try:
        arguments = msgspec.convert(table.get("arguments", {}), dict[str, Any])
    except msgspec.ValidationError:
        what = 'must be a table, such as {url = "https://example.org/*"}'
        raise lines.fault("arguments", what) from None
    for option in lists.get("options", ()):
        if not all(re.match("-.", one) for one in option.split("|")):
            raise lines.fault("options", f"has {option!r}; an option begins with -")
    for needed in ("words", "options"):
        if needed in lists and "command" not in lists:
            raise lines.fault(needed, "needs command beside it")
    reason = table.get("reason", f"the policy's rule in line {part['begin']}")
    if not isinstance(reason, str):
        raise lines.fault("reason", "must be a text")
    named = {name: _texts(value, "arguments", lines) for name, value in arguments.items()}
    return Rule(line=part["begin"], decision=decision, reason=reason, arguments=named, **lists)


def texts_of(value: object) -> list[str] | None:
    """A text, or a list of texts, as a list; None if it is something else."""
    try:
        return [value] if isinstance(value, str) else msgspec.convert(value, list[str])
    except msgspec.ValidationError:
        return None


def _texts(value: object, key: str, lines: _Lines) -> tuple[str, ...]:
    texts = texts_of(value)
    if not texts:
        raise lines.fault(key, "must be a text or a list of texts, and not empty")
    return tuple(texts)
