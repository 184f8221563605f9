"""What of Hermes could pass a bridge by, each tried in the real one."""

# pyright: basic, reportMissingImports=false
# mypy: ignore-errors

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

from tests.bridges.hermes.real.test_one_process import go, told
from tests.bridges.hermes.real.world import WAIT_S, Ran

WITHIN_THE_IMPORT = """
import json, sys
from sliphook.bridges import hermes as bridge

seen, register = [], bridge.register

def watched(ctx):
    seen.append(hasattr(sys.modules.get("run_agent"), "AIAgent"))
    register(ctx)

bridge.register = watched
from run_agent import AIAgent

agent = AIAgent(
    api_key="fake-key", base_url=sys.argv[1], provider="custom", api_mode="chat_completions",
    model="fake-model", quiet_mode=True, platform="cli", enabled_toolsets=["terminal"],
    skip_memory=True, skip_context_files=True,
)
result = agent.run_conversation(sys.argv[2])
said = [one["content"] for one in result["messages"] if one["role"] == "tool"]
print("RESULT " + json.dumps({"seen": seen, "said": said}))
"""


def test_the_bridge_is_registered_within_the_import_of_run_agent(world, tmp_path):
    """There is no `AIAgent` to wrap yet."""
    there = tmp_path / "there"
    text = 'DENYTOOL TOOL terminal {"command":"touch ' + str(there) + '"}'
    before = len(world.lines())
    ran = subprocess.run(
        [sys.executable, "-c", WITHIN_THE_IMPORT, world.server.url, text],
        cwd=world.home,
        env=dict(os.environ),
        check=False,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
    )
    lines = [line for line in ran.stdout.splitlines() if line.startswith("RESULT ")]
    assert lines, ran.stderr[-3000:]
    found = json.loads(lines[0].removeprefix("RESULT "))
    assert found["seen"] == [False]
    assert "not today" in found["said"][0]
    assert not there.exists()
    assert world.wait("session_end", before)


CODE = (
    "from hermes_tools import terminal\n"
    "print(terminal('touch ' + '{0}'))\n"
    "print(terminal('echo deny' + '-me; touch ' + '{1}'))"
)


def test_calls_from_a_sandbox_are_guarded(world, new_agent, tmp_path):
    """They come in a thread of its own, without the id of a session or of a call."""
    fine, there = tmp_path / "fine", tmp_path / "there"
    code = json.dumps({"code": CODE.format(fine, there)})
    agent = new_agent(enabled_toolsets=["code_execution", "terminal"])
    result, before = go(world, agent, "TOOL execute_code " + code)
    asked = [one for one in world.lines(before) if one["name"] == "pre_tool_call"]
    assert [one["tool_name"] for one in asked] == ["execute_code", "terminal", "terminal"]
    assert [one["tool_kind"] for one in asked] == ["shell"] * 3
    assert {one["session_id"] for one in asked} == {agent.session_id}
    assert len({one["turn_id"] for one in asked}) == 1
    ends = [one["status"] for one in world.lines(before) if one["name"] == "post_tool_call"]
    assert sorted(ends) == ["denied", "ok", "ok"]
    assert fine.exists()
    assert not there.exists()
    assert "not today" in told(result)[0]


def test_a_compression_in_a_run_keeps_the_session(world, new_agent):
    """Hermes gives the agent another session id in the middle of its run."""
    from hermes_state import SessionDB

    agent = new_agent(session_db=SessionDB())
    agent.compression_in_place = False
    first = agent.session_id
    history = [
        {"role": role, "content": f"{k}: " + "words of an old conversation " * 200}
        for k in range(40)
        for role in ("user", "assistant")
    ]
    text = 'TOOLONG TOOL terminal {"command":"echo a"} TOOL terminal {"command":"echo b"}'
    result, before = go(world, agent, text, conversation_history=history)
    assert result["completed"]
    assert agent.session_id != first
    lines = [one for one in world.lines(before) if "session_id" in one]
    assert {one["session_id"] for one in lines} == {first}
    names = [one["name"] for one in lines]
    assert (names.count("turn_start"), names.count("pre_tool_call")) == (1, 2)
    # and the next run, which comes under the new id, is of the same session
    _, before = go(world, agent, "again", conversation_history=result["messages"])
    assert {one["session_id"] for one in world.lines(before) if "session_id" in one} == {first}


def test_the_background_review_has_a_session_of_its_own(world, new_agent):
    """It has the id of its parent's session, whose next run is under way."""
    agent = new_agent()
    result, before = go(world, agent, 'TOOL terminal {"command":"echo a"}')
    run = Ran(lambda: agent.run_conversation('TOOL probe_slow {"seconds":30}'))
    world.wait("TOOL probe_slow", before)
    script = {"role": "user", "content": 'TOOL terminal {"command":"echo deny-me"}'}
    agent._spawn_background_review([*result["messages"], script], review_memory=True)
    review = f"{agent.session_id}/review"
    give_up = time.monotonic() + WAIT_S
    while not any(
        one["name"] == "session_end" and one.get("session_id") == review
        for one in world.lines(before)
    ):
        assert time.monotonic() < give_up, [one["name"] for one in world.lines(before)]
        time.sleep(0.02)
    agent.interrupt("Stop requested")
    run.end()
    theirs = world.story(before, review)
    assert theirs[:2] == ["session_start", "turn_start"]
    assert theirs[-2:] == ["turn_end", "session_end"]
    own = [one for one in world.lines(before) if one.get("session_id") == agent.session_id]
    ends = [one["outcome"] for one in own if one["name"] == "turn_end"]
    assert ends == ["completed", "interrupted"]


def test_an_interrupt_before_a_run_keeps_its_text(world, new_agent):
    agent, before = new_agent(), len(world.lines())
    agent.interrupt("something else")
    requests = len(world.server.requests)
    result, _ = go(world, agent, "hello")
    assert (result["interrupted"], result["interrupt_message"]) == (True, "something else")
    assert len(world.server.requests) == requests
    stopped = world.wait("agent_loop_stopped", before)
    assert (stopped["reason"], stopped["invalidation_reason"]) == ("new_message", "new_message")
    assert "something else" not in json.dumps(world.lines(before))
    more, _ = go(world, agent, "next")
    assert more["completed"]


def test_with_yolo_hermes_says_yes_for_the_person(world, new_agent, monkeypatch):
    monkeypatch.setattr("tools.approval._YOLO_MODE_FROZEN", True)
    result, _ = go(world, new_agent(), 'ASKTOOL TOOL probe_echo {"text":"yolo"}')
    assert told(result) == ["probe says yolo"]


def test_no_tool_of_a_plugins_takes_the_place_of_one_of_hermes(new_agent):
    """Hermes drops a second tool of one name without a word, and so it would its own."""
    from hermes_cli.plugins import PluginContext, PluginManifest, get_plugin_manager
    from tools.registry import registry

    from sliphook.blocking import PluginHost
    from sliphook.bridges.hermes.guarding import Guards
    from sliphook.bridges.hermes.offers import offer_tools
    from sliphook.bridges.hermes.tool_calls import ToolCalls
    from sliphook.testing import FakePlugin

    tools = dict.fromkeys(["terminal", "read_file", "todo", "only_ours"])
    host = PluginHost([FakePlugin("odd", tools=tools, recorded=True)])
    calls = ToolCalls(lambda: host, Guards((), lambda: host), set())
    assert len(host.tools()) == 4
    ctx = PluginContext(PluginManifest(name="odd"), get_plugin_manager())
    try:
        assert offer_tools(ctx, host.tools(), calls) == {"only_ours"}
        assert registry.get_entry("terminal").toolset == "terminal"
    finally:
        registry.deregister("only_ours")
