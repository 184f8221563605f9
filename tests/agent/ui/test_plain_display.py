"""What the loop shows in a pipe: the model's text on one stream, all else as lines on another."""

from __future__ import annotations

import errno
import io

import pytest

from sliphook.agent.ui.display import PlainDisplay
from sliphook_sdk.protocol import ToolCallRequest

SHELL = ToolCallRequest(call_id="c", name="shell", arguments={"command": "ls"})


class Streams:
    def __init__(self) -> None:
        self._out, self._err = io.StringIO(), io.StringIO()
        self.display = PlainDisplay(self._out, self._err)

    @property
    def out(self) -> str:
        return self._out.getvalue()

    @property
    def err(self) -> list[str]:
        return self._err.getvalue().splitlines()


@pytest.fixture
def streams() -> Streams:
    return Streams()


def test_text_and_notices_are_kept_apart(streams: Streams) -> None:
    display = streams.display
    display.text("look")
    display.text_end()
    display.tool_started(SHELL)
    display.tool_ended(SHELL, "ok", "a\nb\x1b[31m", 12.4)
    display.tool_ended(SHELL, "error", "x" * 700, None)
    display.denied("shell", "guard: no")
    display.notice("warning", "slow today")
    display.text("done\n")
    display.text_end()
    assert streams.out == "look\ndone\n"
    assert streams.err == [
        'tool: shell {"command":"ls"}',
        "ok: shell in 12 ms: a\\nb\\x1b[31m",
        f"error: shell: {'x' * 192}…",
        "denied: shell: guard: no",
        "warning: slow today",
    ]


def test_the_text_of_a_failed_attempt_is_marked(streams: Streams) -> None:
    streams.display.text("I thi")
    streams.display.text_abandoned()
    streams.display.text("I think so.")
    streams.display.text_end()
    assert streams.out == "I thi\nI think so.\n"
    assert streams.err == ["abandoned: the text above does not count: its answer broke off"]


def test_children_are_told_apart_line_by_line(streams: Streams) -> None:
    one, two = streams.display.child(1, "look\naround"), streams.display.child(2, "listen")
    one.text("I lo")
    two.text("Nothing\nto hear\x1b[2J")
    one.text("ok.")
    one.text_end()
    two.text_end()
    one.tool_started(SHELL)
    one.tool_ended(SHELL, "ok", "a", 1.0)
    two.denied("shell", "guard: no")
    two.notice("error", "no such key")
    two.text("It")
    two.text_abandoned()
    two.text_end()
    assert streams.out == ""
    assert streams.err == [
        "child 1: look\\naround",
        "child 2: listen",
        "child 2: Nothing",
        "child 1: I look.",
        "child 2: to hear\\x1b[2J",
        'child 1 tool: shell {"command":"ls"}',
        "child 1 ok: shell in 1 ms: a",
        "child 2 denied: shell: guard: no",
        "child 2 error: no such key",
        "child 2: It",
        "child 2 abandoned: the text above does not count: its answer broke off",
    ]


def test_of_a_child_s_text_as_much_is_kept_as_is_shown(streams: Streams) -> None:
    child = streams.display.child(1, "look")
    for _ in range(1_000):
        child.text("ab")
    child.text("\nc\n" + "\n" * 4_000 + "d")
    child.text_end()
    assert streams.err[:3] == [
        "child 1: look",
        f"child 1: {'ab' * 99}a…",
        "child 1: c",
    ]
    assert streams.err[3:] == ["child 1: "] * 98 + [
        "child 1: … and 3,902 more lines",
        "child 1: d",
    ]


def test_progress_does_not_tear_the_text(streams: Streams) -> None:
    streams.display.progress("far: 10%")
    streams.display.text("it is ")
    streams.display.progress("far: 20%")
    streams.display.text("far\n")
    streams.display.progress("far: 30%")
    assert streams.out == "it is far\n"
    assert streams.err == ["progress: far: 10%", "progress: far: 30%"]


class Full(io.StringIO):
    """A stream of a disk that is full at times."""

    full = True

    def flush(self) -> None:
        if self.full:
            self.truncate(0)
            self.seek(0)
            raise OSError(errno.ENOSPC, "No space left on device")


def test_lines_that_cannot_be_written_are_lost_and_counted() -> None:
    out, err = io.StringIO(), Full()
    display = PlainDisplay(out, err)
    display.tool_started(SHELL)
    display.notice("warning", "slow today")
    display.text("the answer\n")
    err.full = False
    display.notice("error", "no such key")
    display.notice("error", "twice")
    assert out.getvalue() == "the answer\n"
    assert err.getvalue().splitlines() == [
        "warning: 2 lines before this could not be written",
        "error: no such key",
        "error: twice",
    ]


def test_an_answer_that_cannot_be_written_is_an_error() -> None:
    with pytest.raises(OSError, match="the answer could not be written: No space left") as caught:
        PlainDisplay(Full(), io.StringIO()).text("the answer")
    assert caught.value.errno == errno.ENOSPC


def test_a_reader_that_has_left_is_still_known() -> None:
    class Left(io.StringIO):
        def write(self, _: str) -> int:
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    with pytest.raises(BrokenPipeError):
        PlainDisplay(Left(), Left()).text("the answer")
