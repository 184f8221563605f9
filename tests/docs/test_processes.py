"""docs/processes.md says what is so: every state, the numbers, the limits that it shows."""

from __future__ import annotations

import re
from pathlib import Path

from sliphook.plugin.lifecycle import State
from sliphook.process.limits import LEAST, Limits
from sliphook.process.log_files import FILE_BYTES, OLD_FILES
from sliphook.settings import read_settings

PAGE = (Path(__file__).resolve().parent.parent.parent / "docs" / "processes.md").read_text(
    encoding="utf-8"
)
STATES = PAGE.partition("## States")[2].partition("\n## ")[0]
LIMITS = PAGE.partition("## Limits")[2].partition("\n## ")[0]


def test_the_table_has_every_state_once() -> None:
    assert re.findall(r"^\| `([a-z_]+)` \|", STATES, re.MULTILINE) == [
        state.value for state in State
    ]


def test_which_states_let_a_request_wait() -> None:
    waits = re.findall(r"^\| `([a-z_]+)` \|[^|]*\| waits", STATES, re.MULTILINE)
    assert waits == [state.value for state in State if state.waits]


def test_the_size_of_the_logs() -> None:
    assert (FILE_BYTES, OLD_FILES) == (1024 * 1024, 3)
    assert "rotated at 1 MiB with three older ones" in PAGE


def test_the_table_has_every_limit_once() -> None:
    assert re.findall(r"^\| `([a-z_]+)` \|", LIMITS, re.MULTILINE) == list(LEAST)


def test_the_limits_that_are_shown_are_settings(tmp_path: Path) -> None:
    (shown,) = re.findall(r"```toml\n(.*?)```", LIMITS, re.DOTALL)
    file = tmp_path / "config.toml"
    file.write_text(shown)
    settings = read_settings(file)
    assert settings.limits == Limits(memory_mib=512, open_files=256)
    assert settings.plugins["guard"].limits == Limits(cpu_s=600, processes=64)
