"""Files that are locked, full, slow, foreign or damaged: none stops the agent."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import trio

from sliphook.agent.conversation import Conversation
from sliphook.agent.transcripts import store as transcripts_module
from sliphook.agent.transcripts import writer_thread
from sliphook.agent.transcripts.database import connect
from sliphook.agent.transcripts.store import TranscriptError, Transcripts
from sliphook.agent.transcripts.writer_thread import TranscriptWriter

from .stored import assistant, load, user


async def test_a_locked_file_blocks_no_caller_and_loses_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problems: list[str] = []
    with Transcripts.open(path, problems.append) as transcripts:
        recorder = transcripts.begin("s-1")
        recorder.message(user("one"))
        await recorder.text("a")
        holder = connect(path)
        holder.execute("BEGIN IMMEDIATE")
        monkeypatch.setattr(writer_thread, "PATIENCE_S", 0.25)
        began_s = trio.current_time()
        for _ in range(1_000):
            await recorder.text("b")
        assert trio.current_time() - began_s < 60  # one wait: a thousand take 250 s
        holder.execute("ROLLBACK")
        holder.close()
    assert problems == []
    assert load(path, "s-1") == [user("one"), assistant("a" + "b" * 1_000)]


async def test_a_file_that_stays_locked_is_told_once(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sliphook.agent.transcripts.writer_thread.BUSY_TIMEOUT_S", 0.05)
    problems: list[str] = []
    transcripts = Transcripts.open(path, problems.append)
    holder = connect(path)
    holder.execute("BEGIN IMMEDIATE")
    recorder = transcripts.begin("s-1")
    for _ in range(3):
        recorder.message(user("one"))
        await recorder.text("a")
    transcripts.close()
    assert problems == [
        f"cannot use the transcripts in {path}: database is locked; another program holds it;"
        " the conversation goes on unrecorded"
    ]
    holder.close()


async def test_a_full_disk_is_told_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def small(path: Path) -> sqlite3.Connection:
        connection = connect(path)
        connection.execute("PRAGMA max_page_count = 10")
        return connection

    monkeypatch.setattr(transcripts_module, "connect", small)
    problems: list[str] = []
    with Transcripts.open(path, problems.append) as transcripts:
        recorder = transcripts.begin("s-1")
        recorder.message(user("one"))
        await recorder.text("a")
        recorder.message(assistant("x" * 100_000))
        await recorder.text("b")
        recorder.message(user("two"))
    assert problems == [
        f"cannot use the transcripts in {path}: database or disk is full; free some space;"
        " the conversation goes on unrecorded"
    ]
    assert load(path, "s-1") == [user("one"), assistant("a")]


class HungDisk:
    """A step that hangs until it is released."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.release = threading.Event()

    def __call__(self, _: sqlite3.Connection) -> None:
        self.entered.set()
        assert self.release.wait(120)

    def end(self) -> None:
        """Let the writer's thread go on, and wait for its end."""
        self.release.set()
        for thread in threading.enumerate():
            if thread.name == "sliphook-transcripts":
                thread.join(120)


@pytest.fixture
def hung(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HungDisk]:
    monkeypatch.setattr(writer_thread, "MAX_WAITING", 2)
    monkeypatch.setattr(writer_thread, "CLOSE_S", 0.01)
    disk = HungDisk()
    yield disk
    disk.end()


async def test_steps_for_which_there_is_no_room_are_told_once(path: Path, hung: HungDisk) -> None:
    problems: list[str] = []
    writer = TranscriptWriter(connect(path), path, problems.append)
    writer.put(hung)
    assert hung.entered.wait(120)
    for _ in range(4):
        writer.put(hung)
    await writer.settled()
    writer.close()
    assert problems == [
        f"{path} cannot be written as fast as things are said; the rest goes unrecorded"
    ]


async def test_an_end_that_is_not_written_in_time_is_told_and_what_follows_is_not(
    path: Path, hung: HungDisk
) -> None:
    problems: list[str] = []
    done: list[str] = []
    writer = TranscriptWriter(connect(path), path, problems.append)
    writer.put(hung)
    assert hung.entered.wait(120)
    writer.put(lambda _: done.append("the next step"))
    writer.close()
    assert problems == [
        f"the end of the conversation may be missing in {path}: it could not be written in time"
    ]
    writer.put(hung)
    await writer.settled()
    hung.end()
    assert len(problems) == 1
    assert done == []


async def test_a_message_that_is_no_json_is_told_and_blocks_nothing(path: Path) -> None:
    problems: list[str] = []
    with Transcripts.open(path, problems.append) as transcripts:
        said = Conversation(recorder=transcripts.begin("s-1"))
        said.add_user("half a character: \ud800")
        await said.say("b")
    assert len(problems) == 1
    assert problems[0].startswith(f"a message cannot be recorded in {path}: ")
    assert problems[0].endswith("; the conversation goes on unrecorded")


def _no_database(path: Path) -> None:
    path.write_bytes(b"no database at all, but long " * 50)


def _folder(path: Path) -> None:
    path.mkdir()


def _foreign(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE session (mine TEXT)")
    other.close()


def _newer(path: Path) -> None:
    other = connect(path)
    other.execute("PRAGMA user_version = 2")
    other.close()


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (_no_database, "file is not a database; repair it"),
        (_foreign, "is no file of Sliphook's; it is left alone"),
        (
            _newer,
            "has format 2, and this Sliphook knows format 1; it is left alone: update Sliphook",
        ),
        (_folder, "cannot open the transcripts in"),
    ],
)
def test_a_file_that_is_not_ours_is_named_and_left_alone(
    path: Path, make: Callable[[Path], None], complaint: str
) -> None:
    path.parent.mkdir(parents=True)
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(TranscriptError) as caught:
        Transcripts.open(path)
    assert complaint in str(caught.value)
    assert str(path) in str(caught.value)
    assert (path.read_bytes() if path.is_file() else None) == before


def test_a_message_that_cannot_be_read_is_an_error_of_ours(path: Path) -> None:
    with Transcripts.open(path) as transcripts:
        transcripts.begin("s-1").message(user("one"))
    db = connect(path)
    db.execute("UPDATE message SET body = '{'")
    db.close()
    with Transcripts.open(path) as transcripts:
        for read in (transcripts.sessions, lambda: transcripts.load("s-1")):
            with pytest.raises(TranscriptError, match="holds a message that cannot be read"):
                read()


def test_a_file_that_is_damaged_inside_is_told(path: Path) -> None:
    with Transcripts.open(path) as transcripts:
        transcripts.begin("s-1").message(user("one"))
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)  # the first page, with the schema, stays
    path.write_bytes(data)
    problems: list[str] = []
    with Transcripts.open(path, problems.append) as transcripts:
        with pytest.raises(TranscriptError) as caught:
            transcripts.load("s-1")
        transcripts.begin("s-2").message(user("two"))
    assert str(caught.value).startswith(f"cannot use the transcripts in {path}: ")
    assert len(problems) == 1
    assert problems[0].startswith(f"cannot use the transcripts in {path}: ")
    assert path.read_bytes() == data
