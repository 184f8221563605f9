"""Interrupts that only the transcript tells of: lines as the real agents wrote them, cut."""

from __future__ import annotations

import pytest

from sliphook.adapters.dialects.known import DIALECTS

TOLD = {
    "claude-code": b'{"parentUuid":"1","type":"user","message":{"role":"user","content":[{"type":'
    b'"text","text":"[Request interrupted by user for tool use]"}]},"interruptedMessageId":"2"}',
    "gemini": b'{"id":"9d2c6c0c","timestamp":"2026-11-29T09:34:13.826Z","type":"info","content":'
    b'"Request cancelled."}',
    "copilot": b'{"type":"abort","data":{"reason":"user_abort"},"id":"03df9820","parentId":"512a"}',
}
NOT_TOLD = [
    ("claude-code", b'{"type":"user","message":{"content":"[Request interrupted by user]"}}'),
    (
        "claude-code",
        b'{"type":"user","message":{"content":[{"type":"tool_result","content":'
        b'"[Request interrupted by user]"}]}}',
    ),
    (
        "claude-code",
        b'{"type":"assistant","message":{"content":[{"type":"text","text":'
        b'"[Request interrupted by user]"}]}}',
    ),
    ("gemini", b'{"type":"user","content":[{"text":"Request cancelled."}]}'),
    ("gemini", b'{"type":"gemini","content":"Request cancelled."}'),
    ("copilot", b'{"type":"user.message","data":{"content":"\\"abort\\""}}'),
]


@pytest.mark.parametrize("agent", TOLD)
def test_an_interrupt_is_found(agent: str) -> None:
    transcript = DIALECTS[agent].transcript
    assert transcript is not None
    assert transcript.tells_interrupt(TOLD[agent])


@pytest.mark.parametrize(("agent", "line"), NOT_TOLD)
def test_what_somebody_wrote_is_no_interrupt(agent: str, line: bytes) -> None:
    transcript = DIALECTS[agent].transcript
    assert transcript is not None
    assert not transcript.tells_interrupt(line)


@pytest.mark.parametrize("agent", TOLD)
@pytest.mark.parametrize("line", [b"", b"%s", b"[%s]", b'{"type": 1, "%s": 2}', b"[" * 5000])
def test_what_cannot_be_read_is_no_interrupt(agent: str, line: bytes) -> None:
    transcript = DIALECTS[agent].transcript
    assert transcript is not None
    assert not transcript.tells_interrupt(line.replace(b"%s", transcript.mark) + transcript.mark)


@pytest.mark.parametrize(
    ("agent", "session_id", "path"),
    [
        ("copilot", "697b-38", ".copilot/session-state/697b-38/events.jsonl"),
        ("copilot", "../../etc", None),
        ("copilot", "{session_id}", None),
        ("gemini", "697b-38", None),
    ],
)
def test_where_it_is_if_no_hook_tells(agent: str, session_id: str, path: str | None) -> None:
    transcript = DIALECTS[agent].transcript
    assert transcript is not None
    assert transcript.of_session(session_id) == path
