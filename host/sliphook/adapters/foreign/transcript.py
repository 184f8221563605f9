"""A transcript in the form of Claude Code's, for hooks that read `transcript_path`."""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from sliphook.adapters.dialects.hosted.claude_rules import iso
from sliphook.adapters.dialects.hosted.toolmap import ToolMap
from sliphook.files.regular import open_regular
from sliphook_sdk.protocol import payloads as ours
from sliphook_sdk.protocol.shapes import Payload

from .approval import scripts
from .sources import Source

MAX_BYTES: Final = 16 * 1024 * 1024
"""Of one transcript; after that no more is written."""
_WORD: Final = "transcript"
_MAX_FILES: Final = 400
_MAX_FILE_BYTES: Final = 1024 * 1024
_PLAIN: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")


def name_of(session_id: str) -> str:
    """A file's name for a session, whose id is any text of its agent's."""
    if _PLAIN.fullmatch(session_id):
        return session_id
    return hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()


def is_read(source: Source) -> bool:
    """Whether hooks may read it: the word stands in a command, or in a file that they could run."""
    if any(_WORD in handler.command for handler in source.handlers):
        return True
    files = list(scripts(source))
    if source.is_plugin:
        for folder, _, names in os.walk(source.root):
            files += [file for name in names if (file := Path(folder, name)).is_file()]
            if len(files) > _MAX_FILES:
                break
    return any(_has_word(file) for file in files[:_MAX_FILES])


def _has_word(file: Path) -> bool:
    try:
        with open(file, "rb", opener=open_regular) as opened:
            return _WORD.encode() in opened.read(_MAX_FILE_BYTES)
    except OSError:
        return False


class ClaudeTranscripts:
    """The transcripts of all sessions.

    Attributes:
        folder: where they are; the plugin's own.
    """

    def __init__(self) -> None:
        self.folder = Path()
        self._last: dict[str, str | None] = {}

    def path(self, session_id: str) -> Path:
        """The file of a session; it is there, if it can be made."""
        path = self.folder / f"{name_of(session_id)}.jsonl"
        if session_id not in self._last:
            self._last[session_id] = None
            with suppress(OSError):  # a full disk: then hooks find none
                self.folder.mkdir(parents=True, exist_ok=True)
                path.touch(mode=0o600)
        return path

    def add(self, payload: Payload, tools: ToolMap) -> None:
        """Write what belongs into it, as far as the disk takes it."""
        for kind, message in _messages(payload, tools):
            with suppress(OSError):
                self._write(payload, kind, message)

    def _write(self, payload: Payload, kind: str, message: dict[str, Any]) -> None:
        path = self.path(payload.session_id)
        if path.exists() and path.stat().st_size > MAX_BYTES:  # a hook may have moved it away
            return
        own = str(uuid4())
        line = {
            "parentUuid": self._last[payload.session_id],
            "isSidechain": payload.agent_depth > 0,
            "type": kind,
            "message": message,
            "uuid": own,
            "timestamp": iso(time.time()),
            "sessionId": payload.session_id,
            "cwd": payload.cwd,
        }
        self._last[payload.session_id] = own
        with open(
            path, "a", encoding="utf-8", errors="backslashreplace", opener=open_regular
        ) as file:
            # without blanks, as Claude Code: scripts look for texts such as '"role":"assistant"'
            file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")

    def forget(self, session_id: str) -> None:
        """Remove the file of a session that has ended."""
        if session_id in self._last:
            with suppress(OSError):
                self.path(session_id).unlink(missing_ok=True)
            del self._last[session_id]


def _messages(payload: Payload, tools: ToolMap) -> list[tuple[str, dict[str, Any]]]:
    match payload:
        case ours.UserPromptSubmit():
            return [("user", {"role": "user", "content": payload.text})]
        case ours.PostLlmCall() if payload.response is not None:
            content = payload.response.content
            blocks: list[dict[str, Any]] = [{"type": "text", "text": content}] if content else []
            for call in payload.response.tool_calls or ():
                theirs = tools.shown(call.name, None, "agent")
                given = theirs.theirs(call.arguments)
                blocks.append(
                    {
                        "type": "tool_use",
                        "id": call.call_id,
                        "name": theirs.name,
                        "input": given,
                    }
                )
            message = {"role": "assistant", "model": payload.model, "content": blocks}
            return [("assistant", message)] if blocks else []
        case ours.PostToolCall():
            result = payload.result
            block = {
                "type": "tool_result",
                "tool_use_id": payload.model_call_id or payload.call_id,
                "content": result.content if result is not None else "",
                "is_error": payload.status != "ok",
            }
            return [("user", {"role": "user", "content": [block]})]
        case _:
            return []
