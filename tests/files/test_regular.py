"""Nothing that is read or written as a file holds the program if a pipe has its name."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from sliphook.adapters.attachments import records
from sliphook.adapters.foreign.sources import read_source
from sliphook.adapters.mcp import kept_tools
from sliphook.cli.chat.terminal import History
from sliphook.errors import SliphookError
from sliphook.files import paths
from sliphook.files.private import open_private
from sliphook.files.regular import open_regular
from sliphook.process.interpreter import path_with_interpreter
from sliphook.registry import kept_text
from sliphook.registry.delivered import delivered
from tests.programs import WAIT_S


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_WRONLY, os.O_RDWR])
def test_a_regular_file_is_opened_and_nothing_else(flags: int, tmp_path: Path) -> None:
    file, fifo = tmp_path / "file", tmp_path / "fifo"
    file.write_text("x")
    os.mkfifo(fifo)
    os.close(open_regular(file, flags))
    before = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    for other in (fifo, Path(os.devnull), tmp_path):
        with pytest.raises(OSError, match=r"no regular file|No such device|s a directory"):
            os.close(open_regular(other, flags))
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "missing", flags)
    # nor is a pipe that has another end
    other_end = os.open(fifo, os.O_RDWR)
    with pytest.raises(OSError, match="no regular file"):
        open_regular(fifo, flags)
    os.close(other_end)
    assert not before or len(os.listdir("/proc/self/fd")) == before


def test_a_file_that_is_made_is_for_the_user_alone(tmp_path: Path) -> None:
    with open(tmp_path / "new", "w", opener=open_regular) as file:
        file.write("hello")
    assert (tmp_path / "new").read_text() == "hello"
    assert (tmp_path / "new").stat().st_mode & 0o077 == 0


def _history(path: Path) -> object:
    history = History(path)
    history.store_string("hello")
    return list(history.load_history_strings())


READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "an approved script": ("mine", lambda path: kept_text.changes("mine", str(path), "a", "a")),
    "the kept text of one": ("mine", lambda path: kept_text.changes("mine", "/", "a", "a")),
    "an attached file": ("a.json", lambda _: records.remembered() or None),
    "the kept tools": ("tools.json", lambda path: kept_tools.kept(path.parent, ["key"])),
    "a script": ("mine", lambda path: path_with_interpreter(path, "/")),
    "a package of npm": (
        "node_modules/p/package.json",
        lambda path: delivered(path.with_name("m.js")),
    ),
    "the hooks of others": ("hooks.json", lambda path: read_source(f"claude-code:{path}")),
    "the history": ("history", _history),
    "a private file": ("log", lambda path: open_private(path, os.O_WRONLY)),
}


@pytest.mark.parametrize("what", READERS)
def test_no_pipe_holds_what_reads_a_file(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, read = READERS[what]
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    folder = {
        "the kept text of one": paths.approved_texts(),
        "an attached file": paths.data_home() / "attached" / "files",
    }.get(what, tmp_path)
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    came: list[object] = []

    def work() -> None:
        try:
            came.append(read(path))
        except (OSError, SliphookError) as error:
            came.append(error)

    # so that one that is held fails the test instead of holding it, too
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(WAIT_S)
    assert len(came) == 1
