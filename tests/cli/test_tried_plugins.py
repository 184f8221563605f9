"""Plugins of `--plugin`: what they are given, and where their files are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.programs import Program, Workshop
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
        (["--env", "HOME"], "--env is for the plugins of --plugin PATH, --mcp and --hooks; give"),
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


SCHEMA = {
    "type": "object",
    "properties": {"limit": {"type": "integer", "default": 3}, "word": {"type": "string"}},
}


def given(plugin: Program) -> object:
    """The settings of its last start."""
    return plugin.params("initialize")[-1]["plugin"]["config"]


@pytest.mark.parametrize("command", ["run", "call", "fire", "chat"])
def test_a_misspelt_setting_is_refused(shop: Workshop, sliphook: Sliphook, command: str) -> None:
    path = shop.program("conf", tools=["show"], hears=["stop"], config_schema=SCHEMA).path
    done = ran(sliphook, command, "--plugin", path, "--config", "limt=3")
    assert done.status == 1
    assert done.err == (
        "sliphook: there is no setting limt; did you mean limit?; give --config KEY=VALUE\n"
    )
    done = ran(sliphook, command, "--plugin", path, "--config", "limit=many")
    assert done.status == 1
    assert 'its settings do not fit: limit: "many" is not of type "integer"' in done.err


def test_of_several_plugins_each_gets_what_it_has(sliphook: Sliphook, shop: Workshop) -> None:
    first = shop.program("first", config_schema=SCHEMA, hears=["stop"])
    other = {"type": "object", "properties": {"colour": {"type": "string"}}}
    second = shop.program("second", config_schema=other, hears=["stop"])
    settings = ["--config", "limit=7", "--config", "colour=7", "--config", "word=8"]
    plugins = ["--plugin", first.path, "--plugin", second.path]
    done = sliphook("fire", "stop", *plugins, *settings)
    assert done.status == 0, done.err
    assert given(first) == {"limit": 7, "word": "8"}
    assert given(second) == {"colour": "7"}
    done = sliphook("fire", "stop", *plugins, "--config", "size=7")
    assert "there is no setting size; it has colour; give --config KEY=VALUE" in done.err


@pytest.mark.parametrize("command", ["fire", "call", "run"])
def test_an_installed_plugin_is_known_by_its_name(
    shop: Workshop,
    sliphook: Sliphook,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    command: str,
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    plugin = shop.program("tok", tools=["show"], hears=["stop"], config_schema=SCHEMA)
    installed = sliphook("install", plugin.path, "--yes", "--config", "limit=9")
    assert installed.status == 0, installed.err
    done = ran(sliphook, command, "--plugin", "tok")
    assert done.status == 0, done.err
    assert given(plugin) == {"limit": 9}
    done = ran(sliphook, command, "--plugin", "tik")
    assert done.err == (
        "sliphook: there is no file tik here, and no such plugin is installed; did you mean tok?\n"
    )
    done = ran(sliphook, command, "--plugin", "tok", "--config", "limit=1")
    assert (
        "--config is for the plugins of --plugin PATH, --mcp and --hooks; change an installed one's by:"
        " sliphook config NAME KEY=VALUE" in done.err
    )
