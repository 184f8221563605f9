"""`sliphook chat` without a terminal: a clock that jumps, plugins in memory, lines from a pipe."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from sliphook.agent.transcripts.store import Transcripts
from sliphook.agent.ui.display import LineDisplay
from sliphook.agent.ui.filling import Question
from sliphook.cli.chat import conversation
from sliphook.cli.chat.frontend import Listener
from sliphook.cli.chosen_plugins import Chosen
from sliphook.cli.main import main
from sliphook.cli.run.memory import Memory
from sliphook.cli.run.setup import Setup
from sliphook.settings import Settings
from sliphook.testing import FakePlugin, HostRefused
from sliphook.trace.record import TraceSink
from tests.agent.chat.at_work import everything, story
from tests.agent.loopback import Answer, LoopbackServer, text
from tests.programs import Workshop

WAIT_S = 120.0

HELP = """\
/help            these commands
/stop            interrupt the turn, and drop the messages that wait
/new             begin a new session, which remembers nothing of this one
/reset           the same as /new
/plugins         the plugins, and how they are
/model           the models, and which one answers; /model NAME takes another
/plugins reload  take up what was installed, removed or changed
/quit            leave
/exit            the same as /quit
"""


class Shown(LineDisplay):
    """Keeps every line."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def text(self, delta: str) -> None:
        self.lines.append(delta)

    def text_end(self) -> None:
        pass

    def _line(self, mark: str, text: str) -> None:
        self.lines.append(f"{mark}: {text}")


class FakeFace:
    """A person who does what the test says."""

    asks = True
    write: Callable[[str], object] | None = None

    def __init__(self) -> None:
        self.display = Shown()
        self.said: list[str] = []
        self.questions: list[Question | None] = []
        self.busy: list[bool] = []
        self.commands: Mapping[str, str] = {}
        self.emptied = 0
        self.fault: Exception | None = None
        self.listener: Listener | None = None
        self._talks = trio.Event()
        self._fails = trio.Event()

    async def talk(self, listener: Listener) -> None:
        self.listener = listener
        self._talks.set()
        await self._fails.wait()
        assert self.fault is not None
        raise self.fault

    async def person(self) -> Listener:
        await self._talks.wait()
        assert self.listener is not None
        return self.listener

    def fail(self, fault: Exception) -> None:
        self.fault = fault
        self._fails.set()

    def follow(self, trace: TraceSink | None) -> None:
        assert trace is None

    def say(self, text: str) -> None:
        self.said.append(text)

    def ask(self, question: Question | None) -> None:
        self.questions.append(question)

    def working(self, busy: bool) -> None:
        self.busy.append(busy)

    def progress(self, line: str) -> None:
        self.display.lines.append(line)

    def offer(self, commands: Mapping[str, str]) -> None:
        self.commands = commands

    def forget_typed(self) -> None:
        self.emptied += 1


class Run:
    """One chat in a task; `status` when it has ended."""

    def __init__(
        self, plugin: FakePlugin, face: FakeFace, resume: str | None, settings: Settings
    ) -> None:
        self.plugin = plugin
        self.face = face
        self.status: int | None = None
        self._resume = resume
        self._settings = settings

    async def __call__(self) -> None:
        with Memory(self._resume, self.face.display.lines.append) as memory:
            setup = Setup(None, None, Chosen((), (self.plugin,), 0, ()), self._settings)
            self.status = await conversation.chat(setup, self.face, memory, None)


@asynccontextmanager
async def chatting(
    plugin: FakePlugin | None = None,
    resume: str | None = None,
    *,
    settings: Settings | None = None,
) -> AsyncGenerator[tuple[Run, Listener]]:
    face = FakeFace()
    run = Run(plugin or everything(), face, resume, settings or Settings())
    with trio.fail_after(WAIT_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run)
            yield run, await face.person()


@pytest.fixture(autouse=True)
def _nothing_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The transcripts' thread knows no clock that jumps.

    A file in the folder's place keeps it away.
    """
    (tmp_path / "no-folder").touch()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "no-folder"))


async def test_ctrl_c_at_the_empty_prompt_leaves(autojump_clock: MockClock) -> None:
    async with chatting() as (run, person):
        person.ctrl_c(typed=False)
    assert run.status == 130
    assert story(run.plugin) == ["session_start startup", "session_end signal 0"]


async def test_ctrl_c_empties_the_prompt_first(autojump_clock: MockClock) -> None:
    async with chatting() as (run, person):
        person.ctrl_c(typed=True)
        assert (run.face.emptied, run.status) == (1, None)
        person.ctrl_c(typed=False)
    assert run.status == 130


@pytest.mark.parametrize(("after_s", "leaves"), [(1.9, True), (2.1, False)])
async def test_ctrl_c_again(autojump_clock: MockClock, after_s: float, leaves: bool) -> None:
    async with chatting() as (run, person):
        person.line("TOOL hang")
        await run.plugin.hears("tool/call")
        person.line("waits")
        person.ctrl_c(typed=True)
        assert run.face.said[1:] == [
            "stopped; 1 message that waited was dropped; Ctrl+C once more leaves at once"
        ]
        await trio.sleep(after_s)
        person.ctrl_c(typed=True)
        assert run.face.emptied == (0 if leaves else 1)
        if not leaves:
            person.end()
    assert run.status == (130 if leaves else 0)
    assert story(run.plugin)[4:] == [
        "agent_loop_stopped signal sigint",
        "post_tool_call cancelled",
        "turn_end interrupted",
        f"session_end {'signal' if leaves else 'exit'} 1",
    ]


@pytest.mark.parametrize("word", ["/quit", "/exit", " /quit "])
async def test_leaving_by_a_word_interrupts_what_is_under_way(
    autojump_clock: MockClock, word: str
) -> None:
    async with chatting() as (run, person):
        person.line("TOOL hang")
        await run.plugin.hears("tool/call")
        assert person.line(word) is None
        assert person.line("too late") is None
    assert run.status == 0
    assert story(run.plugin)[-2:] == ["turn_end interrupted", "session_end exit 1"]


async def test_a_terminal_that_is_gone(autojump_clock: MockClock) -> None:
    async with chatting() as (run, person):
        person.line("TOOL hang")
        await run.plugin.hears("tool/call")
        person.gone()
    assert run.status == 129
    assert story(run.plugin)[4:] == [
        "agent_loop_stopped signal sighup",
        "post_tool_call cancelled",
        "turn_end interrupted",
        "session_end signal 1",
    ]


async def test_a_fault_of_the_program_is_told_as_one(autojump_clock: MockClock) -> None:
    plugin = everything()

    async def fails() -> None:
        async with chatting(plugin) as (run, person):
            person.line("TOOL hang")
            await plugin.hears("tool/call")
            run.face.fail(ZeroDivisionError("a fault"))

    with pytest.raises(BaseExceptionGroup) as caught:
        await fails()
    assert [repr(error) for error in caught.value.exceptions] == ["ZeroDivisionError('a fault')"]
    assert story(plugin)[-2:] == ["turn_end interrupted", "session_end error 1"]


async def test_commands_progress_and_questions_reach_the_face(autojump_clock: MockClock) -> None:
    plugin = everything(hooks={"pre_tool_call": {"decision": "ask", "reason": "why"}})
    async with chatting(plugin) as (run, person):
        assert list(run.face.commands) == [
            "help",
            "stop",
            "new",
            "reset",
            "plugins",
            "model",
            "quit",
            "exit",
            "deploys",
            "hang",
        ]
        command = person.line("/deploys")
        assert command is not None
        await command.wait()
        turn = person.line("TOOL slow")
        await plugin.hears("user_input_required")
        person.line("y")
        await plugin.hears("tool/call")
        calls = [message.id for message in plugin.received if message.method == "tool/call"]
        await plugin.tell("$/progress", id=calls[0], message="half\x1b[2J", fraction=0.5)
        assert turn is not None
        assert (await turn.wait()).outcome == "completed"
        await trio.testing.wait_all_tasks_blocked()
        assert (run.face.busy[0], run.face.busy[-1]) == (True, False)
        person.end()
    assert run.face.said == [
        "model: scripted; plugins: 1 ready; /help lists the commands",
        "deployed",
    ]
    assert [question and question.text() for question in run.face.questions] == [
        "slow {}\nprobe: why\nRun slow? [y/N]",
        None,
    ]
    assert "probe: 50% half\\x1b[2J" in run.face.display.lines


async def test_what_was_said_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    async with chatting() as (first, person):
        message = person.line("remember me")
        assert message is not None
        await message.wait()
        person.end()
    async with chatting(resume="") as (again, person):
        message = person.line("who am I?")
        assert message is not None
        await message.wait()
        person.end()
    (old,), (new,) = first.plugin.payloads("session_start"), again.plugin.payloads("session_start")
    assert old.source == "startup"
    assert new.source == "resume"
    assert new.session_id == old.session_id
    (call,) = again.plugin.payloads("user_prompt_submit")
    assert call.text == "who am I?"
    *begins, last = again.face.said
    assert begins == [
        "model: scripted; plugins: 1 ready; /help lists the commands",
        "going on after 2 messages; it began with: remember me",
    ]
    assert last.startswith("› remember me\nHello. I am the scripted model")


async def test_without_transcripts_it_says_so_and_goes_on(autojump_clock: MockClock) -> None:
    async with chatting() as (run, person):
        message = person.line("hello")
        assert message is not None
        assert (await message.wait()).outcome == "completed"
        person.end()
    assert "no-folder" in run.face.display.lines[0]


def chat(*args: str, lines: str, cwd: Path) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "sliphook", "chat", *args],
        input=lines,
        env={**os.environ, "XDG_DATA_HOME": str(cwd)},
        cwd=cwd,
        capture_output=True,
        timeout=WAIT_S,
        check=False,
        text=True,
    )
    return done.returncode, done.stdout, done.stderr


def test_another_model_is_taken_and_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "sliphook").mkdir()
    with LoopbackServer(Answer([text("from the server")])) as server:
        (tmp_path / "sliphook" / "config.toml").write_text(
            f'[providers.local]\nbase_url = "{server.base_url}"\nmodel = "m-1"'
        )
        lines = "hello\n/model local\nhello again\n/model\n"
        status, out, err = chat(lines=lines, cwd=tmp_path)
    assert (status, err) == (0, "")
    assert out.splitlines()[-6:] == [
        "You said: hello",
        f"local/m-1 at {server.base_url} answers from the next model call on",
        "from the server",
        "local/m-1 answers",
        f"local  m-1 at {server.base_url}",
        "/model NAME takes one of these, /model NAME/MODEL another model there",
    ]
    (request,) = server.requests
    # the new model reads what was said before
    assert [message["role"] for message in request.body["messages"]] == [
        "user",
        "assistant",
        "user",
    ]
    with Transcripts.open(tmp_path / "sliphook" / "transcripts.db") as transcripts:
        (row,) = transcripts.sessions()
    assert row.model == "local/m-1"


def test_lines_of_a_pipe_are_messages_one_after_the_other(tmp_path: Path) -> None:
    script = tmp_path / "replies.json"
    calls = [{"name": "nothing"}]
    script.write_text(
        json.dumps(
            {
                "replies": [
                    {"text": "one\n", "over_s": 0.2},
                    {"calls": calls},
                    {"text": "two"},
                    {"text": "three"},
                ]
            }
        )
    )
    status, out, err = chat("--model", str(script), lines="a\n\n/plugins\nb\n/new\nc", cwd=tmp_path)
    assert (status, out) == (0, "one\nthere are no plugins\ntwo\na new session\nthree\n")
    assert err.splitlines()[0] == "tool: nothing {}"


def test_a_trace_in_a_pipe_is_in_the_order_of_the_agents_lines(
    shop: Workshop, tmp_path: Path
) -> None:
    weather = shop.program("weather", tools=["use"])
    words = ["--plugin", str(weather.path), "--trace"]
    status, _, err = chat(*words, lines="TOOL use", cwd=tmp_path)
    assert status == 0
    lines = err.splitlines()
    [called] = [at for at, line in enumerate(lines) if "→ weather      tool/call" in line]
    [answered] = [at for at, line in enumerate(lines) if "← weather      tool/call" in line]
    [told] = [at for at, line in enumerate(lines) if line.startswith("ok: use in ")]
    assert lines.index("tool: use {}") < called < answered < told


def test_stop_in_a_pipe_does_not_wait(tmp_path: Path) -> None:
    script = tmp_path / "replies.json"
    script.write_text(json.dumps({"replies": [{"wait_s": 3600}]}))
    status, out, _ = chat("--model", str(script), lines="a\nb\n/stop\n/help", cwd=tmp_path)
    # it may come before the turn of `a` has begun
    dropped = ["1 message that waited was dropped", "2 messages that waited were dropped"]
    assert (status, out) in [(0, f"stopped; {said}\n{HELP}") for said in dropped]


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--plugin", "none"], "plugin none-plugin did not start: "),
        (["--model", "none.json"], "none.json: cannot read the script"),
        (
            ["--resume", "zz"],
            "there is no session that begins with 'zz'; `sliphook sessions` lists them",
        ),
        (["--resume"], "; `sliphook sessions` lists them"),
    ],
)
def test_what_cannot_work_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    args: list[str],
    says: str,
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    status = main(["chat", *args])
    shown = capsys.readouterr()
    assert (status, shown.out) == (1, "")
    [line] = shown.err.splitlines()
    assert says in line


async def test_a_plugins_message_is_shown_with_its_name_and_answered(
    autojump_clock: MockClock,
) -> None:
    plugin = everything(uses=["submit"])
    async with chatting(plugin) as (run, person):
        result = await plugin.ask("host/submit", session_key="main", text="look")
        await plugin.hears("submission_end")
        person.line("TOOL slow")
        await plugin.hears("tool/call")
        waits = await plugin.ask("host/submit", session_key="main", platform="cli", text="wait")
        await plugin.hears("submission_end", times=2)
        await trio.sleep(1)
        lines, busy = run.face.display.lines, run.face.busy
        person.end()
    assert (result["status"], waits["status"]) == ("started", "queued")
    asked = [line for line in lines if line.startswith("info: ")]
    assert asked == ["info: probe: look", "info: probe: wait"]
    assert "You said: [probe] look" in "".join(lines)
    assert busy[0]
    assert not busy[-1]


async def test_the_settings_say_what_a_plugins_message_does(autojump_clock: MockClock) -> None:
    plugin = everything(uses=["submit"])
    async with chatting(plugin, settings=Settings(plugin_messages="refuse")) as (_, person):
        person.line("TOOL hang")
        await plugin.hears("tool/call")
        with pytest.raises(HostRefused, match="settings refuse messages meanwhile"):
            await plugin.ask("host/submit", session_key="main", text="look")
        person.end()
