"""examples/desktop-notify with a real desktop: Xvfb, a session bus, notify-send, and dunst."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import trio

from sliphook import ApprovalRequest, PluginHost, PluginSpec
from tests.cli.chat.test_terminal import Terminal
from tests.docs.test_more_examples import passes
from tests.programs import WAIT_S, until
from tests.stubborn import executable

PLUGIN = Path(__file__).resolve().parents[2] / "examples" / "desktop-notify" / "desktop_notify.sh"
MISSING = [
    name for name in ("Xvfb", "dbus-daemon", "dunst", "notify-send") if shutil.which(name) is None
]
needs_a_desktop = pytest.mark.skipif(
    bool(MISSING), reason="needs Debian's xvfb, dbus-daemon, dunst and libnotify-bin"
)
COMMON = {
    "event_id": "e-1",
    "seq": 1,
    "time": "2026-01-01T09:00:28.250Z",
    "session_id": "s-1",
    "session_key": '"message":"',
    "platform": "cli",
    "user_id": None,
    "cwd": "/home/ada/project",
    "turn_id": "t-1",
    "agent_id": "a-1",
    "parent_agent_id": None,
    "agent_depth": 0,
    "meta": None,
}


def event(name: str, **fields: Any) -> bytes:
    """As the host writes it."""
    message = {"jsonrpc": "2.0", "method": f"event/{name}", "params": {**COMMON, **fields}}
    body = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def notification(message: str, **fields: Any) -> bytes:
    return event("notification", level="info", message=message, source="agent", **fields)


class Shown(NamedTuple):
    """A notification on the desktop, as it stands there: with tags where there are some."""

    urgency: str
    title: str
    text: str


class Desktop:
    """A session bus, and a daemon that shows notifications, which the bus starts at the first."""

    def __init__(self, folder: Path, display: str) -> None:
        self._print = folder / "shown"
        self._pid = folder / "pid"
        services = folder / "dbus-1" / "services"
        services.mkdir(parents=True)
        program = executable(
            folder / "daemon",
            f"#!/bin/sh\necho $$ >{self._pid}\nexec dunst -config /dev/null -print >{self._print}\n",
        )
        (services / "daemon.service").write_text(
            f"[D-BUS Service]\nName=org.freedesktop.Notifications\nExec={program}\n"
        )
        self._bus = subprocess.Popen(
            ["dbus-daemon", "--session", "--nofork", "--print-address=1"],
            env={**os.environ, "XDG_DATA_HOME": str(folder), "DISPLAY": display},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._bus.stdout is not None
        self.env = {"DBUS_SESSION_BUS_ADDRESS": self._bus.stdout.readline().strip()}
        self.reaches("the daemon is there")

    def reaches(self, title: str) -> list[Shown]:
        """What is shown before a last notification of the test's own."""
        command = ["notify-send", "--", title]
        subprocess.run(command, env={**os.environ, **self.env}, timeout=WAIT_S, check=True)
        deadline = time.monotonic() + WAIT_S
        while title not in [one.title for one in self.shown()]:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return [one for one in self.shown() if one.title not in (title, "the daemon is there")]

    def shown(self) -> list[Shown]:
        text = self._print.read_text() if self._print.exists() else ""
        records = re.findall(
            r"^\tsummary: '(.*?)'\n\tbody: '(.*?)'\n\ticon: .*?^\turgency: (\w+)$.*?^}$",
            text,
            re.DOTALL | re.MULTILINE,
        )
        return [Shown(urgency, title, body) for title, body, urgency in records]

    @contextmanager
    def hanging(self) -> Generator[None]:
        """The daemon is stopped, and answers nothing."""
        pid = int(self._pid.read_text())
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def end(self) -> None:
        self._bus.terminate()
        assert self._bus.stdout is not None
        self._bus.stdout.close()
        self._bus.wait(timeout=WAIT_S)


@pytest.fixture(scope="module")
def display() -> Iterator[str]:
    read, write = os.pipe()
    command = ["Xvfb", "-displayfd", str(write), "-screen", "0", "800x600x24", "-nolisten", "tcp"]
    server = subprocess.Popen(command, pass_fds=[write], stderr=subprocess.DEVNULL)
    os.close(write)
    with os.fdopen(read) as number:
        name = number.readline().strip()
    yield f":{name}"
    server.terminate()
    server.wait(timeout=WAIT_S)


@pytest.fixture
def desktop(tmp_path: Path, display: str) -> Iterator[Desktop]:
    desktop = Desktop(tmp_path, display)
    yield desktop
    desktop.end()


def fed(*messages: bytes, env: dict[str, str], shell: str = "") -> str:
    """Start the plugin, write it these messages and no more; what it says on standard error."""
    done = subprocess.run(
        [*shell.split(), str(PLUGIN)],
        input=b"".join(messages),
        env={"PATH": os.environ["PATH"], **env},
        capture_output=True,
        timeout=WAIT_S,
        start_new_session=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"")
    return done.stderr.decode()


@pytest.fixture
def no_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the plugin sees it: who runs these tests may have one."""
    programs = tmp_path / "without-a-terminal"
    programs.mkdir()
    executable(programs / "ps", "#!/bin/sh\necho '?'\n")
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")


async def test_it_keeps_to_the_protocol() -> None:
    await passes(PLUGIN)


@needs_a_desktop
async def test_an_agent_warns_asks_and_is_done(desktop: Desktop, tmp_path: Path) -> None:
    spec = PluginSpec(PLUGIN, config={"turns_from_s": 0}, env=desktop.env)

    async def approver(request: ApprovalRequest) -> bool:
        return True

    async def run(arguments: dict[str, Any]) -> str:
        return "pushed"

    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([spec], approver=approver, data_home=tmp_path / "data") as host,
            host.session(cwd="/home/ada/project") as session,
        ):
            session.notification("error", "the <model> is gone")
            async with session.turn("push") as turn:
                await turn.call_tool("shell", {"command": "git push"}, run=run, ask=True)
                turn.last_assistant_message = "It is pushed.\nAll is well."
            async with session.turn("tidy up"):
                session.interrupt("user_stop", "stop_command")
    assert desktop.reaches("end") == [
        Shown("CRITICAL", "error from agent in project", "the &lt;model&gt; is gone"),
        Shown("CRITICAL", "agent asks in project", "Run shell?"),
        Shown("NORMAL", "agent is done in project", "It is pushed. All is well."),
    ]


EVIL = [
    ("--urgency=critical", "--urgency=critical"),
    (
        "<b>bold</b> & <img src='/etc/passwd'/>",
        "&lt;b&gt;bold&lt;/b&gt; &amp; &lt;img src='/etc/passwd'/&gt;",
    ),
    (r"\074b\076bold\074/b\076 \n \\", r"\074b\076bold\074/b\076 \n \\"),
    ("\x1b[31mred\x07\x00\x01", " [31mred   "),
    (
        "$(touch here) `touch here` ; touch here ' \"",
        "$(touch here) `touch here` ; touch here ' \"",
    ),
    ('","message":"another","source":"host', '","message":"another","source":"host'),
    ("100 %s %d %n", "100 %s %d %n"),
    ("one\r\n\ttwo\u2028three", "one   two\u2028three"),
]


@needs_a_desktop
@pytest.mark.parametrize("shell", ["", "bash --posix"])
def test_a_foreign_text_is_shown_and_nothing_more(desktop: Desktop, shell: str) -> None:
    fed(*(notification(text) for text, _ in EVIL), env=desktop.env, shell=shell)
    assert desktop.reaches("end") == [
        Shown("LOW", "info from agent in project", shown) for _, shown in EVIL
    ]


@needs_a_desktop
def test_long_texts_are_cut_between_letters(desktop: Desktop) -> None:
    end: dict[str, Any] = {"outcome": "failed", "duration_ms": 10_000.0}
    fed(
        notification("ä" * 30_000),
        notification("\x01" * 30_000 + "b"),
        event("turn_end", **end, last_assistant_message="\\" * 32_768),
        env=desktop.env,
    )
    assert desktop.reaches("end") == [
        Shown("LOW", "info from agent in project", "ä" * 118 + "..."),
        Shown("LOW", "info from agent in project", " " * 237 + "..."),
        Shown("NORMAL", "agent has stopped: failed in project", "\\" * 237 + "..."),
    ]


@needs_a_desktop
def test_of_many_notifications_ten_a_minute_are_shown(desktop: Desktop) -> None:
    first = [notification(f"warning {number}") for number in range(15)]
    fed(*first, notification("a minute later", time="2026-01-01T09:01:00.000Z"), env=desktop.env)
    texts = [one.text for one in desktop.reaches("end")]
    assert texts == [*(f"warning {number}" for number in range(10)), "a minute later"]


@needs_a_desktop
def test_short_turns_are_not_told_and_other_plugins_may_ask(desktop: Desktop) -> None:
    end: dict[str, Any] = {"outcome": "completed", "last_assistant_message": None}
    question = {"kind": "question", "call_id": None, "schema": {"prompt": "no"}}
    fed(
        event("turn_end", duration_ms=9_999.9, **end),
        event("turn_end", duration_ms=None, **end),
        event("turn_end", duration_ms=10_000.1, **{**end, "cwd": None}),
        event("user_input_required", **question, asked_by="deploy", prompt='"Where" to?'),
        env=desktop.env,
    )
    # the question's fields as the host orders them: its schema comes last
    assert [(one.title, one.text) for one in desktop.reaches("end")] == [
        ("agent is done", ""),
        ("deploy asks in project", '"Where" to?'),
    ]


@needs_a_desktop
@pytest.mark.usefixtures("no_terminal")
def test_a_desktop_that_hangs_is_given_up(desktop: Desktop) -> None:
    with desktop.hanging():
        said = fed(notification("hello"), env=desktop.env)
    assert "neither a desktop nor a terminal shows: info from agent" in said


RECORDER = """#!/bin/sh
printf '%s\\n' "$@" >>{folder}/args
"""


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("terminal-notifier", ["-title", r"\info from agent in project", "-message", r"\[-x] <b>"]),
        (
            "osascript",
            [
                "-e",
                "on run argv",
                "-e",
                "display notification (item 2 of argv) with title (item 1 of argv)",
                "-e",
                "end run",
                "--",
                "info from agent in project",
                "[-x] <b>",
            ],
        ),
    ],
)
def test_on_a_mac_the_text_is_an_argument(
    tmp_path: Path, command: str, arguments: list[str]
) -> None:
    """There is no Mac here: a program of that name writes down what it is given."""
    executable(tmp_path / command, RECORDER.format(folder=tmp_path))
    fed(notification("[-x] <b>"), env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert (tmp_path / "args").read_text().splitlines() == arguments


def test_without_a_desktop_the_terminal_rings(tmp_path: Path) -> None:
    terminal = Terminal(
        "run", "hello", "--plugin", PLUGIN, "--config", "turns_from_s=0", cwd=tmp_path
    )
    try:
        terminal.wait_for("\a")
        assert terminal.ends() == 0
    finally:
        terminal.stop()


@pytest.mark.usefixtures("no_terminal")
async def test_without_both_the_log_says_so(tmp_path: Path) -> None:
    logs: list[str] = []
    spec = PluginSpec(PLUGIN, config={"turns_from_s": 0})
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost(
                [spec], data_home=tmp_path, on_log=lambda _, __, text: logs.append(text)
            ) as host,
            host.session() as session,
        ):
            session.notification("info", "hello")
            await until(lambda: any("neither a desktop nor a terminal" in line for line in logs))
            assert [plugin.state for plugin in host.plugins] == ["ready"]


@pytest.mark.parametrize("seconds", ['"x"', "-5", "1.5", "null", "99999999999999999999", "{}"])
def test_settings_that_do_not_fit_do_no_harm(seconds: str) -> None:
    start = (
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol_versions":[1],'
        b'"plugin":{"name":null,"config":{"turns_from_s":%s}}}}\n' % seconds.encode()
    )
    end = event("turn_end", outcome="completed", duration_ms=1e4, last_assistant_message=None)
    ping = b'{"jsonrpc":"2.0","id":2,"method":"ping","params":{}}\n'
    done = subprocess.run(
        [str(PLUGIN)], input=start + end + ping, capture_output=True, timeout=WAIT_S, check=False
    )
    assert done.returncode == 0
    first, second = map(json.loads, done.stdout.splitlines())
    assert first["result"]["name"] == "desktop-notify"
    assert second == {"jsonrpc": "2.0", "id": 2, "result": None}
