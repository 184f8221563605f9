"""examples/reviewer, built by cargo: under a host, in `sliphook run`, and spoken to directly."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import trio

from sliphook import PluginHost, PluginSpec
from sliphook.check import check_plugin
from sliphook_sdk.protocol import ToolKind, ToolResult
from tests.docs.test_more_examples import with_toolchains
from tests.programs import WAIT_S, until
from tests.stubborn import lives, needs_proc, wait_for

from .whole_agent import sliphook_run

ROOT = Path(__file__).resolve().parents[2]
UNCLOSED = "The block that begins in line 2 of your answer is not closed."
MISSING = "You have changed files in this turn and have not run the tests since. Run them."


@pytest.fixture(scope="session")
def reviewer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The executable; without optimization, which takes longer than the tests."""
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed")
    target = tmp_path_factory.mktemp("reviewer")
    done = subprocess.run(
        ["cargo", "build", "--offline", "--locked", "--target-dir", str(target)],
        cwd=ROOT / "examples" / "reviewer",
        env=with_toolchains(),
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    return target / "debug" / "reviewer"


def test_it_keeps_to_the_protocol(reviewer: Path) -> None:
    async def check() -> None:
        with trio.fail_after(WAIT_S):
            report = await check_plugin(reviewer)
        assert [one for one in report.findings if one.verdict != "passed"] == []

    trio.run(check)


class Talk:
    """Speaks to the process without a host; what it does not answer ends the test."""

    def __init__(self, path: Path, **config: object) -> None:
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._id = 0
        plugin = {"name": "reviewer", "data_dir": "/", "config": config}
        self.ask("initialize", protocol_versions=[1], plugin=plugin)

    def __enter__(self) -> Talk:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(WAIT_S)
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()

    def write(self, text: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def tell(self, method: str, **params: object) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        self.write(json.dumps(message, ensure_ascii=False).encode() + b"\n")

    def request(self, method: str, **params: object) -> int:
        self._id += 1
        message = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}
        self.write(json.dumps(message, ensure_ascii=False).encode() + b"\n")
        return self._id

    def reply(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        reply: dict[str, Any] = json.loads(self.process.stdout.readline())
        return reply

    def ask(self, method: str, **params: object) -> dict[str, Any]:
        id = self.request(method, **params)
        reply = self.reply()
        assert reply["id"] == id
        return reply

    def says(self, answer: str | None, **params: object) -> str | None:
        """What it asks the model to go on with."""
        fields = {"session_id": "s-1", "stop_count": 0, "timeout_s": 60.0, **params}
        result = self.ask("hook/stop", **fields, last_assistant_message=answer)["result"]
        return None if result is None else result["continue_with"]


def block(language: str, *lines: str) -> str:
    return "\n".join(["Here:", f"```{language}", *lines, "```", "Done."])


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (None, None),
        ("All done.", None),
        (block("json", '{"a": [1, -0.5e3, "\\u00e9\\n", true, null], "b": {}}'), None),
        (block("json", '{"a": 1,', '"b": 2,}'), "line 2 of it: a name in quotes was expected, and there is '}'"),
        (block("JSON title=x", "[1 2]"), "line 1 of it: ',' or ']' was expected, and there is '2'"),
        (block("json", "{'a': 1}"), "line 1 of it: a name in quotes was expected, and there is '\\''"),
        (block("json", "[01]"), "line 1 of it: this is no number"),
        (block("json", '["a', 'b"]'), "line 1 of it: a text has a line feed or another control character in it"),
        (block("json", '{"a": 1,', "...", "}"), None),
        (block("json", "[" * 100_000), None),
        (block("json", "[" * 5_000), "line 1 of it: it is nested over 200 levels"),
        (block("jsonl", '{"a": 1}', "", "{}", "x"), "line 4 of it: a value was expected, and there is 'x'"),
        (block("text", "{'a': 1}"), None),
        (block("toml", "a = 1", "[b]"), None),
        (block("toml", "a = = 1"), "Invalid value"),
        (block("python", "def f(:", "    pass"), "SyntaxError"),
        (block("python", "def f(): ..."), None),
        (block("sh", "if true; then"), "sh: "),
        (block("sh", "touch it-was-run"), None),
        ("1. so:\n\n   ````json\n   {}\n   ```\n   ````\n", "wrong"),
        ("1. so:\n\n   ````json\n   {}\n   ````\n", None),
        ("~~~\n```json\n~~~\nfine", None),
        ("``` not `a` fence", None),
        ("So:\n```json\n{}\n", UNCLOSED),
        ("é\u2028\0" * 100_000, None),
    ],
)  # fmt: skip
def test_an_answer(reviewer: Path, answer: str | None, says: str | None) -> None:
    with Talk(reviewer) as talk:
        said = talk.says(answer)
    assert (said is None) if says is None else (said is not None and says in said), said
    assert not Path("it-was-run").exists()


def test_its_settings(reviewer: Path) -> None:
    wrong = block("json", "{")
    with Talk(
        reviewer, most=1, checkers={"toml": [], "text": ["false"], "x": ["/nowhere"]}
    ) as talk:
        assert talk.says(wrong) is not None
        assert talk.says(wrong, stop_count=1) is None
        assert talk.says(block("toml", "a = = 1")) is None
        said = talk.says(block("text", "anything"))
        assert said == "The text block in line 2 of your answer is wrong: false refuses it"
        assert talk.says(block("x", "anything")) is None


def slow(pid_file: Path) -> list[str]:
    """A checker that does not end by itself; the file has its pid, or is not there."""
    return ["sh", "-c", f"echo $$ > {pid_file}.part; mv {pid_file}.part {pid_file}; exec sleep 600"]


@needs_proc
def test_a_cancel_ends_the_checker(reviewer: Path, tmp_path: Path) -> None:
    """Also a checker that ignores its input; others are answered meanwhile."""
    pid_file = tmp_path / "pid"
    with Talk(reviewer, checkers={"slow": slow(pid_file)}) as talk:
        params = {"session_id": "s-1", "stop_count": 0, "timeout_s": 60.0}
        answer = block("slow", *["x" * 1_000] * 60)
        id = talk.request("hook/stop", **params, last_assistant_message=answer)
        assert talk.says("Fine.", session_id="s-2") is None
        wait_for(pid_file.exists)
        assert talk.ask("ping")["result"] is None
        assert lives(pid := int(pid_file.read_text()))
        talk.tell("$/cancelRequest", id=id)
        assert talk.reply() == {
            "jsonrpc": "2.0",
            "id": id,
            "error": {"code": -32800, "message": "request cancelled"},
        }
        assert not lives(pid)
        talk.tell("$/cancelRequest", id=id)
        pid_file.unlink()
        talk.request("hook/stop", **params, last_assistant_message=answer)
        wait_for(pid_file.exists)
        talk.tell("exit")
        assert talk.process.wait(WAIT_S) == 0
        assert not lives(int(pid_file.read_text()))


def test_garbage(reviewer: Path) -> None:
    with Talk(reviewer) as talk:
        talk.write(b"Content-Length: 3\r\n\r\n{]\n" + b"{\xff}\n" + b"[" * 100_000 + b"\n{}\n\n")
        talk.write(b'{"jsonrpc":"2.0","id":9,"method":"hook/stop","params":[]}\n')
        assert talk.reply()["error"]["code"] == -32602
        talk.tell("$/cancelRequest", id={"a": []})
        talk.tell("event/post_tool_call", session_id=7, started="yes")
        assert talk.says("All done.") is None
        talk.write(b"{" * 8 * 1024 * 1024)
        assert talk.process.wait(WAIT_S) == 0, "a line without an end is not kept"


Made = Sequence[tuple[ToolKind, str, bool]]
"""Tool calls: the kind, the command, whether it fails."""


def calls(*made: tuple[ToolKind, str, bool]) -> Made:
    return made


EDIT: tuple[ToolKind, str, bool] = ("edit", "", False)


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (calls(("shell", "ls", False)), None),
        (calls(EDIT), MISSING),
        (calls(EDIT, ("shell", "ls", False)), MISSING),
        (calls(("shell", "make test", False), EDIT), MISSING),
        (calls(EDIT, ("shell", "cd src && CI=1 .venv/bin/pytest -q", False)), None),
        (calls(EDIT, ("shell", "echo pytest; make tests", False)), MISSING),
        (calls(EDIT, ("shell", "make test", True)), "The tests have failed when you last ran them."),
        (calls(EDIT, ("shell", "make test", True), ("shell", "make test | tail", False)), None),
        (calls(("write", "", True)), None),
    ],
)  # fmt: skip
def test_a_turn(reviewer: Path, made: Made, says: str | None) -> None:
    """Under a host; the calls of a child agent count, and the next turn begins anew."""

    async def turns() -> None:
        said = None
        with trio.fail_after(WAIT_S):
            async with PluginHost([reviewer]) as host, host.session() as session:
                async with session.turn("go") as turn, turn.subagent("help") as child:
                    for kind, command, fails in made:

                        async def run(_: dict[str, Any], fails: bool = fails) -> ToolResult:
                            return ToolResult(content="", is_error=fails)

                        await child.call_tool("t", {"command": command}, run=run, tool_kind=kind)
                    said = await turn.stop()
                assert (said or "").startswith(says or "")
                assert (said is None) == (says is None), said
                async with session.turn("go on") as turn:
                    assert await turn.stop() is None

    trio.run(turns)


@needs_proc
def test_an_interrupt(reviewer: Path, tmp_path: Path) -> None:
    async def interrupted() -> None:
        pid = tmp_path / "pid"
        spec = PluginSpec(reviewer, config={"checkers": {"slow": slow(pid)}})
        with trio.fail_after(WAIT_S):
            async with PluginHost([spec]) as host, host.session() as session:
                async with session.turn("go") as turn, trio.open_nursery() as nursery:
                    turn.last_assistant_message = block("slow", "x")
                    nursery.start_soon(turn.stop)
                    await until(pid.exists)
                    session.interrupt("user_stop")
                await until(lambda: not lives(int(pid.read_text())))
                async with session.turn("again") as turn:
                    assert await turn.stop() is None

    trio.run(interrupted)


def test_in_sliphook_run(reviewer: Path, tmp_path: Path) -> None:
    """A model that does not mend its answer is asked three times, and no more."""
    replies = tmp_path / "replies.json"
    replies.write_text(json.dumps({"replies": [{"text": block("json", "{")}] * 9}))
    words = ["go", "--model", str(replies), "--plugin", str(reviewer), "--json"]
    done = sliphook_run(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.stdout.count("The json block in line 2 of your answer is wrong") == 3
    assert said[-1]["outcome"] == "completed"


def test_the_end_of_the_agent(reviewer: Path) -> None:
    with Talk(reviewer) as talk:
        assert talk.process.stdin is not None
        talk.process.stdin.close()
        assert talk.process.wait(WAIT_S) == 0
    with Talk(reviewer) as talk:
        talk.process.send_signal(signal.SIGTERM)
        assert talk.process.wait(WAIT_S) == -signal.SIGTERM
