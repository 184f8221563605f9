"""Plugins of `--plugin`: what they are given, and where their files are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.programs import Workshop
from tests.ran import Ran

from .conftest import Sliphook

TOKEN = [{"name": "TRIED_TOKEN", "required": True}, {"name": "OPTIONAL"}]
LACKS = (
    "tok lacks TRIED_TOKEN in its environment; set it where the agent is started, and give it by:"
    " --env TRIED_TOKEN"
)
SAYS_IT = "return {'content': str(os.environ.get('TRIED_TOKEN'))}"


def ran(sliphook: Sliphook, command: str, *args: str | Path) -> Ran:
    if command == "chat":
        return sliphook("chat", *args)
    if command == "call":
        return sliphook("call", "show", *args)
    if command == "fire":
        return sliphook("fire", "stop", *args)
    return sliphook("run", "TOOL show", *args)


@pytest.mark.parametrize("command", ["run", "chat", "call", "fire"])
def test_a_required_variable_that_is_not_set_is_said(
    shop: Workshop, sliphook: Sliphook, command: str
) -> None:
    plugin = shop.program("tok", env=TOKEN, tools=["show"], hears=["stop"])
    done = ran(sliphook, command, "--plugin", plugin.path)
    assert done.status == 0
    assert done.err.count(f"plugin {LACKS}\n") == 1


@pytest.mark.parametrize("command", ["run", "call"])
def test_env_gives_it(
    shop: Workshop, sliphook: Sliphook, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIED_TOKEN", "s3cret-value")
    plugin = shop.program("tok", env=TOKEN, tools=["show"], on=SAYS_IT)
    without = ran(sliphook, command, "--plugin", plugin.path)
    assert LACKS in without.err
    assert "None" in without.out + without.err
    done = ran(sliphook, command, "--plugin", plugin.path, "--env", "TRIED_TOKEN")
    assert "s3cret-value" in done.out
    assert "lacks" not in done.err


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--env", "HOME"], "--env is for the plugins of --plugin and --mcp; give"),
        (["--plugin", "x", "--env", "NOT_SET_HERE"], "the variable NOT_SET_HERE is not set here"),
        (["--plugin", "x", "--env", "LD_PRELOAD"], "LD_PRELOAD is never given to a plugin"),
        (["--plugin", "x", "--env", "A=B"], "'A=B' is no name of an environment variable"),
    ],
)
def test_an_env_that_gives_nothing_is_an_error(
    sliphook: Sliphook, tmp_path: Path, args: list[str], says: str
) -> None:
    (tmp_path / "x").touch(0o755)
    done = sliphook("run", "hello", *args)
    assert done.status in (1, 2)
    assert says in " ".join(done.err.split())


def test_two_of_one_file_name_have_files_of_their_own(
    sliphook: Sliphook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has one name for its folder and its log, the same one in the next run."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    paths: list[str | Path] = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        before = f"MANIFEST['name'] = {name!r}\nos.makedirs('mine', exist_ok=True)\n"
        log = "import sys; print('I am', os.getcwd(), file=sys.stderr, flush=True)\n"
        program = Workshop(tmp_path / name).program("guard", before=before + log)
        paths += ["--plugin", program.path]
    for _ in range(2):
        assert sliphook("run", "hello", *paths).status == 0
    data, logs = tmp_path / "data/sliphook/data", tmp_path / "state/sliphook/logs"
    folders = sorted(data.iterdir())
    assert [len(folder.name) for folder in folders] == [len("guard"), len("guard-01234567")]
    assert set(logs.iterdir()) == {logs / f"{folder.name}.log" for folder in folders}
    for folder in folders:
        text = (logs / f"{folder.name}.log").read_text()
        assert text.count(f"I am {folder}\n") == text.count("I am") == 2
