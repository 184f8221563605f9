"""What the tests of embedding share: nothing is left behind, no pipe and no thread; and a place for real plugins."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.host.conftest import open_pipes
from tests.host.plugins import Workshop


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    """Writes plugins into the test's own folder."""
    return Workshop(tmp_path)


@pytest.fixture(autouse=True)
def _nothing_is_left_behind() -> Iterator[None]:
    """No descriptor and no thread of the host's, whatever the test did to it."""
    before = open_pipes()
    yield
    threads = [
        thread.name for thread in threading.enumerate() if thread.name.startswith("sliphook")
    ]
    assert (open_pipes() - before, threads) == (set(), [])
