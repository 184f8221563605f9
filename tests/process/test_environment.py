"""What a plugin's environment is made of: exactly this, whatever else the agent's has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from sliphook.plugin.secrets import own_keys
from sliphook.process.environment import plugin_environment

ADDED = {"PYTHONUTF8": "1", "PYTHONUNBUFFERED": "1"}


@pytest.mark.parametrize(
    ("path", "given"),
    [
        ("/usr/bin:/bin", {"PATH": "/usr/bin:/bin"}),
        (".:/usr/bin::bin:/bin:", {"PATH": "/usr/bin:/bin"}),
        # not an empty PATH: that means the current folder
        (".", {}),
        ("", {}),
    ],
)
def test_relative_entries_of_path_are_left_out(path: str, given: dict[str, str]) -> None:
    """They would lead into the plugin's folder, where any plugin of the user can put a program."""
    assert plugin_environment({"PATH": path, "OPENAI_API_KEY": "x"}, {}) == {**given, **ADDED}


class Shrinks(Mapping[str, str]):
    """An environment of which another thread takes something away while it is read."""

    def __iter__(self) -> Iterator[str]:
        return iter(["HOME", "OPENAI_API_KEY", "TERM"])

    def __len__(self) -> int:
        return 3

    def __getitem__(self, name: str) -> str:
        if name == "TERM":
            raise KeyError(name)
        return name


def test_what_is_taken_away_meanwhile_is_left_out() -> None:
    assert plugin_environment(Shrinks(), {}) == {"HOME": "HOME", **ADDED}
    assert own_keys(Shrinks()) == ["OPENAI_API_KEY"]


GIVEN = {
    "PATH": "/bin",
    "HOME": "/home/ada",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "TMPDIR": "/var/tmp",
    "TERM": "xterm",
    "USER": "ada",
    "LOGNAME": "ada",
    "SHELL": "/bin/sh",
    "LC_ALL": "C",
    "LC_TIME": "C",
}
WITHHELD = {
    "OPENAI_API_KEY": "secret",
    "LD_PRELOAD": "/evil.so",
    "LD_LIBRARY_PATH": "/evil",
    "DYLD_INSERT_LIBRARIES": "/evil",
    "PYTHONPATH": "/evil",
    "NODE_OPTIONS": "--require /evil",
    "VIRTUAL_ENV": "/venv",
    "LCX": "no locale",
    "path": "/evil",
}


def test_the_whole_environment() -> None:
    assert plugin_environment({**GIVEN, **WITHHELD}, {}) == {**GIVEN, **ADDED}


def test_what_is_granted_comes_too_but_for_what_changes_which_code_runs() -> None:
    granted = {**WITHHELD, "TZ": "Europe/Oslo"}
    assert plugin_environment(GIVEN, granted) == {
        **GIVEN,
        **ADDED,
        "TZ": "Europe/Oslo",
        "OPENAI_API_KEY": "secret",
        "VIRTUAL_ENV": "/venv",
        "LCX": "no locale",
        "path": "/evil",
    }
