"""What a plugin's environment is made of."""

from __future__ import annotations

import pytest

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
