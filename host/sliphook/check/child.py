"""One process of the plugin under check: raw writes, and the host's own reader of frames."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import trio

from sliphook.process.child import describe_exit
from sliphook.process.diagnosis import advice_for, last_words
from sliphook.process.environment import plugin_environment
from sliphook.process.session_members import only_zombies
from sliphook.process.stderr import StderrTail
from sliphook.quoting import quote
from sliphook.wire import envelope
from sliphook.wire.framing import FrameReader, FramingError, Stray
from sliphook_sdk.framing import frame
from sliphook_sdk.protocol import ErrorCode
from sliphook_sdk.protocol.limits import EXIT_GRACE_S

from .finding import CheckFailed
from .near_misses import NearMissRule
from .replies import Replies
from .samples import message
from .traced import Watched
from .unasked import result_of, why_not_taken

ANSWER_S: Final = 5.0
"""How long a plugin may take for an answer that needs no work."""

_DYING_S: Final = 0.5
_LEFT_LOOKS: Final = 20
_LAST_WORDS: Final = 20
_READ_BYTES: Final = 65536
_FLOOD: Final = 10_000
"""Breaches after which a process is killed: to read them all would hold every check."""
_ANSWER_ALL: Final = (
    "answer every request, with its id as it came; end every message with LF and flush it"
)

Breach = Callable[[str, str], None]
"""Gets the broken rule (a key of `suite._CONDUCT`) and what the plugin did."""


class Child:
    """A running plugin. The caller of `start` must call `end`.

    Attributes:
        spoke: when it sent what is no reply, or wrote to stderr, and an excerpt; the last ones.
        ready: its manifest has been read.
        uses: the grants that its manifest lists.
    """

    def __init__(self, process: trio.Process, breach: Breach, watched: Watched | None) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self._writing = trio.Lock()
        self._stdin, self._stdout, self._stderr = process.stdin, process.stdout, process.stderr
        self._breach = breach
        self._breaches = 0
        self.near_misses = NearMissRule(breach)
        self._watched = watched
        self._news = trio.lowlevel.ParkingLot()
        self._replies = Replies(partial(self._break, "replies"), trio.current_time)
        self._tail = StderrTail()
        self._closed = False
        self._drained = trio.Event()
        self._reader = FrameReader()
        self.spoke: list[tuple[float, str]] = []
        self.ready = False
        self.uses: frozenset[str] = frozenset()

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        data_dir: Path,
        granted: Mapping[str, str],
        breach: Breach,
        nursery: trio.Nursery,
        watched: Watched | None,
    ) -> Child:
        """Start the executable.

        Raises:
            OSError: it cannot be started.
        """
        process = await trio.lowlevel.open_process(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=data_dir,
            # As the host starts it: a variable of this shell that is not granted must not help it.
            env=plugin_environment(os.environ, granted),
            # Its own process group, so that `end` also kills what the plugin has started.
            start_new_session=True,
        )
        child = cls(process, breach, watched)
        if watched is not None:
            watched.recorder.life("spawn", note=f"pid {process.pid}: {shlex.join(command)}")
        nursery.start_soon(child._read)
        # Read even without a trace: a plugin blocks when the pipe of its stderr is full.
        nursery.start_soon(child._drain)
        return child

    def next_id(self) -> int:
        """A new id for a request that the caller writes by hand."""
        return self._replies.next_id()

    def expect(self, id: int) -> int:
        """Note that a reply to this id will come."""
        return self._replies.expect(id)

    async def write(self, data: bytes) -> None:
        """Write raw bytes.

        A plugin that does not read, or has ended, raises nothing here: its reply will be missing.
        """
        with (
            suppress(trio.BrokenResourceError, trio.ClosedResourceError),
            trio.move_on_after(ANSWER_S),
        ):
            async with self._writing:  # the reader's task writes too: it answers the plugin
                await self._stdin.send_all(data)
                if self._watched is not None:
                    self._watched.wrote(data)

    async def tell(self, method: str, params: Any) -> None:
        """Send a notification."""
        await self.write(message(method, params))

    async def ask(self, method: str, params: Any, within_s: float | None = None) -> envelope.Reply:
        """Send a request and wait for the reply.

        Raises:
            CheckFailed: no reply came.
        """
        id = self.next_id()
        await self.write(message(method, params, id))
        reply = await self.reply(id, within_s, sent=method)
        self.near_misses.replied(method, reply)
        return reply

    async def reply(
        self, id: int, within_s: float | None = None, *, sent: str, advice: str = ""
    ) -> envelope.Reply:
        """Wait for the reply to a request, by default `ANSWER_S`.

        Raises:
            CheckFailed: no reply came in time, or the process ended.
        """
        patience_s = ANSWER_S if within_s is None else within_s
        with trio.move_on_after(patience_s):
            while (
                id not in self._replies and id not in self._replies.unreadable and not self._closed
            ):
                await self._news.park()
        if id not in self._replies:
            if id in self._replies.unreadable:
                raise CheckFailed(f"{sent} (id {id})", self._replies.unreadable[id], _ANSWER_ALL)
            if not self._closed:
                half = (
                    f"; half a message came, and no end of it: {self._reader.unfinished}"
                    if self._reader.mid_message
                    else ""
                )
                raise CheckFailed(
                    f"{sent} (id {id})",
                    f"no reply within {patience_s:g} s{half}",
                    advice or _ANSWER_ALL,
                )
            raise CheckFailed(
                f"{sent} (id {id})",
                self.how_it_ended(await self.ended(_DYING_S)),
                self._advice_for_the_end(advice),
            )
        return self._replies[id]

    def replied(self, id: int) -> bool:
        """Whether the reply has come."""
        return id in self._replies

    def first_of(self, *ids: int) -> int:
        """The one of these requests, one of which has its reply, whose reply came first."""
        return self._replies.first_of(*ids)

    def took_s(self, id: int) -> float:
        """Seconds from a request to its reply, which must have come."""
        return self._replies.took_s(id)

    async def ended(self, within_s: float) -> int | None:
        """Wait for the process to end; its exit status, or None if it lives on."""
        with trio.move_on_after(within_s):
            await self._process.wait()
        status = self._process.returncode
        if status is not None:
            # its last words may still be in the pipe; a child of it may hold the pipe open
            with trio.move_on_after(_DYING_S):
                while not self._closed:
                    await self._news.park()
                await self._drained.wait()
        if status is not None and await self._group_lives():
            self._break(
                "left", f"after it {describe_exit(status)}, processes that it had started lived on"
            )
            self._kill()
        return status

    async def close_input(self) -> None:
        """Close the plugin's input."""
        await self._stdin.aclose()

    def terminate(self) -> None:
        """Send SIGTERM to the process group."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGTERM)

    async def end(self) -> None:
        """Kill the process group and wait for the end, at most `EXIT_GRACE_S`."""
        # Shielded: a cancelled check must still kill its plugin.
        with trio.CancelScope(shield=True):
            self._kill()
            with trio.move_on_after(EXIT_GRACE_S):
                await self._process.wait()
            if self._watched is not None:
                status = self._process.returncode
                self._watched.recorder.life(
                    "exit", note=None if status is None else describe_exit(status)
                )
            for stream in (self._stdin, self._stdout, self._stderr):
                await stream.aclose()

    def _kill(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def _group_lives(self) -> bool:
        """Whether other processes of the group outlive it, after a short wait."""
        for _ in range(_LEFT_LOOKS):
            try:
                os.killpg(self._process.pid, 0)
            except (ProcessLookupError, PermissionError):
                return False
            if only_zombies(self._process.pid):
                return False
            await trio.sleep(_DYING_S / _LEFT_LOOKS)
        return True

    def how_it_ended(self, status: int | None) -> str:
        """How the process ended, in words, with its last line on stderr."""
        if self._breaches >= _FLOOD:
            return f"it was killed, as it broke a rule {_FLOOD:,} times"
        how = (
            "it closed its output and lives on"
            if status is None
            else f"the process {describe_exit(status)}"
        )
        if not self._tail.lines:
            return how
        return f"{how}; its last words on stderr: {last_words(self._tail.lines)}"

    def _advice_for_the_end(self, advice: str) -> str:
        """What to do if it ended unasked; `advice` is what the check would say."""
        if not self._tail.lines:
            return advice or "live until you are told to end"
        if known := advice_for(last_words(self._tail.lines)) or advice:
            return known
        return "it ended by itself: mend what its last words say; run alone, it shows all of them"

    async def _drain(self) -> None:
        with suppress(trio.ClosedResourceError, trio.BrokenResourceError):
            while data := await self._stderr.receive_some(_READ_BYTES):
                self._say(self._tail.feed(bytes(data), trio.current_time()))
        self._say(self._tail.close(trio.current_time()))
        self._drained.set()

    def _say(self, lines: Sequence[tuple[str, str]]) -> None:
        for level, line in lines:
            self._note_words(line)
            if self._watched is not None and level == "stderr":
                self._watched.recorder.life("stderr", body=line.encode())

    async def _read(self) -> None:
        reader = self._reader
        try:
            while data := await self._stdout.receive_some(_READ_BYTES):
                reader.feed(bytes(data))
                await self._take(reader)
            reader.close()
            await self._take(reader)
        except FramingError as error:
            self._break("stdout", f"{error.why}, and no more can be read: {error.excerpt}")
        except (trio.ClosedResourceError, trio.BrokenResourceError):
            pass
        self._closed = True
        self._news.unpark_all()

    async def _take(self, reader: FrameReader) -> None:
        while (piece := reader.next()) is not None:
            if self._watched is not None:
                self._watched.read(piece)
            if isinstance(piece, Stray):
                self._break("stdout", piece.why)
                continue
            match piece.message:
                case envelope.InvalidMessage() as invalid:
                    self._break("invalid", f"{invalid.why}: {quote(piece.data)}")
                    if isinstance(invalid.id, int):
                        self._replies.unreadable[invalid.id] = invalid.why
                case envelope.Reply() as reply:
                    self._replies.settle(reply)
                case envelope.Request() | envelope.Notification() as asked:
                    self._note_words(quote(piece.data))
                    await self._unasked(asked, piece.data)
        self._news.unpark_all()

    def _break(self, rule: str, what: str) -> None:
        self._breach(rule, what)
        self._breaches += 1
        if self._breaches == _FLOOD:
            self._kill()

    def _note_words(self, text: str) -> None:
        self.spoke = [*self.spoke[-_LAST_WORDS:], (trio.current_time(), text)]

    async def _unasked(self, asked: envelope.Request | envelope.Notification, data: bytes) -> None:
        why = why_not_taken(asked, ready=self.ready, uses=self.uses, sent=self._replies.sent)
        if why is not None:
            self._break("unasked", f"{why}: {quote(data)}")
        self.near_misses.asked(asked)
        # Answered even if it is a breach: a plugin that waits for it would fail other checks.
        if isinstance(asked, envelope.Request):
            body: dict[str, Any] = {"result": result_of(asked.method)}
            if why is not None:
                body = {"error": {"code": int(ErrorCode.INVALID_REQUEST), "message": why}}
            await self.write(frame(envelope.encode({"jsonrpc": "2.0", "id": asked.id, **body})))
