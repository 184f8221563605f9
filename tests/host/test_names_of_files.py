"""The one name of a plugin's data folder and of its log."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sliphook.host.admission import name_of_files
from sliphook.plugin.spec import PluginSpec

HASHED = re.compile(r"guard-[0-9a-f]{8}")


def test_an_installed_plugin_has_its_own_name_whoever_else_is_there() -> None:
    spec = PluginSpec(Path("/b/guard.py"), "guard")
    assert name_of_files(spec, {"guard": PluginSpec(Path("/a/guard.py"))}) == "guard"


@pytest.mark.parametrize("file", ["guard", "guard.py", "guard.sh"])
def test_a_tried_one_has_that_of_its_file_if_it_is_free(file: str) -> None:
    spec = PluginSpec(Path("/b") / file)
    assert name_of_files(spec, {"other": PluginSpec(Path("/a/other"))}) == "guard"
    assert name_of_files(spec, {"guard": PluginSpec(Path("/b") / file)}) == "guard"


def test_one_that_is_taken_gets_a_part_of_its_paths_hash(tmp_path: Path) -> None:
    """Also beside an installed plugin of that name; by a link it is the same plugin."""
    taken = {"guard": PluginSpec(Path("/a/guard.py"))}
    names = {name_of_files(PluginSpec(Path(at) / "guard.py"), taken) for at in ("/b", "/b", "/c")}
    assert len(names) == 2
    assert all(HASHED.fullmatch(name) for name in names)
    (tmp_path / "guard").touch()
    (tmp_path / "link").mkdir()
    (tmp_path / "link/guard").symlink_to(tmp_path / "guard")
    linked = PluginSpec(tmp_path / "link/guard")
    assert name_of_files(linked, {"guard": PluginSpec(tmp_path / "guard")}) == "guard"
    assert name_of_files(linked, taken) == name_of_files(PluginSpec(tmp_path / "guard"), taken)
