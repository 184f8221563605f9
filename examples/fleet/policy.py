"""What the fleet's policy says: which tools are denied, and what happens without the broker."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Literal, Optional

import msgspec

MAX_BYTES = 65_536


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Denies the calls that fit all its patterns (`*`, `?`); a rule without patterns denies all."""

    tool: Optional[str] = None
    kind: Optional[str] = None
    user: Optional[str] = None
    agent: Optional[str] = None
    reason: str = "the fleet's policy denies it"


class Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One version of it.

    Attributes:
        deny: calls that are denied.
        broker_dead: `closed` denies every call while the broker is dead, or if the call cannot be
            recorded; `open` denies none for that.
        dead_after_s: seconds of silence after which the broker is dead, at least 2. A broker that
            this process has never reached is dead at once.
    """

    deny: list[Rule] = []
    broker_dead: Literal["open", "closed"] = "open"
    dead_after_s: Annotated[float, msgspec.Meta(ge=2)] = 5.0

    def denies(self, *, tool: str, kind: str | None, user: str, agent: str) -> str | None:
        """Why a call is denied, or None. A kind that the agent does not say fits every pattern."""
        for rule in self.deny:
            if (
                fits(rule.tool, tool)
                and (kind is None or fits(rule.kind, kind))
                and fits(rule.user, user)
                and fits(rule.agent, agent)
            ):
                return rule.reason
        return None


UNKNOWN = Policy(
    deny=[Rule(reason="the fleet's policy has not been read yet: the broker was never reached")]
)
"""Before the first policy has come."""


def fits(pattern: str | None, name: str) -> bool:
    return pattern is None or fnmatchcase(name, pattern)


def parse(text: bytes) -> Policy:
    """Raises ValueError, for people, if it is no policy."""
    if len(text) > MAX_BYTES:
        raise ValueError(f"a policy has at most {MAX_BYTES:,} bytes")
    try:
        return msgspec.json.decode(text, type=Policy)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise ValueError(str(exc)) from None


def remembered(file: Path) -> bytes | None:
    """The policy that was in force when an agent last reached the broker."""
    try:
        text = file.read_bytes()
        parse(text)
    except (OSError, ValueError):
        return None
    return text


def remember(file: Path, text: bytes) -> None:
    """For the next start. Raises OSError if it cannot be written."""
    new = file.with_suffix(f".{os.getpid()}")
    new.write_bytes(text)
    os.replace(new, file)
