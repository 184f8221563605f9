"""Plugins that an adapter makes: what is recorded, started and refused."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sliphook.registry import RegistryError
from sliphook.registry.made import Made, approve
from sliphook.registry.server_command import made_of_server, name_of_command

EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_the_adapter_is_run_by_this_python() -> None:
    made = Made(kind="mcp", words=["/bin/true", "-x"], files={"/bin/true": "0" * 64})
    by = made.by("time")
    assert made.program == Path(sys.executable)
    assert by.arguments == ("-I", "-m", "sliphook.adapters.mcp", "time", "/bin/true", "-x")
    assert by.origin == "mcp:time"
    assert by.files == {Path("/bin/true"): "0" * 64}


def test_relative_words_are_those_of_the_folder(tmp_path: Path) -> None:
    program(tmp_path / "serve")
    made = made_of_server(["./serve", ".", "../x", "./y", "plain", "-v"], tmp_path)
    assert made.words == [
        f"{tmp_path}/serve",
        str(tmp_path),
        f"{tmp_path.parent}/x",
        f"{tmp_path}/y",
        "plain",
        "-v",
    ]
    assert list(made.files) == [f"{tmp_path}/serve"]


def test_words_that_name_a_file_there_are_those_of_the_folder(tmp_path: Path) -> None:
    """The server does not run there. A word alone may be anything, although a folder has its name."""
    program(tmp_path / "serve")
    for name in ("packages/mcp", "server"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "main.py").touch()
    words = ["./serve", "run", "--directory", "packages/mcp", "main.py", "server", "a/b", "x.py"]
    words += ["/tmp/", "x" * 300 + ".py"]
    made = made_of_server(words, tmp_path)
    assert made.words[3:] == [
        f"{tmp_path}/packages/mcp",
        f"{tmp_path}/main.py",
        "server",
        "a/b",
        "x.py",
        "/tmp/",
        "x" * 300 + ".py",
    ]


def test_a_word_that_is_too_long_for_a_file_is_no_script(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "pass;" * 100]
    assert made_of_server(words, tmp_path).words == words


def test_the_script_of_an_interpreter_is_approved_too(tmp_path: Path) -> None:
    (tmp_path / "serve.py").touch()
    made = made_of_server([sys.executable, "-u", "serve.py", "data.db"], tmp_path)
    assert made.words == [sys.executable, "-u", f"{tmp_path}/serve.py", "data.db"]
    assert made.files[f"{tmp_path}/serve.py"] == EMPTY_SHA256
    assert list(made.files) == [sys.executable, f"{tmp_path}/serve.py"]


def test_what_is_not_there_or_could_be_changed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RegistryError, match="there is no no-such-server on PATH"):
        made_of_server(["no-such-server"], tmp_path)
    with pytest.raises(RegistryError, match="there is no command"):
        made_of_server([], tmp_path)
    program(tmp_path / "open").chmod(0o777)
    with pytest.raises(RegistryError, match="everybody may change"):
        made_of_server(["./open"], tmp_path)
    with pytest.raises(RegistryError, match="cannot be read"):
        approve([tmp_path / "gone"])


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["mcp-server-time", "--zone", "UTC"], "mcp-server-time"),
        (["npx", "-y", "@modelcontextprotocol/server-everything@1.2"], "server-everything"),
        (["uvx", "mcp-server-git"], "mcp-server-git"),
        (["uv", "run", "serve.py"], "serve"),
        (["/opt/venv/bin/python3.12", "-m", "mcp_server_time"], "mcp_server_time"),
        (["node", "/srv/Weather Station.js"], "weather-station"),
        (["python3"], "python3"),
        (["npx", "mcp"], "mcp-server"),
        (["./***"], "mcp-server"),
    ],
)
def test_the_name_is_that_of_what_runs(words: list[str], name: str) -> None:
    assert name_of_command(words) == name
