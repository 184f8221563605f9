"""The real `AIAgent`, one process, against a scripted server."""

# pyright: basic, reportMissingImports=false
# mypy: ignore-errors

from __future__ import annotations

import json
import statistics
import threading
import time

import pytest

from tests.bridges.hermes.real.world import WAIT_S, Ran

WHOLE = ["pre_llm_call", "post_llm_call"]
CALL = ["pre_tool_call", "post_tool_call"]
BEGIN = ["session_start", "turn_start", "user_prompt_submit"]


def go(world, agent, text, **more):
    """Run; returns the result and how many lines there were before."""
    before = len(world.lines())
    result = agent.run_conversation(text, **more)
    world.wait("turn_end", before)
    return result, before


def told(result):
    return [str(one["content"]) for one in result["messages"] if one["role"] == "tool"]


def test_hermes_loads_the_bridge_once(new_agent):
    """It is there twice: by its entry point, and in the folder of plugins."""
    from hermes_cli.plugins import get_plugin_manager

    manager = get_plugin_manager()
    assert manager._plugins["sliphook"].manifest.source == "entrypoint"
    ours = [hook for hook in manager._hooks["pre_tool_call"] if "sliphook" in hook.__module__]
    assert len(ours) == 1


def test_a_run_with_hermes_own_tool(world, new_agent):
    agent = new_agent()
    result, before = go(world, agent, 'TOOL terminal {"command":"echo there"}')
    assert result["final_response"] == "ok: 1"
    assert "there" in told(result)[0]
    assert world.story(before) == [*BEGIN, *WHOLE, *CALL, *WHOLE, "stop", "turn_end"]
    lines = world.lines(before)
    assert {one["session_id"] for one in lines if "session_id" in one} == {agent.session_id}
    first = world.server.requests[-2]["messages"]
    assert first[0]["content"].endswith("[probe] SYSTEM-TEXT")
    assert first[-1]["content"].endswith("[probe] USER-TEXT\n\n[probe] CALL-TEXT")
    assert world.server.requests[-1]["messages"][-1]["content"] == "[probe] CALL-TEXT"
    more, before = go(world, agent, "again", conversation_history=result["messages"])
    assert more["completed"]
    assert world.story(before)[0] == "turn_start"


def test_a_plugins_tool(world, new_agent):
    result, _ = go(world, new_agent(), 'TOOL probe_echo {"text":"hi"}')
    assert told(result) == ["probe says hi"]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("DENYTOOL", "was denied: probe: not today"),
        ("REPLACEARGS", "probe says replaced"),
        ("SUBSTTOOL", "SUBSTITUTED-RESULT"),
        ("REPLACERESULT", "REPLACED-RESULT"),
        ("TOOLCONTEXT", "[probe] BEHIND-RESULT"),
        ("ASKTOOL", "was denied: probe: are you sure?"),
    ],
)
def test_answers_about_tools(world, new_agent, word, said):
    result, _ = go(world, new_agent(), word + ' TOOL probe_echo {"text":"hi"}')
    assert said in told(result)[0]


@pytest.mark.parametrize(
    "call", ["terminal {{\"command\":\"touch {}\"}}", 'todo {{"todos":[],"note":"{}"}}']
)  # fmt: skip
def test_a_denied_tool_does_not_run(world, new_agent, tmp_path, call):
    there = tmp_path / "there"
    result, before = go(world, new_agent(), "DENYTOOL TOOL " + call.format(there))
    assert "not today" in told(result)[0]
    assert not there.exists()
    assert world.wait("post_tool_call", before)["status"] == "denied"


def test_hermes_observers_see_blocked(world, new_agent):
    from hermes_cli.plugins import get_plugin_manager

    seen = []
    hooks = get_plugin_manager()._hooks["post_tool_call"]
    hooks.append(lambda **fields: seen.append(fields["status"]))
    go(world, new_agent(), 'DENYTOOL TOOL terminal {"command":"ls"}')
    hooks.pop()
    assert seen == ["blocked"]


def test_tools_side_by_side_are_asked_once_each(world, new_agent):
    text = 'PAR terminal {"command":"echo 1"} PAR probe_echo {"text":"2"}'
    result, before = go(world, new_agent(), text)
    assert len(told(result)) == 2
    story = world.story(before)
    assert (story.count("pre_tool_call"), story.count("post_tool_call")) == (2, 2)


@pytest.mark.parametrize(
    ("word", "final", "outcome"),
    [
        ("DENYPROMPT", "Not sent: probe: this text is not for agents", "denied"),
        ("REPLACEPROMPT", "ok: 0", "completed"),
        ("DENYLLM", "The model call was denied: probe: no model today", "denied"),
        ("SUBSTLLM", "SUBSTITUTED", "completed"),
        ("GOON", "ok: 0", "completed"),
    ],
)
def test_answers_about_the_text_and_the_model(world, new_agent, word, final, outcome):
    result, before = go(world, new_agent(), word + " hello")
    assert result["final_response"] == final
    assert world.wait("turn_end", before)["outcome"] == outcome
    if word == "GOON":
        assert world.story(before).count("stop") == 2
        assert world.story(before).count("turn_start") == 1


def test_a_text_is_injected(world, new_agent):
    go(world, new_agent(), 'TOOL probe_inject {"text":"this"}')
    assert "INJECTED this" in world.server.requests[-1]["messages"][-1]["content"]


def test_a_bad_request_ends_the_turn(world, new_agent):
    result, before = go(world, new_agent(), "HTTP 400")
    assert result["failed"]
    assert world.wait("llm_call_failed", before)["kind"] == "format_error"
    assert world.story(before) == [*BEGIN, "pre_llm_call", "llm_call_failed", "turn_end"]


INTERRUPTS = {
    "in a plugin's tool": ('TOOL probe_slow {"seconds":30}', "TOOL probe_slow"),
    "in a tool of Hermes's": ('TOOL terminal {"command":"sleep 30"}', "pre_tool_call"),
    "while the model thinks": ("THINK 5", "pre_llm_call"),
    "while the model speaks": ("DRIP 5", "pre_llm_call"),
    "while a guard is asked": ("SLOWSTOP hello", "stop"),
}


@pytest.mark.parametrize("when", INTERRUPTS)
def test_an_interrupt(world, new_agent, when):
    text, at = INTERRUPTS[when]
    agent, before = new_agent(), len(world.lines())
    run = Ran(lambda: agent.run_conversation(text))
    world.wait(at, before)
    time.sleep(1 if when.startswith(("while the model", "in a tool")) else 0.2)
    said = time.time()
    agent.interrupt("Stop requested")
    result = run.end()
    stopped, end = world.wait("agent_loop_stopped", before), world.wait("turn_end", before)
    assert (stopped["reason"], stopped["invalidation_reason"]) == ("user_stop", "stop_command")
    assert end["outcome"] == "interrupted"
    assert stopped["t"] - said < 1  # a net: usually some milliseconds
    print(f"{when}: heard after {(stopped['t'] - said) * 1000:.1f} ms")
    last = world.story(before)[-3:]
    tool = ["agent_loop_stopped", "post_tool_call", "turn_end"]
    assert last == tool if "tool" in when else last[-2:] == ["agent_loop_stopped", "turn_end"]
    # and the agent's next run is whole
    more, before = go(world, agent, "next", conversation_history=result.get("messages"))
    assert (more["completed"], more["interrupted"]) == (True, False)
    assert world.wait("turn_end", before)["outcome"] == "completed"


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (None, "user_stop"),
        ("Session reset requested", "reset"),
        ("do something else", "new_message"),
        ("Execution timed out (inactivity)", "timeout"),
        ("received signal 15", "signal"),
    ],
)
def test_reasons(world, new_agent, message, reason):
    agent, before = new_agent(), len(world.lines())
    run = Ran(lambda: agent.run_conversation('TOOL probe_slow {"seconds":30}'))
    world.wait("TOOL probe_slow", before)
    agent.interrupt(message)
    run.end()
    assert world.wait("agent_loop_stopped", before)["reason"] == reason
    assert "something" not in json.dumps(world.wait("agent_loop_stopped", before))


def test_a_plugins_interrupt_stops_hermes(world, new_agent):
    requests = len(world.server.requests)
    result, before = go(world, new_agent(), 'TOOL probe_interrupt {"text":"enough"}')
    assert result["interrupted"]
    assert world.wait("agent_loop_stopped", before)["reason"] == "plugin"
    assert len(world.server.requests) == requests + 1


def test_a_child_in_the_background_stays_guarded(world, new_agent):
    goal = 'THINK 2 TOOL terminal {\\"command\\":\\"echo child\\"}'
    before = len(world.lines())
    new_agent().run_conversation('TOOL delegate_task {"goal":"' + goal + '"}')
    ends = [world.wait("turn_end", before), world.wait("subagent_stop", before)]
    assert ends[1]["t"] >= ends[0]["t"]
    asked = [one for one in world.lines(before) if one["name"] == "pre_tool_call"]
    assert [one["agent_depth"] for one in asked] == [0, 1]
    child = [one for one in world.lines(before) if one.get("agent_depth") == 1]
    assert [one["name"] for one in child if "llm" in one["name"]][:2] == WHOLE
    assert ends[1]["status"] == "completed"


def test_sessions_side_by_side(world, new_agent):
    agents, before = [new_agent() for _ in range(4)], len(world.lines())
    text = 'TOOL probe_echo {"text":"a"} TOOL terminal {"command":"echo b"}'
    runs = [Ran(lambda agent=agent: agent.run_conversation(text)) for agent in agents]
    assert all(run.end()["completed"] for run in runs)
    time.sleep(1)
    for agent in agents:
        mine = [
            one
            for one in world.lines(before)
            if one.get("session_id") == agent.session_id and "seq" in one
        ]
        names = [one["name"] for one in sorted(mine, key=lambda one: one["seq"])]
        assert names == [*BEGIN, *WHOLE, *CALL, *WHOLE, *CALL, *WHOLE, "stop", "turn_end"]


def test_latency_of_an_interrupt(world, new_agent):
    waits, agent = [], new_agent()
    for _ in range(20):
        before = len(world.lines())
        run = Ran(lambda: agent.run_conversation('TOOL probe_slow {"seconds":30}'))
        world.wait("TOOL probe_slow", before)
        said = time.time()
        agent.interrupt("Stop requested")
        run.end()
        waits.append((world.wait("agent_loop_stopped", before)["t"] - said) * 1000)
    print(f"interrupt to plugin: median {statistics.median(waits):.1f} ms, max {max(waits):.1f} ms")
    assert statistics.median(waits) < 500


def test_a_session_ends_with_its_agent(world, new_agent):
    agent = new_agent()
    _, before = go(world, agent, "hello")
    threading.Thread(target=agent.close).start()
    assert world.wait("session_end", before)["reason"] == "exit"
    assert WAIT_S
