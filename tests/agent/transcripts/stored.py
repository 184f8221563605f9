"""Messages, and what a file of transcripts holds of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from sliphook.agent.transcripts.store import SessionRow, Transcripts
from sliphook_sdk.protocol import Message, ToolCallRequest

CALL_1 = ToolCallRequest(call_id="c1", name="weather", arguments={"city": "Åre"})
CALL_2 = ToolCallRequest(call_id="c2", name="time", arguments={})
CALLING = Message(role="assistant", content="I look.", tool_calls=[CALL_1, CALL_2])


def user(content: str) -> Message:
    return Message(role="user", content=content)


def assistant(content: str) -> Message:
    return Message(role="assistant", content=content)


def result(call_id: str, content: str) -> Message:
    return Message(role="tool", content=content, call_id=call_id)


def load(path: Path, session_id: str) -> list[Message]:
    with Transcripts.open(path) as transcripts:
        return transcripts.load(session_id)


def sessions(path: Path) -> list[SessionRow]:
    with Transcripts.open(path) as transcripts:
        return transcripts.sessions()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "sliphook" / "transcripts.db"
