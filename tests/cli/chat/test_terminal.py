"""`sliphook chat` and `run` at a terminal: the screen, every way out, what a plugin hears."""

from __future__ import annotations

import codecs
import contextlib
import fcntl
import json
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.programs import Program, Workshop

WAIT_S = 120.0

_STEERING = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07|[=>])")
_BEGUN = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]*)?\Z")
"""A sequence of which the end is not read yet."""
_EVENTS = (
    "session_start",
    "session_reset",
    "session_end",
    "turn_start",
    "agent_loop_stopped",
    "turn_end",
    "user_input_received",
)
_FIELDS = ("source", "cause", "reason", "invalidation_reason", "outcome", "choice", "by")


class Terminal:
    """A process at a terminal of its own."""

    def __init__(self, *args: str | Path, cwd: Path) -> None:
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 200, 0, 0))
        self.modes = termios.tcgetattr(slave)
        self._slave = slave
        self.process = subprocess.Popen(
            # the first terminal that the leader of a new session opens is its own
            [
                "sh",
                "-c",
                'exec "$@" <"$0" >"$0" 2>&1',
                os.ttyname(slave),
                sys.executable,
                "-m",
                "sliphook",
                *map(str, args),
            ],
            cwd=cwd,
            env={**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", "NO_COLOR": "1"},
            start_new_session=True,
        )
        self.shown = ""
        self._mark = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._begun = ""

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def wait_for(self, text: str) -> None:
        """Read until `text` is shown, after what was waited for before."""
        deadline = time.monotonic() + WAIT_S
        seen = self.shown[self._mark :]
        while text not in seen:
            if not self._is_readable(deadline):
                pytest.fail(f"no {text!r} in:\n{self.shown}")
            self._read()
            seen = self.shown[self._mark :]
        self._mark += seen.index(text) + len(text)

    def _is_readable(self, deadline: float) -> bool:
        """Wait for output or its end, until then."""
        wait_s = max(0.0, deadline - time.monotonic())
        return bool(select.select([self._master], [], [], wait_s)[0])

    def _read(self) -> bool:
        """Take what is there, which may end inside of a character or a sequence; False at the end."""
        data = os.read(self._master, 65_536)
        text = self._begun + self._decoder.decode(data)
        begun = _BEGUN.search(text)
        whole = len(text) if begun is None else begun.start()
        self.shown += _STEERING.sub("", text[:whole])
        self._begun = text[whole:]
        return bool(data)

    def wait_until_it_echoes_nothing(self) -> None:
        """The program runs, and is about to show what is typed itself."""
        deadline = time.monotonic() + WAIT_S
        while termios.tcgetattr(self._slave)[3] & termios.ECHO and time.monotonic() < deadline:
            time.sleep(0.01)

    def ends(self) -> int:
        """The exit status; the terminal is as it was before, and all of the output is read."""
        deadline = time.monotonic() + WAIT_S
        while self.process.poll() is None and time.monotonic() < deadline:
            if select.select([self._master], [], [], 0.02)[0]:
                self._read()
        assert termios.tcgetattr(self._slave) == self.modes
        status = self.process.wait(timeout=1)
        # the output has an end when no one has the terminal open for writing
        os.close(self._slave)
        self._slave = -1
        with contextlib.suppress(OSError):  # so Linux says that it is the end
            while self._is_readable(deadline) and self._read():
                pass
        return status

    def close(self) -> None:
        """Close the terminal's window."""
        for descriptor in (self._slave, self._master):
            if descriptor >= 0:
                os.close(descriptor)
        self._slave = self._master = -1

    def stop(self) -> None:
        self.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(timeout=WAIT_S)


ANSWERS = r"""
if method == "hook/pre_tool_call":
    changed = {"arguments": {"on": "another"}}
    return {"decision": "ask", "reason": "really\x1b[2J?", "replace": changed}
if method == "tool/call":
    return "a\x1b[2Jb" if params["name"] == "paint" else NOTHING
"""


@pytest.fixture
def plugin(shop: Workshop) -> Program:
    """It asks about one tool; its other tool never answers."""
    told = [
        {"event": event, "mode": "event"} if event == "session_start" else {"event": event}
        for event in _EVENTS
    ]
    paint = {"event": "pre_tool_call", "match": {"tool_name": "paint"}, "replaces": True}
    return shop.program(subscriptions=[*told, paint], tools=["hang", "paint"], on=ANSWERS)


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for one in opened:
        one.stop()


def talk(terminals: list[Terminal], tmp_path: Path, *args: str | Path) -> Terminal:
    terminals.append(Terminal(*args, cwd=tmp_path))
    return terminals[-1]


def hanging(terminals: list[Terminal], tmp_path: Path, plugin: Program) -> Terminal:
    """A chat in which a tool hangs."""
    terminal = talk(terminals, tmp_path, "chat", "--plugin", plugin.path)
    terminal.wait_for("›")
    terminal.type("TOOL hang\r")
    terminal.wait_for("tool: hang {}")
    return terminal


def heard(plugin: Program) -> list[str]:
    """Its events, each with the fields that say why."""
    return [
        " ".join([event["method"].removeprefix("event/"), *_why(event["params"])])
        for event in plugin.fired()
        if event["method"].startswith("event/")
    ]


def _why(params: dict[str, Any]) -> list[str]:
    return [str(params[field]) for field in _FIELDS if field in params]


def interrupted_by(word: str) -> list[str]:
    """What the plugin hears of a signal during the first turn."""
    return [
        *BEGUN,
        f"agent_loop_stopped signal {word}",
        "turn_end interrupted",
        "session_end signal",
    ]


BEGUN = ["session_start startup", "turn_start"]


def test_a_conversation_with_new_one_ctrl_c_and_a_question(
    terminals: list[Terminal], tmp_path: Path, plugin: Program
) -> None:
    terminal = talk(terminals, tmp_path, "chat", "--plugin", plugin.path)
    terminal.wait_until_it_echoes_nothing()
    terminal.type("TOOL hang\r")
    terminal.wait_for("model: scripted; plugins: 1 ready; /help lists the commands")
    terminal.wait_for("tool: hang {}")
    assert "TOOL" not in terminal.shown.partition("›")[0]  # it is the prompt that shows it
    terminal.type("later\r")
    terminal.wait_for("› later (waits)")
    terminal.type("/new\r")
    terminal.wait_for("a new session")
    terminal.type("TOOL hang\r")
    terminal.wait_for("tool: hang {}")
    terminal.type("half a line\x03")
    terminal.wait_for("stopped; Ctrl+C once more leaves at once")
    terminal.type('\x15TOOL paint {"on": "a"}\r')
    terminal.wait_for('tool: paint {"on":"a"}')
    terminal.wait_for('paint {"on":"another"}')  # what would run: a plugin has changed it
    terminal.wait_for("probe: really\\x1b[2J?")
    terminal.wait_for("Run paint? [y/N]")
    terminal.type("y\r")
    terminal.wait_for("a\\x1b[2Jb")
    terminal.wait_for("paint: a\\x1b[2Jb")
    terminal.type("\x04")
    assert terminal.ends() == 0
    assert heard(plugin) == [
        *BEGUN,
        "agent_loop_stopped reset new_command",
        "turn_end interrupted",
        "session_end reset",
        "session_reset new_command",
        "session_start reset",
        "turn_start",
        "agent_loop_stopped signal sigint",
        "turn_end interrupted",
        "turn_start",
        "user_input_received allow user",
        "turn_end completed",
        "session_end exit",
    ]
    history = Path(os.environ["XDG_STATE_HOME"]) / "sliphook/history"
    assert history.stat().st_mode & 0o777 == 0o600
    assert '+TOOL paint {"on": "a"}\n' in history.read_text(encoding="utf-8")


def test_a_live_trace_is_in_the_order_of_the_agents_lines(
    terminals: list[Terminal], tmp_path: Path, shop: Workshop
) -> None:
    weather = shop.program("weather", tools=["use"])
    terminal = talk(terminals, tmp_path, "chat", "--plugin", weather.path, "--trace")
    terminal.wait_for("›")
    for _ in range(3):
        terminal.type("TOOL use\r")
        for shown in ("tool: use {}", "→ weather      tool/call", "← weather      tool/call"):
            terminal.wait_for(shown)
        terminal.wait_for("ok: use in ")
    terminal.type("\x04")
    assert terminal.ends() == 0


def test_a_live_trace_lets_no_question_stand_before_what_it_is_about(
    terminals: list[Terminal], tmp_path: Path, plugin: Program
) -> None:
    terminal = talk(terminals, tmp_path, "chat", "--plugin", plugin.path, "--trace")
    terminal.wait_for("›")
    terminal.type("TOOL paint\r")
    terminal.wait_for("[y/N]")
    assert "  probe: really\\x1b[2J?" in terminal.shown.partition("[y/N]")[0]
    terminal.type("n\r")
    terminal.wait_for("›")
    terminal.type("\x04")
    assert terminal.ends() == 0


def test_ctrl_c_twice_leaves_at_once(
    terminals: list[Terminal], tmp_path: Path, plugin: Program
) -> None:
    terminal = hanging(terminals, tmp_path, plugin)
    terminal.type("\x03")
    terminal.wait_for("once more")
    began = time.monotonic()
    terminal.type("\x03")
    assert terminal.ends() == 130
    assert time.monotonic() - began < 20  # the tool has 30 s
    assert heard(plugin) == interrupted_by("sigint")


def test_sigterm(terminals: list[Terminal], tmp_path: Path, plugin: Program) -> None:
    terminal = hanging(terminals, tmp_path, plugin)
    terminal.process.send_signal(signal.SIGTERM)
    assert terminal.ends() == 143
    assert heard(plugin) == interrupted_by("sigterm")


def test_the_terminal_is_closed(terminals: list[Terminal], tmp_path: Path, plugin: Program) -> None:
    terminal = hanging(terminals, tmp_path, plugin)
    terminal.close()
    assert terminal.process.wait(timeout=WAIT_S) == 129
    assert heard(plugin) == interrupted_by("sighup")


def test_a_terminal_that_takes_nothing_blocks_nothing(
    terminals: list[Terminal], tmp_path: Path, plugin: Program
) -> None:
    script = tmp_path / "replies.json"
    script.write_text(
        json.dumps({"replies": [{"text": "word\n" * 20_000, "calls": [{"name": "hang"}]}]})
    )
    terminal = talk(terminals, tmp_path, "chat", "--model", script, "--plugin", plugin.path)
    terminal.wait_for("›")
    terminal.type("talk\r")
    terminal.wait_for("word")  # nothing is read from here on
    terminal.process.send_signal(signal.SIGTERM)
    assert terminal.process.wait(timeout=WAIT_S) == 143
    assert heard(plugin) == interrupted_by("sigterm")


def test_run_asks_at_a_terminal(terminals: list[Terminal], tmp_path: Path, plugin: Program) -> None:
    terminal = talk(terminals, tmp_path, "run", "TOOL paint", "--plugin", plugin.path)
    terminal.wait_for("probe: really\\x1b[2J?")
    terminal.wait_for("Run paint? [y/N]")
    terminal.type("perhaps\r")
    terminal.wait_for("please answer y or n")
    terminal.type("\r")
    terminal.wait_for("denied: paint: ")
    assert terminal.ends() == 0
    assert heard(plugin) == [
        *BEGUN,
        "user_input_received deny user",
        "turn_end completed",
        "session_end exit",
    ]


ASKS = """
if method == "tool/call":
    request("q", "host/ask", session_id=params["session_id"], call_id=params["call_id"],
            prompt="Where\\x1b[2J to?", schema={
                "type": "object",
                "properties": {
                    "server": {"type": "string", "enum": ["test", "live"]},
                    "times": {"type": "integer", "default": 2},
                },
                "required": ["server"],
            })
    while True:
        message = receive()
        if message.get("id") == "q":
            return json.dumps(message["result"])
        if message.get("method") == "$/cancelRequest":
            return NOTHING
"""


@pytest.fixture
def asker(shop: Workshop) -> Program:
    """Its tool asks the user."""
    events = [{"event": event} for event in _EVENTS if event != "session_start"]
    return shop.program(
        subscriptions=events, tools=["deploy"], before="import json", on=ASKS, uses=["ask"]
    )


ANSWERED = '{"outcome": "answered", "answer": {"server": "live", "times": 2}}'


def test_run_lets_a_plugin_ask(terminals: list[Terminal], tmp_path: Path, asker: Program) -> None:
    terminal = talk(terminals, tmp_path, "run", "TOOL deploy", "--plugin", asker.path)
    terminal.wait_for("asks: Where\\x1b[2J to?")
    terminal.wait_for("1  test")
    terminal.wait_for("server: [1 to 2]")
    terminal.type("3\r")
    terminal.wait_for('"3" is not one of')
    terminal.type("2\r")
    terminal.wait_for("times: [a whole number, empty: 2]")
    terminal.type("\r")
    terminal.wait_for(ANSWERED)
    assert terminal.ends() == 0
    assert heard(asker) == [
        "turn_start",
        'user_input_received {"server":"live","times":2} user',
        "turn_end completed",
        "session_end exit",
    ]


def test_ctrl_c_in_the_middle_of_a_plugins_question(
    terminals: list[Terminal], tmp_path: Path, asker: Program
) -> None:
    terminal = talk(terminals, tmp_path, "run", "TOOL deploy", "--plugin", asker.path)
    terminal.wait_for("server: [1 to 2]")
    terminal.process.send_signal(signal.SIGINT)
    terminal.wait_for("interrupted; once more to leave at once")
    assert terminal.ends() == 130
    assert heard(asker)[-2:] == ["turn_end interrupted", "session_end signal"]


def test_a_closed_terminal_declines(
    terminals: list[Terminal], tmp_path: Path, asker: Program
) -> None:
    terminal = talk(terminals, tmp_path, "run", "TOOL deploy", "--plugin", asker.path)
    terminal.wait_for("server: [1 to 2]")
    terminal.type("\x04")
    terminal.wait_for('{"outcome": "declined", "answer": null}')
    assert terminal.ends() == 0


def test_a_chat_lets_a_plugin_ask(
    terminals: list[Terminal], tmp_path: Path, asker: Program
) -> None:
    terminal = talk(terminals, tmp_path, "chat", "--plugin", asker.path)
    terminal.wait_for("›")
    terminal.type("TOOL deploy\r")
    terminal.wait_for("asks: Where\\x1b[2J to?")
    terminal.wait_for("server: [1 to 2]")
    terminal.type("live\r")
    terminal.wait_for("times: [a whole number, empty: 2]")
    terminal.type("many\r")
    terminal.wait_for("please answer a whole number")
    terminal.type("\r")
    terminal.wait_for(ANSWERED)
    terminal.type("TOOL deploy\r")
    terminal.wait_for("server: [1 to 2]")
    terminal.type("/stop\r")
    terminal.wait_for("stopped")
    terminal.type("\x04")
    assert terminal.ends() == 0
    assert heard(asker)[-3:] == [
        "agent_loop_stopped user_stop stop_command",
        "turn_end interrupted",
        "session_end exit",
    ]


DENIES_ONE = """
answered = []

def heard(message):
    params = message.get("params", {})
    if params.get("kind") == "approval" and "prompt" in params and not answered:
        answered.append(params["question_id"])
        wait_for_flag("go")
        request("a", "host/answer", session_id=params["session_id"],
                question_id=params["question_id"], choice="deny")
"""


@pytest.mark.parametrize("command", ["chat", "run"])
def test_an_answer_is_for_the_question_that_was_there(
    terminals: list[Terminal],
    tmp_path: Path,
    plugin: Program,
    shop: Workshop,
    command: str,
) -> None:
    """A plugin answers while the person types yes: that is no yes to the next question."""
    phone = shop.program(
        "phone", hears=["user_input_required"], before=DENIES_ONE, uses=["approve"]
    )
    script = tmp_path / "script.json"
    replies = [{"calls": [{"name": "paint"}, {"name": "paint"}]}, {"text": "done"}]
    script.write_text(json.dumps({"replies": replies}))
    more = ("--plugin", plugin.path, "--plugin", phone.path, "--model", script)
    if command == "run":
        terminal = talk(terminals, tmp_path, "run", "go", *more)
    else:
        terminal = talk(terminals, tmp_path, "chat", *more)
        terminal.wait_for("›")
        terminal.type("go\r")
    terminal.wait_for("Run paint? [y/N]")
    terminal.type("maybe\r")
    terminal.wait_for("please answer y or n")
    if command == "chat":
        terminal.type("/help\r")
        terminal.wait_for("leave")
        terminal.wait_for("[y/N]")  # which has a y, too
    terminal.type("y")
    terminal.wait_for("y")
    shop.flag("go").touch()
    terminal.wait_for("phone: answered Run paint?")
    terminal.wait_for("Run paint? [y/N]")
    terminal.type("\r")
    terminal.wait_for("done")
    if command == "chat":
        terminal.wait_for("›")
        terminal.type("\x04")
    assert terminal.ends() == 0
    received = [line for line in heard(plugin) if line.startswith("user_input_received")]
    assert received == ["user_input_received deny phone", "user_input_received deny user"]
