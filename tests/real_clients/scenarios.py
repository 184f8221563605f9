"""What is tried in each real agent. A scenario fails with an AssertionError."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Final

from tests.adapters.attached.fake_agent import wait_for

from .world import World

_KILL: Final = """
import os, signal, sys
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        words = open(f"/proc/{pid}/cmdline", "rb").read().split(b"\\0")
    except OSError:
        continue
    if b"sliphook.adapters.attached" in words and any(sys.argv[1].encode() in one for one in words):
        os.kill(int(pid), signal.SIGKILL)
        print("it-was-killed")
"""


def session(world: World) -> None:
    """Context, deny, other arguments, another result, one more round, the end."""
    call = world.client.call
    code = world.run(call("rm -rf build"), call("echo a-secret"))
    assert code == 0, world.out[-600:]
    world.awaits_end()
    assert "the session's note" in world.asked
    assert "the prompt's note" in world.asked
    assert "no whole trees" in world.asked
    assert "it-was-hidden" in world.asked
    assert "the result's note" in world.asked
    assert "Run the tests." in world.asked
    statuses = [status for _, status in world.posts()]
    assert statuses == ["denied", "ok"], world.posts()
    # the model was sent its own call, and never what came of it
    results = [one["result"]["content"] for one in world.guard.params("hook/post_tool_call")]
    assert "a-public" in results[1], results
    assert world.guard.names().count("stop") == 2, world.guard.names()
    assert world.guard.params("event/session_end")[0]["reason"] == "exit"
    world.check_pairs()


def prompt_denied(world: World) -> None:
    """A prompt that a plugin denies never reaches the model."""
    world.run(text="forbidden-words")
    assert not any("forbidden-words" in one for one in world.model.requests), "the model read it"
    wait_for(world.is_over)
    world.check_pairs()


def plugin_killed(world: World) -> None:
    """A closed guard that dies over a call denies it, and guards the next one again."""
    call = world.client.call
    (world.project / "here").touch()
    world.run(call("rm here; echo end-the-plugin"), call("rm -rf build"), call("echo fine"))
    world.awaits_end()
    assert (world.project / "here").exists()
    statuses = [status for _, status in world.posts()]
    assert statuses[-2:] == ["denied", "ok"], world.posts()


def daemon_killed(world: World) -> None:
    """A daemon that dies between the two hooks of a call: the next hook starts another."""
    script = world.home / "kill.py"
    script.write_text(_KILL)
    call = world.client.call
    kill = f"{sys.executable} {script} {world.runtime}"
    world.run(call(kill), call("rm -rf build"), call("echo fine"))
    world.awaits_end()
    assert "it-was-killed" in world.asked
    statuses = [status for _, status in world.posts()]
    assert statuses == ["denied", "ok"], world.posts()
    starts = world.guard.params("hook/session_start")
    assert [one["source"] for one in starts] == ["startup", "resume"]


def agent_killed(world: World) -> None:
    """An agent that dies over a call: the call, the turn and the session end."""
    process = world.start(world.client.call("tail -f /dev/null"))
    try:
        wait_for(lambda: "pre_tool_call" in world.guard.names() or process.poll() is not None)
    finally:
        world.kill(process)
    world.awaits_end()
    assert [status for _, status in world.posts()] == ["cancelled"], world.posts()
    assert world.guard.params("event/session_end")[0]["reason"] == "signal"
    assert world.guard.params("event/turn_end")[0]["outcome"] == "interrupted"
    world.check_pairs()


def child(world: World) -> None:
    """A child agent: its start, its calls one level down, its end."""
    assert world.client.child is not None
    tool, arguments = world.client.child
    task = f"SCRIPT: {world.client.call('echo in-the-child')}"
    step = f"TOOL {tool} {json.dumps({**arguments, world.client.task: task})}"
    steps = [step]
    if world.client.name == "codex":
        steps.append(world.client.call("sleep 3"))
    world.run(*steps)
    world.awaits_end()
    assert "subagent_start" in world.guard.names(), world.guard.names()
    assert 1 in [one["agent_depth"] for one in world.guard.params("hook/pre_tool_call")]
    world.check_pairs()


_MCP: Final = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    result = {
        "initialize": {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "two", "version": "1"},
        },
        "tools/list": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": "from-mcp"}]},
    }.get(asked.get("method"))
    if "id" in asked:
        said = {"result": result} if result else {"error": {"code": -32601, "message": "no"}}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **said}), flush=True)
"""


def mcp(world: World) -> None:
    """Another result for a tool of an MCP server."""
    script = world.home / "mcp.py"
    script.write_text(_MCP)
    server = {"command": sys.executable, "args": [str(script)]}
    config = world.home / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"two": server}}))
    world.run("TOOL mcp__two__echo {}", more=(f"--mcp-config={config}",))
    world.awaits_end()
    assert "it-was-hidden" in world.asked, world.asked[-800:]
    assert "from-mcp" not in world.asked


ALL: Final[dict[str, tuple[Callable[[World], None], tuple[str, ...]]]] = {
    "session": (session, ("claude-code", "codex", "gemini", "copilot")),
    "prompt-denied": (prompt_denied, ("claude-code", "codex", "gemini", "copilot")),
    "plugin-killed": (plugin_killed, ("claude-code", "codex", "gemini", "copilot")),
    "daemon-killed": (daemon_killed, ("claude-code", "codex", "gemini", "copilot")),
    "agent-killed": (agent_killed, ("claude-code", "codex", "gemini", "copilot")),
    "child": (child, ("claude-code", "codex")),
    "mcp": (mcp, ("claude-code",)),
}
"""Each scenario with the agents that have what it is about."""
