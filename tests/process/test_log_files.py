"""The plugins' log files: rotated, for the user alone, and never in the way of the host."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sliphook import PluginHost
from sliphook.files.private import open_private
from sliphook.process import log_files
from sliphook.process.log_files import (
    FILE_BYTES,
    MAX_WAITING,
    PluginLogs,
    default_folder,
    safe_name,
)
from tests.programs import WAIT_S, Workshop, until

pytestmark = pytest.mark.usefixtures("patient_logs")


def lines_of(file: Path) -> list[str]:
    """The lines without their time and process."""
    return [line.split(" ", 2)[2] for line in file.read_text().splitlines()]


def _wait_for(done: Callable[[], bool]) -> None:
    """Wait for the thread of the logs."""
    until_s = time.monotonic() + WAIT_S
    while not done():
        assert time.monotonic() < until_s
        os.sched_yield()


def test_each_plugin_has_a_file_for_the_user_alone(tmp_path: Path) -> None:
    logs = PluginLogs(tmp_path / "a" / "logs")
    logs.write("guard", "info", "hello")
    logs.write("guard", "stderr", "oh no")
    logs.write("guard", "error", "it is gone", by_host=True)
    logs.write("notes", "warning", "not here")
    assert logs.close() == 0
    assert lines_of(tmp_path / "a" / "logs" / "guard.log") == [
        "plugin info: hello",
        "plugin stderr: oh no",
        "host error: it is gone",
    ]
    assert lines_of(tmp_path / "a" / "logs" / "notes.log") == ["plugin warning: not here"]
    assert stat.S_IMODE((tmp_path / "a" / "logs" / "guard.log").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "a" / "logs").stat().st_mode) == 0o700


def test_a_second_host_goes_on_in_the_same_file(tmp_path: Path) -> None:
    for word in ("first", "second"):
        logs = PluginLogs(tmp_path)
        logs.write("guard", "info", word)
        assert logs.close() == 0
    assert lines_of(tmp_path / "guard.log") == ["plugin info: first", "plugin info: second"]


def test_files_are_rotated_and_stay_private(tmp_path: Path) -> None:
    logs = PluginLogs(tmp_path)
    for _ in range(6):
        for number in range(900):
            logs.write("guard", "info", f"{number} " + "x" * 1_000)
        # The queue is bounded: wait for the thread.
        while logs._writer._queue:  # pyright: ignore[reportPrivateUsage]
            os.sched_yield()
    assert logs.close() == 0
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["guard.log", "guard.log.1", "guard.log.2", "guard.log.3"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}
    assert max(path.stat().st_size for path in tmp_path.iterdir()) <= FILE_BYTES


def test_a_folder_that_cannot_be_made_loses_lines_and_counts_them(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    logs = PluginLogs(tmp_path / "file" / "logs")
    for _ in range(3):
        logs.write("guard", "info", "hello")
    assert logs.close() == 3


def test_a_full_disk_loses_lines_and_counts_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(fd: int, data: memoryview) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    logs = PluginLogs(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("sliphook.files.rotating_file.os.write", full)
        for _ in range(3):
            logs.write("guard", "info", "hello")
        while logs.lost < 3:
            os.sched_yield()
    logs.write("guard", "info", "there is room again")
    assert logs.close() == 3
    assert (tmp_path / "guard.log").read_text().startswith("3 lines could not be written\n20")


def test_a_link_in_the_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "guard.log").symlink_to(tmp_path / "elsewhere")
    logs = PluginLogs(tmp_path)
    logs.write("guard", "info", "hello")
    assert logs.close() == 1
    assert not (tmp_path / "elsewhere").exists()


def test_a_pipe_in_the_place_of_a_file_loses_its_own_lines_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "bad.log")
    logs = PluginLogs(tmp_path)
    logs.write("bad", "info", "hello")
    logs.write("good", "info", "hello")
    _wait_for((tmp_path / "good.log").exists)
    assert logs.close() == 1
    assert lines_of(tmp_path / "good.log") == ["plugin info: hello"]


def test_a_folder_in_the_place_of_an_old_file_loses_no_line(tmp_path: Path) -> None:
    (tmp_path / "guard.log.3").mkdir()
    (tmp_path / "guard.log.2").write_text("old\n")
    logs = PluginLogs(tmp_path)
    for number in range(4):
        for _ in range(700):
            logs.write("guard", "info", f"{number} " + "x" * 1_900)
        _wait_for(lambda: not logs._writer._queue)  # pyright: ignore[reportPrivateUsage]
    assert logs.close() == 0
    assert lines_of(tmp_path / "guard.log")[-1].startswith("plugin info: 3 x")
    parts = [path for path in tmp_path.iterdir() if path.is_file()]
    assert sorted(path.name for path in parts) == ["guard.log", "guard.log.1", "guard.log.2"]
    assert all(path.stat().st_size <= FILE_BYTES for path in parts)


def test_a_folder_that_is_emptied_meanwhile_is_filled_again(tmp_path: Path) -> None:
    logs = PluginLogs(tmp_path)
    logs.write("guard", "info", "one")
    while not (tmp_path / "guard.log").exists() or not (tmp_path / "guard.log").read_text():
        os.sched_yield()
    (tmp_path / "guard.log").unlink()
    logs.write("guard", "info", "two")
    assert logs.close() == 0
    assert lines_of(tmp_path / "guard.log") == ["plugin info: two"]


def test_a_folder_that_is_gone_loses_lines_and_counts_them(tmp_path: Path) -> None:
    logs = PluginLogs(tmp_path / "logs")
    logs.write("guard", "info", "one")
    while logs._writer._queue or logs._writer._in_hand:  # pyright: ignore[reportPrivateUsage]
        os.sched_yield()
    shutil.rmtree(tmp_path / "logs")
    logs.write("guard", "info", "two")
    while not logs.lost:
        os.sched_yield()
    (tmp_path / "logs").mkdir()
    logs.write("guard", "info", "three")
    assert logs.close() == 1
    said, three = (tmp_path / "logs" / "guard.log").read_text().splitlines()
    assert said == "1 lines could not be written"
    assert three.endswith(" plugin info: three")


def test_a_file_that_another_host_has_rotated_is_left_for_the_new_one(tmp_path: Path) -> None:
    logs = PluginLogs(tmp_path)
    logs.write("guard", "info", "one")
    while logs._writer._queue or logs._writer._in_hand:  # pyright: ignore[reportPrivateUsage]
        os.sched_yield()
    (tmp_path / "guard.log").rename(tmp_path / "guard.log.1")
    (tmp_path / "guard.log").write_text("2026-01-01T00:00:00.000 1 info: of the other host\n")
    logs.write("guard", "info", "two")
    assert logs.close() == 0
    assert lines_of(tmp_path / "guard.log.1") == ["plugin info: one"]
    assert lines_of(tmp_path / "guard.log") == ["info: of the other host", "plugin info: two"]


def test_a_line_has_the_time_the_process_and_the_level(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: 3661.0625)
    monkeypatch.setattr(time, "localtime", time.gmtime)
    logs = PluginLogs(tmp_path)
    logs.write("guard", "stderr", "half a character: \ud800")
    assert logs.close() == 0
    said = (tmp_path / "guard.log").read_text()
    assert said == (
        f"1970-01-01T01:01:01.062 {os.getpid()} plugin stderr: half a character: \\ud800\n"
    )


def test_a_disk_that_hangs_blocks_no_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = threading.Event()

    def hangs(path: Path, flags: int) -> int:
        assert answers.wait(WAIT_S)
        return open_private(path, flags)

    monkeypatch.setattr(log_files, "open_private", hangs)
    monkeypatch.setattr(log_files, "CLOSE_S", 0.1)
    logs = PluginLogs(tmp_path)
    for number in range(MAX_WAITING + 100):
        logs.write("guard", "info", str(number))
    assert 99 <= logs.close() - MAX_WAITING <= 100  # the thread has one in hand
    assert logs.lost <= 100
    answers.set()
    _wait_for(lambda: "sliphook-logs" not in {thread.name for thread in threading.enumerate()})


def test_lines_wait_until_the_system_has_a_thread_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_thread(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    logs = PluginLogs(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_thread)
        logs.write("guard", "info", "one")
    logs.write("guard", "info", "two")
    assert logs.close() == 0
    assert lines_of(tmp_path / "guard.log") == ["plugin info: one", "plugin info: two"]


def test_after_the_end_lines_are_counted(tmp_path: Path) -> None:
    logs = PluginLogs(tmp_path)
    assert logs.close() == 0
    logs.write("guard", "info", "late")
    assert logs.lost == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("plugin", "name"),
    [
        ("guard", "guard"),
        ("../../etc/passwd", "______etc_passwd"),
        ("", "_"),
        ("ü b", "__b"),
        (".", "_"),
    ],
)
def test_a_plugin_cannot_choose_another_folder(plugin: str, name: str) -> None:
    assert safe_name(plugin) == name


def test_the_folder_is_the_users_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert default_folder() == Path("/state/sliphook/logs")
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert default_folder() == Path("/home/me/.local/state/sliphook/logs")


async def test_a_death_is_logged_with_the_last_lines_on_stderr(shop: Workshop) -> None:
    program = shop.program(
        hears=["stop"],
        main="reply(receive()['id'], MANIFEST)\n"
        "os.write(2, b'line\\n' * 300 + b'last words\\n')\n"
        "time.sleep(.1)\n"
        "sys.exit(3)",
    )
    problems: list[str] = []
    folder = shop.folder / "logs"
    async with PluginHost(
        [program.path], on_problem=lambda _, message: problems.append(message), log_dir=folder
    ):
        await until(lambda: bool(problems))
    said = "probe exited with status 3; its last line on stderr: last words; it is started again"
    assert problems[0] == said
    lines = lines_of(folder / "probe.log")
    assert lines.count("plugin stderr: line") >= 100
    assert "host warning: 201 lines on stderr were left out: more than 100 in 1 s" in lines
    report = lines.index(f"host error: {said}")
    assert lines[report + 1 : report + 21] == ["host error:   its stderr before: line"] * 19 + [
        "host error:   its stderr before: last words"
    ]


async def test_no_word_of_a_plugin_passes_for_the_hosts(shop: Workshop) -> None:
    """Whose line it is stands beside it, in the file, in `on_log` and in `logging`."""
    forged = "probe exited with status 3; it is started again"
    program = shop.program(
        hears=["stop"],
        main=f"""
        reply(receive()["id"], MANIFEST)
        send(method="host/log", params={{"level": "error", "message": {forged!r}}})
        send(method="host/log", params={{"level": "error", "message": "two", "fields": {{
            "trace": "  its stderr before: x\\nhost error: y"}}}})
        os.write(2, b"{forged}\\n")
        raw(b"stray\\n")
        serve()
        """,
    )
    said: list[tuple[str, str]] = []
    folder = shop.folder / "logs"
    async with PluginHost(
        [program.path], on_log=lambda _, level, line: said.append((level, line)), log_dir=folder
    ):
        await until(lambda: {level for level, _ in said} == {"error", "stderr", "host"})
    own = [line for level, line in said if level == "host"]
    assert len(own) == 1
    assert own[0].startswith("stray output on stdout")
    lines = lines_of(folder / "probe.log")
    assert f"plugin error: {forged}" in lines
    assert f"plugin stderr: {forged}" in lines
    assert [line for line in lines if not line.startswith("plugin ")] == [f"host warning: {own[0]}"]


async def test_without_a_callback_logging_tells_whose_line_it_is(
    shop: Workshop, caplog: pytest.LogCaptureFixture
) -> None:
    program = shop.program(
        hears=["stop"],
        main="""
        reply(receive()["id"], MANIFEST)
        send(method="host/log", params={"level": "error", "message": "hello"})
        os.write(2, b"oh no\\n")
        raw(b"stray\\n")
        serve()
        """,
    )
    with caplog.at_level("DEBUG", "sliphook"):
        async with PluginHost([program.path], log_dir=shop.folder / "logs"):
            await until(lambda: len(caplog.messages) >= 3)
    whose = sorted(message.partition(":")[0] for message in caplog.messages)
    assert whose == ["probe [host]", "probe [plugin]", "probe [stderr]"]


async def test_the_last_words_are_of_the_process_that_died(shop: Workshop) -> None:
    """One that has left its group keeps the pipe open, so that the last line has no end."""
    program = shop.program(
        hears=["stop"],
        main="""
        import subprocess
        reply(receive()["id"], MANIFEST)
        if set_flag("first"):
            os.write(2, b"words of the first\\n")
            sys.exit(3)
        subprocess.Popen(["sleep", "20"], start_new_session=True)
        os.write(2, b"half a li")
        sys.exit(4)
        """,
    )
    problems: list[str] = []
    async with PluginHost(
        [program.path],
        on_problem=lambda _, message: problems.append(message),
        log_dir=shop.folder / "logs",
    ):
        await until(lambda: len(problems) >= 2)
    assert problems[0].startswith(
        "probe exited with status 3; its last line on stderr: words of the first"
    )
    assert problems[1].startswith("probe exited with status 4; its last line on stderr: half a li;")
