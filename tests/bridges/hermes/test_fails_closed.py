"""The bridge itself fails: a guard that fails closed denies then, and no one else."""

# the shapes are those of another project
# pyright: basic

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any
from unittest.mock import patch

import pytest

from sliphook.blocking import BegunTool, PluginHost, Session, Turn
from sliphook.bridges.hermes.apis.chat_completions import ChatCompletions
from sliphook.bridges.hermes.guarding import Guards
from sliphook.bridges.hermes.model_calls import ModelCalls
from sliphook.bridges.hermes.run import Run
from sliphook.bridges.hermes.runs import Runs
from sliphook.bridges.hermes.sessions import Sessions
from sliphook.bridges.hermes.subagents import Subagents
from sliphook.bridges.hermes.tool_calls import ToolCalls
from sliphook.testing import FakePlugin
from tests.bridges.hermes.stand_in import (
    SHELL,
    broken,
    deny,
    hermes,
    interrupted,
    observer,
    probe,
    turns,
)

faults = pytest.mark.parametrize("fault", [broken, interrupted])


@faults
def test_a_call_is_denied_if_asking_fails(fault: Callable[..., Any]) -> None:
    with hermes(probe()) as process, patch.object(Turn, "begin_tool", fault):
        process.agent(SHELL, "well").run("tidy up")
    assert process.ran == []
    assert process.after == [("shell", "blocked")]


@faults
def test_a_call_that_was_not_asked_about_is_denied_if_asking_fails(
    fault: Callable[..., Any],
) -> None:
    with hermes(probe()) as process, patch.object(Turn, "begin_tool", fault):
        process.ctx.hooks["pre_tool_call"].clear()
        result = process.agent(SHELL, "well").run("tidy up")
    assert process.ran == []
    assert "the call of shell was denied" in result["messages"][-1]["content"]


def test_a_result_is_kept_back_if_an_interrupt_ends_the_telling() -> None:
    with hermes(probe()) as process, patch.object(BegunTool, "end", interrupted):
        result = process.agent(SHELL, "well").run("tidy up")
    assert len(process.ran) == 1
    assert "has run, but its result cannot be shown" in result["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("owner", "name"), [(PluginHost, "enter"), (PluginHost, "session"), (Session, "turn")]
)
def test_a_run_that_cannot_be_guarded_does_not_begin(owner: type[Any], name: str) -> None:
    with hermes(probe()) as process, patch.object(owner, name, broken):
        agent = process.agent(SHELL, "well")
        result = agent.run("tidy up")
    assert agent.requests == []
    assert result["final_response"].startswith("Sliphook cannot guard this run")


def test_a_text_that_cannot_be_put_to_plugins_is_not_sent() -> None:
    plugin = probe(closed=["user_prompt_submit"])
    with hermes(plugin) as process, patch.object(Turn, "submit", broken):
        agent = process.agent("well")
        result = agent.run("tidy up")
    assert agent.requests == []
    assert result["final_response"] == (
        "Not sent: sliphook failed: RuntimeError: a fault of the bridge"
    )
    assert turns(plugin) == ["denied"]


@faults
def test_a_model_call_that_cannot_be_put_to_plugins_is_not_made(fault: Callable[..., Any]) -> None:
    plugin = probe(closed=["pre_llm_call"])
    with hermes(plugin) as process, patch.object(Turn, "pre_llm_call", fault):
        agent = process.agent("well")
        agent.run("tidy up")
    assert agent.requests == []


def test_a_model_call_that_cannot_be_read_is_not_made() -> None:
    plugin = probe(closed=["pre_llm_call"])
    with hermes(plugin) as process:
        agent = process.agent("well")
        agent.api_mode = "smoke_signals"
        result = agent.run("tidy up")
    assert agent.requests == []
    assert result["final_response"] == (
        "The model call was denied: model calls by smoke_signals cannot be put to plugins"
    )


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("api_mode", "codex_app_server", "Codex runs its own tools"),
        ("provider", "copilot-acp", "Copilot reads and writes files by itself"),
        ("base_url", "acp://copilot", "Copilot reads and writes files by itself"),
    ],
)
def test_an_agent_whose_tools_run_elsewhere_does_not_run(field: str, value: str, why: str) -> None:
    guard = probe()
    with hermes(guard) as process:
        agent = process.agent("well")
        setattr(agent, field, value)
        result = agent.run("tidy up")
    assert agent.requests == []
    assert result["final_response"] == f"Sliphook cannot guard this run: {why}"
    with hermes(observer()) as process:
        agent = process.agent("well")
        setattr(agent, field, value)
        assert agent.run("tidy up")["final_response"] == "well"


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        *((Runs, name) for name in ("_begin", "_root", "_go", "_submit", "_returned", "_over")),
        *((Sessions, name) for name in ("find", "also_known", "_enter")),
        *((Subagents, name) for name in ("take", "announced")),
        *((ToolCalls, name) for name in ("asked", "_ask", "_execute", "_turn", "_kind")),
        *((ModelCalls, name) for name in ("_ask", "_made", "context")),
        *((ChatCompletions, name) for name in ("read", "exchanged", "with_notes", "reply_of")),
        *((Guards, name) for name in ("any",)),
        *((Run, name) for name in ("tell_failed", "returned", "stop_agent")),
        *((PluginHost, name) for name in ("hears", "session", "enter")),
        *((Session, name) for name in ("turn", "ready", "take_injected")),
        *((Turn, name) for name in ("submit", "pre_llm_call", "begin_tool", "stop", "leave")),
    ],
)
def test_whatever_raises_no_call_runs_that_a_guard_denies(owner: type[Any], name: str) -> None:
    plugin = probe(hooks={"pre_tool_call": deny, "pre_llm_call": {"context": ["a note"]}})
    with hermes(plugin) as process, patch.object(owner, name, broken), suppress(RuntimeError):
        process.agent(SHELL, "well").run("tidy up")
    assert process.ran == []


def test_nor_if_two_things_fail() -> None:
    plugin = probe(hooks={"pre_tool_call": deny})
    with hermes(plugin) as process, patch.object(PluginHost, "hears", broken):
        with patch.object(Turn, "begin_tool", broken):
            process.agent(SHELL, "well").run("tidy up")
        with patch.object(ToolCalls, "_kind", broken), patch.object(Guards, "any", broken):
            process.agent(SHELL, "well").run("tidy up")
    assert process.ran == []


def test_a_provider_that_runs_tools_itself_gets_no_call_in_the_middle_of_a_run() -> None:
    with hermes(probe()) as process:
        agent = process.agent(SHELL, "well")

        def shell(_: Any) -> str:
            agent.__dict__["provider"] = "copilot-acp"
            return "ran"

        process.tools["shell"] = shell
        result = agent.run("tidy up")
    assert len(agent.requests) == 1
    assert result["final_response"] == (
        "The model call was denied: sliphook cannot guard it:"
        " Copilot reads and writes files by itself"
    )


# -- with observers alone


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (PluginHost, "enter"),
        (PluginHost, "session"),
        (Session, "turn"),
        (Session, "take_injected"),
        (Turn, "submit"),
        (Turn, "pre_llm_call"),
        (Turn, "post_llm_call"),
        (Turn, "begin_tool"),
        (BegunTool, "end"),
        (Turn, "stop"),
        (Turn, "leave"),
    ],
)
def test_nothing_is_denied_where_no_guard_is(owner: type[Any], name: str) -> None:
    with hermes(observer()) as process, patch.object(owner, name, broken):
        result = process.agent(SHELL, "well").run("tidy up")
    assert process.ran == [("shell", {"command": "ls"})]
    assert result["final_response"] == "well"
    assert result["messages"][-1]["content"] == "ran ls"


def test_a_guard_of_another_tool_does_not_deny() -> None:
    guarded = {"event": "pre_tool_call", "match": {"tool_name": "deploy"}}
    guard = FakePlugin("guard", subscriptions=[guarded], recorded=True)
    with hermes(guard) as process, patch.object(Turn, "begin_tool", broken):
        process.tools["deploy"] = process.tools["shell"]
        process.agent(SHELL, ("2", "deploy", {"command": "x"}), "well").run("tidy up")
    assert process.ran == [("shell", {"command": "ls"})]
    assert process.after == [("shell", "ok"), ("deploy", "blocked")]


def test_what_the_tool_raised_stays_its_error() -> None:
    def fails(_: Any) -> str:
        raise LookupError("no such file")

    with hermes(observer()) as process, patch.object(BegunTool, "end", broken):
        process.tools["shell"] = fails
        with pytest.raises(LookupError, match="no such file"):
            process.agent(SHELL, "well").run("tidy up")
