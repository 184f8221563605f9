"""Configurations run as they are under the real host: stdin, variables, answers, failures."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio

from sliphook import Interruption, LlmGate, PluginHost, Turn
from sliphook.adapters.foreign.plugin import HooksPlugin
from sliphook.adapters.foreign.sources import read_source
from sliphook.testing import FakePlugin
from sliphook_sdk.protocol import Globs, Message, ToolKind, Usage
from tests.programs import WAIT_S, until, whole_lines
from tests.stubborn import lives

from .made import command, script, settings_json, spec

RUNS = {"type": "command", "command": "true"}


def read(path: Path) -> Any:
    return json.loads(path.read_text())


async def ran() -> str:
    return "done"


async def said(turn: Turn, text: str) -> LlmGate:
    """One model call that says `text`."""
    gate = await turn.pre_llm_call(provider=None, model="m", messages=[], tools=[])
    turn.post_llm_call(
        provider=None,
        model="m",
        response=Message(role="assistant", content=text),
        finish_reason="stop",
        usage=Usage(),
        duration_ms=1.0,
    )
    return gate


async def written(path: Path) -> Any:
    """What a hook has written, as soon as it is whole."""
    await until(lambda: path.exists() and path.stat().st_size > 0)
    return read(path)


async def test_claude_codes_guard(tmp_path: Path) -> None:
    script(
        tmp_path / "check.sh",
        '#!/bin/sh\nin=$(cat)\nprintf %s "$in" > pre.json\nenv > env.txt\n'
        'case "$in" in *"rm -rf"*) echo "no trees" >&2; exit 2;; esac\n',
    )
    hooks = {"PreToolUse": [command('"$CLAUDE_PROJECT_DIR"/check.sh', matcher="Bash")]}
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([spec(settings_json(tmp_path, hooks))]) as host,
            host.session(cwd=tmp_path) as session,
            session.turn("hello") as turn,
        ):
            denied = await turn.call_tool(
                "sh", {"command": "rm -rf x"}, run=lambda arguments: ran(), tool_kind="shell"
            )
            assert denied.status == "denied"
            assert "no trees" in denied.result.content
            told = read(tmp_path / "pre.json")
            assert told["tool_name"] == "Bash"
            assert told["tool_input"] == {"command": "rm -rf x"}
            assert told["session_id"] == session.session_id
            assert told["cwd"] == str(tmp_path)
            assert os.path.isfile(told["transcript_path"])  # noqa: ASYNC240 - it is local
            variables = (tmp_path / "env.txt").read_text().splitlines()
            assert f"CLAUDE_PROJECT_DIR={tmp_path}" in variables
            assert not [line for line in variables if line.startswith("SLIPHOOK_")]
            (tmp_path / "pre.json").unlink()
            kinds: list[tuple[str, ToolKind]] = [("sh", "shell"), ("look", "read")]
            for name, kind in kinds:
                allowed = await turn.call_tool(
                    name, {"command": "ls"}, run=lambda arguments: ran(), tool_kind=kind
                )
                assert allowed.status == "ok"
                assert (tmp_path / "pre.json").exists() is (kind == "shell")
                (tmp_path / "pre.json").unlink(missing_ok=True)


async def test_a_tool_that_the_settings_name_and_its_arguments(tmp_path: Path) -> None:
    changed = {"hookEventName": "PreToolUse", "updatedInput": {"command": "ls -h"}}
    said = {"hookSpecificOutput": changed}
    hooks = {
        "PreToolUse": [command(f"cat > pre.json; echo '{json.dumps(said)}'", matcher="Bash")],
        "PostToolUse": [command('cat > post.json; echo \'{"decision":"block","reason":"hm"}\'')],
    }
    settings = {"tools": {"exec": {"as": "Bash", "script": "command"}}}
    given: list[dict[str, Any]] = []

    async def run(arguments: dict[str, Any]) -> str:
        given.append(dict(arguments))
        return "a.txt"

    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([spec(settings_json(tmp_path, hooks), settings)]) as host,
            host.session(cwd=tmp_path) as session,
            session.turn("hello") as turn,
        ):
            outcome = await turn.call_tool("exec", {"script": "ls"}, run=run)
            assert [one.text for one in outcome.context] == ["hm"]
    assert read(tmp_path / "pre.json")["tool_input"] == {"command": "ls"}
    assert given == [{"script": "ls -h"}]
    post = read(tmp_path / "post.json")
    assert (post["tool_input"], post["tool_response"]) == ({"command": "ls -h"}, "a.txt")


async def test_prompts_stops_and_the_life_of_a_session(tmp_path: Path) -> None:
    hooks = {
        "SessionStart": [command("cat > start.json; echo A=1 > $CLAUDE_ENV_FILE; echo welcome")],
        "UserPromptSubmit": [command("cat > prompt.json; echo remember")],
        "Stop": [
            command(
                'cat > stop.json; grep -q false stop.json && echo "run the tests" >&2 && exit 2'
            )
        ],
        "SessionEnd": [command("cat > end.json")],
    }
    with trio.fail_after(WAIT_S):
        async with PluginHost([spec(settings_json(tmp_path, hooks))]) as host:
            async with host.session(cwd=tmp_path, model="small") as session:
                assert [one.text for one in await session.ready()] == ["welcome"]
                async with session.turn("hello") as turn:
                    prompt = await turn.submit()
                    assert [one.text for one in prompt.context] == ["remember"]
                    await said(turn, "Done.")
                    assert await turn.stop() == "run the tests"
                    await said(turn, "Done again.")
                    assert await turn.stop() is None
            await written(tmp_path / "end.json")
    assert read(tmp_path / "start.json")["source"] == "startup"
    assert read(tmp_path / "start.json")["model"] == "small"
    assert read(tmp_path / "prompt.json")["prompt"] == "hello"
    stop = read(tmp_path / "stop.json")
    assert (stop["stop_hook_active"], stop["last_assistant_message"]) == (True, "Done again.")
    assert read(tmp_path / "end.json")["reason"] == "other"


async def test_a_transcript_for_those_who_read_it(tmp_path: Path) -> None:
    text = 'path=$(jq -r .transcript_path); cp "$path" seen.jsonl'
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([spec(settings_json(tmp_path, {"Stop": [command(text)]}))]) as host,
            host.session(cwd=tmp_path) as session,
            session.turn("hello") as turn,
        ):
            await turn.submit()
            await said(turn, "I look.")
            await turn.call_tool("sh", {"command": "ls"}, run=lambda arguments: ran())
            await turn.stop()
    lines = [json.loads(line) for line in (tmp_path / "seen.jsonl").read_text().splitlines()]
    assert [(line["type"], line["sessionId"]) for line in lines] == [
        ("user", session.session_id),
        ("assistant", session.session_id),
        ("user", session.session_id),
    ]
    assert lines[0]["message"] == {"role": "user", "content": "hello"}
    assert lines[1]["message"]["content"] == [{"type": "text", "text": "I look."}]
    assert lines[2]["message"]["content"][0]["type"] == "tool_result"
    assert lines[1]["parentUuid"] == lines[0]["uuid"]


async def test_hooks_that_may_run_side_by_side_do_and_their_answers_are_one(tmp_path: Path) -> None:
    meet = "mkdir -p meet; touch meet/$1; while [ ! -e meet/$2 ]; do sleep 0.02; done"
    script(tmp_path / "meet.sh", f"#!/bin/sh\n{meet}\necho $1 >&2\nexit ${{3:-0}}\n")
    hooks = {"PreToolUse": [command("./meet.sh a b 2"), command("./meet.sh b a 2")]}
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([spec(settings_json(tmp_path, hooks))]) as host,
            host.session(cwd=tmp_path) as session,
            session.turn("hello") as turn,
        ):
            outcome = await turn.call_tool("sh", {}, run=lambda arguments: ran())
            assert outcome.status == "denied"
            assert sorted(outcome.result.content.replace("theirs: ", "").split()[-2:]) == ["a", "b"]


async def test_a_hook_that_takes_too_long_is_ended_as_a_tree(tmp_path: Path) -> None:
    hooks = {
        "PreToolUse": [
            command(
                "sleep 1000 & echo $! >> pids; setsid sleep 1000 & echo $! >> pids;"
                " cat /dev/zero & wait",
                timeout=1,
            ),
            command("sleep 1000", timeout=1, onFailure="block", matcher="Write"),
        ]
    }
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([spec(settings_json(tmp_path, hooks))]) as host,
            host.session(cwd=tmp_path) as session,
            session.turn("hello") as turn,
        ):
            pids: list[int] = []
            while len(pids) < 2:  # a busy machine may have begun neither within the second
                slow = await turn.call_tool("sh", {}, run=lambda arguments: ran())
                assert slow.status == "ok"
                pids = [*map(int, whole_lines(tmp_path / "pids"))]
            await until(lambda: not any(map(lives, pids)))
            guarded = await turn.call_tool("w", {}, run=lambda arguments: ran(), tool_kind="write")
            assert "took longer than 1 s" in guarded.result.content


LONG = f'{sys.executable} -c \'print(open("said").read(), end="")\''
TEXT_OF_2_MIB = "x" * 2_000_000


@pytest.mark.parametrize(
    ("said", "status", "why"),
    [
        (
            json.dumps({"decision": "block", "reason": TEXT_OF_2_MIB}),
            "denied",
            "a hook that has to be asked wrote JSON of over 1 MiB, which is not read",
        ),
        (TEXT_OF_2_MIB, "ok", "done"),  # is no answer, however long
    ],
)
async def test_an_answer_that_is_too_long_is_not_taken_for_none(
    tmp_path: Path, said: str, status: str, why: str
) -> None:
    (tmp_path / "said").write_text(said)
    hooks = {"PreToolUse": [command(LONG), command(f"{LONG} >&2; echo '{{}}'")]}
    logged: list[str] = []
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost(
                [spec(settings_json(tmp_path, hooks))],
                on_log=lambda plugin, level, line: logged.append(line),
            ) as host,
            host.session(cwd=tmp_path) as session,
            session.turn("hello") as turn,
        ):
            outcome = await turn.call_tool("sh", {}, run=lambda arguments: ran())
            assert outcome.status == status
            assert why in outcome.result.content
    assert any("wrote JSON of over 1 MiB" in line for line in logged) is (status == "denied")


async def test_in_the_background_once_and_large_input(tmp_path: Path) -> None:
    hooks = {
        "PreToolUse": [
            command("cat > behind.json; sleep 1000", **{"async": True}),
            command("echo x >> once.txt", once=True),
            command("wc -c > size.txt"),
            command("true"),
        ]
    }
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([spec(settings_json(tmp_path, hooks))]) as host,
            host.session(cwd=tmp_path) as session,
            session.turn("hello") as turn,
        ):
            for _ in range(2):
                big = {"text": "x" * 500_000}
                outcome = await turn.call_tool("sh", big, run=lambda arguments: ran())
                assert outcome.status == "ok"
            await until((tmp_path / "behind.json").exists)
    assert (tmp_path / "once.txt").read_text() == "x\n"
    assert int((tmp_path / "size.txt").read_text()) > 500_000


async def test_what_wakes_gives_the_model_its_reason(tmp_path: Path) -> None:
    hooks = {"PostToolUse": [command("echo look at it >&2; exit 2", asyncRewake=True)]}
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([spec(settings_json(tmp_path, hooks))]) as host,
            host.session(cwd=tmp_path) as session,
            session.turn("hello") as turn,
        ):
            await turn.call_tool("sh", {}, run=lambda arguments: ran())
            texts: list[str] = []

            def woken() -> bool:
                texts.extend(one.text for one in session.take_injected())
                return bool(texts)

            await until(woken)
            assert texts == ["look at it"]


async def test_a_session_leaves_no_files(tmp_path: Path) -> None:
    hooks = {"SessionStart": [command('echo $CLAUDE_ENV_FILE > at; echo A=1 > "$CLAUDE_ENV_FILE"')]}
    with trio.fail_after(WAIT_S):
        async with PluginHost([spec(settings_json(tmp_path, hooks))]) as host:
            async with host.session(cwd=tmp_path) as session:
                await session.ready()
            at = (tmp_path / "at").read_text().strip()
            data = os.path.dirname(os.path.dirname(at))
            folders = [os.path.join(data, name) for name in ("env", "transcripts")]
            await until(lambda: not any(os.listdir(folder) for folder in folders))


async def test_a_script_that_changes_denies(tmp_path: Path) -> None:
    check = script(tmp_path / "check.sh", "#!/bin/sh\nexit 0\n")
    path = settings_json(tmp_path, {"PreToolUse": [command("./check.sh")], "Stop": [command("x")]})
    plugin = spec(path)
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([plugin]) as host,
            host.session(cwd=tmp_path) as session,
            session.turn("hello") as turn,
        ):
            assert (await turn.call_tool("sh", {}, run=lambda a: ran())).status == "ok"
            check.write_text("#!/bin/sh\nexit 0 # changed\n")
            changed = await turn.call_tool("sh", {}, run=lambda a: ran())
            assert changed.status == "denied"
            assert "has changed since it was approved" in changed.result.content


@pytest.mark.parametrize("cut", [True, False])
async def test_a_block_after_a_tool_that_is_not_known_interrupts_the_turn(
    tmp_path: Path, cut: bool
) -> None:
    pytest.importorskip("ruamel.yaml")
    text = json.dumps({"decision": "block", "reason": TEXT_OF_2_MIB})
    (tmp_path / "said").write_text(text)
    check = script(tmp_path / "check.sh", f"#!/bin/sh\n{LONG if cut else 'exit 0'}\n")
    hooks = {"post_tool_use": [{"hooks": [{"type": "command", "command": str(check)}]}]}
    path = tmp_path / "agent.yaml"
    path.write_text(json.dumps({"agents": {"root": {"hooks": hooks}}}))
    told: list[Interruption] = []
    logged: list[str] = []
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost(
                [spec(path)],
                on_log=lambda plugin, level, line: logged.append(line),
            ) as host,
            host.session(cwd=tmp_path, on_interrupt=told.append) as session,
            session.turn("hello") as turn,
        ):
            await turn.submit()
            if not cut:
                check.write_text("#!/bin/sh\nexit 0 # changed\n")
            await turn.call_tool("sh", {}, run=lambda a: ran())
            await trio.sleep_forever()
    why = "wrote JSON of over 1 MiB" if cut else f"is not run: {check} has changed since"
    assert [one.reason for one in told] == ["plugin"]
    assert any(why in line for line in logged)


@pytest.mark.parametrize("closed", [True, False])
async def test_an_adapter_that_is_killed_denies_where_their_hooks_block(
    tmp_path: Path, closed: bool
) -> None:
    event = "PreToolUse" if closed else "PostToolUse"
    hooks = {event: [command("echo $PPID > pid; sleep 1000")]}
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([spec(settings_json(tmp_path, hooks))]) as host,
            host.session(cwd=tmp_path) as session,
            session.turn("hello") as turn,
            trio.open_nursery() as nursery,
        ):

            async def kill() -> None:
                await until(
                    lambda: (tmp_path / "pid").exists() and bool((tmp_path / "pid").read_text())
                )
                os.kill(int((tmp_path / "pid").read_text()), 9)

            nursery.start_soon(kill)
            outcome = await turn.call_tool("sh", {}, run=lambda a: ran())
            assert outcome.status == ("denied" if closed else "ok")


DOCKER = """\
agents:
  root:
    hooks:
      tool_input_transform:
        - matcher: shell
          hooks:
            - {type: command, command: "echo '{\\"hook_specific_output\\":{\\"updated_input\\":{\\"cmd\\":\\"one\\"}}}'"}
            - {type: command, command: "jq -c '{hook_specific_output:{updated_input:{cmd:(.tool_input.cmd + \\" two\\")}}}'"}
      pre_tool_use:
        - matcher: shell
          hooks: [{type: command, command: "cat > pre.json; grep -q wrong pre.json && exit 7 || exit 0"}]
      post_tool_use:
        - hooks: [{type: command, command: "cat > post.json", working_dir: sub, env: {A: b}}]
      session_start: [{type: command, command: "cat > start.json; echo hello"}]
      session_end: [{type: command, command: "cat > end.json"}]
      notification: [{type: command, command: "cat > note.json"}]
      on_user_input: [{type: command, command: "cat > input.json"}]
      stop: [{type: command, command: "cat > stop.json"}]
      turn_start: [{type: command, command: "echo today is monday"}]
"""


async def test_docker_agents_hooks(tmp_path: Path) -> None:
    pytest.importorskip("ruamel.yaml")
    (tmp_path / "sub").mkdir()
    path = tmp_path / "agent.yaml"
    path.write_text(DOCKER)
    given: list[dict[str, Any]] = []

    async def run(arguments: dict[str, Any]) -> str:
        given.append(dict(arguments))
        return "done"

    async def yes(question: Any) -> bool:
        return True

    with trio.fail_after(WAIT_S):
        async with PluginHost([spec(path)], approver=yes) as host:
            async with host.session(cwd=tmp_path) as session:
                assert [one.text for one in await session.ready()] == ["hello"]
                async with session.turn("do it") as turn:
                    await turn.submit()
                    gate = await said(turn, "ok")
                    assert [one.text for one in gate.context] == ["today is monday"]
                    outcome = await turn.call_tool(
                        "terminal", {"command": "x"}, run=run, tool_kind="shell"
                    )
                    assert outcome.status == "ok"
                    assert given == [{"command": "one two"}]
                    await said(turn, "All done.")
                    await turn.stop()
                    session.notification("warning", "slow today")
                    await written(tmp_path / "note.json")
            await written(tmp_path / "end.json")
    common = {"session_id": session.session_id, "cwd": str(tmp_path), "agent_name": "root"}
    tool = {"tool_name": "shell", "tool_input": {"cmd": "one two"}}
    pre = read(tmp_path / "pre.json")
    assert pre.pop("tool_use_id")
    assert pre == {**common, **tool, "hook_event_name": "pre_tool_use"}
    post = read(tmp_path / "sub" / "post.json")
    assert (post["tool_response"], "tool_error" in post) == ("done", False)
    assert read(tmp_path / "start.json")["source"] == "startup"
    assert read(tmp_path / "stop.json") == {
        **common,
        "hook_event_name": "stop",
        "stop_response": "All done.",
        "last_user_message": "do it",
    }
    assert read(tmp_path / "note.json") == {
        **common,
        "hook_event_name": "notification",
        "notification_level": "warning",
        "notification_message": "slow today",
    }
    assert read(tmp_path / "end.json") == {
        **common,
        "hook_event_name": "session_end",
        "reason": "stream_ended",
    }


async def test_docker_agents_guard_that_fails_denies(tmp_path: Path) -> None:
    pytest.importorskip("ruamel.yaml")
    (tmp_path / "agent.yaml").write_text(DOCKER)
    hooks = DOCKER.replace("grep -q wrong pre.json", "true")
    (tmp_path / "agent.yaml").write_text(hooks)
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([spec(tmp_path / "agent.yaml")]) as host,
            host.session(cwd=tmp_path) as session,
            session.turn("do it") as turn,
        ):
            outcome = await turn.call_tool(
                "terminal", {"command": "x"}, run=lambda a: ran(), tool_kind="shell"
            )
            assert outcome.status == "denied"
            assert "exited with 7" in outcome.result.content


AGENT_CODE = """\
[[hooks]]
event = "pre_tool_use"
tool_name = "Bash"
action = { type = "shell", command = "cat > pre.json; env > env.txt; grep -q sudo pre.json && echo 'no sudo' >&2 && exit 1; exit 0" }

[[hooks]]
event = "post_tool_use"
action = { type = "shell", command = "cat > post.json; exit 1" }

[[hooks]]
event = "user_prompt_submit"
action = { type = "shell", command = "cat > prompt.json; exit 1" }

[[hooks]]
event = "pre_turn"
action = { type = "shell", command = "cat > turn.json" }

[[hooks]]
event = "stop"
action = { type = "shell", command = "cat > stop.json" }

[[hooks]]
event = "session_start"
action = { type = "shell", command = "cat > start.json" }

[[hooks]]
event = "session_stop"
action = { type = "shell", command = "cat > end.json" }

[[hooks]]
event = "notification"
action = { type = "shell", command = "cat > note.json" }
"""


@pytest.mark.parametrize(
    ("system", "hook", "fits"),
    [
        ("claude-code", {"matcher": "Edit Write", "hooks": [RUNS]}, "Edit Write"),
        ("claude-code", {"matcher": f"mcp__{'x' * 80}", "hooks": [RUNS]}, f"mcp__{'x' * 80}"),
        ("cursor", {"matcher": "^MCP:.*", **RUNS}, "MCP:search"),
    ],
)
def test_a_matcher_is_no_reason_not_to_start(
    system: str, hook: Any, fits: str, tmp_path: Path
) -> None:
    path = tmp_path / "hooks.json"
    event = "preToolUse" if system == "cursor" else "PreToolUse"
    path.write_text(json.dumps({"version": 1, "hooks": {event: [hook]}}))
    plugin = HooksPlugin("theirs", read_source(str(path), system), {}).plugin
    (match, *_) = (one.match for one in plugin.manifest().subscriptions or [])
    assert match is not None
    names = match["tool_name"]
    assert isinstance(names, list)
    assert Globs(names).fits(fits)


async def test_agent_codes_hooks(tmp_path: Path) -> None:
    path = tmp_path / ".agent" / "settings.toml"
    path.parent.mkdir()
    path.write_text(AGENT_CODE)
    with trio.fail_after(WAIT_S):
        async with PluginHost([spec(path)]) as host:
            async with (
                host.session(cwd=tmp_path, model="small") as session,
                session.turn("do it") as turn,
            ):
                await turn.submit()
                allowed = await turn.call_tool(
                    "sh", {"command": "ls"}, run=lambda a: ran(), tool_kind="shell"
                )
                assert allowed.status == "ok"
                variables = (tmp_path / "env.txt").read_text().splitlines()
                assert "AGENT_CODE_HOOK_EVENT=pre_tool_use" in variables
                assert "AGENT_CODE_HOOK_TOOL=Bash" in variables
                assert 'AGENT_CODE_HOOK_CONTEXT={"command":"ls"}' in variables
                denied = await turn.call_tool(
                    "sh", {"command": "sudo ls"}, run=lambda a: ran(), tool_kind="shell"
                )
                assert denied.status == "denied"
                assert "no sudo" in denied.result.content
                await said(turn, "Done.")
                await turn.stop()
                session.notification("error", "out of money")
                await written(tmp_path / "note.json")
            await written(tmp_path / "end.json")
    own = {"session_id": session.session_id}
    assert (tmp_path / "pre.json").read_bytes() == b'{"command":"sudo ls"}\n'
    assert read(tmp_path / "post.json") == {"tool": "Bash", "is_error": False}
    assert read(tmp_path / "start.json") == {**own, "cwd": str(tmp_path), "model": "small"}
    turn_one: dict[str, Any] = {"attachments": [], "turn": 1}
    assert read(tmp_path / "prompt.json") == {"user_input": "do it", **turn_one}
    assert read(tmp_path / "turn.json") == {"user_input_preview": "do it", **turn_one}
    stop = {**own, "turn_count": 1, "last_assistant_message": "Done."}
    assert read(tmp_path / "stop.json") == stop
    assert read(tmp_path / "note.json") == {
        **own,
        "message": "out of money",
        "notification_type": "error",
    }
    assert read(tmp_path / "end.json") == {
        **own,
        "turn_count": 1,
        "total_cost_usd": 0.0,
        "total_tokens": 0,
    }


DECISIONS = {
    "allow": '{"hookSpecificOutput": {"hookEventName": "PermissionRequest",'
    ' "decision": {"behavior": "allow"}}}',
    "deny": '{"hookSpecificOutput": {"hookEventName": "PermissionRequest",'
    ' "decision": {"behavior": "deny", "message": "not now"}}}',
}


@pytest.mark.parametrize(
    ("says", "status"),
    [
        (f"echo '{DECISIONS['allow']}'", "ok"),
        (f"echo '{DECISIONS['deny']}'", "denied"),
        ("exit 2", "denied"),
        ("true", "denied"),  # nobody can be asked
        ("exit 1", "denied"),
    ],
)
async def test_claude_codes_permission_request(says: str, status: str, tmp_path: Path) -> None:
    script(tmp_path / "decide.sh", f"#!/bin/sh\ncat > asked.json\n{says}\n")
    hooks = {"PermissionRequest": [command('"$CLAUDE_PROJECT_DIR"/decide.sh', matcher="Bash")]}
    guard = FakePlugin("guard", hooks={"pre_tool_call": {"decision": "ask", "reason": "sure?"}})
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([spec(settings_json(tmp_path, hooks)), guard]) as host,
            host.session(cwd=tmp_path) as session,
            session.turn("hello") as turn,
        ):
            outcome = await turn.call_tool(
                "sh", {"command": "ls"}, run=lambda arguments: ran(), tool_kind="shell"
            )
            assert outcome.status == status, outcome
    told = read(tmp_path / "asked.json")
    assert (told["hook_event_name"], told["tool_input"]) == ("PermissionRequest", {"command": "ls"})


async def test_a_permission_request_is_about_what_will_be_done(tmp_path: Path) -> None:
    """Its own hook replaced arguments first, and another plugin did after it."""
    replaces = '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask",'
    replaces += ' "updatedInput": {"command": "ls"}}}'
    script(tmp_path / "pre.sh", f"#!/bin/sh\ncat >/dev/null\necho '{replaces}'\n")
    says = DECISIONS["allow"]
    script(tmp_path / "decide.sh", f"#!/bin/sh\ncat > asked.json\necho '{says}'\n")
    hooks = {
        "PreToolUse": [command('"$CLAUDE_PROJECT_DIR"/pre.sh')],
        "PermissionRequest": [command('"$CLAUDE_PROJECT_DIR"/decide.sh')],
    }
    other = FakePlugin(
        "other",
        subscriptions=[{"event": "pre_tool_call", "replaces": True}],
        hooks={"pre_tool_call": {"replace": {"arguments": {"command": "rm -rf ."}}}},
    )
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([spec(settings_json(tmp_path, hooks)), other]) as host,
            host.session(cwd=tmp_path) as session,
            session.turn("hello") as turn,
        ):
            outcome = await turn.call_tool(
                "sh", {"command": "pwd"}, run=lambda arguments: ran(), tool_kind="shell"
            )
            assert outcome.status == "ok", outcome
    assert read(tmp_path / "asked.json")["tool_input"] == {"command": "rm -rf ."}


async def test_without_the_grant_it_decides_nothing(tmp_path: Path) -> None:
    script(tmp_path / "decide.sh", f"#!/bin/sh\ncat > asked.json\necho '{DECISIONS['allow']}'\n")
    hooks = {"PermissionRequest": [command('"$CLAUDE_PROJECT_DIR"/decide.sh')]}
    theirs = replace(spec(settings_json(tmp_path, hooks)), grants=frozenset())
    guard = FakePlugin("guard", hooks={"pre_tool_call": {"decision": "ask", "reason": "sure?"}})
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([theirs, guard]) as host,
            host.session(cwd=tmp_path) as session,
            session.turn("hello") as turn,
        ):
            outcome = await turn.call_tool("sh", {}, run=lambda arguments: ran())
            await written(tmp_path / "asked.json")
            assert outcome.status == "denied"
