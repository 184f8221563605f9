"""The fixture `plugin_harness`, as an author's test uses it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sliphook_sdk import Plugin, deny
from sliphook_sdk.protocol.answers import PreToolCallAnswer
from sliphook_sdk.protocol.payloads import PreToolCall
from sliphook_sdk.testing import Harness, load_plugin

Make = Callable[..., Harness]

PLUGIN = """
from __future__ import annotations
import msgspec
from beside import WORD
from sliphook_sdk import Plugin, deny

class Config(msgspec.Struct):
    words: tuple[str, ...] = (WORD,)

plugin = Plugin("mine", config=Config)

@plugin.hook("pre_tool_call")
async def words(call, *, ctx):
    ctx.log("info", str(ctx.data_dir))
    if call.arguments["command"] in ctx.config.words:
        return deny("no")

if __name__ == "__main__":
    plugin.run()
"""


def test_with_an_object(plugin_harness: Make, tmp_path: Path) -> None:
    plugin = Plugin("mine")

    @plugin.hook("pre_tool_call")
    def never(call: PreToolCall) -> PreToolCallAnswer:
        return deny("no")

    assert plugin_harness(plugin).fire("pre_tool_call") == deny("no")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "beside.py").write_text("WORD = 'rm'")
    path = tmp_path / "my-plugin"
    path.write_text(PLUGIN)
    return path


def test_with_a_file_and_its_settings(plugin_harness: Make, file: Path, tmp_path: Path) -> None:
    before = list(sys.path)
    harness = plugin_harness(file)
    assert harness.fire("pre_tool_call", arguments={"command": "rm"}) == deny("no")
    assert harness.logs[0].message == str(tmp_path)
    assert (
        plugin_harness(file, config={"words": []}).fire(
            "pre_tool_call", arguments={"command": "rm"}
        )
        is None
    )
    assert sys.path == before


def test_a_file_without_a_plugin(tmp_path: Path) -> None:
    (tmp_path / "empty.py").write_text("")
    with pytest.raises(LookupError, match=r"empty\.py has 0 plugins at its top level, not one"):
        load_plugin(tmp_path / "empty.py")
    with pytest.raises(FileNotFoundError):
        load_plugin(tmp_path / "nowhere.py")


def test_pytest_finds_it_and_loads_nothing_of_the_sdk_before(tmp_path: Path, file: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import sys\n"
        "def test_first():\n"
        "    assert not {'sliphook_sdk', 'msgspec', 'pylsp_jsonrpc'} & set(sys.modules)\n"
        "def test_then(plugin_harness):\n"
        "    assert plugin_harness('my-plugin').fire('pre_tool_call', arguments={'command': "
        "'rm'}).decision == 'deny'\n"
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:trio",
        "-p",
        "no:hypothesispytest",
        "test_it.py",
    ]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout
