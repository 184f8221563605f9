"""What every command has in common: help, the version, and how mistakes are told."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata

import click
import pytest

from sliphook.cli.main import main

from .conftest import WAIT_S, Sliphook

CLOSED = "sliphook: cannot go on: standard output is closed\n"

COMMANDS = """
    demo
    run
    chat
    sessions
    install
    uninstall
    list
    enable
    disable
    trust
    upgrade
    config
    logs
    attach
    detach
    mcp
    hook
    fire
    call
    check
    inspect
    new
    trace
    doctor
    events
    man
    completion
"""


def test_help_names_every_command(sliphook: Sliphook) -> None:
    ran = sliphook("--help")
    assert ran.status == 0
    assert [
        line.split()[0]
        for line in ran.out.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    ] == COMMANDS.split()
    assert ran.err == ""


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["nonsense"]])
def test_what_needs_no_host_does_not_wait_for_one(args: list[str]) -> None:
    code = (
        "import sys; from sliphook.cli.main import main; main(sys.argv[1:]); "
        "print(sorted({'trio', 'httpx', 'rich', 'jsonschema', 'pylsp_jsonrpc', 'msgspec', 'mcp'} & "
        "set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *args],
        capture_output=True,
        timeout=WAIT_S,
        check=True,
        text=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("module", ["signal", "click", "sliphook.cli.common"])
def test_ctrl_c_while_it_is_still_being_imported(module: str) -> None:
    code = f"""
import sys
class CtrlC:
    def find_spec(self, name, path, target=None):
        if name == {module!r}: raise KeyboardInterrupt
sys.meta_path.insert(0, CtrlC())
sys.modules.pop({module!r}, None)
from sliphook.__main__ import main
sys.exit(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, timeout=WAIT_S, check=False, text=True
    )
    assert done.stderr == "sliphook: interrupted\n"
    assert done.stdout == ""
    assert done.returncode == 130


def test_ctrl_c_that_python_wraps_while_a_class_is_made() -> None:
    code = """
import sys
class CtrlC:
    def __set_name__(self, owner, name): raise KeyboardInterrupt
class Finder:
    def find_spec(self, name, path, target=None):
        if name == "sliphook.cli.common":
            try: type("Made", (), {"one": CtrlC()})
            except KeyboardInterrupt as raised:  # Python 3.12 and later
                raise RuntimeError("Error calling __set_name__") from raised
sys.meta_path.insert(0, Finder())
from sliphook.__main__ import main
sys.exit(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, timeout=WAIT_S, check=False, text=True
    )
    assert (done.returncode, done.stderr, done.stdout) == (130, "sliphook: interrupted\n", "")


@pytest.mark.parametrize("raised", [KeyboardInterrupt, click.Abort])
def test_ctrl_c_in_a_command_is_130(
    raised: type[BaseException], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def command(**_: object) -> None:
        raise raised

    monkeypatch.setattr("sliphook.cli.main.sliphook.main", command)
    assert main([]) == 130
    assert capsys.readouterr() == ("", "sliphook: interrupted\n")


@pytest.mark.parametrize("command", COMMANDS.split())
def test_every_command_has_help(sliphook: Sliphook, command: str) -> None:
    ran = sliphook(command, "--help")
    assert ran.status == 0
    assert ran.out.startswith(f"Usage: sliphook {command} ")
    assert ran.err == ""


def test_version(sliphook: Sliphook) -> None:
    assert sliphook("--version") == (0, f"sliphook {metadata.version('sliphook')}\n", "")


def test_without_a_command_the_help_is_shown(sliphook: Sliphook) -> None:
    ran = sliphook()
    assert (ran.status, ran.err) == (2, "")
    assert ran.out.startswith("Usage: sliphook ")


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (
            ["fier"],
            "sliphook: there is no command 'fier'; did you mean 'fire'? (see: sliphook --help)\n",
        ),
        (["x"], "sliphook: there is no command 'x' (see: sliphook --help)\n"),
        (["fire"], "sliphook: Missing argument 'EVENT' (see: sliphook fire --help)\n"),
        (
            ["fire", "stop"],
            "sliphook: give at least one plugin: --plugin PATH|NAME, --mcp COMMAND or --hooks"
            " PATH"
            " (see: sliphook fire --help)\n",
        ),
        (
            ["fire", "pre_tool_cal", "--plugin", "x"],
            "sliphook: there is no hook or event 'pre_tool_cal'; did you mean "
            "'pre_tool_call'? (see: sliphook fire --help)\n",
        ),
        (
            ["fire", "stop", "--plugin", "x", "--payload", '{"stop_cont":1}'],
            "sliphook: --payload: stop has no field 'stop_cont'; did you mean 'stop_count'? "
            "(see: sliphook fire --help)\n",
        ),
        (
            ["fire", "stop", "--plugin", "x", "--payload", '{"stop_count":"1"}'],
            "sliphook: --payload: Expected `int`, got `str` - at `$.stop_count` (see: "
            "sliphook fire --help)\n",
        ),
        (
            ["fire", "stop", "--plugin", "x", "--payload", '{"timeout_s":1}'],
            "sliphook: --payload: 'timeout_s' is set by the host; use --timeout (see: "
            "sliphook fire --help)\n",
        ),
        (
            ["fire", "stop", "--plugin", "x", "--payload", "[]"],
            'sliphook: --payload must be a JSON object, like \'{"key": "value"}\' (see: '
            "sliphook fire --help)\n",
        ),
        (
            ["fire", "stop", "--plugin", "x", "--payload", "@none.json"],
            "sliphook: --payload: cannot read none.json: No such file or directory (see: "
            "sliphook fire --help)\n",
        ),
        (
            ["fire", "stop", "--plugin", "x", "--timeout", "nan"],
            "sliphook: Invalid value for '--timeout': 'nan' is no timeout: give 0.05 to 600 "
            "seconds (see: sliphook fire --help)\n",
        ),
        (
            ["fire", "stop", "--plugin", "x", "--timeout", "0"],
            "sliphook: Invalid value for '--timeout': '0' is no timeout: give 0.05 to 600 "
            "seconds (see: sliphook fire --help)\n",
        ),
        (
            ["call", "deploy"],
            "sliphook: give at least one plugin: --plugin PATH|NAME, --mcp COMMAND or --hooks"
            " PATH"
            " (see: sliphook call --help)\n",
        ),
        (
            ["events", "pre_tool"],
            "sliphook: there is no hook or event 'pre_tool'; did you mean 'pre_tool_call'? "
            "(see: sliphook events --help)\n",
        ),
    ],
)
def test_a_mistake_is_told_in_one_line(sliphook: Sliphook, args: list[str], line: str) -> None:
    assert sliphook(*args) == (2, "", line)


def test_payload_that_is_no_json_is_told_in_one_line(sliphook: Sliphook) -> None:
    ran = sliphook("fire", "stop", "--plugin", "x", "--payload", "{oops")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("sliphook: --payload is no JSON: ")
    assert ran.err.count("\n") == 1


def test_a_reader_that_has_gone_is_no_error_to_talk_about() -> None:
    code = (
        "import sys; from sliphook.cli.main import main; sys.stdin.readline(); "
        "sys.exit(main(['events', '--json']))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write(b"\n")
        process.stdin.close()
        assert process.stderr.read() == b""
        assert process.wait(WAIT_S) == 1


@pytest.mark.parametrize(
    ("command", "status", "says"),
    [
        ("sliphook events | head -1", 0, ""),
        ("sliphook run hello >&-", 1, CLOSED),
        ("sliphook run hello <&- >&-", 1, CLOSED),
        ("sliphook run hello >&- 2>&-", 1, ""),
        ("sliphook run hello --json >&-", 1, CLOSED),
        ("echo one | sliphook chat >&-", 1, CLOSED),
        ("sliphook mcp >&-", 1, CLOSED),
        ("sliphook events >&-", 1, CLOSED),
        ("sliphook --help >&-", 1, CLOSED),
        ("sliphook --version >&-", 1, CLOSED),
        ("ulimit -n 6; sliphook run hello", 1, "sliphook: cannot go on: Too many open files\n"),
        ("sliphook chat <&-", 0, ""),
        (
            "echo one | sliphook chat >/dev/full",
            1,
            "sliphook: cannot go on: the answer could not be written: No space left on device\n",
        ),
        ("sliphook run hello 2>&-", 0, ""),
        ("sliphook events >/dev/full", 1, "sliphook: cannot go on: No space left on device\n"),
        (
            "sliphook run hello >/dev/full",
            1,
            "sliphook: cannot go on: the answer could not be written: No space left on device\n",
        ),
    ],
)
def test_output_that_leads_nowhere_is_no_traceback(command: str, status: int, says: str) -> None:
    shell = command.replace("sliphook", f"{sys.executable} -m sliphook", 1)
    ran = subprocess.run(
        ["sh", "-c", shell],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (status, says)
