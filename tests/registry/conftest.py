"""The commands for installed plugins, run inside this process, and plugins that need only sh."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sliphook.cli.main import main
from sliphook.cli.plugins import consent
from sliphook.files import paths
from tests.ran import Ran

Run = Callable[..., Ran]
MakePlugin = Callable[..., Path]


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("DATA", "STATE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / "home" / kind.lower()))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `sliphook ARGS...`; `answers` are those of a user at a terminal, one per question."""

    def sliphook(*args: str | Path, answers: list[bool] | None = None) -> Ran:
        if answers is not None:
            monkeypatch.setattr(consent, "is_terminal", lambda: True)
            left = list(answers)

            def confirm(question: str, **_: Any) -> bool:
                print(question)
                return left.pop(0)

            monkeypatch.setattr("click.confirm", confirm)
        else:
            monkeypatch.setattr(consent, "is_terminal", lambda: False)
        capsys.readouterr()
        status = main([str(one) for one in args])
        said = capsys.readouterr()
        return Ran(status, said.out, said.err)

    return sliphook


@pytest.fixture
def make(tmp_path: Path) -> MakePlugin:
    """Writes a plugin with this manifest. When it starts, it writes to the file `ran` beside it."""

    def plugin(name: str = "guard", file: str | None = None, **manifest: Any) -> Path:
        path = tmp_path / (file or name)
        declared = {"protocol_version": 1, "name": name, **manifest}
        answer = json.dumps({"jsonrpc": "2.0", "id": 1, "result": declared})
        assert "'" not in answer
        path.write_text(
            "#!/bin/sh\n"
            f"echo {name} >> {tmp_path}/ran\n"
            "while read -r line; do\n"
            "  case $line in\n"
            f"""  *'"initialize"'*) printf '%s\\n' '{answer}' ;;\n"""
            """  *'"shutdown"'* | *'"exit"'*) exit 0 ;;\n"""
            "  esac\n"
            "done\n"
        )
        path.chmod(0o700)
        return path

    return plugin


def stored() -> dict[str, bytes]:
    """Every file of the registry, whole."""
    folder = paths.data_home() / "plugins"
    return (
        {path.name: path.read_bytes() for path in folder.iterdir() if path.name != ".lock"}
        if folder.exists()
        else {}
    )
