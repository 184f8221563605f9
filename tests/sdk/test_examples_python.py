"""The examples as they lie there: executables, spoken to over pipes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.sdk.driver import Child, command, payload, tool_call

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def example(tmp_path: Path) -> Iterator[Callable[[str], Child]]:
    """Starts an example by its path alone."""
    children: list[Child] = []

    def run(name: str) -> Child:
        children.append(Child([str(EXAMPLES / name)], tmp_path))
        return children[-1]

    yield run
    for child in children:
        child.kill()


def finish(child: Child) -> None:
    assert child.ask("shutdown", {}) == {}
    child.notify("exit", {})
    assert child.ended() == 0
    assert child.stray() == b""


def test_the_guard_keeps_trees(example: Callable[[str], Child]) -> None:
    child = example("guard.py")
    manifest = child.initialize()
    assert manifest["subscriptions"] == [
        {"event": "pre_tool_call", "match": {"tool_name": ["shell"]}, "on_failure": "closed"}
    ]
    denied = child.ask(
        "hook/pre_tool_call", payload("pre_tool_call", arguments={"command": "rm -rf build"})
    )
    assert denied == {"decision": "deny", "reason": "deleting whole trees is not for agents"}
    assert (
        child.ask("hook/pre_tool_call", payload("pre_tool_call", arguments={"command": "ls"}))
        is None
    )
    finish(child)


def test_the_weather_is_made_up(example: Callable[[str], Child]) -> None:
    child = example("weather.py")
    (tool,) = child.initialize()["tools"]
    assert tool["input_schema"]["required"] == ["city"]
    request = child.request("tool/call", tool_call("weather", city="lisbon"))
    assert child.said("$/progress")["message"] == "asking the station in lisbon"
    result = child.result(request)
    assert json.loads(result["content"]) == {
        "city": "Lisbon",
        "days": 1,
        "sky": "sun",
        "celsius": 24,
    }
    assert (result["is_error"], result["data"]["sky"]) == (False, "sun")
    nowhere = child.ask("tool/call", tool_call("weather", city="Atlantis"))
    assert (
        nowhere["content"]
        == "there is no station in Atlantis; there is one in Bergen, Lisbon, Reykjavik"
    )
    assert child.ask("tool/call", tool_call("weather", city="Lisbon", days=8))["is_error"] is True
    finish(child)


def test_a_reminder_is_a_message_for_the_model(example: Callable[[str], Child]) -> None:
    child = example("remind.py")
    assert child.initialize()["uses"] == ["submit"]
    usage = {"text": "say it so: /remind 20 look at the build"}
    assert child.ask("command/run", command("remind", "")) == usage
    assert child.ask("command/run", command("remind", "0 look")) == {"text": "in 0 minutes: look"}
    asked = child.said("host/submit")
    assert (asked["session_key"], asked["text"]) == ("main", "look")
    child.write({"id": asked["_id"], "error": {"code": -32004, "message": "busy"}})
    assert child.said("host/log")["message"] == "look was not taken: busy"
    child.notify("event/submission_end", payload("submission_end", by="remind", reply="fine"))
    assert child.said("host/log")["message"] == "completed: fine"
    finish(child)
