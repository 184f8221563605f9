"""`--trace-file`: private, whole lines, and a disk that fails costs records, never the host."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from sliphook.trace.file import FileTrace
from sliphook.trace.lines import decode_line
from sliphook.trace.record import Tee, TraceRecord
from sliphook.trace.redact import Redactor

WAIT_S = 10.0


def record(number: int, body: bytes | None = None) -> TraceRecord:
    return TraceRecord(kind="message", wall_s=0.0, mono_s=0.0, plugin="guard", id=number, body=body)


def ids(path: Path) -> list[int | str | None]:
    return [decode_line(line).id for line in path.read_bytes().splitlines()]


def test_every_record_is_a_line_of_a_private_file(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_text("from the last time\n")
    path.chmod(0o644)
    trace = FileTrace(path, Redactor(["tok-123"]))
    Tee([trace]).record(record(1, b'{"key":"tok-123"}'))
    trace.record(record(2))
    assert trace.close(WAIT_S) is None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert ids(path) == [1, 2]
    assert b'"body":{"key":"[redacted]"}' in path.read_bytes()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_a_full_disk_is_told_with_the_count() -> None:
    trace = FileTrace(Path("/dev/full"))
    for number in range(3):
        trace.record(record(number))
    assert trace.close(WAIT_S) == "the trace in /dev/full is not complete: 3 records lost (No space left on device)"


def test_a_line_torn_by_a_full_disk_spoils_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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

    monkeypatch.setattr("sliphook.trace.file.os.write", full_once)
    assert trace._write([record(1), record(2)]) == 1  # pyright: ignore[reportPrivateUsage]
    assert trace._write([record(3)]) == 0  # pyright: ignore[reportPrivateUsage]
    assert trace.close(WAIT_S) is None
    first, torn, third = path.read_bytes().splitlines()
    assert decode_line(first).id == 1
    with pytest.raises(ValueError, match=r"^no line of a trace"):
        decode_line(torn)
    assert decode_line(third).id == 3


def test_a_pipe_that_nobody_reads_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(OSError, match="No such device"):
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
        assert said == f"the trace in {path} is not complete: 5 records lost (it could not be written as fast as it came)"
    finally:
        os.close(reader)  # the thread's write fails, and it ends


def test_a_folder_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        FileTrace(tmp_path)
