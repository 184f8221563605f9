"""`sliphook inspect`: what its server serves, to whom, and what it sends the plugin."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

PATIENCE_S = 120.0

PLUGIN = """
import os
from sliphook_sdk import *

plugin = Plugin("tried", uses=["ask"])

@plugin.hook("pre_tool_call")
def guard(call):
    if call.arguments.get("command") == "crash":
        os._exit(7)
    if call.arguments.get("command") == "print":
        print("not json", flush=True)
    return deny("no trees") if call.arguments.get("command") == "rm" else None

@plugin.tool
def add(first: int, second: int = 2) -> str:
    "Adds."
    return str(first + second)

@plugin.tool
def slow(*, ctx) -> str:
    ctx.progress("halfway", 0.5)
    ctx.wait(100)
    return "late"

@plugin.tool
def asks(*, ctx) -> str:
    return repr(ctx.ask("Which one?", schema={"type": "string", "enum": ["a", "b"]}))

@plugin.command
def hello(arguments):
    "Says hello."
    return f"hello {arguments}"

if __name__ == "__main__":
    plugin.run()
"""


class Page:
    """A running `sliphook inspect`, and a browser's part by hand."""

    def __init__(self, path: Path, home: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "sliphook", "inspect", "--plugin", str(path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "HOME": str(home),
                "XDG_DATA_HOME": str(home / "data"),
                "XDG_STATE_HOME": str(home / "state"),
                "XDG_CONFIG_HOME": str(home / "config"),
            },
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        self.client = httpx.Client(base_url=self.url, timeout=PATIENCE_S, trust_env=False)

    def told(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first message of the server's that is wanted."""
        ends_at = time.monotonic() + PATIENCE_S
        seen: list[str] = []
        with self.client.stream("GET", "events") as events:
            for line in events.iter_lines():
                if line.startswith("data: ") and wanted(told := json.loads(line[6:])):
                    return dict(told)
                seen.append(line[:200])
                assert time.monotonic() < ends_at, (
                    seen
                )  # the server says now and then that it lives
        raise AssertionError("the events have ended")

    def ready(self) -> dict[str, Any]:
        return dict(self.told(lambda told: told.get("state", {}).get("state") == "ready")["state"])

    def ask(self, kind: str, name: str, **fields: Any) -> dict[str, Any]:
        body = {"kind": kind, "name": name, "fields": fields}
        return dict(self.client.post("ask", json=body).raise_for_status().json())

    def record(self, *parts: str) -> dict[str, Any]:
        """The first record whose line has all of these."""

        def wanted(told: dict[str, Any]) -> bool:
            line = told.get("record", {}).get("line", "")
            return all(part in line for part in parts)

        return dict(self.told(wanted)["record"])

    def end(self) -> int:
        self.client.close()
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    path = tmp_path / "tried.py"
    path.write_text(f"#!{sys.executable}\n{PLUGIN}")
    path.chmod(0o755)
    page = Page(path, tmp_path)
    try:
        yield page
    finally:
        page.client.close()
        page.process.kill()
        page.process.communicate(timeout=PATIENCE_S)


def test_a_hook_an_event_a_tool_and_a_command(page: Page) -> None:
    state = page.ready()
    assert state["manifest"]["name"] == "tried"
    assert [(one["kind"], one["name"]) for one in state["things"] if one["declared"]] == [
        ("tool", "add"),
        ("tool", "slow"),
        ("tool", "asks"),
        ("command", "hello"),
        ("hook", "pre_tool_call"),
    ]

    denied = page.ask("hook", "pre_tool_call", arguments={"command": "rm"})
    assert (denied["status"], denied["summary"]) == ("answered", "answered: deny: no trees")
    assert denied["detail"]["outcome"]["decision"] == "deny"
    unheard = page.ask("event", "turn_start")
    assert unheard["status"] == "not_subscribed"
    added = page.ask("tool", "add", first=3)
    assert (added["status"], added["detail"]["content"]) == ("answered", "5")
    greeted = page.ask("command", "hello", arguments="there")
    assert greeted["detail"]["result"] == {"text": "hello there"}
    assert page.end() == 130


def test_what_does_not_fit_is_said_and_not_sent(page: Page) -> None:
    page.ready()
    wrong = page.ask("tool", "add", first="three")
    assert wrong["status"] == "not_sent"
    assert "first" in wrong["summary"]
    assert page.ask("hook", "pre_tool_cal")["status"] == "not_sent"
    assert page.ask("hook", "pre_tool_call", tool_nam="x")["status"] == "not_sent"
    assert page.client.post("ask", content=b"[]").status_code == 400
    assert page.client.post("ask", content=b" " * (9 * 1024 * 1024)).status_code == 413


def test_a_message_is_changed_and_sent_again(page: Page) -> None:
    page.ready()
    page.ask("hook", "pre_tool_call", arguments={"command": "ls"})
    record = page.record("hook/pre_tool_call")
    assert record["again"] is True
    message = page.client.get(f"message/{record['number']}").json()
    assert message["method"] == "hook/pre_tool_call"
    assert message["params"]["arguments"] == {"command": "ls"}
    again = page.ask("raw", message["method"], **message["params"])
    assert (again["status"], again["detail"]) == ("answered", {"result": None})
    # not what the protocol allows, which is what is to be tried
    assert page.ask("raw", "hook/pre_tool_call", x=1)["status"] == "error"
    assert page.ask("raw", "no/such", x=1)["summary"].endswith("(-32601)")
    assert page.ask("raw", "$/nothing", x=1)["status"] == "told"
    assert page.client.get("message/999999").status_code == 404


def test_a_plugin_that_prints_crashes_or_hangs_is_shown(page: Page) -> None:
    page.ready()
    page.ask("hook", "pre_tool_call", arguments={"command": "print"})
    assert page.record("not json")["kind"] in ("stray", "stderr")
    crashed = page.ask("hook", "pre_tool_call", arguments={"command": "crash"})
    assert crashed["status"] == "crashed"
    assert page.record("exited with status 7")
    page.client.post("restart", json={})
    page.ready()
    assert page.ask("tool", "add", first=1)["detail"]["content"] == "3"


def test_a_slow_tool_is_stopped(page: Page) -> None:
    page.ready()
    sent = page.client.build_request(
        "POST", "ask", json={"kind": "tool", "name": "slow", "fields": {}}
    )
    with httpx.Client(timeout=PATIENCE_S, trust_env=False) as other:
        answers: list[dict[str, Any]] = []
        asking = threading.Thread(target=lambda: answers.append(other.send(sent).json()))
        asking.start()
        assert page.record("$/progress")
        assert page.client.post("stop", json={}).json() == {"stopped": 1}
        asking.join(PATIENCE_S)
    assert answers[0]["status"] == "stopped"


def test_a_question_is_answered_on_the_page(page: Page) -> None:
    page.ready()
    answers: list[dict[str, Any]] = []
    asking = threading.Thread(target=lambda: answers.append(page.ask("tool", "asks")))
    asking.start()
    question = page.told(lambda told: "question" in told)["question"]
    assert (question["prompt"], question["schema"]["enum"]) == ("Which one?", ["a", "b"])
    page.client.post("answer", json={"id": question["id"], "value": "c"})
    again = page.told(lambda told: "question" in told)["question"]
    assert again["wrong"]
    assert page.client.post("answer", json={"id": again["id"], "value": "b"}).json()["taken"]
    asking.join(PATIENCE_S)
    assert "'b'" in answers[0]["detail"]["content"]
    assert page.client.post("answer", json={"id": "no", "value": 1}).json() == {"taken": False}


def test_an_exchange_is_saved_as_a_test_and_as_a_trace(page: Page, tmp_path: Path) -> None:
    page.ready()
    page.ask("hook", "pre_tool_call", arguments={"command": "rm"}, tool_name="bash")
    page.ask("tool", "add", first=3)
    page.ask("command", "hello", arguments="there")
    assert page.record("←", "command/run")  # the thread that keeps them may come behind
    for part in ("hook/pre_tool_call", "tool/call", "command/run"):
        saved = page.client.get(f"test/{page.record(part)['number']}")
        name = saved.headers["content-disposition"].split('"')[1]
        assert name == f"test_tried_{part.replace('/', '_')}.py"
        (tmp_path / name).write_text(saved.text)
    (tmp_path / "inspected.jsonl").write_bytes(page.client.get("trace.jsonl").content)
    page.end()

    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    tested = subprocess.run(
        run, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert "3 passed" in tested.stdout, tested.stdout
    replay = ["trace", "replay", "inspected.jsonl", "--plugin", "./tried.py"]
    replayed = subprocess.run(
        [sys.executable, "-m", "sliphook", *replay],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr


def test_what_was_not_answered_is_no_test(page: Page) -> None:
    page.ready()
    page.ask("hook", "pre_tool_call", arguments={"command": "crash"})
    crashed = page.record("→", "hook/pre_tool_call")
    refused = page.client.get(f"test/{crashed['number']}")
    assert (refused.status_code, "has not answered it" in refused.text) == (409, True)

    # the new process counts its requests from the beginning, and answers one of that number
    page.client.post("restart", json={})
    page.ready()
    page.ask("hook", "pre_tool_call", arguments={"command": "rm"})
    answer = page.record("←", "hook/pre_tool_call")
    assert ("#2 " in crashed["line"], "#2 " in answer["line"]) == (True, True)
    assert page.client.get(f"test/{crashed['number']}").status_code == 409


def test_nothing_else_is_served_and_to_nobody_else(page: Page) -> None:
    page.ready()
    with httpx.Client(timeout=PATIENCE_S, trust_env=False) as stranger:
        root = httpx.URL(page.url).copy_with(raw_path=b"/")
        for url in (root, root.join("/events"), root.join("/x/page.js"), root.join("/favicon.ico")):
            assert stranger.get(url).status_code == 404
        assert stranger.get(page.url + "../page.js").status_code == 404
        assert stranger.get(page.url, headers={"Host": "evil.example"}).status_code == 403
        asked = {"kind": "tool", "name": "add", "fields": {"first": 1}}
        sent = stranger.post(
            page.url + "ask", json=asked, headers={"Origin": "http://evil.example"}
        )
        assert sent.status_code == 403
    served = page.client.get("")
    assert "default-src 'none'" in served.headers["content-security-policy"]
    assert served.headers["referrer-policy"] == "no-referrer"
    assert page.client.get("timeline.svg").text.startswith("<svg")
