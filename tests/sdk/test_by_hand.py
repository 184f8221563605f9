"""A plugin that a person starts, and streams that are odd."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

PLUGIN = """
from sliphook_sdk import Plugin

plugin = Plugin("torture", version="1.0.0", description="Tortures.")

@plugin.hook("pre_tool_call")
def guard(call): ...

@plugin.on("turn_end")
def ended(turn): ...

@plugin.tool
def weather(city: str, days: int) -> str:
    "The weather."
    return ""

@plugin.command
def deploys(arguments): ...

if __name__ == "__main__":
    plugin.run()
"""

EXPLANATION = """\
torture 1.0.0 is a plugin for agents; Sliphook starts it and speaks to it.
Tortures.

  is asked  pre_tool_call
  is told   turn_end
  tools     weather
  commands  /deploys

Try it:
  sliphook fire pre_tool_call --plugin PATH
  sliphook call weather --args '{"city": "...", "days": 1}' --plugin PATH
  sliphook check PATH

Install it:
  sliphook install PATH
"""


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    path = tmp_path / "torture.py"
    path.write_text(PLUGIN)
    return path


@pytest.mark.parametrize("argument", ["--help", "serve"])
def test_with_arguments_it_explains_itself(plugin: Path, argument: str) -> None:
    ran = subprocess.run(
        [sys.executable, plugin, argument],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == EXPLANATION.replace("PATH", str(plugin))


def test_on_a_terminal_it_explains_itself(plugin: Path) -> None:
    ours, theirs = pty.openpty()
    try:
        ran = subprocess.run(
            [sys.executable, "torture.py"],
            stdin=theirs,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            cwd=plugin.parent,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == EXPLANATION.replace("PATH", "./torture.py")


INITIALIZE = (
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol_versions":[1],"host":{"name":"h","version":"1"},'
    '"plugin":{"name":"torture","data_dir":"/","config":{}},"events":[]}}\n'
)


@pytest.mark.parametrize("extra", ["", "@plugin.tool\nasync def later() -> None: ...\n"])
def test_a_file_as_standard_input_is_served_to_its_end(plugin: Path, extra: str) -> None:
    """epoll accepts no files: /dev/null, and recorded lines."""
    plugin.write_text(PLUGIN.replace("if __name__", f"{extra}\nif __name__"))
    lines = plugin.with_name("lines")
    lines.write_text(INITIALIZE + '{"jsonrpc":"2.0","id":2,"method":"ping"}\n')
    for source, replies in ((Path(os.devnull), 0), (lines, 2)):
        with source.open() as stdin:
            ran = subprocess.run(
                [sys.executable, plugin],
                stdin=stdin,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
        assert (ran.returncode, ran.stderr) == (0, "")
        assert ran.stdout.count("Content-Length: ") == replies


@pytest.mark.parametrize("closed", [0, 1])
def test_a_closed_stream_is_told(plugin: Path, closed: int) -> None:
    script = (
        f"import os, sys; os.close({closed}); os.execv(sys.executable, [sys.executable, "
        f"{str(plugin)!r}])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script],
        input="",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 2
    assert ran.stderr.startswith(
        "torture: standard input and output must be open, they are the way to the host: "
    )


def test_a_closed_standard_error_holds_nothing_up(plugin: Path) -> None:
    plugin.write_text(PLUGIN.replace("def guard(call): ...", "def guard(call): print('x')"))
    script = (
        f"import os, sys; os.close(2); os.execv(sys.executable, [sys.executable, {str(plugin)!r}])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script],
        input=INITIALIZE,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0
    assert ran.stdout.startswith("Content-Length: ")


def test_functions_of_atexit_run(plugin: Path) -> None:
    # a busy machine may not begin them in the time that they have
    patient = "import sliphook_sdk.process.exit as ending\nending._CLEANUP_S = 120\n"
    words = "import atexit\natexit.register(print, 'last words')\n"
    plugin.write_text(patient + words + PLUGIN)
    ran = subprocess.run(
        [sys.executable, plugin],
        input=INITIALIZE,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "last words\n")


def test_a_host_that_reads_no_more_is_no_error(plugin: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, plugin],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    _, errors = process.communicate(INITIALIZE.encode(), timeout=120)
    assert (process.returncode, errors) == (0, b"")


def test_importing_a_plugin_loads_no_engine(plugin: Path) -> None:
    script = (
        "import sys, torture; print([name for name in ('asyncio', 'trio', "
        "'pylsp_jsonrpc', 'logging') if name in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=plugin.parent,
    )
    assert ran.stdout == "[]\n", ran.stderr


def loaded_beside_msgspec(modules: str) -> set[str]:
    """The standard library's modules among these that `import msgspec` does not load."""
    script = "import sys, msgspec; print(*sys.modules)"
    bare = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True
    )
    new = set(modules.split()) - set(bare.stdout.split())
    return {name for name in new if not name.startswith("sliphook_sdk")}


def test_a_plugin_of_plain_functions_loads_little(plugin: Path) -> None:
    # what it costs in time: `spawn to ready` in `make bench`
    plugin.write_text(
        PLUGIN.replace(
            "def guard(call): ...",
            "def guard(call):\n    import sys\n    print(*sys.modules)",
        )
    )
    hook = (
        '{"jsonrpc":"2.0","id":2,"method":"hook/pre_tool_call","params":{"event_id":"e","seq":1,"time":"t","session_id":"s","session_key":null,'
        '"platform":null,"user_id":null,"cwd":null,"turn_id":null,"agent_id":"a","parent_agent_id":null,"agent_depth":0,"meta":null,'
        '"call_id":"c","model_call_id":null,"tool_name":"x","origin":"agent","arguments":{}}}\n'
    )
    ran = subprocess.run(
        [sys.executable, plugin],
        input=INITIALIZE + hook,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0
    loaded = loaded_beside_msgspec(ran.stderr)
    assert not loaded & {"asyncio", "socket", "subprocess", "tempfile"}
    # 25 on 3.9, 31 on 3.13, 45 on 3.15
    assert len(loaded) <= 50, sorted(loaded)
