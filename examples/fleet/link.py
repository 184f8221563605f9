"""The two threads that speak with the broker: one sends what is spooled, one hears operators."""

from __future__ import annotations

import fcntl
import hashlib
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Optional

import msgspec
import policy
from broker import (
    AGENT,
    CONTROL,
    EVENTS,
    POLICY,
    WANTS_S,
    Client,
    clock_of,
    control_of,
    millis,
    replies_to,
)
from spool import Spool

from sliphook_sdk.protocol import Level

BATCH = 200
PAUSE_S = 0.2  # between two looks into the spool; other agents of this machine write into it too
ALIVE_S = 5  # how long an agent counts as living after its last word
Log = Callable[[Level, str], None]


class Stop(msgspec.Struct, omit_defaults=True):
    """What an operator wants: that the open turns of these end."""

    agent: Optional[str] = None
    user: Optional[str] = None
    all: bool = False
    reason: str = "an operator stopped it"


class Stopped(msgspec.Struct):
    """What came of it in one agent."""

    agent: str
    turns: int
    problem: Optional[str] = None


class Sender:
    """Sends the spool's events. Of all agents on the machine, the one does that has the lock.

    Attributes:
        works: false if the last try has failed.
    """

    def __init__(self, client: Client, spool: Spool, lock: Path, keep: int, log: Log):
        self.works = True
        self._sent = 0
        self._client = client
        self._spool = spool
        self._lock = lock
        self._keep = keep
        self._log = log

    def run(self) -> None:
        """For a thread, without an end."""
        with self._lock.open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # the system gives it back when the process ends
            while True:
                try:
                    if not self._send():
                        time.sleep(PAUSE_S)
                    self.works = True
                except Exception as exc:  # the broker's failures; a full disk; it must not end
                    if self.works:
                        self._log("warning", f"events wait on disk: {describe(exc)}")
                    self.works = False
                    time.sleep(random.uniform(PAUSE_S, 5 * PAUSE_S))

    def _send(self) -> bool:
        """False if nothing waits. All of a batch is added, or nothing: so the order stays."""
        batch = self._spool.next(self._sent, BATCH)
        if not batch:
            if self._spool.waiting():  # the last time that failed
                self._spool.forget(self._sent)
            return False
        with self._client.pipeline(transaction=True) as pipe:
            for n, event in batch:
                fields = {"spool": self._spool.writer, "n": n, "event": event}
                pipe.xadd(EVENTS, fields, maxlen=self._keep, approximate=True)
            pipe.execute()
        self._sent = batch[-1][0]
        self._spool.forget(self._sent)  # if this process ends before, they are sent again
        return True


class Listener:
    """Hears what operators want, and tells that this agent lives.

    Attributes:
        policy: in force.
        policy_id: a few digits of its hash.
        tried: set when the first try to reach the broker is over.
    """

    def __init__(
        self,
        client: Client,
        folder: Path,
        agent: str,
        state: Callable[[str], bytes],
        stop: Callable[[Stop, float], Stopped | None],
        log: Log,
    ):
        self.policy, self.policy_id = policy.UNKNOWN, "-"
        self.tried = threading.Event()
        self._client = client
        self._file = folder / "policy.json"
        self._agent = agent
        self._state = state
        self._stop = stop
        self._log = log
        self._heard_s: float | None = None
        self._told_s = -WANTS_S
        self._last: dict[str, bytes] = {}  # of each stream the newest entry that was seen
        self._clock_s = 0.0  # the broker's clock less `time.monotonic()`
        text = policy.remembered(self._file)
        if text is not None:
            self._take(text)

    def is_dead(self) -> bool:
        """Whether the broker has been silent for too long."""
        heard_s = self._heard_s
        return heard_s is None or time.monotonic() - heard_s > self.policy.dead_after_s

    def run(self) -> None:
        """For a thread, without an end."""
        problem = None
        while True:
            try:
                self._greet()
                self._log("info", "the broker is there")
                problem = None
                self.tried.set()
                while True:
                    self._listen()
            except Exception as exc:  # mostly the broker's; whatever it is, the thread goes on
                if describe(exc) != problem:
                    problem = describe(exc)
                    self._log("warning", f"the broker is away: {problem}")
                self.tried.set()
                time.sleep(random.uniform(PAUSE_S, 5 * PAUSE_S))

    def _greet(self) -> None:
        """What has changed meanwhile. What is wanted from now on is heard before the policy."""
        self._clock_s = clock_of(self._client)
        seconds = int(self._clock_s + time.monotonic())
        # at the start; and if this is another broker, with its clock behind
        if not self._last or max(map(millis, self._last.values())) > (seconds + 1) * 1000:
            now = b"%d-0" % (seconds * 1000)
            self._last = {CONTROL: now, control_of(self._agent): now}
        self._read_policy()
        self._live()

    def _listen(self) -> None:
        found = self._client.xread(self._last, count=100, block=int(WANTS_S * 1000))
        for stream, entries in found or ():
            for entry, fields in entries:
                self._last[stream.decode()] = entry
                if b"policy" in fields:
                    self._read_policy()
                if b"stop" in fields:
                    self._obey(stream.decode(), entry, fields[b"stop"])
        self._live()

    def _live(self) -> None:
        now = time.monotonic()
        self._heard_s = now
        if now < self._told_s + WANTS_S / 2:
            return  # a stop wakes all agents, and those that it means shall not wait for others
        self._told_s = now
        self._client.set(AGENT + self._agent, self._state(self.policy_id), ex=ALIVE_S)

    def _obey(self, stream: str, entry: bytes, text: bytes) -> None:
        try:
            stop = msgspec.json.decode(text, type=Stop)
        except (msgspec.DecodeError, UnicodeDecodeError) as exc:
            self._log("warning", f"a stop cannot be read: {describe(exc)}")
            return
        stopped = self._stop(stop, millis(entry) / 1000 - self._clock_s)
        if stopped is None:
            return
        key = replies_to(stream, entry)
        with self._client.pipeline(transaction=True) as pipe:
            pipe.xadd(key, {"stopped": msgspec.json.encode(stopped)}, maxlen=10_000)
            pipe.expire(key, 60)
            pipe.execute()

    def _read_policy(self) -> None:
        text = self._client.getrange(POLICY, 0, policy.MAX_BYTES)
        if text:
            if self._take(text):
                self._remember(text)
        elif self.policy is policy.UNKNOWN:
            self._take(b"{}")

    def _remember(self, text: bytes) -> None:
        try:
            policy.remember(self._file, text)
        except OSError as exc:  # it is in force all the same
            self._log("error", f"the policy is not kept for the next start: {exc.strerror}")

    def _take(self, text: bytes) -> bool:
        try:
            self.policy = policy.parse(text)
        except ValueError as exc:
            self._log("error", f"the old policy stays, as the new one is none: {exc}")
            return False
        self.policy_id = policy_id(text)
        return True


def policy_id(text: bytes) -> str:
    """By which an operator sees who has which policy."""
    return hashlib.sha256(text).hexdigest()[:8]


def describe(exc: Exception) -> str:
    """One line without what a library may have put into it."""
    return f"{type(exc).__name__}: {str(exc)[:200]}"
