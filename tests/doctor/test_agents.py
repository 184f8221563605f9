from __future__ import annotations

from pathlib import Path

import pytest

from sliphook.doctor.agents import hermes
from sliphook.doctor.finding import Scene


def level_in(home: Path, path: Path) -> list[tuple[str, str | None]]:
    scene = Scene(environ={"HERMES_HOME": str(home), "PATH": str(path)})
    return [(one.level, one.do) for one in hermes(scene)]


def test_without_a_hermes_nothing_is_said(tmp_path: Path) -> None:
    assert level_in(tmp_path / "none", tmp_path) == []


def test_a_hermes_on_the_path_without_the_bridge(tmp_path: Path) -> None:
    program = tmp_path / "hermes"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    [(level, do)] = level_in(tmp_path / "home", tmp_path)
    assert level == "note"
    assert do is not None
    assert do.startswith("pip install 'sliphook[hermes]'")


@pytest.mark.parametrize(
    ("config", "level"),
    [
        ("plugins:\n  enabled: [other, sliphook]\n", "ok"),
        ("plugins:\n  enabled:\n    - other\n    - sliphook\n  disabled: []\n", "ok"),
        ("plugins:\n  enabled:\n  - sliphook\n", "ok"),
        ("plugins:\n  enabled: []\n  disabled: [sliphook]\n", "note"),
        ("plugins:\n  enabled:\n    - other\n  disabled:\n    - sliphook\n", "note"),
        ("plugins:\n  enabled: [other]\nskills:\n  enabled: [sliphook]\n", "note"),
        ("a: 1\nplugins: # mine\n\n  disabled: []\n  enabled:\n    - sliphook # on\nb: 2\n", "ok"),
        ("plugins:\n  enabled: [not-sliphook]\n", "note"),
        ("plugins:\n  enabled:\n    # - sliphook\n    - other\n", "note"),
        ("plugins:\n  enabled:\n    # mine\n\n    - sliphook\n", "ok"),
        ("model: fake\n", "note"),
    ],
)
def test_a_bridge_is_on_or_off(tmp_path: Path, config: str, level: str) -> None:
    (tmp_path / "plugins" / "sliphook").mkdir(parents=True)
    (tmp_path / "config.yaml").write_text(config)
    assert [one for one, _ in level_in(tmp_path, tmp_path / "none")] == [level]
