"""Pure: what `fleet top` prints. The texts in it come from agents, and are quoted."""

from __future__ import annotations

from typing import Optional

import msgspec

MAX_SESSIONS = 50  # of one agent
COLUMNS = ("AGENT", "USER", "SESSION", "DOES", "TURNS", "TOOLS", "TOKENS", "POLICY", "NOTES")


class OneSession(msgspec.Struct):
    session: str = ""
    key: str = ""
    user: str = ""
    busy_s: Optional[float] = None
    tool: Optional[str] = None
    turns: int = 0
    tools: int = 0
    tokens: int = 0


class Living(msgspec.Struct):
    """What an agent says of itself.

    Attributes:
        policy: the id of the policy that it follows.
        waiting: events of its machine that the broker does not have yet.
        lost: events that could not be recorded.
    """

    agent: str
    policy: str = "?"
    waiting: int = 0
    lost: int = 0
    sessions: list[OneSession] = []

    def has(self, *, agent: str | None, user: str | None) -> bool:
        """Whether it is, or has, the agent, session or user that is named."""
        return self.agent == agent or any(
            one.session == agent or one.user == user for one in self.sessions
        )

    @classmethod
    def read(cls, text: bytes) -> Living:
        """What cannot be read is shown as such: anyone who may write to the broker may write it."""
        try:
            return msgspec.json.decode(text, type=cls)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return cls(agent="(not readable)")


def as_one_line(text: str, most: int = 40) -> str:
    """Without what would steer a terminal, break the line or hide in it."""
    shown = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text[: most + 1])
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def table(agents: list[Living]) -> list[str]:
    """A line for each session, and for each agent without one."""
    rows: list[tuple[str, ...]] = [COLUMNS]
    for one in agents:
        notes = [f"{one.waiting} wait"] * (one.waiting > 0) + [f"{one.lost} lost"] * (one.lost > 0)
        for session in one.sessions[:MAX_SESSIONS] or [OneSession()]:
            cells = (
                one.agent,
                session.user,
                session.key,
                doing(session),
                str(session.turns),
                str(session.tools),
                str(session.tokens),
                one.policy,
                ", ".join(notes),
            )
            rows.append(tuple(as_one_line(cell) for cell in cells))
    widths = [max(len(row[i]) for row in rows) for i in range(len(COLUMNS))]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return [*lines, f"{len(agents)} agents"]


def doing(session: OneSession) -> str:
    if session.busy_s is None:
        return "-"
    return f"{session.tool or 'turn'} {session.busy_s:.0f} s"
