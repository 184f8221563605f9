"""What an editor offers: pyright's language server is asked where an author's cursor stands."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sliphook_sdk.protocol import CATALOGUE

NODE = shutil.which("node")
PATIENCE_S = 240
AUTHOR = """\
from sliphook_sdk import Plugin, deny
from sliphook_sdk.protocol.payloads import PreToolCall

plugin = Plugin("guard")


@plugin.hook("‸")
def asked(call: PreToolCall): ...


@plugin.on("‸")
def told(end): ...


@plugin.hook("pre_tool_call", match={"‸"})
def guard(call: PreToolCall):
    call.‸
"""


class Editor:
    """An editor with one file."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "pyright.langserver", "--stdio"]
        self.server = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        # a server that says nothing is ended, so that no read waits for ever
        self.patience = threading.Timer(PATIENCE_S, self.server.kill)
        self.patience.start()
        self.file = (folder / "guard.py").as_uri()
        self.last = 0
        self.ask("initialize", {"processId": None, "rootUri": folder.as_uri(), "capabilities": {}})
        self.tell("initialized", {})
        document = {"uri": self.file, "languageId": "python", "version": 1}
        text = AUTHOR.replace("‸", "")
        self.tell("textDocument/didOpen", {"textDocument": {**document, "text": text}})

    def offers(self, line: int, column: int) -> set[str]:
        place = {"line": line, "character": column}
        params = {"textDocument": {"uri": self.file}, "position": place}
        found = self.ask("textDocument/completion", params)
        items: list[dict[str, Any]] = found["items"]
        return {item["label"].strip("\"'") for item in items}

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        self.last += 1
        self._send({"id": self.last, "method": method, "params": params})
        while True:
            message = self._read()
            if "method" in message and "id" in message:  # the server asks for settings and the like
                self._send({"id": message["id"], "result": [{}]})
            elif message.get("id") == self.last:
                return message["result"]

    def tell(self, method: str, params: dict[str, Any]) -> None:
        self._send({"method": method, "params": params})

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.server.stdin is not None
        self.server.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self.server.stdin.flush()

    def _read(self) -> dict[str, Any]:
        pipe = self.server.stdout
        assert pipe is not None
        length = 0
        while line := pipe.readline().strip():  # nothing if the server has ended: no JSON follows
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        message: dict[str, Any] = json.loads(pipe.read(length))
        return message


@pytest.fixture
def editor(tmp_path: Path) -> Iterator[Editor]:
    settings = {"venvPath": str(Path(sys.prefix).parent), "venv": Path(sys.prefix).name}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    (tmp_path / "guard.py").write_text(AUTHOR.replace("‸", ""))
    editor = Editor(tmp_path)
    try:
        yield editor
    finally:
        editor.patience.cancel()
        editor.server.kill()
        editor.server.communicate()


def cursors() -> Iterator[tuple[int, int]]:
    for number, line in enumerate(AUTHOR.splitlines()):
        if "‸" in line:
            yield number, line.index("‸")


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_an_editor_offers_names_and_fields(editor: Editor) -> None:
    hook, event, match, payload = (editor.offers(line, column) for line, column in cursors())
    assert hook == {name for name, entry in CATALOGUE.items() if entry.kind == "hook"}
    assert event == set(CATALOGUE)
    assert {"tool_name", "tool_kind", "origin", "session_key"} <= match
    assert {"tool_name", "tool_kind", "arguments", "session_id"} <= payload
