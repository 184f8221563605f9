"""The log that all daemons of an agent write: no larger than it may be, however long they live."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

import pytest

from sliphook.adapters.attached import daemon_log
from sliphook.adapters.attached.daemon_log import SharedLog


def line(text: str) -> logging.LogRecord:
    return logging.LogRecord("daemon", logging.WARNING, __file__, 1, text, None, None)


def test_whoever_finds_it_full_begins_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemon_log, "MAX_LOG_BYTES", 1_000)
    path = tmp_path / "logs" / "attached-codex.log"
    ours, theirs = SharedLog(path), SharedLog(path)
    for at in range(100):
        ours.emit(line(f"ours {at} " + "x" * 50))
        theirs.emit(line(f"theirs {at} \ud800" + "x" * 50))
    files = sorted(path.parent.iterdir())
    assert [one.name for one in files] == ["attached-codex.log", "attached-codex.log.1"]
    assert all(one.stat().st_size < 1_200 for one in files)
    assert all(one.stat().st_mode & 0o777 == 0o600 for one in files)
    *_, last = files[0].read_text().splitlines()
    assert last.startswith("theirs 99 \\ud800")
    assert "ours 99 " in "".join(one.read_text() for one in files)


def test_lines_that_cannot_be_written_are_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemon_log, "MAX_LOG_BYTES", 10)
    folder = tmp_path / "logs"
    log = SharedLog(folder / "attached-codex.log")
    log.emit(line("the first"))
    shutil.rmtree(folder)
    folder.write_text("no folder")
    log.emit(line("the second"))
    assert folder.read_text() == "no folder"
