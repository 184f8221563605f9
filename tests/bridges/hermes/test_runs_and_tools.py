"""The bridge in a stand-in of Hermes: runs are turns, tools are guarded, and it fails closed."""

# the shapes are those of another project
# pyright: basic

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from sliphook.testing import HANGS, FakePlugin
from tests.bridges.hermes.stand_in import (
    SHELL,
    Agent,
    Hermes,
    broken,
    deny,
    hermes,
    in_thread,
    probe,
    turns,
)
from tests.portal.threads import wait_until
from tests.programs import WAIT_S


def test_a_run_is_a_turn() -> None:
    plugin = probe()
    with hermes(plugin) as process:
        agent = process.agent(SHELL, "all tidy")
        result = agent.run("tidy up")
    assert result["final_response"] == "all tidy"
    assert process.ran == [("shell", {"command": "ls"})]
    assert plugin.names() == [
        "session_start",
        "turn_start",
        "user_prompt_submit",
        "pre_llm_call",
        "post_llm_call",
        "pre_tool_call",
        "post_tool_call",
        "pre_llm_call",
        "post_llm_call",
        "stop",
        "turn_end",
        "session_end",
    ]
    assert turns(plugin) == ["completed"]
    assert plugin.payloads("turn_start")[0].session_id == "session-1"
    assert plugin.payloads("pre_tool_call")[0].model_call_id == "call-1"


def test_a_denied_call_is_blocked_by_hermes() -> None:
    with hermes(probe(hooks={"pre_tool_call": deny})) as process:
        result = process.agent(SHELL, "well").run("tidy up")
    assert process.ran == []
    assert process.after == [("shell", "blocked")]
    assert result["messages"][-1]["content"] == (
        "blocked: the call of shell was denied: probe: not today"
    )


@pytest.mark.parametrize(
    ("hooks", "ran", "told"),
    [
        ({"pre_tool_call": {"replace": {"arguments": {"command": "pwd"}}}}, "pwd", "ran pwd"),
        ({"pre_tool_call": {"substitute": {"result": {"content": "made up"}}}}, None, "made up"),
        ({"post_tool_call": {"replace": {"result": {"content": "hidden"}}}}, "ls", "hidden"),
        ({"post_tool_call": {"context": ["beware"]}}, "ls", "ran ls\n\n[probe] beware"),
    ],
)
def test_answers_have_effect(hooks: dict[str, Any], ran: str | None, told: str) -> None:
    with hermes(probe(hooks=hooks, replacing=hooks)) as process:
        result = process.agent(SHELL, "well").run("tidy up")
    assert process.ran == ([("shell", {"command": ran})] if ran else [])
    assert result["messages"][-1]["content"] == told


def test_tools_side_by_side_are_asked_once() -> None:
    plugin = probe()
    with hermes(plugin) as process:
        agent = process.agent(SHELL, "well")
        agent.side_by_side = True
        agent.run("tidy up")
    assert len(process.ran) == 1
    assert len(plugin.payloads("pre_tool_call")) == 1
    assert len(plugin.payloads("post_tool_call")) == 1


def _forbids(payload: Any) -> dict[str, str] | None:
    return {"decision": "deny", "reason": "no"} if payload.arguments["command"] == "rm" else None


def _replaces(payload: Any) -> dict[str, Any] | None:
    cat = {"replace": {"arguments": {"command": "cat"}}}
    return cat if payload.arguments["command"] == "rm" else None


@pytest.mark.parametrize("by_hook", [True, False], ids=["asked by the hook", "not asked before"])
@pytest.mark.parametrize("side_by_side", [True, False], ids=["side by side", "alone"])
@pytest.mark.parametrize(
    ("answer", "ran"), [(_forbids, ["ls"]), (_replaces, ["ls", "cat"])], ids=["denied", "replaced"]
)
def test_a_call_inside_of_a_call_of_its_name_and_id_is_asked_about(
    answer: Any, ran: list[str], side_by_side: bool, by_hook: bool
) -> None:
    plugin = probe(hooks={"pre_tool_call": answer}, replacing=["pre_tool_call"])
    with hermes(plugin) as process:
        agent = process.agent(SHELL, "well")
        agent.side_by_side = side_by_side
        if not by_hook:
            process.ctx.hooks["pre_tool_call"].clear()

        def calls_another(args: Any) -> str:
            if args == {"command": "ls"}:
                process.call_tool(agent, SHELL[0], "shell", {"command": "rm"})
            return "ran"

        process.tools["shell"] = calls_another
        agent.run("tidy up")
    assert [args["command"] for _, args in process.ran] == ran
    asked = [one.arguments["command"] for one in plugin.payloads("pre_tool_call")]
    assert asked == ["ls", "rm"]
    assert len(plugin.payloads("post_tool_call")) == 2


def test_the_same_call_inside_of_a_call_is_asked_about() -> None:
    plugin = probe()
    with hermes(plugin) as process:
        agent = process.agent(SHELL, "well")
        process.tools["shell"] = lambda args: (
            process.call_tool(agent, *SHELL) if len(process.ran) == 1 else "ran"
        )
        agent.run("tidy up")
    assert len(process.ran) == len(plugin.payloads("pre_tool_call")) == 2


def test_a_call_that_hermes_blocks_is_over() -> None:
    plugin = probe()
    with hermes(plugin) as process:
        process.ctx.register_hook(
            "pre_tool_call", lambda **_: {"action": "block", "message": "by another"}
        )
        process.agent(SHELL, "well").run("tidy up")
    assert process.ran == []
    assert [one.status for one in plugin.payloads("post_tool_call")] == ["error"]


def test_exchanged_arguments_are_asked_about_again() -> None:
    plugin = probe()

    def exchange(args: Any, next_call: Callable[[Any], Any], **_: Any) -> Any:
        return next_call({"command": "rm"})

    with hermes(plugin) as process:
        process.ctx.middleware["tool_execution"].insert(0, exchange)
        process.agent(SHELL, "well").run("tidy up")
    asked = [one.arguments for one in plugin.payloads("pre_tool_call")]
    assert asked == [{"command": "ls"}, {"command": "rm"}]
    assert [one.status for one in plugin.payloads("post_tool_call")] == ["cancelled", "ok"]


def test_a_tool_outside_of_a_run_is_guarded() -> None:
    with hermes(probe(hooks={"pre_tool_call": deny})) as process:
        said = process.call_tool(process.agent(), "", "shell", {"command": "ls"})
    assert process.ran == []
    assert said == '{"error": "the call of shell was denied: probe: not today"}'


def test_what_a_tool_raises_is_hermes_own() -> None:
    plugin = probe()

    def fails(_: Any) -> str:
        raise LookupError("no such file")

    with hermes(plugin) as process:
        process.tools["shell"] = fails
        with pytest.raises(LookupError, match="no such file"):
            process.agent(SHELL, "well").run("tidy up")
    assert [one.status for one in plugin.payloads("post_tool_call")] == ["error"]
    assert turns(plugin) == ["failed"]


def test_a_plugins_tool_is_a_tool_of_hermes() -> None:
    plugin = probe(tools={"hello": lambda arguments: {"content": f"hello {arguments['who']}"}})
    with hermes(plugin) as process:
        assert list(process.ctx.tools) == ["hello"]
        result = process.agent(("call-1", "hello", {"who": "you"}), "well").run("greet")
    assert result["messages"][-1]["content"] == "hello you"
    assert plugin.payloads("pre_tool_call")[0].origin == "probe"


@pytest.mark.parametrize("name", ["shell", "read_file"])
def test_no_tool_of_a_plugins_takes_the_place_of_one_of_hermes(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """One has been registered by another, one will be by Hermes itself."""
    plugin = probe(tools={name: lambda _: {"content": "the plugin's"}})
    process = Hermes()
    process.ctx.taken.add("shell")
    with hermes(plugin, process=process):
        process.tools[name] = lambda _: "Hermes's"
        result = process.agent(("1", name, {}), "well").run("tidy up")
    assert result["messages"][-1]["content"] == "Hermes's"
    assert plugin.payloads("pre_tool_call")[0].origin == "agent"
    assert f"plugin probe: Hermes does not take its tool {name}" in caplog.text


@pytest.mark.parametrize(
    ("tool", "kind"),
    [("terminal", "shell"), ("patch", "edit"), ("mcp__a__b", "mcp"), ("image_generate", None)],
)
def test_a_guard_finds_a_tool_by_its_kind(tool: str, kind: str | None) -> None:
    plugin = probe()
    matching = {"event": "pre_tool_call", "match": {"tool_kind": kind or "write"}}
    guard = FakePlugin("guard", subscriptions=[matching], recorded=True)
    with hermes(plugin, guard) as process:
        process.tools[tool] = process.tools["shell"]
        process.agent(("1", tool, {}), "well").run("tidy up")
    assert [one.tool_kind for one in plugin.payloads("pre_tool_call")] == [kind]
    assert len(guard.payloads("pre_tool_call")) == 1


def test_a_plugins_command_is_a_command_of_hermes() -> None:
    plugin = probe(commands={"greet": lambda text: {"text": f"hello {text}"}})
    with hermes(plugin) as process:
        assert process.ctx.commands["greet"]("you") == "hello you"
        process.agent().run("hi")
        assert process.ctx.commands["greet"]("me") == "hello me"


def test_a_question_of_hermes_is_told_once() -> None:
    """Hermes's model is asked first, and has no opinion."""
    heard = ["user_input_required", "user_input_received"]
    plugin = FakePlugin("probe", hears=heard)
    with hermes(plugin) as process:

        def shell(_: dict[str, Any]) -> str:
            asked = {"command": "rm", "description": "danger"}
            process.ctx.fire("pre_approval_request", **asked, surface="smart")
            process.ctx.fire("pre_approval_request", **asked, surface="cli")
            wait_until(lambda: len(plugin.payloads(heard[0])) == 1)
            process.ctx.fire("post_approval_response", **asked, surface="cli", choice="once")
            wait_until(lambda: len(plugin.payloads(heard[1])) == 1)
            return "ran"

        process.tools["shell"] = shell
        process.agent(SHELL, "well").run("tidy up")
    [asked], [answered] = (plugin.payloads(name) for name in heard)
    # no plugin can answer: Hermes would wait for the person all the same
    assert (asked.kind, asked.prompt, asked.question_id) == ("question", "danger", None)
    assert (answered.choice, answered.by) == ("allow", "user")


# -- the user's text and model calls


def test_a_denied_text_is_not_sent() -> None:
    plugin = probe(hooks={"user_prompt_submit": deny})
    with hermes(plugin) as process:
        agent = process.agent("well")
        result = agent.run("tidy up")
    assert agent.requests == []
    assert result["final_response"] == "Not sent: probe: not today"
    assert turns(plugin) == ["denied"]


def test_texts_of_plugins_reach_the_model() -> None:
    plugin = probe(
        hooks={
            "session_start": {"context": ["for the system"]},
            "user_prompt_submit": {"context": ["for the text"]},
            "pre_llm_call": {"context": ["for the call"]},
        }
    )
    with hermes(plugin) as process:
        agent = process.agent(SHELL, "well")
        agent.run("tidy up")
    first, second = (request["messages"] for request in agent.requests)
    assert first == [
        {"role": "system", "content": "be good\n\n[probe] for the system"},
        {
            "role": "user",
            "content": "tidy up\n\n[probe] for the text\n\n[probe] for the call",
        },
    ]
    assert second[-2]["role"] == "tool"
    assert second[-1] == {"role": "user", "content": "[probe] for the call"}


def test_a_denied_model_call_is_not_made() -> None:
    plugin = probe(hooks={"pre_llm_call": deny})
    with hermes(plugin) as process:
        agent = process.agent("well")
        result = agent.run("tidy up")
    assert agent.requests == []
    assert result["final_response"] == "The model call was denied: probe: not today"
    assert [one.kind for one in plugin.payloads("llm_call_failed")] == ["denied"]
    assert turns(plugin) == ["denied"]
    assert "stop" not in plugin.names()


def test_a_failed_model_call_is_told_once() -> None:
    plugin = probe()
    with hermes(plugin) as process:
        result = process.agent(ValueError("bad request")).run("tidy up")
    assert result["failed"]
    failed = plugin.payloads("llm_call_failed")
    assert [(one.kind, one.status, one.will_retry) for one in failed] == [
        ("format_error", 400, False)
    ]
    assert turns(plugin) == ["failed"]


def test_another_api_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    plugin = probe(hooks={"pre_llm_call": deny})
    with hermes(plugin) as process:
        agent = process.agent("well", "well")
        agent.api_mode = "smoke_signals"
        agent.run("one")
        agent.run("two")
    assert len(agent.requests) == 2
    assert [one.getMessage() for one in caplog.records if one.levelname == "WARNING"] == [
        "sliphook: model calls by smoke_signals cannot be put to plugins: only chat_completions,"
        " anthropic_messages, codex_responses, bedrock_converse can"
    ]


def test_stop_may_go_on() -> None:
    went = {"on": False}

    def once(_: Any) -> Any:
        if went["on"]:
            return None
        went["on"] = True
        return {"continue_with": "and the rest"}

    plugin = probe(hooks={"stop": once})
    with hermes(plugin) as process:
        agent = process.agent("half", "all")
        result = agent.run("tidy up")
    assert result["final_response"] == "all"
    assert agent.requests[-1]["messages"][-1]["content"].endswith("and the rest")
    assert len(plugin.payloads("turn_start")) == 1


# -- interrupts


@pytest.mark.parametrize(
    ("message", "reason", "why"),
    [
        (None, "user_stop", "cli_interrupt"),
        ("Stop requested", "user_stop", "stop_command"),
        ("Session reset requested", "reset", "new_command"),
        ("received signal 15", "signal", "signal_15"),
        ("my password is secret", "new_message", "new_message"),
    ],
)
def test_an_interrupt_is_told_with_its_reason(message: str | None, reason: str, why: str) -> None:
    plugin = probe()
    with hermes(plugin) as process:
        agent = process.agent(SHELL, "well")
        process.tools["shell"] = lambda _: agent.interrupt(message)
        agent.run("tidy up")
    [stopped] = plugin.payloads("agent_loop_stopped")
    assert (stopped.reason, stopped.invalidation_reason) == (reason, why)
    assert [one.status for one in plugin.payloads("post_tool_call")] == ["cancelled"]
    assert turns(plugin) == ["interrupted"]
    assert plugin.names()[-4:] == [
        "agent_loop_stopped",
        "post_tool_call",
        "turn_end",
        "session_end",
    ]


def test_a_result_that_no_plugin_saw_is_lost_after_an_interrupt() -> None:
    with hermes(probe()) as process:
        agent = process.agent(SHELL, "well")

        def secret(_: Any) -> str:
            agent.interrupt()
            return "SECRET"

        process.tools["shell"] = secret
        result = agent.run("tidy up")
    assert "SECRET" not in str(result["messages"])


def test_an_interrupt_in_stop_does_not_end_the_next_run() -> None:
    plugin = probe(hooks={"stop": HANGS})
    with hermes(plugin) as process:
        agent = process.agent("one", "two")
        run = in_thread(lambda: agent.run("first"))
        wait_until(lambda: "stop" in plugin.names())
        agent.interrupt("Stop requested")
        run.join(WAIT_S)
        assert not run.is_alive()
        assert not agent._interrupt_requested
        plugin._hooks["stop"] = None
        assert agent.run("second")["final_response"] == "two"
    assert turns(plugin) == ["interrupted", "completed"]


def test_a_plugins_interrupt_stops_hermes() -> None:
    plugin = probe(uses=["interrupt"])
    with hermes(plugin) as process:
        agent = process.agent(SHELL, "never asked for")

        def shell(_: Any) -> str:
            session = process.bridge._sessions._open["session-1"]
            session.interrupt("plugin", "enough")
            wait_until(lambda: agent._interrupt_requested)
            return "ran"

        process.tools["shell"] = shell
        result = agent.run("tidy up")
    assert result["interrupted"]
    assert len(agent.requests) == 1
    assert agent.told == [None]


def test_a_hanging_guard_does_not_hold_an_interrupt() -> None:
    plugin = probe(hooks={"pre_tool_call": HANGS})
    with hermes(plugin) as process:
        agent = process.agent(SHELL, "well")
        run = in_thread(lambda: agent.run("tidy up"))
        wait_until(lambda: "pre_tool_call" in plugin.names())
        agent.interrupt("Stop requested")
        run.join(WAIT_S)
        assert not run.is_alive()
    assert process.ran == []
    assert turns(plugin) == ["interrupted"]


def test_a_call_that_outlives_its_run_leaves_the_next_one_alone() -> None:
    """Hermes gives up on a tool in another thread; when that returns, the turn has long ended."""
    plugin = probe()
    go_on = threading.Event()
    late: list[threading.Thread] = []
    with hermes(plugin) as process:
        agent = process.agent(SHELL)

        def shell(_: Any) -> str:
            here = contextvars.copy_context()
            process.tools["slow"] = lambda _: go_on.wait(WAIT_S)
            call = partial(process.call_tool, agent, "late", "slow", {})
            late.append(in_thread(lambda: here.run(call)))
            wait_until(lambda: ("slow", {}) in process.ran)
            agent.interrupt("Stop requested")
            return "ran"

        process.tools["shell"] = shell
        assert agent.run("one")["interrupted"]
        go_on.set()
        late[0].join(WAIT_S)
        assert agent.told == ["Stop requested"]
        assert not agent._interrupt_requested
        agent.script.append("two")
        assert agent.run("second")["final_response"] == "two"
    assert turns(plugin) == ["interrupted", "completed"]


@pytest.mark.parametrize(
    ("message", "reason"), [(None, "user_stop"), ("do something else", "new_message")]
)
def test_an_interrupt_before_the_run_begins(message: str | None, reason: str) -> None:
    plugin = probe()
    with hermes(plugin) as process:
        agent = process.agent("well")
        agent.interrupt(message)
        result = agent.run("tidy up")
    assert result["interrupted"]
    assert (agent.requests, agent.told) == ([], [message])
    assert [one.reason for one in plugin.payloads("agent_loop_stopped")] == [reason]
    assert turns(plugin) == ["interrupted"]


# -- sessions and children


def test_reset_takes_the_id_of_hermes() -> None:
    plugin = probe()
    with hermes(plugin) as process:
        agent = process.agent()
        agent.run("one")
        process.ctx.fire("on_session_finalize", session_id="session-1", reason="session_boundary")
        agent.session_id = "session-2"
        process.ctx.fire("on_session_reset", session_id="session-2", reason="new_session")
        agent.run("two")
    assert [one.session_id for one in plugin.payloads("turn_start")] == ["session-1", "session-2"]
    assert [one.source for one in plugin.payloads("session_start")] == ["startup", "reset"]
    assert [one.reason for one in plugin.payloads("session_end")] == ["reset", "shutdown"]


def test_the_agents_close_ends_the_session() -> None:
    plugin = probe()
    with hermes(plugin) as process:
        agent = process.agent()
        agent.run("one")
        agent.close()
        wait_until(lambda: "session_end" in plugin.names())
        assert [one.reason for one in plugin.payloads("session_end")] == ["exit"]
        agent.run("two", conversation_history=[{"role": "user", "content": "one"}])
    assert [one.source for one in plugin.payloads("session_start")] == ["startup", "resume"]


def test_a_review_has_a_session_of_its_own() -> None:
    plugin = probe()
    with hermes(plugin) as process:
        agent, review = process.agent(), process.agent()
        review.__dict__["_memory_write_origin"] = "background_review"
        agent.run("one")
        review.run("look back")
    assert [one.session_id for one in plugin.payloads("turn_start")] == [
        "session-1",
        "session-1/review",
    ]


def test_a_compression_keeps_the_session() -> None:
    plugin = probe()
    with hermes(plugin) as process:
        agent = process.agent(SHELL, "well", "again")

        def compresses(_: Any) -> str:
            agent.session_id = "compressed-1"
            return "ran"

        process.tools["shell"] = compresses
        agent.run("one")
        agent.run("two")
    assert {one.session_id for one in plugin.payloads("turn_start")} == {"session-1"}


def test_two_runs_of_one_session_have_a_session_each() -> None:
    plugin = probe()
    go_on = threading.Event()
    with hermes(plugin) as process:
        process.tools["shell"] = lambda _: go_on.wait(WAIT_S)
        first = in_thread(lambda: process.agent(SHELL, "well").run("one"))
        wait_until(lambda: "pre_tool_call" in plugin.names())
        process.agent("beside").run("two")
        go_on.set()
        first.join(WAIT_S)
    assert len({one.session_id for one in plugin.payloads("turn_start")}) == 2


def test_a_child_stays_guarded_after_its_parents_turn() -> None:
    def no_rm(call: Any) -> Any:
        return deny(call) if call.arguments["command"] == "rm" else None

    plugin = probe(hooks={"pre_tool_call": no_rm})
    with hermes(plugin) as process:
        child = process.agent(("call-2", "shell", {"command": "rm"}), "child is done")
        child.session_id = "child-1"

        def delegate(_: Any) -> str:
            process.ctx.fire("subagent_start", child_session_id="child-1", child_goal="tidy")
            return "begun"

        process.tools["shell"] = delegate
        process.agent(SHELL, "well").run("delegate")
        wait_until(lambda: turns(plugin) == ["completed"])
        child.run("tidy")
        wait_until(lambda: "subagent_stop" in plugin.names())
    assert process.after == [("shell", "ok"), ("shell", "blocked")]
    [stopped] = plugin.payloads("subagent_stop")
    assert (stopped.status, stopped.summary) == ("completed", "child is done")
    assert [one.agent_depth for one in plugin.payloads("pre_tool_call")] == [0, 1]


def test_sessions_in_threads() -> None:
    plugin = probe()
    with hermes(plugin) as process:

        def run(number: int) -> None:
            agent: Agent = process.agent(SHELL, "well")
            agent.session_id = f"session-{number}"
            agent.run("tidy up")

        threads = [in_thread(partial(run, number)) for number in range(6)]
        for thread in threads:
            thread.join(WAIT_S)
    stories = [plugin.names(f"session-{number}") for number in range(6)]
    assert all(story == stories[0] for story in stories)
    assert len(process.ran) == 6


def test_the_stand_in_falls_through_as_hermes_does() -> None:
    """What the tests above rely on: the stand-in would let a call pass."""
    process = Hermes()
    process.ctx.register_middleware("tool_execution", broken)
    assert process.call_tool(process.agent(), "1", "shell", {"command": "ls"}) == "ran ls"
