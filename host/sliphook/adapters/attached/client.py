"""`client.c` for a machine without a compiler: the same behaviour, in some 20 ms instead of 2.

A ValueError or an OSError: the daemon cannot be asked. The build puts the facts in place of the
text below, and has it run with `-I -S -E`.
"""

from __future__ import annotations

import _socket
import fcntl
import os
import sys
import time

TYPE_CHECKING = False  # without `typing`: it costs time at each hook
if TYPE_CHECKING:
    from typing import Any, Final, NoReturn

FACTS: Any = "@FACTS@"
NAMES: Final = (b"session_id", b"sessionId", b"conversation_id")
ESCAPES: Final = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"b": b"\b", b"f": b"\f"}
MAX_NAME: Final = 1022


def unquoted(data: bytes, at: int) -> tuple[bytes, int]:
    """One string of JSON from behind its first quote, and where it ends."""
    text = bytearray()
    while True:
        byte = data[at : at + 1]
        if not byte:
            raise ValueError
        if byte == b'"':
            return bytes(text), at + 1
        if byte == b"\\":
            at += 1
            byte = data[at : at + 1]
            if byte == b"u":
                byte = chr(int(data[at + 1 : at + 5], 16)).encode("utf-8", "surrogatepass")
                at += 4
            else:
                byte = ESCAPES.get(byte, byte)
        if len(text) < MAX_NAME:
            text += byte
        at += 1


def find_id(data: bytes) -> bytes:
    """The id of the session, a member of the outermost object."""
    import re

    depth, is_id, at = 0, False, 0
    marks = re.compile(rb'[{}\[\],"]')
    string = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
    while (mark := marks.search(data, at)) is not None:
        at, byte = mark.end(), mark.group()
        if byte in b"{[":
            depth, is_id = depth + 1, False
        elif byte in b"}]":
            depth -= 1
        elif byte == b",":
            is_id = False
        elif depth != 1:
            skipped = string.match(data, at)
            if skipped is None:
                break
            at = skipped.end()
        else:
            text, at = unquoted(data, at)
            if is_id and text:
                return text
            is_id = text in NAMES and data[at : at + 64].lstrip(b" \t\r\n")[:1] == b":"
    raise ValueError


def makes(folder: str, parent: str, is_shared: bool) -> bool:
    """Whether our folder is there now, and no other user can change what is ours in its parent."""
    try:
        there = os.stat(parent)
        is_own, is_sticky = there.st_uid == os.geteuid(), bool(there.st_mode & 0o1000)
        if (there.st_mode & 0o002 and not is_sticky) if is_own else not (is_shared and is_sticky):
            return False
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    except OSError:
        return False
    return True


def place(agent: str, session_id: bytes, room_for_name: int) -> str:
    """The path of the socket, in a folder that is this user's alone."""
    number = 14695981039346656037
    for byte in session_id:
        number = (number ^ byte) * 1099511628211 % (1 << 64)
    user, longest = os.geteuid(), 108 - room_for_name
    places = (os.environ.get("XDG_RUNTIME_DIR", ""), os.environ.get("TMPDIR", ""), "/tmp")
    for at, parent in enumerate(places):
        folder = f"{parent}/sliphook-{user}" if at else f"{parent}/sliphook"
        is_short = len(os.fsencode(folder)) <= longest
        if parent[:1] == "/" and is_short and makes(folder, parent, at > 0):
            break
    else:
        raise ValueError
    there = os.lstat(folder)
    if there.st_mode & 0o170077 != 0o040000 or there.st_uid != user:
        raise ValueError
    return f"{folder}/{agent}-{number:016x}.sock"


class Asking:
    """One hook."""

    def __init__(self, agent: str, event: str, closed: bool) -> None:
        self.agent, self.event, self.closed = agent, event, closed
        self.until_s = time.monotonic() + FACTS["answer_ms"] / 1000
        self.parent = str(os.getppid())
        self.path = ""

    def connected(self) -> _socket.socket | None:
        """A connection, or None."""
        while True:
            one = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
            left_s = self.until_s - time.monotonic()
            if left_s <= 0:
                raise ValueError
            one.settimeout(left_s)
            try:
                one.connect(self.path)
                return one
            except BlockingIOError:
                time.sleep(0.005)
            except OSError:
                return None

    def become_daemon(self) -> NoReturn:
        """Never returns."""
        nothing = os.open("/dev/null", os.O_RDWR)
        for number in range(3):
            os.dup2(nothing, number)
        os.closerange(3, 1024)
        os.setsid()
        os.chdir("/")
        kept = {
            name: value
            for name, value in os.environ.items()
            if name.startswith(("LC_", "XDG_")) or name in FACTS["environment"]
        }
        python = FACTS["python"]
        words = [python, "-I", "-m", FACTS["module"], self.agent, self.path, self.parent]
        os.execve(python, words, kept)

    def started(self) -> _socket.socket:
        """A connection to a daemon that is there or is started; one starter at a time."""
        until_s = time.monotonic() + FACTS["start_ms"] / 1000
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        lock = os.open(f"{self.path}.lock", flags, 0o600)
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                one = self.connected()
                if one is not None:
                    return one
                if time.monotonic() > until_s:
                    raise ValueError from None
                time.sleep(0.01)
        one = self.connected()
        if one is not None:
            return one
        child = os.fork()
        if child == 0:
            try:
                self.become_daemon()
            finally:
                os._exit(1)
        over = False
        while time.monotonic() < until_s:
            one = self.connected()
            if one is not None:
                return one
            if over:
                break
            over = os.waitpid(child, os.WNOHANG)[0] != 0
            time.sleep(0.005)
        raise ValueError

    def exchanged(self, one: _socket.socket, data: bytes, shortened: bool) -> bytes:
        """What came of the reply; empty if the daemon went away without a word."""
        how = "closed" if self.closed else "open"
        what = " shortened" if shortened else ""
        head = f"sliphook {FACTS['version']} {self.agent} {self.event} {self.parent} {how}"
        reply = bytearray()
        try:
            one.sendall(f"{head} {len(data)}{what}\n".encode() + data)
            one.shutdown(_socket.SHUT_WR)
            while True:
                one.settimeout(max(self.until_s - time.monotonic(), 0.001))
                piece = one.recv(65536)
                if not piece:
                    return bytes(reply)
                reply += piece
                if len(reply) > FACTS["max_head"] + 2 * FACTS["max_reply"]:
                    raise ValueError
        except TimeoutError:
            raise ValueError from None
        except OSError:
            return bytes(reply)  # it has been asked: not once more

    def ask(self, data: bytes, shortened: bool) -> tuple[int, bytes, bytes]:
        """The exit code, what goes to stdout, and what goes to stderr."""
        self.path = place(self.agent, find_id(data), FACTS["room_for_name"])
        reply = b""
        for _ in range(2):
            one = self.connected()
            if one is None and self.event in FACTS["no_start"]:
                return 0, b"", b""
            reply = self.exchanged(one or self.started(), data, shortened)
            if reply:
                break
        head, end, rest = reply.partition(b"\n")
        word, *words = head.split(b" ")
        if word != b"sliphook" or not end or not all(one.isdigit() for one in words):
            raise ValueError
        version, code, out, err = map(int, words)
        is_whole = max(out, err) <= FACTS["max_reply"] and out + err == len(rest)
        if version != FACTS["version"] or not is_whole:
            raise ValueError
        return code, rest[:out], rest[out:]


class Shortened:
    """What comes in pieces, with each long string of JSON emptied."""

    def __init__(self) -> None:
        import re

        self.kept = bytearray()
        self.begins = 0  # of the string that has not ended; 0: there is none
        self.is_long = False
        self.left = b""
        self.inside = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)

    def take(self, piece: bytes) -> None:
        """One more piece."""
        piece, at = self.left + piece, 0
        self.left = b""
        while at < len(piece):
            if not self.begins:
                end = piece.find(b'"', at) + 1
                self.kept += piece[at : end or None]
                if not end:
                    return
                at, self.begins = end, len(self.kept)
                continue
            end = self.inside.match(piece, at).end()  # type: ignore[union-attr]
            if not self.is_long:
                self.kept += piece[at:end]
            if len(self.kept) - self.begins > FACTS["long_string"]:
                self.is_long = True
                del self.kept[self.begins :]
            if piece[end : end + 1] != b'"':
                self.left = piece[end:]  # half of an escape, or nothing
                return
            self.kept += b'"'
            at, self.begins, self.is_long = end + 1, 0, False


def read_stdin(until_s: float) -> tuple[bytes, bool]:
    """All of it, bounded in bytes and in time, and whether its long strings were emptied."""
    import select

    data = bytearray()
    short: Shortened | None = None
    while True:
        if not select.select([0], [], [], max(until_s - time.monotonic(), 0))[0]:
            raise ValueError
        piece = os.read(0, 1 << 20)
        if not piece:
            return bytes(data), short is not None
        if short is not None:
            short.take(piece)
        else:
            data += piece
        if len(data) > FACTS["max_stdin"]:
            if short is not None:
                raise ValueError
            short = Shortened()
            for at in range(0, len(data), 1 << 20):
                short.take(bytes(data[at : at + (1 << 20)]))
            data = short.kept
            if len(data) > FACTS["max_stdin"]:
                raise ValueError


def main(words: list[str]) -> int:
    """The exit code."""
    if len(words) < 3:
        return 64
    client = Asking(words[1], words[2], "--closed" in words[3:])
    os.umask(os.umask(0o077) & 0o077)  # what is made here is the user's own
    try:
        code, out, err = client.ask(*read_stdin(client.until_s))
    except (OSError, ValueError):
        closed = FACTS["guards"].get((client.agent, client.event)) if client.closed else None
        code, out, err = closed or (0, b"", b"")
    for number, text in ((1, out), (2, err)):
        try:
            while text:
                text = text[os.write(number, text) :]
        except OSError:
            pass
    return code


if __name__ == "__main__":
    os._exit(main(sys.argv))
