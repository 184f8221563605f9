"""TOML that a program changes: comments stay, and a failed change leaves the old file."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from hypothesis import given, settings
from hypothesis import strategies as st

from sliphook.files.toml import TomlError
from sliphook.files.toml_edit import change_toml

BY_HAND = """\
# mine
enabled = true   # for now
order = 1
grants = [
  "inject",  # it tells the model about deploys
]

[config]
# where to
channel = "ops" # not dev
gone = 1

[hooks.stop]
off = true  # too chatty
"""


def test_what_stays_keeps_its_comments(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text(BY_HAND)
    wanted = tomllib.loads(BY_HAND)
    wanted["enabled"] = False
    del wanted["config"]["gone"]
    wanted["config"]["new"] = {"deep": [1, 2]}
    wanted["env"] = ["TOKEN"]
    change_toml(file, BY_HAND, wanted)
    text = file.read_text()
    assert tomllib.loads(text) == wanted
    assert [line for line in BY_HAND.splitlines() if "#" in line and "enabled" not in line] == [
        line for line in text.splitlines() if "#" in line and "enabled" not in line
    ]
    assert file.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["x.toml"]


def test_a_file_that_cannot_be_written_is_as_it_was(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        change_toml(tmp_path / "none" / "x.toml", None, {"a": 1})
    (tmp_path / "x.toml").mkdir()
    with pytest.raises(OSError, match="directory"):
        change_toml(tmp_path / "x.toml", None, {"a": 1})
    assert os.listdir(tmp_path) == ["x.toml"]


VALUES: Any = st.recursive(
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
TABLES: Any = st.dictionaries(st.sampled_from(["a", "b", "c", "x y", ""]), VALUES, max_size=4)


@settings(max_examples=30)
@given(TABLES, TABLES)
def test_any_change_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, before: dict[str, Any], after: dict[str, Any]
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.toml"
    text = tomlkit.dumps(before)
    try:
        change_toml(file, text, after)
    except TomlError:
        return  # what the library cannot write is refused, and nothing was written
    assert tomllib.loads(file.read_text()) == after
