"""The path of a file of transcripts that is not there yet, and patience with the disk."""

from __future__ import annotations

import pytest

from sliphook.agent.transcripts import database, writer_thread
from tests.programs import WAIT_S

from .stored import path

__all__ = ["path"]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was said is in the file, however late the writer's thread runs on a busy machine."""
    for name in ("PATIENCE_S", "CLOSE_S", "BUSY_TIMEOUT_S"):
        monkeypatch.setattr(writer_thread, name, WAIT_S)
    monkeypatch.setattr(database, "OPEN_TIMEOUT_S", WAIT_S)
