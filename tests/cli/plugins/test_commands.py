"""install, uninstall, enable, disable, trust, list and config, as people and programs use them."""

from __future__ import annotations

import io
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sliphook.cli import run_once as module
from sliphook.cli.main import main
from sliphook.cli.plugins import consent
from sliphook.cli.run_once import run_once
from sliphook.files import paths
from sliphook.registry import Registry
from tests.registry.conftest import MakePlugin, Run, stored

from .wants import SCHEMA, WANTS, sha256


def test_what_a_person_is_shown_and_asked(run: Run, make: MakePlugin, tmp_path: Path) -> None:
    path = make(**WANTS)
    ran = run("install", path, answers=[True, True, False, True, False, True])
    assert ran.status == 0
    assert ran.out.splitlines() == [
        "Run it once, to see what it wants?",
        "Grant inject?",
        "Grant notify?",
        "Give it the variable DEPLOY_TOKEN?",
        "Give it the variable DEPLOY_URL?",
        "Install it as guard?",
        "installed guard",
        "  not granted: notify; to grant it: sliphook config guard --grant notify",
        "  not given: DEPLOY_URL; to give it: sliphook config guard --env DEPLOY_URL",
    ]
    owner = path.owner()
    lines = ran.err.splitlines()
    assert re.fullmatch(r"  size      \d+ bytes, changed \d{4}-\d\d-\d\d \d\d:\d\d", lines.pop(3))
    assert lines == [
        str(path),
        f"  owner     {owner}, -rwx------",
        f"  sha256    {sha256(path)}",
        "  runs in   /bin/sh",
        "",
        "A plugin runs with your rights, as any program that you start.",
        "",
        "guard 1.2.0: Keeps watch.",
        "  hooks     pre_tool_call (closed)",
        "  tools     deploy",
        "  uses      inject, notify",
        "  env       DEPLOY_TOKEN (required, secret): to reach the service",
        "  env       DEPLOY_URL",
    ]
    plugin = Registry().get("guard")
    assert plugin.grants == frozenset({"inject"})
    assert plugin.env == ("DEPLOY_TOKEN",)
    assert plugin.recorded.sha256 == sha256(path)
    assert plugin.path == path
    assert not (paths.data_home() / "data").exists()


@pytest.mark.parametrize("answers", [[False], [True, False]])
def test_who_says_no_has_changed_nothing(
    run: Run, make: MakePlugin, tmp_path: Path, answers: list[bool]
) -> None:
    ran = run("install", make(), answers=answers)
    assert (ran.status, ran.err.splitlines()[-1]) == (1, "sliphook: nothing was changed")
    assert stored() == {}
    assert (tmp_path / "ran").exists() == answers[0]


@pytest.mark.parametrize(("typed", "status"), [("\n", 1), ("y\n\n\n", 1), ("y\n\ny\n", 0)])
def test_enter_alone_means_no(
    make: MakePlugin, monkeypatch: pytest.MonkeyPatch, typed: str, status: int
) -> None:
    """Whether to run it, each grant, whether to install it: what is not said is not given."""
    monkeypatch.setattr(consent, "is_terminal", lambda: True)
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    assert main(["install", str(make(uses=["inject"]))]) == status
    assert list(stored()) == (["guard.toml"] if status == 0 else [])
    for file in stored().values():
        assert tomllib.loads(file.decode())["grants"] == []


def test_what_is_installed_is_refused_before_anything_is_asked_or_run(
    run: Run, make: MakePlugin, tmp_path: Path
) -> None:
    path = make(file="sliphook-plugin-guard")
    assert run("install", path, "--yes").status == 0
    (tmp_path / "ran").unlink()
    as_guard = f"sliphook: {path} is installed already, as guard;"
    ran = run("install", path, answers=[])
    assert ran.err == f"{as_guard} uninstall it first, or give another --name\n"
    assert ran.out == ""
    assert ran.status == 1
    run("disable", "guard")
    assert (
        run("install", path, "--yes").err
        == f"{as_guard} it is disabled; to start it again: sliphook enable guard\n"
    )
    path.write_text(path.read_text() + "# an update\n")
    changed = (
        f"{as_guard} its file has changed since; if that is right, run: sliphook trust guard\n"
    )
    assert run("install", path, answers=[]).err == changed
    (tmp_path / "elsewhere").mkdir()
    another = path.rename(tmp_path / "elsewhere" / path.name)
    ran = run("install", another, answers=[])
    assert (ran.status, ran.err) == (
        1,
        "sliphook: a plugin named guard is installed already; uninstall it first, or give "
        "another --name\n",
    )
    assert not (tmp_path / "ran").exists()
    assert run("install", another, "--yes", "--name", "watch").status == 0


def test_yes_grants_nothing_that_was_not_named(run: Run, make: MakePlugin) -> None:
    ran = run(
        "install",
        make(**WANTS),
        "--yes",
        "--grant",
        "inject",
        "--env",
        "DEPLOY_TOKEN",
        "--name",
        "watch",
        "--json",
    )
    assert (ran.status, ran.err) == (0, "")
    assert {key: ran.json()[key] for key in ("name", "grants", "env")} == {
        "name": "watch",
        "grants": ["inject"],
        "env": ["DEPLOY_TOKEN"],
    }


def test_the_whole_life_of_one(run: Run, make: MakePlugin) -> None:
    path = make(**WANTS)
    assert run("install", path, "--yes").status == 0
    assert run("disable", "guard").out == "disabled guard\n"
    assert [(one["name"], one["state"]) for one in run("list", "--json").json()["plugins"]] == [
        ("guard", "disabled")
    ]
    assert Registry().specs({}) == ([], [])
    assert run("enable", "guard").out == "enabled guard\n"
    approved = sha256(path)
    path.write_text(path.read_text() + "# an update\n")
    (row,) = run("list", "--json").json()["plugins"]
    assert (row["state"], row["sha256"]) == ("refused", approved)
    assert row["why"] == (
        "its file has changed; if that is right, run: sliphook trust guard (now its "
        f"sha256 is {sha256(path)})"
    )
    assert run("trust", "guard", "--yes").out.splitlines()[0] == "guard is accepted as it is now"
    assert Registry().get("guard").recorded.sha256 == sha256(path)
    assert run("list").out.splitlines() == [
        "  1  guard  1.2.0  enabled",
        f"     path      {path}",
        "     hooks     pre_tool_call (closed)",
        "     tools     deploy",
        "     lacks     inject, notify; to grant it:"
        " sliphook config guard --grant inject --grant notify",
    ]
    assert (
        run("uninstall", "guard").out
        == f"uninstalled guard; its data is still in {paths.data_home()}/data/guard\n"
    )
    assert (stored(), path.exists()) == ({}, True)
    assert run("list").out == (
        "no plugin is installed; `sliphook install PATH` does that, `sliphook list "
        "--available` shows some\n"
    )


def test_trust_shows_what_is_new_and_asks_for_each(run: Run, make: MakePlugin) -> None:
    path = make(**{**WANTS, "uses": ["notify"]})
    assert run("install", path, "--yes", "--grant", "notify").status == 0
    old = sha256(path)
    make(**{**WANTS, "uses": ["inject"], "tools": [{"name": "undo"}], "subscriptions": []})
    ran = run("trust", "guard", answers=[True, True, True])
    assert ran.out.splitlines()[:3] == [
        "Its file has changed. Run it once, to see what it wants?",
        "Grant inject?",
        "Accept guard as it is now?",
    ]
    assert f"  sha256    {sha256(path)}\n  before    {old}\n  size  " in ran.err
    assert "\n  --- as approved\n  +++ now\n" in ran.err
    assert (
        "It asks for more than was approved:\n  the tool undo\n  the use of inject\n"
        "  not to guard pre_tool_call as before\n"
    ) in ran.err
    plugin = Registry().get("guard")
    assert (plugin.grants, [tool.name for tool in plugin.manifest.tools or ()]) == (
        frozenset({"inject"}),
        ["undo"],
    )


def test_trust_where_nothing_has_changed_asks_nothing(run: Run, make: MakePlugin) -> None:
    run("install", make(), "--yes")
    before = stored()
    ran = run("trust", "guard", answers=[])
    assert ran.err == ""
    assert ran.out == "guard is as it was approved\n"
    assert ran.status == 0
    assert stored() == before


def test_the_last_no_leaves_it_refused(run: Run, make: MakePlugin) -> None:
    path = make()
    run("install", path, "--yes")
    before = stored()
    make(tools=[{"name": "new"}])
    for answers in ([False], [True, False]):
        assert run("trust", "guard", answers=answers).status == 1
        assert stored() == before


def test_a_name_that_another_has_is_told(run: Run, make: MakePlugin) -> None:
    run("install", make("first", tools=[{"name": "deploy"}], commands=[{"name": "go"}]), "--yes")
    ran = run(
        "install",
        make("second", tools=[{"name": "deploy"}, {"name": "x"}], commands=[{"name": "go"}]),
        "--yes",
    )
    assert ran.status == 0
    assert ran.err.endswith(
        "sliphook: second will be refused while first is enabled: both have the tool deploy, "
        "the command /go\n"
    )


def test_settings(run: Run, make: MakePlugin) -> None:
    run(
        "install", make(**WANTS, **SCHEMA), "--yes", "--config", "channel=42", "--config", "level=3"
    )
    assert Registry().get("guard").config == {"channel": "42", "level": 3}
    shown = run(
        "config",
        "guard",
        "key=s3cret",
        "--unset",
        "level",
        "--grant",
        "inject",
        "--env",
        "DEPLOY_URL",
        "--timeout-cap",
        "2",
    ).out
    assert shown.splitlines() == [
        'config         {"channel":"42","key":"***"}',
        'grants         ["inject"]',
        'env            ["DEPLOY_URL"]',
        "servers        -",
        "timeout_cap_s  2.0",
        "sandbox        false",
        "pin            false",
        "overrides      -",
        "it has         channel, string, default none",
        "it has         key, string, default none",
        "it has         level, integer, default none",
    ]
    assert Registry().get("guard").config["key"] == "s3cret"
    run(
        "config",
        "guard",
        "--hook",
        "PRE-tool-call",
        "--priority",
        "7",
        "--on-failure",
        "open",
        "--sandbox",
    )
    run(
        "config",
        "guard",
        "--hook",
        "pre_tool_call",
        "--off",
        "--revoke",
        "inject",
        "--no-env",
        "DEPLOY_URL",
        "--timeout-cap",
        "none",
    )
    row = run("config", "guard", "--json").json()
    assert row == {
        "name": "guard",
        "config": {"channel": "42", "key": "***"},
        "grants": [],
        "env": [],
        "servers": [],
        "timeout_cap_s": None,
        "sandbox": True,
        "pin": False,
        "overrides": {"pre_tool_call": {"priority": 7, "on_failure": "open", "off": True}},
        "settings": {
            name: {"kind": kind, "default": None, "required": False, "description": None}
            for name, kind in (("channel", "string"), ("key", "string"), ("level", "integer"))
        },
    }


def test_a_setting_that_the_plugin_does_not_have_is_refused(run: Run, make: MakePlugin) -> None:
    """As a Struct of the Python SDK declares it: without a word on other settings."""
    limits = {"type": "object", "properties": {"limit": {"type": "integer", "default": 5}}}
    schema = {"$ref": "#/$defs/Limits", "$defs": {"Limits": limits}}
    path = make(config_schema=schema)
    ran = run("install", path, "--yes", "--config", "limt=3")
    assert (ran.status, ran.err.splitlines()[-1]) == (
        1,
        "sliphook: there is no setting limt; did you mean limit?; give --config KEY=VALUE",
    )
    ran = run("install", path, "--yes", "--config", "limit=3")
    assert ran.status == 0
    assert "  setting   limit, integer, default 5" in ran.err.splitlines()
    assert run("config", "guard", "colour=red").err == (
        "sliphook: there is no setting colour; it has limit; nothing was changed\n"
    )
    assert Registry().get("guard").config == {"limit": 3}


def test_settings_without_a_schema_are_what_they_look_like(run: Run, make: MakePlugin) -> None:
    run("install", make(), "--yes")
    run(
        "config",
        "guard",
        "a=1",
        "b=true",
        'c=[1,{"d":2.5}]',
        "e=plain",
        "f=1.0.2",
        "g=",
        'h="quoted"',
    )
    assert Registry().get("guard").config == {
        "a": 1, "b": True, "c": [1, {"d": 2.5}], "e": "plain", "f": "1.0.2", "g": "", "h": "quoted",
    }  # fmt: skip


def test_a_plugin_that_leaves_itself_out_is_installed_all_the_same(
    run: Run, make: MakePlugin
) -> None:
    ran = run("install", make(disabled="no DEPLOY_TOKEN", env=[{"name": "DEPLOY_TOKEN"}]), "--yes")
    assert ran.status == 0
    assert "  it leaves itself out for now: no DEPLOY_TOKEN\n" in ran.err


def test_those_on_path_are_found_by_name(
    run: Run, make: MakePlugin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("one", "two", "evil"):
        (tmp_path / folder).mkdir()
    first = make(file="one/sliphook-plugin-guard")
    make(file="two/sliphook-plugin-guard")
    make(file="two/sliphook-plugin-Bad")
    (tmp_path / "two" / "sliphook-plugin-text").write_text("not executable")
    (tmp_path / "two" / "sliphook-plugin-folder").mkdir()
    # relative entries lead to whatever lies in the folder in which the user happens to be
    make(file="evil/sliphook-plugin-evil")
    monkeypatch.chdir(tmp_path / "evil")
    here = f".::../evil:{tmp_path}/none"
    monkeypatch.setenv("PATH", f"{here}:{tmp_path}/one:{tmp_path}/two:/usr/bin:/bin")
    assert run("list", "--available", "--json").json() == {
        "available": [{"name": "guard", "path": str(first), "installed": False}]
    }
    assert not (tmp_path / "ran").exists()
    assert run("install", "evil", "--yes").status == 1
    assert not (tmp_path / "ran").exists()
    assert run("install", "guard", "--yes").status == 0
    assert run("list", "--available").out == f"guard  {first}  (installed)\n"
    assert Registry().get("guard").path == first


def test_a_link_is_resolved_when_it_is_installed(
    run: Run, make: MakePlugin, tmp_path: Path
) -> None:
    path = make(file="real")
    (tmp_path / "link").symlink_to("real")
    run("install", "./link", "--yes")
    assert Registry().get("guard").path == path


def test_what_a_plugin_says_of_itself_steers_no_terminal(run: Run, make: MakePlugin) -> None:
    path = make(description="a\x1b[2Jb", env=[{"name": "TOKEN", "why": "\u202eevil\nline"}])
    ran = run("install", path, "--yes")
    assert ran.status == 0
    assert "guard: a\\x1b[2Jb\n" in ran.err
    assert "  env       TOKEN: \\u202eevil\\nline\n" in ran.err
    assert "\x1b" not in run("list").out + run("list", "--json").out


@pytest.mark.parametrize("name", ["X\x1b[2J", "A\n  uses      nothing", "LD_PRELOAD", ""])
def test_what_is_no_variable_is_neither_shown_nor_asked_for(
    run: Run, make: MakePlugin, name: str
) -> None:
    ran = run("install", make(env=[{"name": name}]), answers=[True])
    assert (ran.status, ran.out) == (3, "Run it once, to see what it wants?\n")
    assert "\x1b" not in ran.err
    assert ran.err.splitlines()[-1].startswith("sliphook: guard: env: ")


def test_what_is_no_utf8_is_told_in_utf8(run: Run, make: MakePlugin, tmp_path: Path) -> None:
    assert run("install", make(), "--yes").status == 0
    (tmp_path / "guard").rename(odd := tmp_path / "odd\udcff")
    ran = run("install", odd, "--yes")
    assert (ran.status, ran.err) == (
        1,
        f"sliphook: {tmp_path}/odd\\xff is no UTF-8 and cannot be recorded; rename the file "
        "or its folder\n",
    )
    ran = run("config", "guard", "odd\udcff=1")
    assert (ran.status, ran.err) == (
        2,
        "sliphook: odd\\xff: it is no UTF-8 (see: sliphook config --help)\n",
    )
    (paths.data_home() / "plugins" / "odd\udcff.toml").write_text("")
    assert [
        row["file"][-13:] for row in run("list", "--json").json()["plugins"] if "file" in row
    ] == ["odd\\udcff.toml"[-13:]]


def test_an_error_steers_no_terminal(run: Run, make: MakePlugin) -> None:
    assert run("install", make(), "--yes", "--config", "a\x1b[2J=1").status == 0
    assert (
        run("config", "guard", "--unset", "b").err
        == "sliphook: guard has no setting 'b'; it has a\\x1b[2J\n"
    )


def test_what_is_revoked_while_trust_asks_stays_revoked(
    run: Run, make: MakePlugin, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make(uses=["inject"])
    assert run("install", path, "--yes", "--grant", "inject").status == 0
    path.write_text(path.read_text() + "\n")

    def run_and_revoke(*args: Any) -> Any:
        Registry().change("guard", lambda one: replace(one, grants=frozenset()))
        return run_once(*args)

    monkeypatch.setattr(module, "run_once", run_and_revoke)
    assert run("trust", "guard", "--yes").status == 0
    assert Registry().get("guard").grants == frozenset()


ROUTES: dict[str, Any] = {
    "subscriptions": [{"event": "pre_llm_call", "replaces": True}],
    "uses": ["route"],
    "servers": ["127.0.0.1:8080", "gpu.lan"],
}


def test_a_person_is_asked_for_each_server_that_may_have_the_conversations(
    run: Run, make: MakePlugin
) -> None:
    ran = run("install", make(**ROUTES), answers=[True, True, True, False, True])
    assert ran.status == 0
    assert ran.out.splitlines()[1:] == [
        "Grant route?",
        "Let it send your conversations to 127.0.0.1:8080?",
        "Let it send your conversations to gpu.lan?",
        "Install it as guard?",
        "installed guard",
        "  no model calls to gpu.lan; to let it: sliphook config guard --server gpu.lan",
    ]
    assert (
        "  uses      route\n"
        "  route     may send your conversations to: your providers, 127.0.0.1:8080, gpu.lan\n"
    ) in ran.err
    plugin = Registry().get("guard")
    assert plugin.spec({}).servers == ("127.0.0.1:8080",)
    assert "     servers   127.0.0.1:8080\n" in run("list").out


def test_without_the_grant_no_server_is_asked_for(run: Run, make: MakePlugin) -> None:
    assert run("install", make(**ROUTES), answers=[True, False, True]).status == 0
    assert Registry().get("guard").servers == ()
    # whoever only agrees beforehand grants nothing either
    run("uninstall", "guard")
    ran = run("install", make(**ROUTES), "--yes", "--grant", "route", "--server", "gpu.lan")
    assert "  no model calls to 127.0.0.1:8080; to let it: sliphook config" in ran.out
    assert Registry().get("guard").spec({}).servers == ("gpu.lan",)


def test_servers_are_given_and_taken(run: Run, make: MakePlugin) -> None:
    run("install", make(**ROUTES), "--yes", "--grant", "route", "--server", "gpu.lan")
    ran = run("config", "guard", "--server", "[::1]:9", "--no-server", "gpu.lan", "--json")
    assert ran.json()["servers"] == ["[::1]:9"]
    ran = run("config", "guard", "--no-server", "gpu.lan")
    assert (ran.status, ran.err) == (
        1,
        "sliphook: guard has no server 'gpu.lan'; it has [::1]:9\n",
    )
    ran = run("config", "guard", "--server", "http://gpu.lan")
    assert ran.status == 2
    assert "'http://gpu.lan' is no server: write HOST or HOST:PORT" in ran.err


def test_more_servers_have_to_be_approved(run: Run, make: MakePlugin) -> None:
    run("install", make(**ROUTES), "--yes", "--grant", "route", "--server", "gpu.lan")
    make(**{**ROUTES, "servers": ["gpu.lan", "evil.example"]})
    ran = run("trust", "guard", answers=[True, False, True])
    assert "It asks for more than was approved:\n  to send model calls to evil.example\n" in ran.err
    assert ran.out.splitlines() == [
        "Its file has changed. Run it once, to see what it wants?",
        "Let it send your conversations to evil.example?",
        "Accept guard as it is now?",
        "guard is accepted as it is now",
        "  no model calls to evil.example; to let it: sliphook config guard --server evil.example",
    ]
    assert Registry().get("guard").servers == ("gpu.lan",)
