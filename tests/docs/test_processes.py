"""docs/processes.md says what is so: every state, the numbers, the wrapper that it shows."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import trio

from sliphook import PluginHost
from sliphook.plugin.lifecycle import State
from sliphook.process.log_files import FILE_BYTES, OLD_FILES
from tests.programs import Workshop

PAGE = (Path(__file__).resolve().parent.parent.parent / "docs" / "processes.md").read_text(
    encoding="utf-8"
)


def test_the_table_has_every_state_once() -> None:
    assert re.findall(r"^\| `([a-z_]+)` \|", PAGE, re.MULTILINE) == [state.value for state in State]


def test_which_states_let_a_request_wait() -> None:
    waits = re.findall(r"^\| `([a-z_]+)` \|[^|]*\| waits", PAGE, re.MULTILINE)
    assert waits == [state.value for state in State if state.waits]


def test_the_size_of_the_logs() -> None:
    assert (FILE_BYTES, OLD_FILES) == (1024 * 1024, 3)
    assert "rotated at 1 MiB with three older ones" in PAGE


def test_every_wrapper_is_a_script_that_the_shell_reads() -> None:
    scripts = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    assert len(scripts) == 2
    for script in scripts:
        assert script.startswith("#!/bin/sh\n")
        subprocess.run(["sh", "-n"], input=script.encode(), check=True, timeout=10)


async def test_a_plugin_behind_a_wrapper_works(tmp_path: Path) -> None:
    """With the second wrapper of the page, as systemd is not everywhere."""
    program = Workshop(tmp_path).program(hears=["stop"])
    wrapper = tmp_path / "wrapper"
    wrapper.write_text(
        re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)[1].replace(
            "/home/me/plugins/guard", str(program.path)
        )
    )
    wrapper.chmod(0o755)
    with trio.fail_after(20):
        async with PluginHost(
            [wrapper], data_home=tmp_path / "data", log_dir=tmp_path / "logs"
        ) as host:
            assert [(plugin.name, plugin.state) for plugin in host.plugins] == [("probe", "ready")]
