"""What `run` and `chat` start, and what they make of the user's settings."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from sliphook import PluginHost
from sliphook.cli.chosen_plugins import Chosen, choose, look_who_is_there, model_of, user_settings
from sliphook.cli.common import Failed
from sliphook.plugin.spec import Override, PluginSpec, PluginStatus
from sliphook.registry import Registry
from sliphook.settings import Provider, Settings
from tests.registry.installed import installed


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("DATA", "STATE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    return tmp_path


def install(path: Path, **keys: Any) -> None:
    Registry().add(installed(path, **keys))


def test_installed_plugins_come_first_in_their_order(home: Path) -> None:
    for name in ("second", "first", "off"):
        install(home / name, enabled=name != "off")
    (home / "link").symlink_to(home / "first")
    chosen = choose([PluginSpec(home / name) for name in ("link", "mine", "off")], Settings())
    assert [(spec.name, spec.path.name) for spec in chosen.specs] == [
        ("second", "second"),
        ("first", "first"),
        (None, "mine"),
        (None, "off"),
    ]
    assert (chosen.installed, chosen.problems) == (2, ())


def test_a_broken_file_loses_its_plugin_alone(home: Path) -> None:
    install(home / "guard")
    file = Registry().folder / "torn.toml"
    file.write_text("enabled = \n")
    chosen = choose([], Settings())
    assert [spec.name for spec in chosen.specs] == ["guard"]
    (problem,) = chosen.problems
    assert problem.startswith(f"plugin torn is left out: {file}, line 1: ")


def test_settings_go_over_the_plugins_file(home: Path) -> None:
    install(home / "guard", overrides={"stop": Override(priority=1)})
    settings = msgspec.convert(
        {"plugins": {"guard": {"hooks": {"stop": {"priority": 9}}}}}, Settings
    )
    (spec,) = choose([], settings).specs
    assert spec.overrides == {"stop": Override(priority=9)}


def test_settings_for_a_plugin_that_is_not_installed_are_told(home: Path) -> None:
    install(home / "guard", enabled=False)
    settings = msgspec.convert(
        {"plugins": {"gard": {}, "guard": {}, "weather": {}, "a\nb": {}}}, Settings
    )
    assert choose([], settings).problems == (
        "config.toml: plugins.gard does nothing, as no plugin of that name is installed; did "
        "you mean guard?",
        "config.toml: plugins.weather does nothing, as no plugin of that name is installed; "
        "`sliphook list` shows what is installed",
        "config.toml: plugins.a\\nb does nothing, as no plugin of that name is installed; "
        "`sliphook list` shows what is installed",
    )


def test_broken_settings_are_one_line_and_left_alone(home: Path) -> None:
    file = home / "config" / "sliphook" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("timeout_caps = 3\n")
    with pytest.raises(Failed) as told:
        user_settings()
    assert (
        told.value.message
        == f"{file}, line 1: timeout_caps: there is no such key; did you mean timeout_cap_s?"
    )
    assert file.read_text() == "timeout_caps = 3\n"


class _Host:
    def __init__(self, *plugins: PluginStatus) -> None:
        self.plugins = list(plugins)


READY = PluginStatus("guard", Path("/guard"), "ready", None, 1, 0, 0.0, (), None)
SPECS = (PluginSpec(Path("/guard"), "guard"), PluginSpec(Path("/other"), "other"))
REFUSED = dataclasses.replace(READY, name="other", state="refused", why="its file\nhas changed")


def test_an_installed_plugin_that_is_not_there_is_told_and_one_of_the_command_line_is_missed() -> (
    None
):
    told: list[str] = []
    look_who_is_there(
        cast(PluginHost, _Host(REFUSED, READY)),
        Chosen((), SPECS, 1, ("plugin torn is left out",)),
        told.append,
    )
    assert told == ["plugin torn is left out", "plugin other did not start: its file\\nhas changed"]
    with pytest.raises(Failed, match="plugin other did not start: its file"):
        look_who_is_there(
            cast(PluginHost, _Host(READY, REFUSED)), Chosen((), SPECS, 1, ()), told.append
        )
    assert len(told) == 2
    itself = dataclasses.replace(READY, name="other", state="self_disabled", why="no token")
    look_who_is_there(cast(PluginHost, _Host(READY, itself)), Chosen((), SPECS, 1, ()), told.append)
    assert told[2:] == ["plugin other leaves itself out: no token"]


@pytest.mark.parametrize(
    ("name", "base_url", "means"),
    [
        (None, None, ("mine", "http://mine/v1")),
        ("other", None, ("other", "http://mine/v1")),
        ("scripted", None, ("scripted", None)),
        ("anthropic/claude", None, ("anthropic/claude", None)),
        ("script.json", None, ("script.json", None)),
        (None, "http://there/v1", (None, "http://there/v1")),
        ("other", "http://there/v1", ("other", "http://there/v1")),
    ],
)
def test_options_beat_the_settings(
    name: str | None, base_url: str | None, means: tuple[str | None, str | None]
) -> None:
    assert model_of(name, base_url, Settings(model="mine", base_url="http://mine/v1")) == means
    assert model_of(name, base_url, Settings()) == (name, base_url)


def test_a_model_of_a_provider_is_on_its_own_server() -> None:
    settings = Settings(
        model="local", base_url="http://mine/v1", providers={"local": Provider(base_url="http://l")}
    )
    assert model_of(None, None, settings) == ("local", None)
    assert model_of("local/m-1", None, settings) == ("local/m-1", None)
    assert model_of("other/m-1", None, settings) == ("other/m-1", "http://mine/v1")
    assert model_of("local/m-1", "http://there/v1", settings) == ("local/m-1", "http://there/v1")
