"""Folders and files of the user alone, whatever the umask of the agent is."""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from pathlib import Path

import pytest

import sliphook
from sliphook.agent.transcripts.store import Transcripts
from sliphook.files.atomic import locked, write_atomically
from sliphook.files.ownership import why_unsafe
from sliphook.files.private import make_private_folder, open_private, temporary_folder
from sliphook.process.log_files import PluginLogs
from tests.programs import WAIT_S


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o777], ids=lambda mask: f"umask {mask:03o}")
def _umask(request: pytest.FixtureRequest) -> Generator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("_umask")
def test_every_folder_on_the_way_is_the_user_s_own(tmp_path: Path) -> None:
    make_private_folder(tmp_path / "a" / "b" / "c")
    assert [mode_of(tmp_path / path) for path in ("a", "a/b", "a/b/c")] == [0o700] * 3
    assert why_unsafe(tmp_path / "a" / "b" / "c") is None
    make_private_folder(tmp_path / "a" / "b")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(FileExistsError):
        make_private_folder(tmp_path / "file")
    with pytest.raises(NotADirectoryError):
        make_private_folder(tmp_path / "file" / "below")


def test_where_nothing_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nowhere")
    for folder in (Path("/proc/nobody/a/b"), tmp_path / "link" / "a" / "b"):
        with pytest.raises(OSError, match=r"No such file|File exists"):
            make_private_folder(folder)


def test_a_folder_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    make_private_folder(tmp_path)
    assert mode_of(tmp_path) == 0o755
    (tmp_path / "link").symlink_to(tmp_path)
    make_private_folder(tmp_path / "link")


@pytest.mark.usefixtures("_umask")
def test_a_file_that_is_made_is_the_user_s_own(tmp_path: Path) -> None:
    path = tmp_path / "file"
    os.close(open_private(path, os.O_WRONLY))
    assert mode_of(path) == 0o600
    path.chmod(0o640)
    os.close(open_private(path, os.O_WRONLY))
    assert mode_of(path) == 0o640


@pytest.mark.usefixtures("_umask")
def test_whatever_the_host_keeps_is_the_user_s_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The registry's lock and files, logs and transcripts, each in folders that are missing."""
    for closes in ("sliphook.process.log_files", "sliphook.agent.transcripts.writer_thread"):
        monkeypatch.setattr(f"{closes}.CLOSE_S", WAIT_S)
    with locked(tmp_path / "data" / "plugins"):
        write_atomically(tmp_path / "data" / "plugins" / "guard.toml", "x")
    logs = PluginLogs(tmp_path / "state" / "logs")
    logs.write("guard", "info", "hello")
    assert logs.close() == 0
    with Transcripts.open(tmp_path / "share" / "transcripts.sqlite3"):
        pass
    made = {str(path.relative_to(tmp_path)): mode_of(path) for path in tmp_path.rglob("*")}
    assert made == {
        "data": 0o700,
        "data/plugins": 0o700,
        "data/plugins/.lock": 0o600,
        "data/plugins/guard.toml": 0o600,
        "state": 0o700,
        "state/logs": 0o700,
        "state/logs/guard.log": 0o600,
        "share": 0o700,
        "share/transcripts.sqlite3": 0o600,
    }


@pytest.mark.usefixtures("_umask")
def test_a_temporary_folder_is_the_user_s_own(tmp_path: Path) -> None:
    with temporary_folder("sliphook-", tmp_path) as folder:
        assert mode_of(folder) == 0o700
        assert folder.parent == tmp_path
        (folder / "below").mkdir()
    assert list(tmp_path.iterdir()) == []


def test_nobody_makes_one_in_another_way() -> None:
    host = Path(sliphook.__file__).parent
    others = [
        str(path.relative_to(host))
        for path in host.rglob("*.py")
        if "tempfile." in path.read_text(encoding="utf-8")
    ]
    assert sorted(others) == ["files/atomic.py", "files/private.py"]
