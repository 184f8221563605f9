"""What no hook tells: interrupts, which the transcript shows, and the death of the agent."""

from __future__ import annotations

import os
import stat
from collections.abc import Awaitable, Callable, Iterator
from typing import Final

import trio

from sliphook.adapters.dialects.transcript import Transcript
from sliphook.files.regular import open_regular

_MOST_BYTES: Final = 256 * 1024
"""Of each look; what is more waits for the next one."""
_POLL_S: Final = 1.0


def transcript_place(transcript: Transcript | None, session_id: str) -> str | None:
    """Where a session's transcript is, if the agent does not tell; None if it is not known."""
    found = transcript.of_session(session_id) if transcript is not None else None
    home = os.path.expanduser("~")
    return os.path.join(home, found) if found is not None and os.path.isabs(home) else None


class Tail:
    """The new lines of a growing file, from where it ended at first.

    Nothing is raised: a file that cannot be read has no lines.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._at = self._size() or 0

    def lines(self, mark: bytes) -> Iterator[bytes]:
        """What has come since and has the mark, found as it is taken.

        Of a line that is too long nothing is kept.
        """
        size = self._size()
        if size is None or size <= self._at:
            self._at = min(self._at, size or 0)
            return iter(())
        try:
            descriptor = open_regular(self.path, os.O_RDONLY)
        except OSError:
            return iter(())
        try:
            data = os.pread(descriptor, _MOST_BYTES, self._at)
        except OSError:
            return iter(())
        finally:
            os.close(descriptor)
        whole = data.rfind(b"\n") + 1
        if not whole and len(data) == _MOST_BYTES:
            whole = len(data)
        self._at += whole
        return _lines_with(mark, data[:whole])

    def _size(self) -> int | None:
        try:
            info = os.stat(self.path)
        except (OSError, ValueError):
            return None
        return info.st_size if stat.S_ISREG(info.st_mode) else None


def _lines_with(mark: bytes, data: bytes) -> Iterator[bytes]:
    # by the marks: each line of the others would become an object, of line ends alone 262,144
    at = data.find(mark)
    while at != -1:
        end = data.find(b"\n", at)
        end = end if end != -1 else len(data)
        yield data[data.rfind(b"\n", 0, at) + 1 : end]
        at = data.find(mark, end)


async def watch_transcript(
    transcript: Transcript,
    every_s: float,
    where: Callable[[], str | None],
    interrupted: Callable[[], Awaitable[None]],
) -> None:
    """Tell of each interrupt that the transcript shows.

    Args:
        transcript: what its lines look like.
        every_s: seconds from look to look.
        where: the file, while a turn is open; None: nothing is looked for.
        interrupted: told of each.
    """
    tail: Tail | None = None
    while True:
        path = where()
        if path is None:
            tail = None
        elif tail is None or tail.path != path:
            tail = Tail(path)
        else:
            for line in tail.lines(transcript.mark):
                if transcript.tells_interrupt(line):
                    await interrupted()
                    break
                await trio.lowlevel.checkpoint()
        await trio.sleep(every_s)


async def gone(pid: int) -> None:
    """Return when the process has ended."""
    if hasattr(os, "pidfd_open"):
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        except OSError:
            pass
        else:
            try:
                await trio.lowlevel.wait_readable(descriptor)
            finally:
                os.close(descriptor)
            return
    while _lives(pid):  # noqa: ASYNC110 - the system tells in no other way
        await trio.sleep(_POLL_S)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
