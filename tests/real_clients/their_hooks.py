"""Hooks of Claude Code, run by itself and by us inside of it: the same comes of them."""

from __future__ import annotations

import json
import sys
from typing import Any, Final

from tests.adapters.attached.fake_agent import wait_for
from tests.programs import whole_lines

from .world import World

_HOOK: Final = """
import json, sys
told = json.load(sys.stdin)
with open(sys.argv[1], "a") as log:
    log.write(json.dumps(told) + "\\n")
event = told["hook_event_name"]
def say(**said):
    print(json.dumps({"hookSpecificOutput": {"hookEventName": event, **said}}))
if event == "SessionStart":
    print("their session's note")
elif event == "UserPromptSubmit":
    print("their prompt's note")
elif event == "PreToolUse":
    command = told["tool_input"]["command"]
    if "rm -rf" in command:
        print("no whole trees", file=sys.stderr)
        sys.exit(2)
    if "deny-me" in command:
        say(permissionDecision="deny", permissionDecisionReason="denied in JSON")
    if "a-secret" in command:
        changed = {**told["tool_input"], "command": "echo a-public"}
        say(updatedInput=changed)
elif event == "PostToolUse":
    say(additionalContext="their result's note")
elif event == "Stop" and not told["stop_hook_active"]:
    print(json.dumps({"decision": "block", "reason": "Run their tests."}))
"""
_NOTES: Final = (
    "their session's note",
    "their prompt's note",
    "no whole trees",
    "denied in JSON",
    "their result's note",
    "Run their tests.",
)


def their_hooks(world: World) -> None:
    """The same configuration as Claude Code's own, then as a plugin that is attached."""
    world.sliphook("detach", world.client.name, "--yes")
    world.sliphook("uninstall", "guard")
    settings = world.home / ".claude" / "settings.json"
    before = settings.read_text() if settings.exists() else None
    config = _config(world)
    own = {**json.loads(before or "{}"), **config}
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(json.dumps(own))
    alone = _outcome(world)
    if before is None:
        settings.unlink()
    else:
        settings.write_text(before)

    theirs = world.home / "theirs.json"
    theirs.write_text(json.dumps(config))
    world.sliphook("install", "--hooks", f"claude-code:{theirs}", "--yes")
    world.sliphook("attach", world.client.name, "--yes")
    attached = _outcome(world)
    wait_for(world.is_over)
    assert alone == attached, (alone, attached)
    assert all(alone["notes"].values()), alone["notes"]


def _config(world: World) -> dict[str, Any]:
    script = world.home / "hook.py"
    script.write_text(_HOOK)
    command = f"{sys.executable} {script} {world.home / 'told.jsonl'}"
    group = {"hooks": [{"type": "command", "command": command}]}
    events = ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd")
    return {
        "hooks": {event: [group] for event in events}
        | {"PreToolUse": [{"matcher": "Bash", **group}]}
    }


def _outcome(world: World) -> dict[str, Any]:
    """What the hooks read, without ids, and what the model read of them."""
    call = world.client.call
    log = world.home / "told.jsonl"
    world.model.requests.clear()
    code = world.run(call("rm -rf build"), call("echo deny-me"), call("echo a-secret"))
    wait_for(lambda: any('"SessionEnd"' in line for line in whole_lines(log)))
    told = [json.loads(line) for line in whole_lines(log)]
    log.unlink()  # a file that a command names would be approved with it
    return {
        "code": code,
        "events": [one["hook_event_name"] for one in told],
        "inputs": [one["tool_input"] for one in told if "tool_input" in one],
        "responses": [one["tool_response"] for one in told if "tool_response" in one],
        "notes": {note: note in world.asked for note in _NOTES},
    }
