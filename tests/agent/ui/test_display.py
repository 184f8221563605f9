"""What the loop shows at a terminal; the plain display is in test_plain_display."""

from __future__ import annotations

import sys

import pytest

from sliphook.agent.ui.display import TOLD_TO_STOP, PlainDisplay
from sliphook.agent.ui.terminal import TerminalDisplay
from sliphook_sdk.protocol import ToolCallRequest


def test_a_terminal_is_not_steered_by_a_model_or_a_tool(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    display = TerminalDisplay()
    display.text("a\x1b]0;title\x07\tb\x9b31m é\r\n\u00a0c\u202e\u200b\U000e0041")
    display.notice("warning", "[bold]slow[/bold] \x1b[2J")
    display.tool_ended(ToolCallRequest(call_id="c", name="t", arguments={}), "ok", "fine\r\n", 1.0)
    shown = capsys.readouterr()
    assert shown.out == ("a\\x1b]0;title\\x07\tb\\x9b31m é\n\u00a0c\\u202e\\u200b\\U000e0041\n")
    assert shown.err == "warning: [bold]slow[/bold] \\x1b[2J\nok: t in 1 ms: fine\\r\\n\n"


def test_a_terminal_is_not_steered_where_the_lines_go_elsewhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    PlainDisplay().text("a\x1b[2J\x9b31mb\n")
    assert capsys.readouterr().out == "a\\x1b[2J\\x9b31mb\n"


def test_a_notice_is_long_enough_for_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    PlainDisplay().notice("warning", f"{'x' * 500}; run: sliphook trust guard")
    PlainDisplay().tool_ended(
        ToolCallRequest(call_id="c", name="t", arguments={}), "ok", "y" * 500, None
    )
    warning, ok = capsys.readouterr().err.splitlines()
    assert warning == f"warning: {'x' * 500}; run: sliphook trust guard"
    assert ok == f"ok: t: {'y' * 196}…"


def test_a_call_that_was_cancelled_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    display = PlainDisplay()
    display.tool_ended(
        ToolCallRequest(call_id="c", name="nap", arguments={}), "cancelled", "cancelled", None
    )
    display.tool_ended(
        ToolCallRequest(call_id="c", name="nap", arguments={}), TOLD_TO_STOP, TOLD_TO_STOP, None
    )
    display.tool_ended(ToolCallRequest(call_id="c", name="nap", arguments={}), "ok", "ok", 1.0)
    assert capsys.readouterr().err == "cancelled: nap\ntold to stop: nap\nok: nap in 1 ms: ok\n"


def test_a_pipe_gets_every_byte_of_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    display = TerminalDisplay()
    display.text("a\x1b[1m\r\n")
    assert capsys.readouterr().out == "a\x1b[1m\r\n"


def test_text_that_could_be_torn_is_shown_when_it_is_over(
    capsys: pytest.CaptureFixture[str],
) -> None:
    display = TerminalDisplay(whole=True)
    display.text("one ")
    display.text("two")
    assert capsys.readouterr().out == ""
    display.notice("warning", "slow")
    display.text("three\n")
    display.text_end()
    display.text_end()
    assert capsys.readouterr() == ("one two\nthree\n", "warning: slow\n")
