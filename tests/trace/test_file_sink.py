"""`--trace-file`: private, whole lines, and a disk that fails costs records, never the host."""

from __future__ import annotations

import errno
import json
import os
import stat
import threading
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import msgspec
import pytest

from sliphook.trace.file_sink import FileTrace
from sliphook.trace.line_format import decode_line
from sliphook.trace.record import Tee, TraceRecord

WAIT_S = 120.0


def record(number: int, body: bytes | None = None) -> TraceRecord:
    return TraceRecord(kind="message", wall_s=0.0, mono_s=0.0, plugin="guard", id=number, body=body)


def ids(path: Path) -> list[int | str | None]:
    """The ids of the records behind the header."""
    header, *records = (decode_line(line) for line in path.read_bytes().splitlines())
    assert header.kind == "header"
    return [record.id for record in records]


def part(path: Path) -> int:
    body: bytes = decode_line(path.read_bytes().splitlines()[0]).body or b""
    return int(json.loads(body)["part"])


def test_every_record_is_a_line_of_a_private_file(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_text("from the last time\n")
    path.chmod(0o644)
    trace = FileTrace(path)
    trace.hide(["tok-123"])
    Tee([trace]).record(record(1, b'{"key":"tok-123"}'))
    trace.record(record(2))
    assert trace.close(WAIT_S) is None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert ids(path) == [1, 2]
    assert b'"body":{"key":"[redacted]"}' in path.read_bytes()


@pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="only Linux has a device that is always full"
)
def test_a_full_disk_is_told_with_the_count() -> None:
    trace = FileTrace(Path("/dev/full"))
    for number in range(3):
        trace.record(record(number))
    assert (
        trace.close(WAIT_S)
        == "the trace in /dev/full is not complete: 3 records lost (No space left on device)"
    )


def test_a_line_torn_by_a_full_disk_spoils_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "trace"
    trace = FileTrace(path)
    write = os.write
    calls: list[int] = []

    def full_once(fd: int, data: memoryview) -> int:
        calls.append(len(data))
        if len(calls) == 1:
            return write(fd, data[: len(data) - 5])
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(fd, data)

    monkeypatch.setattr("sliphook.files.rotating_file.os.write", full_once)
    assert trace._write([record(1), record(2)]) == 1  # pyright: ignore[reportPrivateUsage]
    assert trace._write([record(3)]) == 0  # pyright: ignore[reportPrivateUsage]
    assert trace.close(WAIT_S) is None
    header, first, torn, third = path.read_bytes().splitlines()
    assert decode_line(header).kind == "header"
    assert decode_line(first).id == 1
    with pytest.raises(ValueError, match=r"^it is no "):
        decode_line(torn)
    assert decode_line(third).id == 3


def test_a_pipe_without_a_reader_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(OSError, match="nobody reads from this pipe"):
        FileTrace(path)


def test_a_pipe_that_is_not_drained_loses_records(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        trace = FileTrace(path)
        for number in range(5):
            trace.record(record(number, b'"' + b"x" * 100_000 + b'"'))
        said = trace.close(0.2)
        assert said == (
            f"the trace in {path} is not complete: 5 records lost"
            " (it could not be written as fast as it came)"
        )
        assert len(_open_files(path)) == 2
    finally:
        os.close(reader)  # the thread's write fails, and it ends
    _until(lambda: not trace._writer.is_running)  # pyright: ignore[reportPrivateUsage]
    assert not _open_files(path)


def test_the_file_of_another_trace_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    first = FileTrace(path)
    first.record(record(1))
    with pytest.raises(OSError, match="another trace is being written to it"):
        FileTrace(path)
    assert first.close(WAIT_S) is None
    assert ids(path) == [1]
    assert FileTrace(path).close(WAIT_S) is None


def test_a_folder_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        FileTrace(tmp_path)


def write_batches(trace: FileTrace, *batches: list[int]) -> None:
    for batch in batches:
        assert trace._write([record(number) for number in batch]) == 0  # pyright: ignore[reportPrivateUsage]


def test_the_first_line_says_what_the_file_is(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    trace = FileTrace(path)
    trace.record(TraceRecord(kind="message", wall_s=5.0, mono_s=6.0, plugin="guard"))
    assert trace.close(WAIT_S) is None
    header = json.loads(path.read_bytes().splitlines()[0])
    assert header == {
        "kind": "header",
        "wall_s": 5.0,
        "mono_s": 6.0,
        "plugin": "",
        "body": {"format": 1, "sliphook": metadata.version("sliphook"), "part": 1},
    }


def test_a_full_file_becomes_an_old_one_and_the_oldest_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    link = tmp_path / "link"
    link.symlink_to(path)
    trace = FileTrace(link, max_bytes=1)
    write_batches(trace, [1, 2], [3], [4], [5], [6])
    assert trace.close(WAIT_S) is None
    assert link.is_symlink()
    names = ["trace", "trace.1", "trace.2", "trace.3"]
    assert sorted(found.name for found in tmp_path.iterdir()) == ["link", *names]
    assert [(part(tmp_path / name), ids(tmp_path / name)) for name in names] == [
        (5, [6]),
        (4, [5]),
        (3, [4]),
        (2, [3]),
    ]
    assert {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in names} == {0o600}


def test_a_file_that_is_moved_or_deleted_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    trace = FileTrace(path)
    write_batches(trace, [1])
    path.rename(tmp_path / "moved")
    write_batches(trace, [2])
    path.unlink()
    write_batches(trace, [3])
    assert trace.close(WAIT_S) is None
    assert ids(tmp_path / "moved") == [1]
    assert (part(path), ids(path)) == (3, [3])


def test_without_a_descriptor_for_a_new_file_the_old_one_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "trace"
    trace = FileTrace(path, max_bytes=1)
    write_batches(trace, [1])

    def no_more(*_: object, **__: object) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr("sliphook.trace.file_sink.os.open", no_more)
        write_batches(trace, [2], [3])
    write_batches(trace, [4])
    assert trace.close(WAIT_S) is None
    assert (ids(tmp_path / "trace.1"), ids(path)) == ([1, 2, 3], [4])


def test_what_was_lost_stands_in_the_file_where_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "trace"
    trace = FileTrace(path)
    write = os.write
    full = threading.Event()
    tried = threading.Event()

    def sometimes_full(fd: int, data: memoryview) -> int:
        if full.is_set():
            tried.set()
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(fd, data)

    monkeypatch.setattr("sliphook.files.rotating_file.os.write", sometimes_full)
    full.set()
    trace.record(record(1))
    trace.record(record(2))
    assert tried.wait(WAIT_S)
    deadline_s = time.monotonic() + WAIT_S
    while trace._writer.lost < 2 and time.monotonic() < deadline_s:  # pyright: ignore[reportPrivateUsage]
        time.sleep(0.001)
    full.clear()
    trace.record(record(3))
    assert (
        trace.close(WAIT_S)
        == f"the trace in {path} is not complete: 2 records lost (No space left on device)"
    )
    header, lost, third = map(decode_line, path.read_bytes().splitlines())
    assert header.kind == "header"
    assert lost.kind == "lost"
    assert third.id == 3
    assert json.loads(lost.body or b"") == {"count": 2, "why": "No space left on device"}


def test_what_is_lost_while_lines_are_written_is_told_before_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "trace"
    trace = FileTrace(path)
    write = os.write
    full = threading.Event()
    writing = threading.Event()
    go_on = threading.Event()

    def slow(fd: int, data: memoryview) -> int:
        if full.is_set():
            raise OSError(errno.ENOSPC, "No space left on device")
        if b'"lost"' in bytes(data):
            writing.set()
            assert go_on.wait(WAIT_S)
        return write(fd, data)

    monkeypatch.setattr("sliphook.files.rotating_file.os.write", slow)
    monkeypatch.setattr(trace._writer, "_max_items", 2)  # pyright: ignore[reportPrivateUsage]
    full.set()
    trace.record(record(1))
    deadline_s = time.monotonic() + WAIT_S
    while trace._writer.lost < 1 and time.monotonic() < deadline_s:  # pyright: ignore[reportPrivateUsage]
        time.sleep(0.001)
    full.clear()
    trace.record(record(2))
    assert writing.wait(WAIT_S)  # the line that tells of record 1 is on its way
    for number in (3, 4, 5, 6):
        trace.record(record(number))
    go_on.set()
    trace.close(WAIT_S)
    lines = list(map(decode_line, path.read_bytes().splitlines()))
    told = [json.loads(line.body or b"")["count"] for line in lines if line.kind == "lost"]
    assert told == [1, 2]
    assert [line.id for line in lines if line.kind == "message"] == [2, 3, 4]


def test_a_long_body_is_cut_and_no_secret_shows_at_the_cut(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    trace = FileTrace(path)
    kept = 256 * 1024
    secret = "token-" * 20
    trace.hide([secret])
    trace.record(record(1, b'"' + b"x" * (kept - 2) + b'"'))
    trace.record(record(2, b'"' + b"x" * (kept - 1) + b'"'))
    trace.record(record(3, b"[" + b"y" * (kept - 50) + secret.encode() + b"z" * 9_000_000))
    assert trace.close(WAIT_S) is None
    _, whole, cut, with_secret = map(decode_line, path.read_bytes().splitlines())
    assert whole.body == b'"' + b"x" * (kept - 2) + b'"'
    assert not whole.cut
    assert cut.body == b'"' + b"x" * (kept - 1)
    assert cut.cut
    assert with_secret.body == b"[" + b"y" * (kept - 50) + b"[redacted]"


def test_a_long_method_and_a_long_id_are_cut(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    trace = FileTrace(path)
    long = TraceRecord(
        kind="message", wall_s=0.0, mono_s=0.0, plugin="guard", method="m" * 9_000, id="i" * 9_000
    )
    trace.record(long)
    assert trace.close(WAIT_S) is None
    _, line = map(decode_line, path.read_bytes().splitlines())
    assert (line.method, line.id) == ("m" * 1_000 + "…", "i" * 1_000 + "…")


def test_every_field_that_can_hold_a_plugins_text_is_redacted(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    trace = FileTrace(path)
    trace.hide(["tok-123"])
    said = TraceRecord(
        kind="message",
        wall_s=0.0,
        mono_s=0.0,
        plugin="guard",
        body=b'"tok-123"',
        method="hook/tok-123",
        verdict="tok-123",
        note="a tok-123",
        id="tok-123",
    )
    trace.record(said)
    assert trace.close(WAIT_S) is None
    _, line = map(decode_line, path.read_bytes().splitlines())
    assert line == msgspec.structs.replace(
        said,
        body=b'"[redacted]"',
        method="hook/[redacted]",
        verdict="[redacted]",
        note="a [redacted]",
        id="[redacted]",
    )


def test_a_loss_is_said_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "trace"
    trace = FileTrace(path)
    with monkeypatch.context() as disk:
        disk.setattr("sliphook.files.rotating_file.os.write", _full)
        trace.record(record(1))
        _until(lambda: trace._writer.lost == 1)  # pyright: ignore[reportPrivateUsage]
    for number in (2, 3):
        trace.record(record(number))
        _until(lambda: b'"id":%d' % number in path.read_bytes())  # noqa: B023 - called at once
    trace.close(WAIT_S)
    kinds = [decode_line(line).kind for line in path.read_bytes().splitlines()]
    assert kinds == ["header", "lost", "message", "message"]


def test_the_name_is_free_after_a_close_with_losses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "trace"
    trace = FileTrace(path)
    with monkeypatch.context() as disk:
        disk.setattr("sliphook.files.rotating_file.os.write", _full)
        trace.record(record(1))
        assert "1 record lost" in (trace.close(WAIT_S) or "")
    assert not _open_files(path)
    assert FileTrace(path).close(WAIT_S) is None


def _open_files(path: Path) -> list[int]:
    """The descriptors of this process that lead to the file."""
    node = path.stat()
    there = [int(name) for name in os.listdir("/dev/fd")]
    return [fd for fd in there if _leads_to(fd, node)]


def _leads_to(fd: int, node: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), node)
    except OSError:  # the one of the listing
        return False


def _full(fd: int, data: memoryview) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


def _until(done: Callable[[], bool]) -> None:
    give_up = time.monotonic() + WAIT_S
    while not done():
        assert time.monotonic() < give_up
        time.sleep(0.001)


def test_a_thread_with_a_long_record_lets_go_of_the_interpreter_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr("sliphook.trace.background_sink.HELD_S", 0.0)
    monkeypatch.setattr("sliphook.trace.background_sink.time.sleep", slept.append)
    trace = FileTrace(tmp_path / "trace")
    trace.hide(["tok-123"])
    trace.record(record(1, b'"' + rb"\x41" * 30_000 + b'"'))
    assert trace.close(60.0) is None
    # so many steps, of 16 and 32 KiB
    assert len(slept) >= 8
