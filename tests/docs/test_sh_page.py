"""docs/sh.md: every snippet on the page is run, and its advice is tried."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import trio

from sliphook import PluginHost
from sliphook.check import check_plugin
from sliphook.wire import envelope
from sliphook_sdk.protocol.describe import example_of
from sliphook_sdk.protocol.payloads import UserPromptSubmit
from tests.programs import WAIT_S, until
from tests.stubborn import lives, needs_proc, pids, stubborn

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "sh.md").read_text(encoding="utf-8")
GATE = ROOT / "examples" / "gate.sh"
ANSWER = """answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\\n' "$id" "$1"; }"""

each_shell = pytest.mark.parametrize(
    "shell", [name for name in ("dash", "bash", "busybox") if shutil.which(name)]
)
needs_jq = pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
needs_gate = pytest.mark.skipif(
    shutil.which("make") is None or shutil.which("timeout") is None,
    reason="make or timeout is not installed",
)

ALERTS = """#!/bin/sh
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\\n' "$id" "$1"; }
manifest='{"protocol_version":1,"name":"alerts","subscriptions":[{"event":"turn_end"}]}'
while IFS= read -r line; do
  case $line in
    '{"jsonrpc":"2.0","id":'*) ;;
    '{"jsonrpc":"2.0","method":"event/turn_end"'*)
      (sleep 0.1; : > "@FLAG@") </dev/null >&2 & continue ;;
    '{"jsonrpc":"2.0","method":"exit"'*) wait; exit 0 ;;
    *) continue ;;
  esac
  id=${line#'{"jsonrpc":"2.0","id":'}; id=${id%%,*}
  case $line in *,'"method":"initialize"',*) answer "$manifest" ;; *) answer null ;; esac
done
"""


async def test_a_shell_waits_at_exit_for_what_it_runs_behind_itself(tmp_path: Path) -> None:
    script, alert = tmp_path / "alerts", tmp_path / "alert"
    script.write_text(ALERTS.replace("@FLAG@", str(alert)))
    script.chmod(0o755)
    with trio.fail_after(WAIT_S):
        async with PluginHost([script]) as host, host.session() as session:
            assert [plugin.state for plugin in host.plugins] == ["ready"]
            async with session.turn("hello"):
                pass
    assert alert.exists()


def snippets() -> list[str]:
    return re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)


def test_what_is_on_the_page() -> None:
    guard, string, text, gate = snippets()
    examples = ROOT / "examples"
    assert guard == (examples / "guard.sh").read_text(encoding="utf-8")
    assert gate == GATE.read_text(encoding="utf-8")
    assert string.startswith("string() {")
    assert text.startswith("text=")
    function = string.partition("cwd=")[0]
    assert function.split("#")[0] in gate
    assert "printf '%s\\n' \"${line#*" in gate


def line(**fields: Any) -> str:
    """A request as the host writes it."""
    params = {**example_of(UserPromptSubmit), **fields}
    request = {"jsonrpc": "2.0", "id": 7, "method": "hook/user_prompt_submit", "params": params}
    return envelope.encode(request).decode()


def ran(shell: str, script: str, **variables: str) -> str:
    command = [shell, *(["sh"] if shell == "busybox" else []), "-c", script]
    done = subprocess.run(
        command,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=WAIT_S,
        check=True,
    )
    assert done.stderr == b""
    return done.stdout.decode()


@each_shell
@pytest.mark.parametrize(
    "cwd",
    ["/home/ada", '/a "b" c', "/back\\slash\\", '/\\"', "/é %s $(id) `id`", '/x","cwd":"/y', None],
)
def test_a_path_is_read_without_jq(shell: str, cwd: str | None) -> None:
    script = f"{snippets()[1]}printf '%s' \"$cwd\""
    assert ran(shell, script, line=line(cwd=cwd, text='and ,"cwd":"/z"')) == (cwd or "")


@needs_jq
@each_shell
@pytest.mark.parametrize("text", ["plain", 'two\nlines "with" \\ \t and \x1b[1m é 😀'])
def test_a_text_is_read_with_jq(shell: str, text: str) -> None:
    script = f"{ANSWER}\n{snippets()[2]}"
    assert json.loads(ran(shell, script, id="7", line=line(text=text))) == {
        "jsonrpc": "2.0",
        "id": 7,
        "result": {"context": [f"Said: {text}"]},
    }


@needs_jq
@each_shell
def test_a_reason_of_elsewhere_is_escaped(shell: str) -> None:
    (command,) = re.findall(r"\(`(jq -cn .*?)`\)", PAGE)
    assert json.loads(ran(shell, command, text='say "no"\n')) == {
        "decision": "deny",
        "reason": 'say "no"\n',
    }


def project(folder: Path, recipe: str) -> None:
    (folder / "Makefile").write_text(f"test:\n\t{recipe}\n")


@needs_gate
async def test_the_gate_keeps_to_the_protocol() -> None:
    with trio.fail_after(WAIT_S):
        report = await check_plugin(GATE)
    assert [one for one in report.findings if one.verdict not in ("passed", "skipped")] == []


@needs_gate
async def test_the_gate_lets_the_agent_stop_when_the_tests_pass(tmp_path: Path) -> None:
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([GATE]) as host,
            host.session(cwd=tmp_path) as session,
            session.turn("hello") as turn,
        ):
            assert await turn.stop() is None, "there is no Makefile"
            project(tmp_path, "false")
            assert await turn.stop() == "The tests fail. Run make test, and correct what fails."
            project(tmp_path, "true")
            assert await turn.stop() is None


@needs_gate
@needs_proc
async def test_an_interrupt_ends_the_tests_of_the_gate(tmp_path: Path) -> None:
    stubborn(tmp_path)
    project(tmp_path, "./stubborn")
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([GATE]) as host,
            host.session(cwd=tmp_path) as session,
        ):
            async with session.turn("hello") as turn, trio.open_nursery() as nursery:
                nursery.start_soon(turn.stop)
                await until(lambda: len(pids(tmp_path)) == 2)
                session.interrupt("user_stop")
            await until(lambda: not lives(pids(tmp_path)[0]))
            project(tmp_path, "false")
            async with session.turn("again") as turn:
                assert await turn.stop() is not None
        # the child that had left the group of `timeout`
        await until(lambda: not any(map(lives, pids(tmp_path))))


@needs_gate
@pytest.mark.parametrize("shell", [name for name in ("dash", "busybox") if shutil.which(name)])
def test_a_cancel_right_behind_its_request_is_answered_once(shell: str, tmp_path: Path) -> None:
    project(tmp_path, "sleep 1000")
    stop = '{"jsonrpc":"2.0","id":@,"method":"hook/stop","params":{"seq":1,"cwd":"CWD"}}'
    cancel = '{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":@}}'
    both = f"{stop}\n{cancel}\n".replace("CWD", str(tmp_path))
    exit_now = '{"jsonrpc":"2.0","method":"exit","params":{}}\n'
    command = [shell, *(["sh"] if shell == "busybox" else []), str(GATE)]
    given = "".join(both.replace("@", str(id)) for id in range(1, 9)) + exit_now
    done = subprocess.run(
        command, input=given, capture_output=True, text=True, timeout=WAIT_S, check=True
    )
    answers = [json.loads(text) for text in done.stdout.splitlines()]
    assert [(one["id"], one["error"]["code"]) for one in answers] == [
        (id, -32800) for id in range(1, 9)
    ]
