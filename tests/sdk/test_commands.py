"""`ctx.run`: commands that end with their call, in plain functions and in `async def`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sliphook_sdk import AsyncContext, CommandError, CommandResult, Context, Plugin
from sliphook_sdk.command.kept_output import KeptOutput, last_line
from sliphook_sdk.command.running import Command
from sliphook_sdk.testing import Harness
from tests.sdk.conftest import Start
from tests.sdk.driver import PATIENCE_S, python, tool_call
from tests.stubborn import executable, lives, needs_proc, pids, stubborn, wait_for


def made(*, is_async: bool = False) -> tuple[Plugin[Any], list[Any]]:
    """A plugin with a tool that runs what it is told, and what came of it."""
    plugin, seen = Plugin("runs"), list[Any]()

    def run(args: list[str], options: dict[str, Any], *, ctx: Context) -> None:
        try:
            seen.append(ctx.run(args, **options))
        except BaseException as exc:
            seen.append(exc)
            raise

    async def arun(args: list[str], options: dict[str, Any], *, ctx: AsyncContext) -> None:
        try:
            seen.append(await ctx.run(args, **options))
        except BaseException as exc:
            seen.append(exc)
            raise

    plugin.add_tool(arun if is_async else run, name="run")
    return plugin, seen


both = pytest.mark.parametrize("is_async", [False, True])


def ran(folder: Path, *args: str, is_async: bool = False, **options: Any) -> Any:
    plugin, seen = made(is_async=is_async)
    with Harness(plugin, cwd=folder) as harness:
        harness.call_tool("run", args=list(args), options=options)
    return seen[0]


@both
def test_a_command_reads_what_it_is_given(tmp_path: Path, is_async: bool) -> None:
    text = "grüße\n" * 100_000
    result = ran(tmp_path, "sh", "-c", "cat; echo end >&2", is_async=is_async, stdin=text)
    assert (result.status, result.stderr) == (0, "end\n")
    assert result.stdout.startswith("grüße\n")


@both
@pytest.mark.parametrize("script", ["exit 3", "exec <&-; sleep 0.2; exit 3", "read a; exit 3"])
def test_a_command_need_not_read_all(tmp_path: Path, is_async: bool, script: str) -> None:
    result = ran(tmp_path, "sh", "-c", script, is_async=is_async, stdin="x\n" * 1_000_000)
    assert result == CommandResult(status=3, stdout="", stderr="")


@both
def test_a_command_runs_in_the_project(tmp_path: Path, is_async: bool) -> None:
    result = ran(tmp_path, "sh", "-c", "pwd; echo no >&2; exit 3", is_async=is_async)
    assert result == CommandResult(status=3, stdout=f"{tmp_path}\n", stderr="no\n")
    assert not result.ok
    assert ran(tmp_path, "true", is_async=is_async).ok


def test_a_folder_and_variables_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    result = ran(
        tmp_path, "sh", "-c", 'pwd; echo "$A $HOME"', cwd=str(tmp_path / "sub"), env={"A": "b"}
    )
    assert result.stdout == f"{tmp_path}/sub\nb {os.environ['HOME']}\n"


def test_no_shell_reads_the_arguments_and_the_input_is_empty(tmp_path: Path) -> None:
    assert ran(tmp_path, "echo", "$HOME;", "*").stdout == "$HOME; *\n"
    assert ran(tmp_path, "cat").stdout == ""


@pytest.mark.parametrize("wrong", ["make test", []])
def test_a_text_is_no_command(tmp_path: Path, wrong: Any) -> None:
    with pytest.raises(TypeError, match=r'a shell is run\(\["sh", "-c", '):
        Command(wrong, cwd=tmp_path, env=None, timeout_s=None, max_bytes=1)


def test_how_a_signal_is_told(tmp_path: Path) -> None:
    assert ran(tmp_path, "sh", "-c", "kill -9 $$").status == -9


def test_why_it_cannot_be_started(tmp_path: Path) -> None:
    executable(tmp_path / "plain", "#!/bin/sh\n", 0o644)
    executable(tmp_path / "lost", "#!/no/such/shell -e\n")
    executable(tmp_path / "odd", "\x7fELF of nowhere")
    why = {
        "no-such-command": f"there is no command no-such-command in PATH, which is {os.environ['PATH']}",
        "./none": f"there is no program {tmp_path}/./none",
        "./plain": f"{tmp_path}/./plain is not executable: chmod +x {tmp_path}/./plain",
        "./lost": f"{tmp_path}/./lost cannot be started: what its first line names does not exist: "
        "#!/no/such/shell -e",
        "./odd": "./odd cannot be started: it is no program for this machine, or a script whose "
        "first line is not like #!/bin/sh",
        "./": f"{tmp_path}/./ is a folder, and no program",
        "a\0b": "a\0b cannot be started: embedded null byte",
    }
    for program, expected in why.items():
        assert str(ran(tmp_path, program)) == expected
        assert isinstance(ran(tmp_path, program, is_async=True), CommandError)
    assert str(ran(tmp_path / "gone", "ls")) == (
        f"ls cannot run in {tmp_path}/gone: there is no such folder"
    )


def test_output_is_kept_from_both_ends() -> None:
    kept = KeptOutput(8)
    for part in (b"abc", b"defgh"):
        kept.add(part)
    assert kept.text() == "abcdefgh"
    for number in range(100):
        kept.add(b"%03d" % number)
    assert kept.text() == "abcd\n[... 300 bytes are left out ...]\n8099"
    accents = KeptOutput(7)
    accents.add(("é" * 10).encode())
    assert accents.text() == "éé\n[... 13 bytes are left out ...]\né"
    nothing = KeptOutput(0)
    nothing.add(b"abc")
    assert nothing.text() == "\n[... 3 bytes are left out ...]\n"


def test_the_last_line() -> None:
    assert last_line(b"1\n 10 %\r 20 %\r\n\n \x1b[32m3 passed\x1b[0m\n\n") == "3 passed"
    assert last_line(b" \n") is None
    assert last_line(b"x" * 10_000) == "x" * 200


def test_much_output_needs_little_memory(tmp_path: Path) -> None:
    result = ran(tmp_path, sys.executable, "-c", "print('x' * 50_000_000 + 'end')", max_bytes=1000)
    assert result.stdout.endswith("xend\n")
    assert "\n[... 49,999,004 bytes are left out ...]\n" in result.stdout
    assert (result.stdout_cut, result.stderr_cut) == (True, False)
    exactly = ran(tmp_path, "sh", "-c", "printf 12345678; printf 123456789 >&2", max_bytes=8)
    assert (exactly.stdout_cut, exactly.stderr_cut) == (False, True)


@both
def test_progress_tells_the_last_line_now_and_then(tmp_path: Path, is_async: bool) -> None:
    plugin, _ = made(is_async=is_async)
    script = "i=0; while [ ! -e go ]; do i=$((i+1)); echo line $i; done"
    with Harness(plugin, cwd=tmp_path) as harness:
        call = threading.Thread(
            target=harness.call_tool,
            args=("run",),
            kwargs={"args": ["sh", "-c", script], "options": {}},
        )
        call.start()
        deadline = time.monotonic() + PATIENCE_S
        while len(harness.sent) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        (tmp_path / "go").touch()
        call.join(PATIENCE_S)
    assert {method for method, _ in harness.sent} == {"$/progress"}
    lines = [str(getattr(params, "message", None)) for _, params in harness.sent]
    assert lines[0].startswith("line ")
    assert len(set(lines)) == len(lines)
    assert len(lines) < 100, "not each of the many lines"


WORKS = """
from sliphook_sdk import Plugin
plugin = Plugin("torture")

@plugin.tool
{kind}def work(*, ctx) -> str:
    try:
        return ({wait}ctx.run(["./stubborn"], cwd=ctx.data_dir)).stdout
    except BaseException as exc:
        ctx.log("info", type(exc).__name__)
        raise
"""


@needs_proc
@pytest.mark.parametrize(
    ("kind", "wait", "raised"),
    [("", "", "Cancelled"), ("async ", "await ", "CancelledError")],
)
def test_a_cancel_ends_the_whole_tree(
    start: Start, tmp_path: Path, kind: str, wait: str, raised: str
) -> None:
    stubborn(tmp_path)
    child = start(WORKS.format(kind=kind, wait=wait))
    child.initialize()
    request_id = child.request("tool/call", tool_call("work"))
    wait_for(lambda: len(pids(tmp_path)) == 2)
    child.notify("$/cancelRequest", {"id": request_id})
    assert child.reply(request_id)["error"]["code"] == -32800
    assert not any(map(lives, pids(tmp_path)))
    assert child.said("host/log")["message"] == raised


@needs_proc
def test_one_that_heeds_sigterm_may_clean_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sliphook_sdk.command.running.TERM_GRACE_S", PATIENCE_S)
    script = "trap 'echo bye > bye; exit 0' TERM; : > ready; while :; do :; done"
    command = Command(["sh", "-c", script], cwd=tmp_path, env=None, timeout_s=None, max_bytes=9)
    assert command.run((tmp_path / "ready").exists, print) is None
    assert (tmp_path / "bye").read_text() == "bye\n"


@both
def test_a_time_that_is_up_is_told(tmp_path: Path, is_async: bool) -> None:
    result = ran(tmp_path, "sleep", "1000", timeout_s=0.1, is_async=is_async)
    assert result == CommandResult(status=-15, stdout="", stderr="", timed_out=True)
    assert not result.ok


@needs_proc
@both
def test_what_it_leaves_behind_ends_too(tmp_path: Path, is_async: bool) -> None:
    script = (
        "sleep 1000 & echo $! > own; sh -c 'trap \"\" TERM; echo $$ > other; sleep 1000' & exit 0"
    )
    result = ran(
        tmp_path, "sh", "-c", f"{script[:-6]}while [ ! -s other ]; do :; done", is_async=is_async
    )
    assert result.ok
    assert len(pids(tmp_path)) == 2
    assert not any(map(lives, pids(tmp_path)))


@needs_proc
def test_nobody_out_of_reach_holds_it_up(tmp_path: Path) -> None:
    daemon = (
        "import os, time; os.setsid(); print(os.getpid(), file=open('own', 'w')); time.sleep(1000)"
    )
    script = f'{sys.executable} -c "{daemon}" & while [ ! -s own ]; do :; done'
    result = ran(tmp_path, "sh", "-c", script)
    assert result.ok
    os.kill(pids(tmp_path)[0], signal.SIGKILL)


POLITE = """\
#!/bin/sh
trap 'echo bye > bye; exit' TERM
echo $$ > own
echo $$ > other
while :; do :; done
"""


@needs_proc
@pytest.mark.parametrize("how", ["polite", "stubborn", "atexit hangs"])
def test_the_end_of_the_process_ends_its_commands(tmp_path: Path, how: str) -> None:
    """With a host that looks after nothing."""
    stubborn(tmp_path)
    is_polite = how == "polite"
    if is_polite:
        executable(tmp_path / "stubborn", POLITE)
    program = tmp_path / "ends.py"
    program.write_text(
        "import threading, os, time\n"
        "from sliphook_sdk.command import running\n"
        "from sliphook_sdk.process import exit\n"
        f"if {how == 'atexit hangs'}: exit.atexit.register(time.sleep, 1000)\n"
        f"if {is_polite}:\n"
        f"    running.TERM_GRACE_S = running._START_S = exit._CLEANUP_S = {PATIENCE_S}\n"
        "one = running.Command(['./stubborn'], cwd='.', env=None, timeout_s=None, max_bytes=9)\n"
        "work = lambda: one.run(lambda: False, print)\n"
        "threading.Thread(target=work, daemon=True).start()\n"
        "while not os.path.exists('other'): time.sleep(0.01)\n"
        "exit.end_process(0)\n"
    )
    subprocess.run(python(program), cwd=tmp_path, timeout=PATIENCE_S, check=True)
    wait_for(lambda: not any(map(lives, pids(tmp_path))))
    if is_polite:
        assert (tmp_path / "bye").exists()


def processes_with(word: str) -> list[str]:
    """The processes that have it in their command."""
    found: list[str] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has just ended
            if word.encode() in path.read_bytes():
                found.append(path.parent.name)
    return found


@needs_proc
def test_a_plugin_that_ends_starts_no_command_any_more(tmp_path: Path) -> None:
    """One that is killed wakes its handler, which would run the next."""
    marker = f"of-{tmp_path.name}-{os.getpid()}"
    program = tmp_path / "ends.py"
    program.write_text(
        "import sys, threading, time\n"
        "from sliphook_sdk.command import running\n"
        "from sliphook_sdk.process import exit\n"
        "begun = []\n"
        f"args = ['sh', '-c', 'echo; sleep 1000; :', {marker!r}]\n"
        "def work():\n"
        "    while True:\n"
        "        one = running.Command(args, cwd='.', env=None, timeout_s=None, max_bytes=9)\n"
        "        begun.append(one)\n"
        "        one.run(lambda: False, print)\n"
        "for _ in range(8): threading.Thread(target=work, daemon=True).start()\n"
        "while len(begun) < 8 or len(running._running) < 8: time.sleep(0.01)\n"
        "exit.end_process(0)\n"
    )
    subprocess.run([*python(program), marker], cwd=tmp_path, timeout=PATIENCE_S, check=True)
    wait_for(lambda: not processes_with(marker))
