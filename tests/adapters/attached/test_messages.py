"""Texts and alerts of plugins in each agent: with which hook they come, and where they go."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from sliphook.adapters.attached.build import Client
from sliphook.cli.main import main
from sliphook.settings import AgentSettings
from sliphook.testing import FakePlugin
from tests.programs import WAIT_S, Program

from .conftest import Install
from .fake_agent import Agent, daemons, wait_for
from .in_process import ask, daemon
from .test_dialogues import bash, done
from .test_other_dialogues import AGENTS, Player, hook

SAYS = """
if method == "hook/pre_tool_call":
    request("text", "host/inject", session_id=params["session_id"], text="the deploy is over")
    request("alert", "host/notify", level="warning", message="mind \\x1b the gap")
"""
INJECTED = "[guard] the deploy is over"
ALERT = "guard: mind \\x1b the gap"
TEXTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "codex": (
        hook("PreToolUse", additionalContext=INJECTED),
        hook("PostToolUse", additionalContext=INJECTED),
    ),
    "gemini": ({}, hook("AfterTool", additionalContext=INJECTED)),
    "copilot": ({"additionalContext": INJECTED}, {"additionalContext": INJECTED}),
    "cursor": ({}, {"additional_context": INJECTED}),
}
"""How a text comes with a tool call, and with its result; two take it only with the result."""
ALERTED = ("codex", "gemini")


def said(ear: Program) -> None:
    wait_for(lambda: {"text", "alert"} <= set(ear.replies()))


@pytest.fixture
def ear(install: Install) -> Program:
    wanted = [{"event": "pre_tool_call"}, {"event": "session_end"}]
    return install(subscriptions=wanted, uses=["inject", "notify"], on=SAYS)


@pytest.mark.parametrize("name", AGENTS)
def test_with_which_hook_they_come(
    name: str, built: dict[str, Client], ear: Program, agents: Callable[..., Agent], home: Path
) -> None:
    player = Player(agents(built["c"], name=name))
    # they were sent before the answer to the first hook; that may be over before they are taken
    first = player.call("ls")
    said(ear)
    answers = [first, player.done("ls", "a")]
    alerts = [one.pop("systemMessage", None) for one in answers]
    assert [one for one in alerts if one] == [ALERT] * (name in ALERTED)
    assert answers in ([TEXTS[name][0], {}], [{}, TEXTS[name][1]])
    log = (home / f"state/sliphook/logs/attached-{name}.log").read_text()
    assert "\x1b" not in log
    assert "mind \\x1b the gap" in log


def test_no_child_gets_them(
    built: dict[str, Client], install: Install, agents: Callable[..., Agent]
) -> None:
    ear = install(subscriptions=[{"event": "pre_tool_call"}], uses=["inject"], on=SAYS)
    claude = agents(built["c"])
    claude.hook("UserPromptSubmit", prompt="go")
    claude.hook("SubagentStart", agent_id="a-1")
    claude.hook("PreToolUse", agent_id="a-1", **bash("t-1", "ls"))
    wait_for(lambda: "text" in ear.replies())
    assert claude.hook("PostToolUse", agent_id="a-1", **done("t-1", "ls", "a")).json == {}
    assert claude.hook("UserPromptSubmit", prompt="more").json == hook(
        "UserPromptSubmit", additionalContext=INJECTED
    )


def test_a_text_waits_for_a_hook_that_takes_it_and_an_alert_does_not(
    built: dict[str, Client], install: Install, agents: Callable[..., Agent]
) -> None:
    at_stop = SAYS.replace("hook/pre_tool_call", "hook/stop")
    ear = install(subscriptions=[{"event": "stop"}], uses=["inject", "notify"], on=at_stop)
    claude = agents(built["c"])
    claude.hook("UserPromptSubmit", prompt="go")
    stopped = claude.hook("Stop").json
    said(ear)
    answers = [stopped, claude.hook("Notification").json]
    assert sorted(answers, key=len) == [{}, {"systemMessage": ALERT}]
    assert claude.hook("UserPromptSubmit", prompt="more").json == hook(
        "UserPromptSubmit", additionalContext=INJECTED
    )


def test_the_first_hook_shows_which_plugin_was_refused_at_the_start(
    built: dict[str, Client], install: Install, agents: Callable[..., Agent]
) -> None:
    changed = install(subscriptions=[{"event": "post_tool_call"}]).path
    changed.write_text(changed.read_text() + "# another\n")
    claude = agents(built["c"])
    shown = claude.hook("UserPromptSubmit", prompt="go").json["systemMessage"]
    assert shown.startswith("guard: ")
    assert "sliphook trust guard" in shown


async def test_a_session_without_hooks_ends() -> None:
    plugin = FakePlugin("ear", hears=["session_start", "session_end"])
    start = b'{"session_id":"s","source":"startup"}'
    with trio.fail_after(WAIT_S):
        async with daemon("gemini", plugin, settings=AgentSettings(idle_s=0.2)) as socket:
            assert await ask(socket, "gemini", "SessionStart", start) == b"sliphook 1 0 0 0\n"
            await plugin.hears("session_end")
            [end] = plugin.payloads("session_end")
            assert end.reason == "shutdown"
            while socket.exists():  # noqa: ASYNC110 - the file tells in no other way
                await trio.sleep(0.01)


def test_plugins_that_the_user_has_not_chosen(
    built: dict[str, Client], ear: Program, agents: Callable[..., Agent], home: Path
) -> None:
    config = home / "config" / "sliphook" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[agents.codex]\nplugins = ["another"]\n')
    codex = Player(agents(built["c"], name="codex"))
    before = len(ear.methods())
    assert codex.call("ls") == {}
    assert len(ear.methods()) == before


def test_the_trace_of_a_session(
    built: dict[str, Client],
    ear: Program,
    agents: Callable[..., Agent],
    home: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = home / "config" / "sliphook" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[agents.codex]\ntrace = true\n")
    codex = Player(agents(built["c"], name="codex"))
    codex.call("ls")
    codex.says("SessionEnd")
    wait_for(lambda: not daemons(Path(os.environ["XDG_RUNTIME_DIR"])))
    [file] = (home / "state/sliphook/traces").iterdir()
    assert (file.name[:6], file.suffix) == ("codex-", ".jsonl")
    assert file.stat().st_mode & 0o777 == 0o600
    capsys.readouterr()
    assert main(["trace", str(file)]) == 0
    assert "pre_tool_call" in capsys.readouterr().out
