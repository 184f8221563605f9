"""The plugin: records what happens, stops turns when an operator says so, denies by the policy.

Hooks and events have `async def`s that await nothing. So each is done before the next one begins,
and what happens is recorded in the order in which the host sent it.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sqlite3
import threading
import time
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any

import msgspec
from broker import Server, connect, own_user, place
from link import Listener, Log, Sender, Stop, Stopped
from shown import MAX_SESSIONS
from spool import Spool, open_spool

import sliphook_sdk as sdk
from sliphook_sdk.protocol import CATALOGUE

MAX_TEXT = 4_000  # of one field, with `content`
LAST_WORDS_S = 1.0
OWN_USER = own_user()
FACTS = frozenset(
    (
        "agent_depth", "agent_id", "asked_by", "attempt", "by", "call_id", "call_index", "cause",
        "child_agent_id", "cwd", "duration_ms", "event_id", "finish_reason", "index", "inflight",
        "interrupt_count", "invalidation_reason", "kind", "late_end", "level", "message_id",
        "model", "model_call_id", "model_calls", "old_session_id", "origin", "outcome",
        "parent_agent_id", "parent_turn_id", "platform", "provider", "question_id", "reason",
        "routed_by", "seq", "session_id", "session_key", "source", "started", "status",
        "still_running", "stop_count", "submitted_by", "substituted_by", "time", "timeout_s",
        "tool_calls", "tool_kind", "tool_name", "truncated", "turn_count", "turn_id", "turns",
        "usage", "user_id", "will_retry",
    )
)  # fmt: skip
"""Names, numbers and verdicts. All else is what people, models and tools wrote."""


class Settings(Server):
    """The user's settings.

    Attributes:
        content: record what people, models and tools wrote, too.
        spool_mib: how much may wait on disk.
        keep_events: about how many the broker keeps.
    """

    content: bool = False
    spool_mib: Annotated[int, msgspec.Meta(ge=1)] = 64
    keep_events: Annotated[int, msgspec.Meta(ge=1)] = 1_000_000


@dataclass
class Session:
    """What `fleet top` shows. `busy_since` is on `time.monotonic()`, None if no turn is open."""

    key: str = ""
    user: str = ""
    busy_since: float | None = None
    turn_id: str | None = None
    tool: str | None = None
    turns: int = 0
    tools: int = 0
    tokens: int = 0


plugin = sdk.Plugin(
    "fleet",
    version="1.0.0",
    description="Tells a fleet's operator what happens here, and does what they say.",
    config=Settings,
    sessions=Session,
    uses=["interrupt"],
    env=[sdk.EnvWant(name="FLEET_PASSWORD", why="to log in at the broker")],
)


class Fleet:
    """What the handlers use; `start` fills it."""

    agent: str
    spool: Spool
    content: bool
    log: Log
    sender: Sender
    listener: Listener

    def __init__(self) -> None:
        self.lost = 0
        self.problem = ""

    def record(self, name: str, user: str, payload: Any, *, durable: bool = False) -> bool:
        """Put an event into the spool. False if that cannot be done; then it is lost."""
        event = {"agent": self.agent, "user": user, "event": name, **told(payload, self.content)}
        try:
            if self.lost:
                note = {"agent": self.agent, "event": "fleet_lost", "count": self.lost}
                self.spool.add(msgspec.json.encode(note))
                self.lost = 0
                self.log("info", "events are recorded again")
            self.spool.add(msgspec.json.encode(event), durable=durable)
        except sqlite3.Error as exc:
            self.lost += 1
            self.problem = str(exc)
            if self.lost == 1:
                self.log("error", f"events cannot be recorded: {exc}")
            return False
        return True


fleet = Fleet()


def told(payload: Any, content: bool) -> dict[str, Any]:
    fields = {
        key: value
        for key, value in msgspec.to_builtins(payload).items()
        if value is not None and (content or key in FACTS)
    }
    for key in fields.keys() - FACTS:
        text = msgspec.json.encode(fields[key])
        if len(text) > MAX_TEXT:
            fields[key] = {"cut": text[:MAX_TEXT].decode(errors="replace"), "bytes": len(text)}
    return fields


@plugin.on_start
async def start(*, ctx: sdk.LifeContext) -> sdk.Disabled | None:
    settings: Settings = ctx.config
    password = os.environ.get("FLEET_PASSWORD")
    try:
        clients = [connect(settings, password) for _ in range(2)]
    except ValueError as exc:
        return sdk.disabled(f"the broker's settings cannot be used: {exc}")
    agent = f"{socket.gethostname()}-{os.getpid()}"
    ctx.log("info", f"this agent is {agent}; the broker is at {place(settings)}")
    spool, damage = open_spool(ctx.data_dir / "spool.db", settings.spool_mib)
    if damage:
        ctx.log("error", damage)
    fleet.agent, fleet.spool, fleet.content, fleet.log = agent, spool, settings.content, ctx.log
    lock = ctx.data_dir / "sender.lock"
    fleet.sender = Sender(clients[0], spool, lock, settings.keep_events, ctx.log)
    fleet.listener = Listener(clients[1], ctx.data_dir, agent, state, stop, ctx.log)
    for run in (fleet.sender.run, fleet.listener.run):
        threading.Thread(target=run, daemon=True).start()
    await asyncio.to_thread(fleet.listener.tried.wait, 3)


@plugin.on_shutdown
def end(*, ctx: sdk.LifeContext) -> None:
    """Give the sender a moment for the last events; what is left waits for the next start here."""
    until = min(ctx.deadline, time.monotonic() + LAST_WORDS_S)
    while fleet.sender.works and fleet.spool.waiting() and time.monotonic() < until:
        time.sleep(0.02)


@plugin.hook("pre_tool_call", on_failure="closed")
async def guard(call: Any) -> sdk.Answer[Any] | None:
    session = note(call)
    session.tool = call.tool_name
    is_recorded = fleet.record("pre_tool_call", session.user, call, durable=True)
    policy = fleet.listener.policy
    reason = policy.denies(
        tool=call.tool_name, kind=call.tool_kind, user=session.user, agent=fleet.agent
    )
    if reason is None and policy.broker_dead == "closed":
        if not is_recorded:
            reason = f"the fleet's policy wants it recorded, and that failed: {fleet.problem}"
        elif fleet.listener.is_dead():
            reason = "the fleet's broker is away, and its policy is that no tool runs without it"
    return None if reason is None else sdk.deny(reason)


def listen_to(name: str) -> None:
    async def happened(payload: Any) -> None:
        session = note(payload)
        follow(session, name, payload)
        fleet.record(name, session.user, payload)

    on: Any = plugin.on  # its types want the name itself
    on(name, subagents=True, optional=True)(happened)


for entry in CATALOGUE:
    if entry != "pre_tool_call":
        listen_to(entry)


def note(payload: Any) -> Session:
    session = plugin.sessions[payload.session_id]
    session.key = payload.session_key or ""
    session.user = payload.user_id or OWN_USER
    return session


def follow(session: Session, name: str, payload: Any) -> None:
    if name == "session_start" and payload.source == "reload":
        session.busy_since = 0.0  # a turn may be open; which one, and when it began, is not known
    elif name == "turn_start" and payload.agent_depth == 0:
        session.busy_since = time.monotonic()
        session.turn_id = payload.turn_id
        session.turns += 1
    elif name == "turn_end" and payload.agent_depth == 0:
        session.busy_since = session.turn_id = session.tool = None
        session.tokens += (payload.usage.input_tokens or 0) + (payload.usage.output_tokens or 0)
    elif name == "post_tool_call":
        session.tool = None
        session.tools += 1


def stop(wanted: Stop, since: float) -> Stopped | None:
    """Interrupt the turns that were open at that time. For the listener's thread.

    None if nothing here is meant.
    """
    turns, problem = 0, None
    all_here = wanted.all or wanted.agent == fleet.agent
    meant = {
        session_id: session
        for session_id, session in plugin.sessions.items()
        if all_here or wanted.agent == session_id or wanted.user == session.user
    }
    if not meant and not all_here:
        return None
    for session_id, session in meant.items():
        # that turn alone: its end may not have been heard yet, and the next be open
        turn_id = session.turn_id  # before the look at when it began, as another thread writes both
        if session.busy_since is None or session.busy_since > since:
            continue
        try:
            turns += plugin.host.interrupt(wanted.reason, session_id=session_id, turn_id=turn_id)
        except (sdk.HostRefused, sdk.NotConnected) as exc:
            problem = str(exc)
    return Stopped(fleet.agent, turns, problem)


def state(policy_id: str) -> bytes:
    """What `fleet top` shows of this agent. For the listener's thread."""
    now = time.monotonic()
    return msgspec.json.encode(
        {
            "agent": fleet.agent,
            "policy": policy_id,
            "waiting": fleet.spool.waiting(),
            "lost": fleet.lost,
            "sessions": [
                {
                    "session": session_id,
                    "key": one.key[:100],
                    "user": one.user[:100],
                    "busy_s": None if one.busy_since is None else now - one.busy_since,
                    "tool": one.tool,
                    "turns": one.turns,
                    "tools": one.tools,
                    "tokens": one.tokens,
                }
                for session_id, one in islice(plugin.sessions.items(), MAX_SESSIONS)
            ],
        }
    )


if __name__ == "__main__":
    plugin.run()
