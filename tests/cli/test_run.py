"""`sliphook run` as a process: its stdout, its stderr, signals and its exit status."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from sliphook.agent.transcripts.store import Transcripts
from tests.agent.loopback import Answer, LoopbackServer, chunk, cut_in, one_call, text
from tests.free_ports import free_port
from tests.programs import Program, Workshop, case_of

from .conftest import UNHURRIED, WAIT_S

EXAMPLES = Path(__file__).parents[2] / "examples"

SILENT = Answer(["hold"])


class Ran:
    """One run of the command; everything is waited for at most `WAIT_S`."""

    def __init__(
        self, *args: str | Path, cwd: Path, program: Sequence[str], **environ: str
    ) -> None:
        command = [sys.executable, *program, "run", *map(str, args)]
        self.process = subprocess.Popen(
            command,
            cwd=cwd,
            env={**os.environ, **environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.out = ""
        self.err = ""

    def end(self) -> int:
        out, err = self.process.communicate(timeout=WAIT_S)
        self.out += (out or b"").decode()
        self.err += err.decode()
        return self.process.returncode

    def wait_for_line(self, begins: str) -> None:
        """Read stderr up to a line that begins so."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.err += line.decode()
            if line.decode().startswith(begins):
                return
        pytest.fail(f"no line {begins!r} in:\n{self.err}")

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate(timeout=WAIT_S)


class Runner:
    """Runs commands in an empty folder and leaves none behind."""

    def __init__(self, cwd: Path) -> None:
        self._cwd = cwd
        self._runs: list[Ran] = []

    def start(
        self, *args: str | Path, program: Sequence[str] = ("-m", "sliphook"), **environ: str
    ) -> Ran:
        self._runs.append(Ran(*args, cwd=self._cwd, program=program, **environ))
        return self._runs[-1]

    def __call__(self, *args: str | Path, **environ: str) -> tuple[int, str, str]:
        ran = self.start(*args, **environ)
        status = ran.end()
        return status, ran.out, ran.err

    def close(self) -> None:
        for run in self._runs:
            run.close()


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Runner]:
    runner = Runner(tmp_path)
    yield runner
    runner.close()


def stubborn(shop: Workshop) -> Program:
    """A plugin whose tool hangs, and that no SIGTERM, `exit` or end of input ends."""
    return shop.program(
        "stubborn",
        hears=["agent_loop_stopped", "turn_end", "session_end"],
        tools=["hang"],
        before="signal.signal(signal.SIGTERM, signal.SIG_IGN)\nrecord({'pid': os.getpid()})",
        on="return NOTHING",
        main="""
        try:
            serve()
        finally:
            while True: time.sleep(1)
        """,
    )


def pid_of(program: Program) -> int:
    pid: int = program.messages()[0]["pid"]
    return pid


def assert_gone(pid: int) -> None:
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)
    pytest.fail(f"the plugin {pid} still runs")


def test_without_options_it_greets(run: Runner) -> None:
    status, out, err = run("hello")
    assert (status, err) == (0, "")
    assert out == (
        "Hello. I am the scripted model: no network, no key, no ideas of my own. On offer: "
        "delegate; --plugin PATH adds more. "
        'Write `TOOL delegate {"goal": "..."}` and I call it.\n'
        "You said: hello\n"
    )


def test_a_script_with_a_tool_plugin_and_a_guard(run: Runner, tmp_path: Path) -> None:
    script = tmp_path / "replies.json"
    calls = [{"name": "weather", "arguments": {"city": "Bergen"}}]
    script.write_text(
        json.dumps({"replies": [{"text": "Let me look.", "calls": calls}, {"text": "Rain.\n"}]})
    )
    status, out, err = run(
        "weather?",
        "--model",
        script,
        "--plugin",
        EXAMPLES / "weather.py",
        "--plugin",
        EXAMPLES / "guard.sh",
    )
    assert (status, out) == (0, "Let me look.\nRain.\n")
    started, on_its_way, ended = err.splitlines()
    assert on_its_way == "progress: weather: asking the station in Bergen"
    assert started == 'tool: weather {"city":"Bergen"}'
    assert ended.startswith("ok: weather in ")
    assert ended.endswith('ms: {"city":"Bergen","days":1,"sky":"rain","celsius":11}')


def test_it_is_recorded(run: Runner, tmp_path: Path) -> None:
    assert run("TOOL x", XDG_DATA_HOME=str(tmp_path))[0] == 0
    with Transcripts.open(tmp_path / "sliphook" / "transcripts.db") as transcripts:
        [row] = transcripts.sessions()
    assert row.prompt == "TOOL x"
    assert row.platform == "cli"
    assert row.cwd == str(tmp_path)
    assert row.end_reason == "exit"
    assert row.messages == 4


def test_a_server_with_the_trace(run: Runner, tmp_path: Path) -> None:
    answers = (
        Answer(cut_in(one_call("call_1", "weather", '{"city":"Bergen"}'), 9)),
        Answer(cut_in(text("It ", "rains."), 9)),
    )
    with LoopbackServer(*answers) as server:
        options: list[str | Path] = [
            "--model",
            "m-1",
            "--base-url",
            server.base_url,
            "--trace",
            "--trace-file",
            tmp_path / "trace.jsonl",
        ]
        status, out, err = run(
            "weather?", *options, "--plugin", EXAMPLES / "weather.py", SLIPHOOK_API_KEY="sk-1"
        )
    assert (status, out) == (0, "It rains.\n")
    assert [request.headers["authorization"] for request in server.requests] == [
        "Bearer sk-1",
        "Bearer sk-1",
    ]
    assert "sk-1" not in err
    assert any("→ weather" in line and "tool/call" in line for line in err.splitlines())
    assert any("← weather" in line and "tool/call" in line for line in err.splitlines())
    traced = [json.loads(line) for line in (tmp_path / "trace.jsonl").read_text().splitlines()]
    assert any(record.get("method") == "tool/call" for record in traced)


def test_a_busy_server_is_asked_again(run: Runner) -> None:
    busy = Answer(
        [b'{"error":{"message":"slow down"}}'],
        status=429,
        content_type="application/json",
        headers={"Retry-After": "0.1"},
    )
    with LoopbackServer(busy, Answer([text("ok")])) as server:
        status, out, err = run("hello", "--model", "m-1", "--base-url", server.base_url)
    assert (status, out) == (0, "ok\n")
    assert err == "warning: the model server is busy (429: slow down); asking again in 0.1 s\n"


def settings_with(folder: Path, server: LoopbackServer) -> dict[str, str]:
    """The environment with a config.toml that has the server as the provider `local`."""
    (folder / "sliphook").mkdir()
    (folder / "sliphook" / "config.toml").write_text(
        f"""
        model = "local"
        [providers.local]
        base_url = "{server.base_url}"
        key_env = "LOCAL_KEY"
        model = "m-1"
        parameters = {{ temperature = 0.25 }}
        """
    )
    return {
        "XDG_CONFIG_HOME": str(folder),
        "LOCAL_KEY": "key-of-the-local-server",
        "OPENAI_API_KEY": "key-of-openai",
        "SLIPHOOK_API_KEY": "key-of-sliphook",
    }


def test_a_provider_of_the_settings_gets_its_key_and_its_parameters(
    run: Runner, tmp_path: Path
) -> None:
    with LoopbackServer(Answer([text("one")]), Answer([text("two")])) as server:
        environ = settings_with(tmp_path, server)
        assert run("hello", **environ) == (0, "one\n", "")
        assert run("hello", "--model", "local/m-2", **environ) == (0, "two\n", "")
    assert [request.body["model"] for request in server.requests] == ["m-1", "m-2"]
    for request in server.requests:
        assert request.body["temperature"] == 0.25
        assert request.headers["authorization"] == "Bearer key-of-the-local-server"
        assert "key-of-openai" not in str(request)
        assert "key-of-sliphook" not in str(request)


def test_the_models_are_listed_without_a_call(run: Runner, tmp_path: Path) -> None:
    with LoopbackServer() as server:
        environ = settings_with(tmp_path, server)
        status, out, err = run("/model", **environ)
        assert (status, err, server.requests) == (0, "", [])
        assert out.splitlines()[:2] == ["local/m-1 answers", f"local  m-1 at {server.base_url}"]
        status, out, err = run("/model m-2", **environ)
    assert (status, out) == (1, "")
    assert err == "sliphook: /model NAME is for a chat; here the option --model NAME says it\n"


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (
            Answer([b'{"error":{"message":"bad key"}}'], status=401),
            "refused the key (401: bad key); set SLIPHOOK_API_KEY or OPENAI_API_KEY",
        ),
        (Answer([b"{}"], status=404), "(404); check --model NAME and --base-url"),
        (
            Answer([b"<html>"], content_type="text/html"),
            "is no answer of a model (text/html); check --base-url",
        ),
        (
            Answer([chunk({"content": ""}), b'data: {"error":{"message":"no","code":400}}\n\n']),
            "failed while it answered: no",
        ),
    ],
)
def test_a_server_that_will_not_do_is_one_line(run: Runner, answer: Answer, says: str) -> None:
    with LoopbackServer(answer) as server:
        status, out, err = run(
            "hello",
            "--model",
            "m-1",
            "--base-url",
            server.base_url,
            "--plugin",
            EXAMPLES / "guard.py",
        )
    assert (status, out) == (1, "")
    [line] = err.splitlines()
    assert line.endswith(says)


@pytest.mark.parametrize(
    ("args", "status", "says"),
    [
        (
            ["--model", "none.json"],
            1,
            "none.json: cannot read the script (No such file or directory); check the path",
        ),
        (["--model", "broken.json"], 1, "broken.json: line 1, column 2: "),
        (["--model", "m-1"], 1, "needs a key: set SLIPHOOK_API_KEY or OPENAI_API_KEY"),
        (
            ["--model", "m-1", "--base-url", "http://127.0.0.1:1/v1"],
            1,
            "is it running, and is --base-url right?",
        ),
        (["--base-url", "http://127.0.0.1:1/v1"], 1, "is it running, and is --base-url right?"),
        (
            ["--model", "m-1", "--base-url", "nowhere"],
            1,
            "--base-url looks like http://127.0.0.1:8080/v1",
        ),
        (["--plugin", "none"], 1, "plugin none-plugin did not start: "),
        (
            ["--plugin", EXAMPLES / "guard.py", "--plugin", "broken.json"],
            1,
            "plugin broken did not start: broken.json is not executable",
        ),
        (["--trace-file", "no/such/folder"], 1, "cannot write the trace to no/such/folder"),
        (["--oops"], 2, "--oops"),
    ],
)
def test_what_cannot_work_is_one_line(
    run: Runner, tmp_path: Path, args: list[str | Path], status: int, says: str
) -> None:
    (tmp_path / "broken.json").write_text("{")
    ended, out, err = run("hello", *args)
    assert (ended, out) == (status, "")
    [line] = err.splitlines()
    assert says in line


@pytest.mark.parametrize(("prompt", "status"), [("", 2), (" \n", 2), ("\udcff", 1)])
def test_a_prompt_that_is_none(run: Runner, prompt: str, status: int) -> None:
    ended, out, err = run(prompt)
    assert ended == status
    assert out == ""
    assert len(err.splitlines()) == 1


def test_the_answers_reader_is_gone(run: Runner) -> None:
    ran = run.start("call nothing", "--plugin", EXAMPLES / "guard.sh")
    assert ran.process.stdout is not None
    ran.process.stdout.close()
    ran.process.stdout = None
    assert (ran.end(), ran.err) == (1, "")


def test_ctrl_c_interrupts_a_hanging_tool_and_a_second_one_leaves(
    run: Runner, shop: Workshop
) -> None:
    plugin = stubborn(shop)
    ran = run.start("TOOL hang", "--plugin", plugin.path, program=("-c", UNHURRIED))
    ran.wait_for_line("tool: hang")
    ran.process.send_signal(signal.SIGINT)
    ran.wait_for_line("warning: interrupted; once more to leave at once")
    deadline = time.monotonic() + WAIT_S
    # both events are written by now, but on a busy machine it reads them late
    while len(plugin.fired()) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    ran.process.send_signal(signal.SIGINT)
    assert ran.end() == 130
    assert "warning: leaving at once" in ran.err
    assert "Traceback" not in ran.err
    assert_gone(pid_of(plugin))
    # what comes after these two may be lost to a plugin that was killed
    assert plugin.names()[:2] == ["agent_loop_stopped", "turn_end"]
    (stopped,) = plugin.params("event/agent_loop_stopped")
    assert stopped["reason"] == "signal"
    assert stopped["invalidation_reason"] == "sigint"
    (ended,) = plugin.params("event/turn_end")
    assert ended["outcome"] == "interrupted"


DEAF = f"""#!{sys.executable}
import threading
from sliphook_sdk import Plugin

plugin = Plugin("ops")

@plugin.tool
def deploy(*, ctx) -> str:
    ctx.progress("begun")
    threading.Event().wait()

plugin.run()
"""


def test_a_tool_of_the_sdk_that_does_not_look_is_not_called_cancelled(
    run: Runner, tmp_path: Path
) -> None:
    """The session ends with the signal, and the process with its threads."""
    plugin = tmp_path / "ops"
    plugin.write_text(DEAF)
    plugin.chmod(0o755)
    ran = run.start("TOOL deploy", "--plugin", plugin)
    ran.wait_for_line("progress: ops: begun")
    ran.process.send_signal(signal.SIGINT)
    assert ran.end() == 130
    lines = ran.err.splitlines()
    assert "told to stop: deploy" in lines
    assert (
        "warning: ops: ops ended while the tool deploy still ran: killed; the work may be half done;"
        " its log: sliphook logs ops"
    ) in lines
    assert "cancelled" not in ran.err


@pytest.mark.parametrize(
    ("number", "status", "word"), [(signal.SIGINT, 130, "sigint"), (signal.SIGTERM, 143, "sigterm")]
)
def test_one_signal_ends_it_in_time_even_with_a_stubborn_plugin(
    run: Runner, shop: Workshop, number: int, status: int, word: str
) -> None:
    plugin = stubborn(shop)
    with LoopbackServer(SILENT) as server:
        ran = run.start(
            "hello", "--model", "m-1", "--base-url", server.base_url, "--plugin", plugin.path
        )
        deadline = time.monotonic() + WAIT_S
        while not server.requests and time.monotonic() < deadline:
            time.sleep(0.01)
        began = time.monotonic()
        ran.process.send_signal(number)
        assert ran.end() == status
        assert time.monotonic() - began < 60  # the server says nothing for five minutes
        assert server.client_left.wait(120)
    assert_gone(pid_of(plugin))
    first, *_, last = plugin.fired()
    assert first["method"] == "event/agent_loop_stopped"
    assert first["params"]["reason"] == "signal"
    assert first["params"]["invalidation_reason"] == word
    assert last["method"] == "event/session_end"
    assert last["params"]["reason"] == "signal"


def test_ctrl_c_while_a_plugin_starts(run: Runner, tmp_path: Path) -> None:
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\ntouch here\nexec sleep 60\n")
    slow.chmod(0o755)
    ran = run.start("hello", "--plugin", slow, XDG_DATA_HOME=str(tmp_path))
    deadline = time.monotonic() + WAIT_S
    while not list(tmp_path.rglob("here")) and time.monotonic() < deadline:
        time.sleep(0.01)
    ran.process.send_signal(signal.SIGINT)
    assert ran.end() == 130
    assert "Traceback" not in ran.err


def test_progress_is_told_in_a_pipe_but_seldom(run: Runner, shop: Workshop) -> None:
    walks = r"""
    for step in range(30):
        progress = {"id": id, "fraction": step / 30, "message": "on\x1b[2J"}
        send(method="$/progress", params=progress)
    return {"content": "there"}
    """
    far = shop.program("far", tools=["go"], on=case_of("tool/call", walks))
    status, _, err = run("TOOL go", "--plugin", far.path)
    assert status == 0
    assert [line for line in err.splitlines() if line.startswith("progress:")] == [
        "progress: far: 0% on\\x1b[2J"
    ]


def test_who_keeps_the_turn_going_is_shown_and_that_it_ends(run: Runner, shop: Workshop) -> None:
    eager = shop.program(
        "eager",
        hears=["stop"],
        on=case_of("hook/stop", "return {'continue_with': 'run the tests\\x1b[31m'}"),
    )
    other = shop.program("other", hears=["notification"])
    status, _, err = run("hello", "--plugin", eager.path, "--plugin", other.path)
    assert status == 0
    assert err.splitlines() == [
        *["info: eager goes on: run the tests\\x1b[31m"] * 8,
        "warning: eager: eager asks to go on for the 9th time in this turn; the turn ends;"
        " its log: sliphook logs eager",
    ]
    assert [alert["source"] for alert in other.params("event/notification")] == ["host"]


STARTS_A_SERVER = """
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Server(BaseHTTPRequestHandler):
    def do_GET(self):
        self.say(json.dumps({"data": [{"id": "m-7"}]}))

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = {"role": "assistant", "content": "I am " + asked["model"]}
        self.say(json.dumps({"choices": [{"message": answer, "finish_reason": "stop"}]}))

    def say(self, text):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_): pass
"""


def test_a_plugin_starts_the_server_that_is_then_asked_for_its_model(
    run: Runner, shop: Workshop
) -> None:
    port = free_port()
    starts = f"server = ThreadingHTTPServer(('127.0.0.1', {port}), Server)\n"
    starts += "threading.Thread(target=server.serve_forever, daemon=True).start()"
    plugin = shop.program(
        "starter",
        hears=["session_start", "pre_llm_call", "post_llm_call"],
        before=STARTS_A_SERVER,
        on=case_of("hook/pre_llm_call", starts),
    )
    url = f"http://127.0.0.1:{port}/v1"
    status, out, err = run("hello", "--base-url", url, "--plugin", plugin.path)
    assert (status, out, err) == (0, "I am m-7\n", "")
    assert plugin.params("hook/session_start")[0]["model"] is None
    assert plugin.params("hook/pre_llm_call")[0]["model"] is None
    assert plugin.params("event/post_llm_call")[0]["model"] == "m-7"


def test_the_scripted_model_shows_every_context(run: Runner, shop: Workshop) -> None:
    plugin = shop.program(
        "ctx",
        hears=["session_start", "user_prompt_submit", "pre_llm_call"],
        on="if method.startswith('hook/'): return {'context': [method]}",
    )
    status, out, err = run("hello", "--plugin", plugin.path)
    assert (status, err) == (0, "")
    assert out.splitlines()[1:] == [
        "My system text: [ctx] hook/session_start",
        "You said: hello",
        "",
        "[ctx] hook/user_prompt_submit",
        "",
        "[ctx] hook/pre_llm_call",
    ]


def test_a_live_trace_is_in_the_order_of_the_agents_lines(shop: Workshop, run: Runner) -> None:
    plugin = shop.program("weather", tools=["use"])
    status, _, err = run("TOOL use", "--plugin", plugin.path, "--trace")
    assert status == 0
    lines = err.splitlines()
    [called] = [at for at, line in enumerate(lines) if "→ weather      tool/call" in line]
    [answered] = [at for at, line in enumerate(lines) if "← weather      tool/call" in line]
    assert lines.index("tool: use {}") < called < answered
    [told] = [at for at, line in enumerate(lines) if line.startswith("ok: use in ")]
    assert answered < told < len(lines) - 1


def test_a_live_filter_that_fits_nothing_is_told(shop: Workshop, run: Runner) -> None:
    plugin = shop.program("weather", tools=["use"])
    status, _, err = run("TOOL use", "--plugin", plugin.path, "--trace-filter", "plugin=wether")
    assert status == 0
    assert "nothing fits the filter: no plugin is wether; did you mean weather?\n" in err
