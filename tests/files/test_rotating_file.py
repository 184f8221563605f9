"""A file that rotates: by its size, after it was moved, and never in the middle of a line."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sliphook.files.rotating_file import RotatingFile


def opened(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[RotatingFile]:
    """A file of 10 bytes with two old ones, through a link."""
    (tmp_path / "link").symlink_to(tmp_path / "log")
    file = RotatingFile(tmp_path / "link", open_file=opened, max_bytes=10, old_files=2)
    yield file
    file.close()


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if not path.is_symlink()}


def test_a_full_file_becomes_an_old_one_and_the_oldest_goes(
    file: RotatingFile, tmp_path: Path
) -> None:
    attended: list[bool] = []
    for line in (b"11111\n", b"2222\n", b"3333333333\n", b"4444444444\n", b"5\n"):
        attended.append(file.attend())
        assert file.append([line]) == (1, None)
    assert attended == [False, False, True, True, True]
    assert (tmp_path / "link").is_symlink()
    assert contents(tmp_path) == {
        "log": "5\n",
        "log.1": "4444444444\n",
        "log.2": "3333333333\n",
    }


@pytest.mark.parametrize(
    ("taken", "kept"),
    [
        (["log.2"], {"log": "5\n", "log.1": "4444444444\n"}),
        (["log.1"], {"log": "5\n", "log.2": "4444444444\n"}),
        (["log.1", "log.2"], {"log": "5\n"}),
    ],
)
def test_a_folder_of_an_old_files_name_stays_and_the_size_is_bounded(
    file: RotatingFile, tmp_path: Path, taken: list[str], kept: dict[str, str]
) -> None:
    for name in taken:
        (tmp_path / name).mkdir()
    attended: list[bool] = []
    for line in (b"3333333333\n", b"4444444444\n", b"5\n"):
        attended.append(file.attend())
        assert file.append([line]) == (1, None)
    assert attended == [False, True, True]
    files = [path for path in tmp_path.iterdir() if path.is_file() and not path.is_symlink()]
    assert {path.name: path.read_text() for path in files} == kept
    assert all((tmp_path / name).is_dir() for name in taken)


def test_a_full_file_that_cannot_be_renamed_is_emptied(
    file: RotatingFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise OSError(errno.EACCES, "it is not yours")

    (tmp_path / "log.1").write_text("old\n")
    file.append([b"3333333333\n"])
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", fails)
        assert file.attend()
    assert file.append([b"4\n"]) == (1, None)
    assert contents(tmp_path) == {"log": "4\n", "log.1": "old\n"}


def test_a_file_without_room_for_what_comes_is_full_but_never_an_empty_one(
    file: RotatingFile,
) -> None:
    assert not file.attend(100)
    file.append([b"1234\n"])
    assert not file.attend(4)
    assert file.attend(5)


def test_what_is_in_the_file_already_counts(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("0123456789\n")
    file = RotatingFile(tmp_path / "log", open_file=opened, max_bytes=10, old_files=1)
    assert file.attend()
    file.close()
    assert contents(tmp_path) == {"log": "", "log.1": "0123456789\n"}


@pytest.mark.parametrize("moved", [False, True])
def test_a_file_that_has_lost_its_name_is_begun_anew(
    file: RotatingFile, tmp_path: Path, moved: bool
) -> None:
    file.append([b"1\n"])
    if moved:
        (tmp_path / "log").rename(tmp_path / "moved")
        (tmp_path / "log").write_text("other\n")
    else:
        (tmp_path / "log").unlink()
    assert file.attend()
    assert not file.attend()
    file.append([b"2\n"])
    assert contents(tmp_path) == (
        {"moved": "1\n", "log": "other\n2\n"} if moved else {"log": "2\n"}
    )


def test_without_another_file_the_old_one_can_still_be_written(
    file: RotatingFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_more(*_: object) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    file.append([b"0123456789\n"])
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", no_more)
        for _ in range(2):
            with pytest.raises(OSError, match="Too many open files"):
                file.attend()
            assert file.append([b"more\n"]) == (1, None)
    assert file.attend()
    assert contents(tmp_path) == {"log": "", "log.1": "0123456789\nmore\nmore\n"}


def test_a_pipe_is_never_renamed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "log")
    reader = os.open(tmp_path / "log", os.O_RDONLY | os.O_NONBLOCK)
    file = RotatingFile(tmp_path / "log", open_file=opened, max_bytes=1, old_files=1)
    file.append([b"1\n"])
    assert not file.attend(100)
    (tmp_path / "log").unlink()
    assert not file.attend(100)
    file.close()
    assert os.read(reader, 100) == b"1\n"
    os.close(reader)


@pytest.mark.parametrize(
    ("room", "whole", "there"),
    [
        (0, 0, "next\n"),
        (2, 0, "on\nnext\n"),
        (4, 1, "one\nnext\n"),
        (6, 1, "one\ntw\nnext\n"),
        (8, 2, "one\ntwo\nnext\n"),
    ],
)
def test_a_torn_line_is_ended_and_only_whole_ones_count(
    file: RotatingFile,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    room: int,
    whole: int,
    there: str,
) -> None:
    write = os.write
    left = room

    def until_full(fd: int, data: memoryview) -> int:
        nonlocal left
        if not left:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = write(fd, data[: min(left, 3)])
        left -= written
        return written

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", until_full)
        count, error = file.append([b"one\n", b"two\n", b"three\n"])
    assert count == whole
    assert error is not None
    assert error.errno == errno.ENOSPC
    assert file.append([b"next\n"]) == (1, None)
    assert (tmp_path / "log").read_text() == there


def test_a_torn_line_that_cannot_even_be_ended_is_ended_later(
    file: RotatingFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    write = os.write
    lengths = iter([2])

    def torn(fd: int, data: memoryview) -> int:
        length = next(lengths, 0)
        return write(fd, data[:length]) if length else full()

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", torn)
        assert file.append([b"one\n"])[0] == 0
        assert file.append([b"two\n"])[0] == 0
    assert file.append([b"three\n"]) == (1, None)
    assert (tmp_path / "log").read_text() == "on\nthree\n"
