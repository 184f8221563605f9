"""What is tried in each real agent. A scenario fails with an AssertionError."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from tests.adapters.attached.fake_agent import daemons, wait_for
from tests.adapters.dialects.recorded import payload
from tests.adapters.mcp.served.painter import PAINTER
from tests.programs import Program, Workshop

from .clients import KEY
from .redacted import redacted
from .their_hooks import their_hooks
from .with_policy import policy
from .world import World, children

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


_TOOLS: Final = """
if method == "tool/call":
    return {"content": "deployed " + params["arguments"]["command"]}
"""


def _calls_served(world: World, plugin: Program, *calls: str, uses: Sequence[str] = ()) -> None:
    """Install a plugin, attach it with our MCP server, and have the model call its tools there."""
    grants = [word for name in uses for word in ("--grant", name)]
    world.sliphook("install", str(plugin.path), "--yes", *grants)
    world.sliphook("attach", world.client.name, "--mcp", "--yes")
    world.environment["MCP_STARTUP_WAIT_MS"] = "100000"  # Claude Code
    # the others ask the model before the server has started
    wait = world.client.call("sleep 9; echo waited")
    named = [f"TOOL {world.client.served}{call}" for call in calls]
    assert world.run(wait, wait, *named) == 0, world.out[-600:]
    world.awaits_end()


def served(world: World) -> None:
    """A plugin's tool at our MCP server: guarded once, in the process that the hooks have."""
    schema = {"type": "object", "properties": {"command": {"type": "string"}}}
    tool = {"name": "deploy", "description": "Deploys.", "input_schema": schema}
    plugin = Workshop(world.home).program("tools", tools=[tool], on=_TOOLS)
    calls = [f'deploy {{"command": "{word}"}}' for word in ("a-service", "rm -rf")]
    _calls_served(world, plugin, *calls)
    assert "deployed a-service" in world.asked
    asked = [(one["tool_name"], one["origin"]) for one in world.told("pre_tool_call")]
    assert asked.count(("deploy", "tools")) == 2, asked
    assert world.posts()[-2:] == [("deploy", "ok"), ("deploy", "denied")], world.posts()
    assert len(plugin.params("tool/call")) == 1
    assert plugin.methods().count("initialize") == 2  # at the installation, and in the daemon
    world.check_pairs()


def asked(world: World) -> None:
    """What a plugin's tool asks in an agent without a screen; all but Gemini CLI have forms."""
    plugin = Workshop(world.home).program(**PAINTER)
    _calls_served(world, plugin, "paint {}", uses=PAINTER["uses"])
    outcome = "nobody" if world.client.name == "gemini" else "declined"
    assert plugin.replies()["q1"]["result"]["outcome"] == outcome
    assert outcome in world.asked
    told = [(one["asked_by"], one["prompt"]) for one in world.told("user_input_required")]
    assert told == [("painter", "Which colour?")], told  # once, though Claude Code has a hook of it
    world.check_pairs()


def interrupt(world: World) -> None:
    """The person stops the agent over a call, then goes on with a second turn, then leaves."""
    with world.on_screen() as screen:
        world.prompt(screen, world.client.call("tail -f /dev/null"))
        wait_for(lambda: "pre_tool_call" in world.guard.names())
        # nothing else is told meanwhile: the next prompt would tell, too
        screen.insists(*world.client.stop, until=lambda: "turn_end" in world.guard.names())
        names = world.guard.names()
        assert names[-3:] == ["agent_loop_stopped", "post_tool_call", "turn_end"], names
        assert world.told("agent_loop_stopped")[0]["reason"] == "user_stop"
        assert [status for _, status in world.posts()] == ["cancelled"], world.posts()
        assert world.told("turn_end")[0]["outcome"] == "interrupted"
        screen.shows(world.client.ready)
        call = world.client.call
        world.prompt(screen, call("rm -rf build"), call("echo a-secret"))
        wait_for(lambda: world.guard.names().count("turn_end") == 2)
        assert world.told("turn_end")[1]["outcome"] == "completed"
        assert [status for _, status in world.posts()] == ["cancelled", "denied", "ok"], (
            world.posts()
        )
        screen.shows(world.client.ready)
        screen.write(world.client.leave)
        screen.insists("Enter", until=lambda: "session_end" in world.guard.names())
    world.awaits_end()
    turns = [one["turn_id"] for one in world.told("turn_start")]
    assert len(set(turns)) == 2, turns
    assert world.told("session_end")[0]["reason"] == "exit"
    world.check_pairs()


def no_compiler(world: World) -> None:
    """The client in Python: what it costs is said, and all else is the same."""
    said = world.sliphook("attach", world.client.name, "--yes", path="/nowhere")
    assert "no C compiler works here" in said, said
    session(world)


def trust(world: World) -> None:
    """The agent's key is in no process of ours; the socket and its folder are the user's alone."""
    process = world.start(world.client.call("tail -f /dev/null"))
    try:
        wait_for(lambda: "pre_tool_call" in world.guard.names() or process.poll() is not None)
        agent = Path(f"/proc/{process.pid}/environ").read_bytes()
        assert KEY.encode() in agent, "the agent itself has its key"
        [daemon] = daemons(world.runtime)
        ours = [daemon, *children(daemon)]
        assert len(ours) >= 2, "the daemon and the guard"
        for pid in ours:
            assert KEY.encode() not in Path(f"/proc/{pid}/environ").read_bytes(), pid
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
            assert b"SCRIPT" not in words, words
        folder = world.runtime / "sliphook"
        modes = [one.stat().st_mode & 0o777 for one in (folder, *folder.glob("*.sock"))]
        assert modes == [0o700, 0o600], modes
    finally:
        world.kill(process)
    world.awaits_end()


def by_hand(world: World) -> None:
    """`sliphook hook`: a call put to the daemon of a session that is open, and explained."""
    folder, sample = {
        "claude-code": ("claude-code", "PreToolUse"),
        "codex": ("codex", "PreToolUse"),
        "gemini": ("gemini-cli", "BeforeTool"),
        "copilot": ("copilot-cli", "preToolUse"),
    }[world.client.name]
    fields = payload(folder, sample)
    process = world.start(world.client.call("tail -f /dev/null"))
    try:
        wait_for(lambda: "pre_tool_call" in world.guard.names() or process.poll() is not None)
        [key] = {one["session_key"] for one in world.told("pre_tool_call")}
        of_session = "sessionId" if "sessionId" in fields else "session_id"
        of_call = "toolArgs" if "toolArgs" in fields else "tool_input"
        fields |= {of_session: key.partition(":")[2], of_call: {"command": "rm -rf build"}}
        stdin = json.dumps(fields)
        said = world.sliphook("hook", world.client.name, sample, stdin=stdin)
        assert "no whole trees" in said, said
        assert len(daemons(world.runtime)) == 1
        explained = world.sliphook("hook", world.client.name, sample, "--explain", stdin=stdin)
        assert json.loads(explained)["fires"][0] == "pre_tool_call", explained
    finally:
        world.kill(process)
    world.awaits_end()


def hostile(world: World) -> None:
    """Plugins that flood, hang and crash: open ones change nothing, a closed one denies."""
    world.plugin("flooder", "while True: raw(b'{' * 65536)", on_failure="open")
    world.plugin("crasher", "os._exit(1)", on_failure="open")
    world.plugin(
        "hanger",
        "if 'hang' in str(params.get('arguments')): time.sleep(3600)",
        on_failure="closed",
        timeout_s=1.0,
    )
    call = world.client.call
    (world.project / "here").touch()
    code = world.run(call("echo one"), call("echo a-secret"), call("rm here; echo hang"))
    assert code == 0, world.out[-600:]
    world.awaits_end()
    assert (world.project / "here").exists()
    statuses = [status for _, status in world.posts()]
    assert statuses == ["ok", "ok", "denied"], world.posts()
    assert "it-was-hidden" in world.asked
    world.check_pairs()


_EACH: Final = ("claude-code", "codex", "gemini", "copilot")

ALL: Final[dict[str, tuple[Callable[[World], None], tuple[str, ...]]]] = {
    "session": (session, _EACH),
    "prompt-denied": (prompt_denied, _EACH),
    "interrupt": (interrupt, _EACH),
    "plugin-killed": (plugin_killed, _EACH),
    "daemon-killed": (daemon_killed, _EACH),
    "agent-killed": (agent_killed, _EACH),
    "hostile": (hostile, _EACH),
    "no-compiler": (no_compiler, _EACH),
    "trust": (trust, _EACH),
    "by-hand": (by_hand, _EACH),
    "child": (child, ("claude-code", "codex")),
    "mcp": (mcp, ("claude-code",)),
    "their-hooks": (their_hooks, ("claude-code",)),
    "served": (served, _EACH),
    "asked": (asked, _EACH),
    "redacted": (redacted, ("claude-code", "codex")),
    "policy": (policy, _EACH),
}
"""Each scenario with the agents that have what it is about."""

ON_SCREEN: Final = frozenset({"interrupt"})
"""Scenarios that need tmux."""
