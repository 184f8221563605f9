"""Wrong uses of the commands for plugins: each is told in one line, and changes nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sliphook.files import paths
from tests.registry.conftest import MakePlugin, Run, stored

from .wants import SCHEMA

WRONG: list[tuple[list[str], int, str]] = [
    (["install"], 2, "give one PATH or NAME (see: sliphook install --help)"),
    (
        ["install", "./other"],
        2,
        "install asks first, and there is no terminal to ask on; give --yes to agree beforehand",
    ),
    (
        ["install", "./guard", "--yes"],
        1,
        "/guard is installed already, as guard; uninstall it first, or give another --name",
    ),
    (
        ["install", "./guard", "--yes", "--name", "Guard"],
        1,
        "'Guard' is no name of a plugin; names match [a-z0-9][a-z0-9_-]{0,63}",
    ),
    (["install", "./guard", "--yes", "--name", "../x"], 1, "'../x' is no name of a plugin"),
    (["install", "./guard", "--yes", "--name", "a\nb"], 1, "'a\\nb' is no name of a plugin"),
    (
        ["install", "./guard", "--yes", "--name", "guard"],
        1,
        "a plugin named guard is installed already",
    ),
    (["install", "./none", "--yes"], 1, "none does not exist; check the path"),
    (
        ["install", "none", "--yes"],
        1,
        "there is no sliphook-plugin-none on PATH; `sliphook list --available` shows what is there",
    ),
    (
        ["install", "guard", "--yes"],
        1,
        "there is no sliphook-plugin-guard on PATH; if you mean the file, say ./guard",
    ),
    (["install", "", "--yes"], 1, ". is a directory; name the executable inside it"),
    (["install", "./", "--yes"], 1, ". is a directory; name the executable inside it"),
    (["install", "./text", "--yes"], 1, "text is not executable; run: chmod +x text"),
    (["install", "./plain", "--yes"], 1, "plain has no #! line"),
    (["install", "./circle", "--yes"], 1, "circle is a loop of symbolic links"),
    (["install", "./open", "--yes"], 1, "everybody may change "),
    (
        ["install", "./dies", "--yes"],
        3,
        "dies: exited with status 7 before it answered initialize; nothing was changed",
    ),
    (["install", "./mute", "--yes"], 3, "mute: the manifest does not fit: "),
    (
        ["install", "./other", "--yes", "--grant", "nonsense"],
        2,
        "Invalid value for '--grant': 'nonsense' is not one of 'notify'",
    ),
    (
        ["install", "./other", "--yes", "--grant", "inject"],
        1,
        "other does not ask for inject; it asks for nothing",
    ),
    (
        ["install", "./other", "--yes", "--env", "LD_PRELOAD"],
        1,
        "LD_PRELOAD is never given to a plugin",
    ),
    (
        ["install", "./other", "--yes", "--env", "A=B"],
        1,
        "'A=B' is no name of an environment variable",
    ),
    (
        ["install", "./other", "--yes", "--config", "novalue"],
        2,
        "'novalue' is no setting; write KEY=VALUE",
    ),
    (["install", "./other", "--yes", "--config", "=x"], 2, "'=x' is no setting; write KEY=VALUE"),
    (
        ["install", "./other", "--yes", "--config", "a=null"],
        2,
        "a: null cannot be kept; --unset takes a setting away",
    ),
    (
        ["install", "./strict", "--yes", "--config", "colour=red"],
        1,
        "there is no setting colour; it has channel, key, level; give --config KEY=VALUE",
    ),
    (
        ["install", "./strict", "--yes", "--config", "level=high"],
        1,
        'its settings do not fit: level: "high" is not of type "integer"',
    ),
    (["install", "./guard", "--nonsense"], 2, "No such option"),
    (["uninstall"], 2, "Missing argument 'NAME'"),
    (["uninstall", "gaurd"], 1, "no plugin named gaurd is installed; did you mean guard?"),
    (["uninstall", "../guard"], 1, "'../guard' is no name of a plugin"),
    (["uninstall", "guard/"], 1, "'guard/' is no name of a plugin"),
    (
        ["enable", "zzz"],
        1,
        "no plugin named zzz is installed; `sliphook list` shows what is installed",
    ),
    (
        ["enable", "broken"],
        1,
        "broken.toml, line 1: enabled: it must be true or false, and is the text 'yes'",
    ),
    (["disable", "zzz"], 1, "no plugin named zzz is installed"),
    (["disable", "guard", "guard"], 2, "Got unexpected extra argument (guard)"),
    (["trust", "zzz", "--yes"], 1, "no plugin named zzz is installed"),
    (["trust", "guard"], 2, "trust asks first, and there is no terminal to ask on"),
    (["trust", "gone", "--yes"], 1, "gone does not exist; check the path"),
    (
        ["trust", "guard", "--yes", "--grant", "notify"],
        1,
        "guard does not ask for notify; it asks for nothing",
    ),
    (["list", "guard"], 2, "Got unexpected extra argument (guard)"),
    (["config"], 2, "Missing argument 'NAME'"),
    (["config", "zzz"], 1, "no plugin named zzz is installed"),
    (["config", "broken", "a=1"], 1, "broken.toml, line 1: enabled: it must be true or false"),
    (["config", "guard", "a"], 2, "'a' is no setting; write KEY=VALUE"),
    (["config", "guard", "a=99999999999999999999"], 2, "a: the number is too large"),
    (["config", "guard", "--unset", "a"], 1, "guard has no setting 'a'; it has none"),
    (
        ["config", "guard", "--grant", "inject"],
        1,
        "guard does not ask for inject; it asks for nothing",
    ),
    (["config", "guard", "--revoke", "inject"], 1, "guard has no grant 'inject'; it has none"),
    (["config", "guard", "--no-env", "TOKEN"], 1, "guard has no variable 'TOKEN'; it has none"),
    (["config", "guard", "--env", "NODE_OPTIONS"], 1, "NODE_OPTIONS is never given to a plugin"),
    (["config", "guard", "--priority", "1"], 2, "say which hook that is about: --hook EVENT"),
    (
        ["config", "guard", "--hook", "stop"],
        2,
        "say what shall be of stop: --priority, --on-failure, --off or --on",
    ),
    (
        ["config", "guard", "--hook", "pre_tool", "--off"],
        2,
        "there is no hook or event 'pre_tool'; did you mean 'pre_tool_call'?",
    ),
    (
        ["config", "guard", "--hook", "stop", "--on-failure", "closed"],
        2,
        "--on-failure closed needs a hook that can deny, and stop cannot",
    ),
    (
        ["config", "guard", "--hook", "stop", "--priority", "high"],
        2,
        "Invalid value for '--priority': 'high' is not a valid integer",
    ),
    (["config", "guard", "--timeout-cap", "0"], 2, "'0' is no timeout: give 0.05 to 600 seconds"),
    (
        ["config", "guard", "--timeout-cap", "nan"],
        2,
        "'nan' is no timeout: give 0.05 to 600 seconds",
    ),
    (["fire", "stop", "--plugin", "./open"], 1, "open is not started: everybody may change "),
]


@pytest.fixture
def busy_home(run: Run, make: MakePlugin, tmp_path: Path) -> Path:
    """Several plugins, whole and not, and files that cannot be plugins."""
    for name in ("guard", "gone"):
        assert run("install", make(name), "--yes").status == 0
    (tmp_path / "gone").unlink()
    (paths.data_home() / "plugins" / "broken.toml").write_text('enabled = "yes"\n')
    make("other")
    make("strict", **SCHEMA)
    make("open").chmod(0o777)
    (tmp_path / "text").write_text("#!/bin/sh\n")
    (tmp_path / "plain").write_text("hello\n")
    (tmp_path / "plain").chmod(0o700)
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "dies").write_text("#!/bin/sh\nexit 7\n")
    (tmp_path / "dies").chmod(0o700)
    make("mute").write_text(
        (tmp_path / "mute")
        .read_text()
        .replace('"protocol_version": 1', '"protocol_version": "one"')
    )
    return tmp_path


def test_wrong_uses(run: Run, busy_home: Path) -> None:
    """One line each, the right status, and nothing is changed."""
    before = stored()
    assert len(WRONG) >= 40
    for args, status, message in WRONG:
        ran = run(*args)
        last = ran.err.splitlines()[-1]
        shown = f"sliphook {' '.join(args)}: {ran}"
        assert ran.status == status, shown
        assert message in last, shown
        assert last.startswith("sliphook: "), shown
        assert ran.out == "", shown
        if "--yes" not in args:  # else it may have been shown what it agreed to
            assert len(ran.err.splitlines()) == 1 or args[0] == "install", shown
        assert stored() == before, shown


def test_what_is_asked_for_is_not_run_before(run: Run, make: MakePlugin, tmp_path: Path) -> None:
    path = make()
    for args in ([], ["--name", "X", "--yes"], ["--env", "PYTHONPATH", "--yes"]):
        assert run("install", path, *args).status != 0
    path.chmod(0o702)
    assert run("install", "./guard", "--yes").status == 1
    assert not (tmp_path / "ran").exists()


def test_the_listing_tells_what_is_broken(run: Run, busy_home: Path) -> None:
    rows = {
        row["name"]: (row["state"], row["why"]) for row in run("list", "--json").json()["plugins"]
    }
    assert rows["guard"] == ("enabled", None)
    assert rows["gone"] == ("refused", f"{busy_home}/gone does not exist; check the path")
    assert rows["broken"][0] == "broken"
    assert json.loads(run("list", "--json").out)["plugins"][0]["name"] == "broken"
    assert "broken.toml, line 1: enabled" in run("list").out


@pytest.mark.parametrize("home", ["relative", None])
def test_without_a_home(
    run: Run, make: MakePlugin, monkeypatch: pytest.MonkeyPatch, home: str | None
) -> None:
    """A relative one would move with the current folder."""
    path = make()
    for variable in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "HOME"):
        monkeypatch.delenv(variable)
    if home is not None:
        monkeypatch.setenv("HOME", home)
    monkeypatch.setattr(
        "pwd.getpwuid", dict[int, object]().__getitem__
    )  # the system does not know the user
    for args in (["list"], ["config", "guard"], ["install", str(path), "--yes"], ["doctor"]):
        ran = run(*args)
        assert (ran.status, ran.out) == (1, "")
        assert ran.err == (
            "sliphook: cannot go on: your home folder is not known; set HOME to its absolute path\n"
        )
