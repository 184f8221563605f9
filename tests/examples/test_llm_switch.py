"""examples/llm-switch: real servers with llama.cpp's command line, under a real host."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from sliphook import PluginHost, PluginSpec, Session, Turn
from sliphook.check import check_plugin
from sliphook.session.results import LlmGate
from sliphook_sdk.protocol import ModelRoute
from tests.agent.loopback import LoopbackServer
from tests.free_ports import free_port
from tests.programs import WAIT_S, until, whole_lines
from tests.stubborn import executable, lives, needs_proc

from .whole_agent import model_says, sliphook_run

PLUGIN = Path(__file__).resolve().parents[2] / "examples" / "llm-switch" / "llm_switch.py"
SERVER = Path(__file__).with_name("llama_server.py")

pytestmark = needs_proc


class Box:
    """A folder with models, how their servers behave, and what those have done."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.yaml = folder / "models.yaml"
        executable(folder / "llama-server", f'#!/bin/sh\nexec {sys.executable} {SERVER} "$@"\n')
        self._said: dict[str, str] = {}

    def model(self, name: str, settings: str = "", **behaves: Any) -> None:
        """Declare a model; for `behaves` see tests/examples/llama_server.py."""
        (self.folder / f"{name}.gguf").write_text(json.dumps(behaves))
        self._said[name] = f"{{file: {name}.gguf, port: {self.port}, {settings}}}"
        models = "".join(f"\n  {name}: {said}" for name, said in self._said.items())
        self.yaml.write_text(f"binary: ./llama-server\nmodels:{models}\n")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def done(self) -> list[str]:
        """What the servers have noted, without their process ids."""
        return [line.partition(" ")[2] for line in self._lines()]

    def started(self) -> list[int]:
        """The process ids of all servers that were started."""
        return [int(line.split()[0]) for line in self._lines() if line.split()[2] == "started"]

    async def all_end(self) -> None:
        await until(lambda: not any(map(lives, self.started())))

    def _lines(self) -> list[str]:
        return whole_lines(self.folder / "served.log")

    def words(self, *args: str) -> list[str]:
        """The arguments of `sliphook run` with the plugin."""
        plugin = ("--plugin", str(PLUGIN), "--config", f"models={self.yaml}")
        return [*args, "--base-url", self.url, *plugin]

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        return sliphook_run(*self.words(*args), cwd=self.folder)


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path)


class Agent:
    """A host with the plugin, and what the user is shown."""

    def __init__(self, box: Box) -> None:
        self.alerts: list[str] = []
        self.progress: list[str | None] = []
        spec = PluginSpec(PLUGIN, name="llm-switch", config={"models": str(box.yaml)})
        self.host = PluginHost(
            [spec],
            data_home=box.folder / "data",
            on_notify=lambda _, __, text: self.alerts.append(text),
            on_progress=lambda progress: self.progress.append(progress.message),
        )

    @property
    def pid(self) -> int:
        pid = self.host.plugins[0].pid
        assert pid is not None
        return pid

    @property
    def session(self) -> Session:
        return self.host.session(model="qwen")


@asynccontextmanager
async def agent(box: Box) -> AsyncGenerator[Agent]:
    here = Agent(box)
    with trio.fail_after(WAIT_S):
        async with here.host:
            assert [plugin.state for plugin in here.host.plugins] == ["ready"]
            yield here


async def ask(turn: Turn, model: str) -> LlmGate:
    """What becomes of a model call, before it is made."""
    return await turn.pre_llm_call(
        provider="openai",
        model=model,
        messages=[],
        tools=[],
        route=ModelRoute(provider="openai", base_url="https://api.openai.com/v1", api="openai"),
    )


def answered(turn: Turn) -> None:
    model_says(turn, "hello")


def local_models() -> Any:
    """The module of the example that reads models.yaml."""
    path = PLUGIN.with_name("local_models.py")
    spec = importlib.util.spec_from_file_location("llm_switch_local_models", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_whole_turn_is_answered_by_the_server_that_was_started(box: Box) -> None:
    settings = (
        "context: 4096, gpu_layers: 9, sampling: {temp: 0.5, top_k: 20}, options: [--top-p, '0.9']"
    )
    box.model("qwen", settings, load_s=3, answer="I am local.")
    ran = box.run("hello", "--model", "qwen")
    assert (ran.returncode, ran.stdout) == (0, "I am local. \n"), ran.stderr
    assert re.search(
        r"^progress: llm-switch: qwen (starts|loads), \d+ s$", ran.stderr, re.MULTILINE
    )
    words = f"--host 127.0.0.1 --port {box.port} -c 4096 -ngl 9 --temp 0.5 --top-k 20 --top-p 0.9"
    assert box.done() == [f"qwen started {words}", "qwen asked qwen"]
    assert not any(map(lives, box.started()))


def test_the_model_switches_to_another_one(box: Box) -> None:
    box.model("qwen")
    box.model("coder", answer="I code.")
    ran = box.run('TOOL switch_local_llm {"model": "coder"}', "--model", "qwen")
    assert (ran.returncode, ran.stdout) == (0, "I code. \n"), ran.stderr
    assert "coder answers from the next model call on" in ran.stderr
    where = f"--host 127.0.0.1 --port {box.port}"
    assert box.done() == [
        f"qwen started {where}",
        "qwen asked qwen",
        f"coder started {where}",
        "coder asked coder",
    ]
    assert not any(map(lives, box.started()))


def test_a_server_that_does_not_come_up_is_told(box: Box) -> None:
    box.model("qwen", dies="error: out of memory\nllama_init: failed\x1b[2J")
    ran = box.run("hello", "--model", "qwen")
    assert (ran.returncode, ran.stdout) == (1, "")
    said = "the server of qwen does not come up: it ended with status 1; its log ends:"
    log = f"llama_model_loader: loading {box.folder}/qwen.gguf | error: out of memory"
    assert f"error: llm-switch: {said} {log} | llama_init: failed\\x1b[2J\n" in ran.stderr
    assert "denied: the model call: llm-switch: the server of qwen does not come up\n" in ran.stderr


async def test_servers_that_do_not_come_up(box: Box) -> None:
    box.model("slow", "wait_s: 10", load_s=1000)
    box.model("missing", "binary: ./nothing")
    box.model("nul", 'options: ["\\0"]')
    box.model("wrong", "options: [--no-such-option]")
    box.model("good")
    async with agent(box) as here, here.session as session, session.turn("hello") as turn:
        reasons = {
            name: (await ask(turn, name)).reason
            for name in ("slow", "missing", "nul", "wrong", "good")
        }
        tool = await turn.call_tool("switch_local_llm", {"model": "missing"})
        unknown = await turn.call_tool("switch_local_llm", {"model": "else"})
        cannot = "llm-switch: the server of"
        slow = re.sub(r"\d+ s", "N s", reasons.pop("slow") or "")
        assert slow == "llm-switch: slow is not served after N s: slow loads"
        assert reasons == {
            "missing": f"{cannot} missing cannot be started: [Errno 2] No such file or directory:"
            f" '{box.folder}/nothing'",
            "nul": f"{cannot} nul cannot be started: embedded null byte",
            "wrong": f"{cannot} wrong does not come up",
            "good": "",
        }
        assert "status 2; its log ends: " in here.alerts[3]
        assert "unrecognized arguments: --no-such-option" in here.alerts[3]
        assert tool.status == "error"
        assert unknown.text() == "there is no model else; there are slow, missing, nul, wrong, good"
        (offer,) = here.host.tools()
        assert offer.description.endswith("There are: slow, missing, nul, wrong, good.")
    assert not any(map(lives, box.started()))
    assert "TWO AT ONCE" not in "".join(box.done())


async def test_a_port_that_another_program_has(box: Box) -> None:
    with LoopbackServer() as other:
        box.port = int(other.base_url.rpartition(":")[2].partition("/")[0])
        box.model("qwen")
        async with agent(box) as here, here.session as session, session.turn("hello") as turn:
            gate = await ask(turn, "qwen")
            assert (
                gate.reason == f"llm-switch: qwen needs port {box.port}, which another program has"
            )
    assert box.started() == []


async def test_a_script_that_leaves_its_server_behind(box: Box) -> None:
    executable(box.folder / "script", f'#!/bin/sh\n{box.folder}/llama-server "$@"\n')
    box.model("left", "binary: ./script")
    box.model("qwen")
    async with agent(box) as here, here.session as session, session.turn("hello") as turn:
        assert not (await ask(turn, "left")).denied
        answered(turn)
        gate = await ask(turn, "qwen")
        assert gate.reason == (
            "llm-switch: what the server of left has started still runs; if its binary is a script,"
            " let that exec the server"
        )
        assert len(box.started()) == 1
    await box.all_end()


@pytest.mark.skipif(sys.platform != "linux", reason="the system ends it on Linux alone")
async def test_no_server_outlives_the_host_and_the_plugin_and_the_reaper(box: Box) -> None:
    box.model("qwen", word_s=1000, holds=True)
    with trio.fail_after(WAIT_S):
        async with trio.open_nursery() as nursery:
            process = await running(nursery, box)
            for pid in [process.pid, *children(process.pid)]:
                os.kill(pid, signal.SIGKILL)
        await box.all_end()


async def test_an_interrupt_in_the_middle_of_a_start_ends_the_server(box: Box) -> None:
    box.model("qwen", load_s=1000)
    box.model("coder")
    async with agent(box) as here, here.session as session:
        async with session.turn("hello") as turn, trio.open_nursery() as nursery:
            nursery.start_soon(ask, turn, "qwen")
            await until(lambda: any("qwen loads" in str(text) for text in here.progress))
            session.interrupt("user_stop")
        await box.all_end()
        async with session.turn("hello") as turn:
            assert not (await ask(turn, "coder")).denied
    assert "TWO AT ONCE" not in "".join(box.done())
    assert here.alerts == []


@pytest.mark.parametrize("load_s", [0, 1000])
async def test_no_server_outlives_a_killed_plugin(box: Box, load_s: float) -> None:
    box.model("qwen", load_s=load_s, holds=True)
    async with agent(box) as here, here.session as session:
        killed = here.pid
        async with session.turn("hello") as turn, trio.open_nursery() as nursery:
            nursery.start_soon(ask, turn, "qwen")
            await until(lambda: len(box.started()) == 1)
            os.kill(killed, signal.SIGKILL)
            await box.all_end()
        # the host may not know yet that the old one is dead
        await until(lambda: here.host.plugins[0].pid not in (killed, None))
        await until(lambda: here.host.plugins[0].state == "ready")
        box.model("qwen", load_s=0)
        async with session.turn("again") as turn:
            assert not (await ask(turn, "qwen")).denied
            assert len(box.started()) == 2
    assert "TWO AT ONCE" not in "".join(box.done())


async def running(nursery: trio.Nursery, box: Box) -> trio.Process:
    """`sliphook run` in the middle of an answer."""
    process: trio.Process = await nursery.start(
        partial(
            trio.run_process,
            [sys.executable, "-m", "sliphook", "run", *box.words("hello", "--model", "qwen")],
            cwd=box.folder,
            capture_stdout=True,
            capture_stderr=True,
            check=False,
        )
    )
    await until(lambda: "qwen asked qwen" in box.done())
    return process


def children(pid: int) -> list[int]:
    """The plugin and the reaper of a host."""
    listing = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True
    ).stdout
    rows = (line.split() for line in listing.splitlines())
    return [int(child) for child, parent in rows if int(parent) == pid]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
async def test_no_server_outlives_its_agent(box: Box, how: signal.Signals) -> None:
    box.model("qwen", word_s=1000, holds=True)
    with trio.fail_after(WAIT_S):
        async with trio.open_nursery() as nursery:
            process = await running(nursery, box)
            process.send_signal(how)
        await box.all_end()


async def test_the_server_ends_with_the_last_session_that_used_it(box: Box) -> None:
    box.model("qwen")
    async with agent(box) as here:
        async with here.session as first:
            async with here.session as second:
                for session in (first, second):
                    async with session.turn("hello") as turn:
                        await ask(turn, "qwen")
            (pid,) = box.started()
            async with first.turn("hello") as turn:
                await ask(turn, "qwen")
            assert lives(pid)
            first.end("reset")  # as at /new: the next one goes on with the same server
        async with here.session as third, third.turn("hello") as turn:
            await ask(turn, "qwen")
        await box.all_end()
        assert here.host.plugins[0].state == "ready"
    assert box.started() == [pid]


async def test_a_swap_waits_for_the_answer_to_another_conversation(box: Box) -> None:
    box.model("qwen", holds=True)
    box.model("coder")
    gates: list[LlmGate] = []
    async with (
        agent(box) as here,
        here.session as first,
        here.session as second,
        first.turn("hello") as mine,
        second.turn("hello") as theirs,
    ):
        await ask(mine, "qwen")

        async def swap() -> None:
            gates.append(await ask(theirs, "coder"))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(swap)
            await until(lambda: "qwen answers another call" in here.progress)
            assert lives(box.started()[0])
            answered(mine)
        assert gates[0].route == ModelRoute(base_url=box.url, api="openai")
        answered(theirs)
        async with trio.open_nursery() as nursery:  # and now back, both at once
            nursery.start_soon(ask, mine, "qwen")
            nursery.start_soon(ask, theirs, "qwen")
    assert len(box.started()) == 3
    assert "TWO AT ONCE" not in "".join(box.done())


async def test_another_agent_shares_the_server_or_waits_for_it(box: Box) -> None:
    box.model("qwen")
    box.model("coder")
    async with agent(box) as there, there.session as theirs:
        async with agent(box) as here:
            async with here.session as session, session.turn("hello") as turn:
                await ask(turn, "qwen")
                async with theirs.turn("hello") as other:
                    assert not (await ask(other, "qwen")).denied
                assert len(box.started()) == 1
            async with (
                here.session as session,
                session.turn("hello") as turn,
                theirs.turn("hello") as other,
                trio.open_nursery() as nursery,
            ):
                await ask(turn, "qwen")
                nursery.start_soon(ask, other, "coder")
                waits = f"qwen is served for another agent, process {here.pid}, "
                await until(lambda: any((said or "").startswith(waits) for said in there.progress))
                here.host.kill()
        await until(lambda: len(box.started()) == 3)
    assert "TWO AT ONCE" not in "".join(box.done())
    assert there.alerts == []


async def test_a_server_that_was_killed_is_started_again(box: Box) -> None:
    box.model("qwen")
    async with agent(box) as here, here.session as session, session.turn("hello") as turn:
        await ask(turn, "qwen")
        os.kill(box.started()[0], signal.SIGKILL)
        await until(lambda: not lives(box.started()[0]))
        assert not (await ask(turn, "qwen")).denied
        assert len(box.started()) == 2


async def test_what_the_tool_has_chosen_counts_until_the_user_takes_another(box: Box) -> None:
    box.model("qwen")
    box.model("coder")
    async with agent(box) as here, here.session as session, session.turn("hello") as turn:
        models: list[str | None] = [(await ask(turn, "large")).model]
        answered(turn)
        await turn.call_tool("switch_local_llm", {"model": "coder"})
        for name in ("large", "large", "other", "large", "qwen"):
            gate = await ask(turn, name)
            models.append(gate.model)
            answered(turn)
        assert models == ["large", "coder", "coder", "other", "large", "qwen"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "cannot be read: No such file or directory"),
        ("models: [", "models.yaml: while parsing a flow node"),
        ("models: {}", "Expected `object` of length >= 1 - at `$.models`"),
        ("models: {a: {}}", "Object missing required field `file` - at `$.models[...]`"),
        ("models: {a: {file: a, port: 70000}}", "Expected `int` <= 65535"),
        ("models: {a: {file: a, contxt: 1}}", "Object contains unknown field `contxt`"),
        ("models: {a: {file: a, sampling: {temp: hot}}}", "Expected `float | null`, got `str`"),
        ("\0", "models.yaml: "),
        ("[" * 5000, "models.yaml: "),
    ],
)
def test_a_file_of_models_that_is_wrong(box: Box, text: str | None, why: str) -> None:
    if text is not None:
        box.yaml.write_text(text)
    with pytest.raises(Exception, match=re.escape(why)) as caught:
        local_models().Models(str(box.yaml))
    assert type(caught.value).__name__ == "ModelsError"
    assert str(box.yaml) in str(caught.value)


async def test_without_models_it_is_left_out_and_says_why(box: Box) -> None:
    problems: list[str] = []
    spec = PluginSpec(PLUGIN, config={"models": str(box.yaml)})
    with trio.fail_after(WAIT_S):
        async with PluginHost([spec], on_problem=lambda _, text: problems.append(text)) as host:
            assert [plugin.state for plugin in host.plugins] == ["self_disabled"]
    assert f"{box.yaml} cannot be read: No such file or directory" in problems[0]


async def test_it_keeps_to_the_protocol(box: Box) -> None:
    box.model("qwen3")
    spec = PluginSpec(PLUGIN, config={"models": str(box.yaml)})
    with trio.fail_after(WAIT_S):
        for plugin in (spec, PluginSpec(PLUGIN)):  # with models, and as `sliphook check` starts it
            report = await check_plugin(plugin)
            assert [one for one in report.findings if one.verdict in ("failed", "warned")] == []
