"""Where stderr or stdout takes nothing: comments are lost, an answer that is lost is an error."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from tests.programs import Workshop, shop

__all__ = ["shop"]

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(
    not FULL.exists(), reason="only Linux has a device that is always full"
)

CALL = "TOOL nope {}"
"""The scripted model calls a tool, which makes two lines on stderr, and then answers."""
ANSWER = "nope: there is no tool 'nope'; there are: delegate\n"


def ran(
    *args: str, stdout: int | IO[bytes], stderr: int | IO[bytes], stdin: bytes = b""
) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "sliphook", *args],
        input=stdin,
        stdout=stdout,
        stderr=stderr,
        timeout=120,
        check=False,
    )
    return done.returncode, (done.stdout or b"").decode(), (done.stderr or b"").decode()


def unread() -> IO[bytes]:
    """A pipe whose reader has left."""
    reader, writer = os.pipe()
    os.close(reader)
    return os.fdopen(writer, "wb")


@needs_full
def test_the_turn_goes_on_where_stderr_is_full() -> None:
    with FULL.open("wb") as full:
        assert ran("run", CALL, stdout=subprocess.PIPE, stderr=full) == (0, ANSWER, "")


def test_the_turn_goes_on_where_the_reader_of_stderr_has_left() -> None:
    with unread() as pipe:
        assert ran("run", CALL, stdout=subprocess.PIPE, stderr=pipe) == (0, ANSWER, "")


def test_the_trace_has_no_reader_either() -> None:
    with unread() as pipe:
        assert ran("run", CALL, "--trace", stdout=subprocess.PIPE, stderr=pipe) == (0, ANSWER, "")


@needs_full
def test_an_answer_that_is_lost_is_an_error() -> None:
    with FULL.open("wb") as full:
        status, _, err = ran("run", CALL, stdout=full, stderr=subprocess.PIPE)
    assert status == 1
    assert err.splitlines()[-1] == (
        "sliphook: cannot go on: the answer could not be written: No space left on device"
    )


def test_a_reader_of_the_answer_that_has_left_needs_no_words() -> None:
    with unread() as pipe:
        status, _, err = ran("run", "hello", stdout=pipe, stderr=subprocess.PIPE)
    assert (status, err) == (1, "")


@needs_full
@pytest.mark.parametrize("args", [["nonsense"], ["trace", "none.jsonl"], ["run", ""]])
def test_an_exit_status_does_not_depend_on_the_words(args: list[str]) -> None:
    said, _, _ = ran(*args, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with FULL.open("wb") as full:
        unsaid, out, _ = ran(*args, stdout=subprocess.PIPE, stderr=full)
    assert (unsaid, out) == (said, "")
    assert said in (1, 2)


@needs_full
def test_a_chat_goes_on_without_stderr_and_ends_without_stdout() -> None:
    with FULL.open("wb") as full:
        said = f"{CALL}\nhello\n".encode()
        status, out, _ = ran("chat", stdout=subprocess.PIPE, stderr=full, stdin=said)
        assert status == 0
        assert out.startswith(ANSWER)
        assert out.rstrip().endswith("You said: hello")
        status, _, err = ran("chat", stdout=full, stderr=subprocess.PIPE, stdin=said)
    assert status == 1
    assert "the answer could not be written: No space left on device" in err


@needs_full
def test_an_installation_that_was_agreed_to_goes_on(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(shop.folder / "data"))
    guard = str(shop.program("guard").path)
    with FULL.open("wb") as full:
        status, out, _ = ran("install", guard, "--yes", stdout=subprocess.PIPE, stderr=full)
    assert (status, out.splitlines()[0]) == (0, "installed guard")
