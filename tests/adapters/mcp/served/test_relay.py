"""The server in an attached agent: the daemon's plugins, which hooks have asked already."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Callable
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from sliphook.adapters.attached.build import Client
from tests.adapters.attached.conftest import Install
from tests.adapters.attached.fake_agent import Agent, daemons
from tests.programs import WAIT_S, Program, until

from .clients import DIALOGUES, Message
from .conftest import PLUGIN, Mcp

Agents = Callable[..., Agent]


def hook(id: str | None, tool: str, **arguments: Any) -> dict[str, Any]:
    """The fields of a hook of one call."""
    ids = {"tool_use_id": id} if id is not None else {}
    return {**ids, "tool_name": tool, "tool_input": arguments}


def call(id: int, text: str, **meta: Any) -> Message:
    params = {"name": "echo", "arguments": {"text": text}, "_meta": meta}
    return {"id": id, "method": "tools/call", "params": params}


async def hello(server: Any, client: str = "claude-code, with a handshake") -> None:
    opening = DIALOGUES[client]()[:2]
    await server.ask(opening[0])
    await server.say(opening[1])


def texts(answer: Message) -> list[str]:
    return [block["text"] for block in answer["result"]["content"]]


@pytest.fixture
def built_c(built: dict[str, Client]) -> Client:
    return built["c"]


def opened(agents: Agents, client: Client, name: str = "claude-code") -> Agent:
    agent = agents(client, name=name, session="s-1")
    agent.hook("SessionStart")
    agent.hook("UserPromptSubmit" if name != "gemini" else "BeforeAgent", prompt="go on")
    return agent


def run_here(asked: dict[str, str]) -> None:
    """A hook of an agent that is this process, and so the server's parent too."""
    stdin = asked["stdin"].encode()
    subprocess.run(["sh", "-c", asked["command"]], input=stdin, timeout=WAIT_S, check=True)


def notes() -> list[str]:
    names = os.listdir(Path(os.environ["XDG_RUNTIME_DIR"], "sliphook"))
    return [name for name in names if name.endswith(".now")]


ATTACHED = ("--agent", "claude-code")
SESSION = {"CLAUDE_CODE_SESSION_ID": "s-1"}


async def test_a_call_that_a_hook_has_told_of_is_asked_once(
    built_c: Client, guard: Program, agents: Agents, mcp_server: Mcp
) -> None:
    agent = opened(agents, built_c)
    async with mcp_server(*ATTACHED, **SESSION) as server:
        await hello(server)
        listed = await server.ask({"id": 1, "method": "tools/list"})
        assert [tool["name"] for tool in listed["result"]["tools"]] == ["echo"]
        before = hook("t-1", "mcp__sliphook__echo", text="a secret")
        asked = agent.hook("PreToolUse", closed=True, **before)
        assert asked.specific["updatedInput"] == {"text": "public"}
        answer = await server.ask(call(2, "public", **{"claudecode/toolUseId": "t-1"}))
        assert texts(answer) == ["echo: public", "[guard] it was changed"]
        response: list[Any] = answer["result"]["content"]
        after = hook("t-1", "mcp__sliphook__echo", text="public")
        assert agent.hook("PostToolUse", **after, tool_response=response).json == {}
    assert guard.names() == ["session_start", "turn_start", "pre_tool_call", "post_tool_call"]
    (told,) = guard.params("hook/pre_tool_call")
    assert (told["tool_name"], told["origin"], told["model_call_id"]) == ("echo", "guard", "t-1")
    assert guard.methods().count("initialize") == 2  # at the installation, and in the daemon


async def test_what_a_hook_has_denied_is_asked_again(
    built_c: Client, guard: Program, agents: Agents, mcp_server: Mcp
) -> None:
    agent = opened(agents, built_c)
    async with mcp_server(*ATTACHED, **SESSION) as server:
        await hello(server)
        before = hook("t-1", "mcp__sliphook__echo", text="forbidden")
        denied = agent.hook("PreToolUse", closed=True, **before)
        assert denied.specific["permissionDecision"] == "deny"
        answer = await server.ask(call(1, "forbidden", **{"claudecode/toolUseId": "t-1"}))
        assert answer["result"]["isError"]
    assert guard.names().count("pre_tool_call") == 2
    assert "tool/call" not in guard.methods()


async def test_other_arguments_than_those_of_the_hook_are_asked_about(
    built_c: Client, guard: Program, agents: Agents, mcp_server: Mcp
) -> None:
    agent = opened(agents, built_c)
    async with mcp_server(*ATTACHED, **SESSION) as server:
        await hello(server)
        agent.hook("PreToolUse", closed=True, **hook("t-1", "mcp__sliphook__echo", text="fine"))
        answer = await server.ask(call(1, "forbidden", **{"claudecode/toolUseId": "t-1"}))
        assert answer["result"]["isError"]
    posts = [one["status"] for one in guard.params("hook/post_tool_call")]
    assert sorted(posts) == ["cancelled", "denied"]


async def test_an_ask_is_the_agents_and_the_call_is_its_yes(
    built_c: Client, guard: Program, agents: Agents, mcp_server: Mcp
) -> None:
    agent = opened(agents, built_c)
    async with mcp_server(*ATTACHED, **SESSION) as server:
        await hello(server)
        asked = agent.hook(
            "PreToolUse", closed=True, **hook("t-1", "mcp__sliphook__echo", text="ask")
        )
        assert asked.specific["permissionDecision"] == "ask"
        answer = await server.ask(call(1, "ask", **{"claudecode/toolUseId": "t-1"}))
        assert texts(answer) == ["echo: ask"]


async def test_codex_says_its_session_with_the_call(
    built_c: Client, guard: Program, agents: Agents, mcp_server: Mcp
) -> None:
    agent = opened(agents, built_c, "codex")
    async with mcp_server("--agent", "codex") as server:
        await hello(server, "codex")
        agent.hook("PreToolUse", closed=True, **hook("c-1", "mcp__sliphook__echo", text="hello"))
        turn = {"session_id": "s-1", "turn_id": "t"}
        answer = await server.ask(call(1, "hello", callId="c-1", **{"x-codex-turn-metadata": turn}))
        assert texts(answer) == ["echo: hello"]
    assert guard.names().count("pre_tool_call") == 1


async def test_without_ids_a_call_is_found_by_its_arguments(
    built_c: Client, guard: Program, agents: Agents, mcp_server: Mcp
) -> None:
    """Gemini CLI; the session is found by the agent's process, which is the test's."""
    agent = agents(built_c, name="gemini", session="s-1")
    run_here(agent.asked("SessionStart"))
    before = hook(None, "mcp_sliphook_echo", text="hello")
    run_here(agent.asked("BeforeTool", closed=True, **before))
    assert notes() == [f"gemini-{os.getpid()}.now"]
    async with mcp_server("--agent", "gemini") as server:
        await hello(server, "gemini")
        assert texts(await server.ask(call(1, "hello"))) == ["echo: hello"]
        assert texts(await server.ask(call(2, "more"))) == ["echo: more"]
        await until(lambda: len(guard.params("hook/post_tool_call")) == 2)
    assert guard.names().count("pre_tool_call") == 2
    run_here(agent.asked("SessionEnd"))
    await until(lambda: notes() == [])


async def test_after_a_clear_the_server_knows_the_old_id(
    built_c: Client, guard: Program, agents: Agents, mcp_server: Mcp
) -> None:
    agent = agents(built_c, session="s-1")
    run_here(agent.asked("SessionStart"))
    async with mcp_server(*ATTACHED, **SESSION) as server:
        await hello(server)
        assert texts(await server.ask(call(1, "hello"))) == ["echo: hello"]
        run_here(agent.asked("SessionEnd", reason="clear"))
        run_here(agent.asked("SessionStart", source="clear", session_id="s-2"))
        assert texts(await server.ask(call(2, "again"))) == ["echo: again"]
        run_here(agent.asked("SessionEnd", reason="exit", session_id="s-2"))
    starts = [one["source"] for one in guard.params("hook/session_start")]
    assert starts == ["startup", "reset"]
    assert guard.methods().count("initialize") == 2  # at the installation, and in the daemon


@pytest.fixture
def one_daemon(home: Path) -> None:
    folder = home / "config" / "sliphook"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("[agents.claude-code]\none_daemon = true\n")


async def test_sessions_of_one_daemon_are_apart(
    one_daemon: None, built_c: Client, guard: Program, agents: Agents, mcp_server: Mcp
) -> None:
    """A server is told of other tools of its own session alone, and of no end but its own."""
    first, second = agents(built_c, session="s-1"), agents(built_c, session="s-2")
    for agent in (first, second):
        agent.hook("SessionStart")
        agent.hook("UserPromptSubmit", prompt="go on")
    runtime = Path(os.environ["XDG_RUNTIME_DIR"])
    await until(lambda: len(daemons(runtime)) == 1)
    two = {"CLAUDE_CODE_SESSION_ID": "s-2"}
    async with mcp_server(*ATTACHED, **SESSION) as one, mcp_server(*ATTACHED, **two) as other:
        for server in (one, other):
            await hello(server)
            await server.ask({"id": 1, "method": "tools/list"})
        before = hook("t-1", "mcp__sliphook__echo", text="a secret")
        for agent in (first, second):
            agent.hook("PreToolUse", closed=True, **before)
        for server in (one, other):
            answer = await server.ask(call(2, "public", **{"claudecode/toolUseId": "t-1"}))
            assert texts(answer) == ["echo: public", "[guard] it was changed"]
        await one.ask(call(3, "steps", progressToken="p"))
        assert one.notified[-1]["params"]["message"] == "step 2"
        first.hook("SessionEnd", reason="exit")
        assert texts(await other.ask(call(4, "hello"))) == ["echo: hello"]
        assert other.notified == []
        second.hook("SessionEnd", reason="exit")
    keys = [one["session_key"] for one in guard.params("hook/pre_tool_call")]
    assert sorted(keys) == ["claude-code:s-1"] * 2 + ["claude-code:s-2"] * 2
    assert guard.methods().count("initialize") == 2  # at the installation, and in the daemon


async def test_progress_cancel_and_other_tools_come_through(
    built_c: Client, guard: Program, agents: Agents, mcp_server: Mcp
) -> None:
    opened(agents, built_c)
    async with mcp_server(*ATTACHED, **SESSION) as server:
        await hello(server)
        await server.ask({"id": 1, "method": "tools/list"})
        await server.ask(call(2, "steps", progressToken="p"))
        assert server.notified[-1]["params"]["message"] == "step 2"
        await server.say(call(3, "hang"))
        await until(lambda: len(guard.params("tool/call")) == 2)
        await server.say({"method": "notifications/cancelled", "params": {"requestId": 3}})
        await guard.hears("$/cancelRequest")
        await server.say(call(4, "more"))
        await server.told("notifications/tools/list_changed")
        listed = await server.ask({"id": 5, "method": "tools/list"})
        assert [tool["name"] for tool in listed["result"]["tools"]] == ["echo", "late"]
        params = {"name": "deploys", "arguments": {"arguments": "today"}}
        prompt = await server.ask({"id": 6, "method": "prompts/get", "params": params})
        assert prompt["result"]["messages"][0]["content"]["text"] == "deploys of today"


@pytest.fixture
def many_names(install: Install) -> list[str]:
    """The names of the tools of an installed plugin."""
    names = ["echo", *(f"t{at}" for at in range(1, 450))]
    install(**PLUGIN | {"tools": [{"name": name} for name in names]})
    return names


async def test_many_tools_come_through_in_pages(
    built_c: Client, many_names: list[str], agents: Agents, mcp_server: Mcp
) -> None:
    opened(agents, built_c)
    async with mcp_server(*ATTACHED, **SESSION) as server:
        await hello(server)
        await server.ask({"id": 1, "method": "tools/list"})
        await server.say(call(2, "more"))
        await server.told("notifications/tools/list_changed")
        listed: list[list[str]] = []
        params: dict[str, Any] = {}
        while "cursor" in params or not listed:
            page = await server.ask({"id": 3, "method": "tools/list", "params": params})
            listed.append([tool["name"] for tool in page["result"]["tools"]])
            following = page["result"].get("nextCursor")
            params = {} if following is None else {"cursor": following}
    assert [len(some) for some in listed] == [200, 200, 51]
    assert [*chain(*listed)] == [*many_names, "late"]


async def test_a_daemon_that_is_not_there_is_started(
    built_c: Client, guard: Program, agents: Agents, mcp_server: Mcp
) -> None:
    async with mcp_server(*ATTACHED, **SESSION) as server:
        await hello(server)
        listed = await server.ask({"id": 1, "method": "tools/list"})
        assert [tool["name"] for tool in listed["result"]["tools"]] == ["echo"]
        assert texts(await server.ask(call(2, "hello"))) == ["echo: hello"]
        agent = agents(built_c)
        agent.hook("PreToolUse", closed=True, **hook("t-1", "mcp__sliphook__echo", text="hello"))
        answer = await server.ask(call(3, "hello", **{"claudecode/toolUseId": "t-1"}))
        assert texts(answer) == ["echo: hello"]
        agent.hook("SessionEnd")
    assert guard.names().count("session_start") == 1
    assert guard.names().count("pre_tool_call") == 2


async def test_a_daemon_is_started_under_a_umask_that_takes_all_away(
    guard: Program, mcp_server: Mcp
) -> None:
    before = os.umask(0o777)
    try:
        async with mcp_server(*ATTACHED, **SESSION) as server:
            await hello(server)
            assert texts(await server.ask(call(1, "hello"))) == ["echo: hello"]
    finally:
        os.umask(before)
    folder = Path(os.environ["XDG_RUNTIME_DIR"]) / "sliphook"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {one.stat().st_mode & 0o777 for one in folder.glob("*.owner")} == {0o600}


def listening(folder: Path) -> list[Path]:
    """The sockets in this folder that take a client."""
    found: list[Path] = []
    for path in folder.rglob("*.sock"):
        with socket.socket(socket.AF_UNIX) as client, suppress(ConnectionRefusedError):
            client.connect(str(path))
            found.append(path)
    return found


async def test_a_daemon_that_was_killed_is_started_again(
    built_c: Client, guard: Program, agents: Agents, mcp_server: Mcp
) -> None:
    agent = opened(agents, built_c)
    async with mcp_server(*ATTACHED, **SESSION) as server:
        await hello(server)
        assert texts(await server.ask(call(1, "hello"))) == ["echo: hello"]
        runtime = Path(os.environ["XDG_RUNTIME_DIR"])
        (daemon,) = daemons(runtime)
        assert listening(runtime)
        os.kill(daemon, signal.SIGKILL)
        await until(lambda: not listening(runtime))  # which ends with the last of its threads
        assert texts(await server.ask(call(2, "again"))) == ["echo: again"]
        agent.hook("SessionEnd")
    starts = [one["source"] for one in guard.params("hook/session_start")]
    assert starts == ["startup", "resume"]


async def test_a_session_that_nobody_knows_is_an_error(
    built_c: Client, guard: Program, mcp_server: Mcp
) -> None:
    async with mcp_server("--agent", "codex") as server:
        await hello(server, "codex")
        answer = await server.ask(call(1, "hello"))
        assert answer["result"]["isError"]
        assert "the agent's session is not known" in texts(answer)[0]


async def test_an_agent_with_a_daemon_needs_no_option(
    built_c: Client, guard: Program, agents: Agents, mcp_server: Mcp
) -> None:
    agent = opened(agents, built_c)
    async with mcp_server(**SESSION) as server:
        await hello(server)
        agent.hook("PreToolUse", closed=True, **hook("t-1", "mcp__sliphook__echo", text="hello"))
        await server.ask(call(1, "hello", **{"claudecode/toolUseId": "t-1"}))
    assert guard.names().count("pre_tool_call") == 1
    assert len(daemons(Path(os.environ["XDG_RUNTIME_DIR"]))) == 1
    assert guard.names().count("session_start") == 1
