"""What the user has installed, as an agent reads it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from sliphook.installed import read_installed
from sliphook.plugin.spec import Override
from sliphook.registry import Registry, RegistryError
from sliphook.settings import Settings, SettingsError, settings_file
from tests.registry.installed import installed


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("DATA", "STATE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    return tmp_path


def test_nothing_is_installed(home: Path) -> None:
    found = read_installed()
    assert (found.specs, found.missing, found.ignored, found.problems) == ((), (), (), ())


def test_the_enabled_plugins_with_the_users_settings(home: Path) -> None:
    for name in ("second", "first", "off"):
        Registry().add(installed(home / name, enabled=name != "off", env=("TOKEN",)))
    settings = {"plugins": {"first": {"hooks": {"stop": {"off": True}}, "timeout_cap_s": 2.0}}}
    found = read_installed(
        msgspec.convert(settings, Settings), {"TOKEN": "t-1", "HOME": "/nowhere"}
    )
    assert [(spec.name, spec.timeout_cap_s, spec.env) for spec in found.specs] == [
        ("second", None, {"TOKEN": "t-1"}),
        ("first", 2.0, {"TOKEN": "t-1"}),
    ]
    assert found.specs[1].overrides == {"stop": Override(off=True)}


def test_what_is_missing_and_why(home: Path) -> None:
    Registry().add(installed(home / "guard"))
    torn = Registry().folder / "torn.toml"
    torn.write_text("enabled = \n")
    settings_file().parent.mkdir(parents=True)
    settings_file().write_text("[plugins.gard]\ntimeout_cap_s = 1.0\n")
    found = read_installed()
    assert [spec.name for spec in found.specs] == ["guard"]
    [missing] = found.missing
    assert (missing.name, missing.file) == ("torn", torn)
    assert found.ignored == (
        "config.toml: plugins.gard does nothing, as no plugin of that name is installed;"
        " did you mean guard?",
    )
    assert found.problems == (f"plugin torn is left out: {missing.why}", *found.ignored)


def test_settings_or_a_folder_that_cannot_be_read_are_no_empty_list(home: Path) -> None:
    settings_file().parent.mkdir(parents=True)
    settings_file().write_text("plugin = 1\n")
    with pytest.raises(SettingsError, match="plugin"):
        read_installed()
    Registry().folder.parent.mkdir(parents=True)
    Registry().folder.write_text("a file")
    with pytest.raises(RegistryError, match="cannot be read"):
        read_installed(Settings())
