"""`list` and `doctor` see attached agents: what still runs, and what to do if it does not."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sliphook.adapters.attachments import codex_trust, configs
from sliphook.adapters.attachments.examine import Attachment, attachments
from sliphook.adapters.attachments.records import remember, remembered
from sliphook.adapters.dialects.known import DIALECTS
from sliphook.cli.main import main
from sliphook.registry import Registered, Registry
from sliphook.settings import read_settings

from .conftest import file_of

AGENTS = list(DIALECTS)


def seen() -> list[Attachment]:
    plugins = [one for one in Registry().read() if isinstance(one, Registered)]
    return attachments(plugins, read_settings())


def faults() -> list[tuple[str, str, str | None]]:
    [one] = seen()
    return [(fault.level, fault.what, fault.do) for fault in one.faults]


def accept(home: Path) -> None:
    """What `/hooks` of Codex does."""
    file = file_of(home, "codex")
    text = ""
    for line in configs.lines(json.loads(file.read_text())):
        event = {"PreToolUse": "pre_tool_use"}.get(line.event)
        event = event or "".join(f"_{c.lower()}" if c.isupper() else c for c in line.event)[1:]
        key = f"{file}:{event}:{line.place[0]}:{line.place[1]}"
        made = codex_trust.hash_of(event, line.matcher, line.handler)
        text += f'[hooks.state."{key}"]\ntrusted_hash = "{made}"\n'
    (file.parent / "config.toml").write_text(text)


@pytest.fixture(params=AGENTS)
def agent(request: pytest.FixtureRequest, home: Path, install: Callable[..., None]) -> str:
    """An agent with an attached guard."""
    install()
    assert main(["attach", request.param, "--yes"]) == 0
    if request.param == "codex":
        accept(home)
    return str(request.param)


def test_nothing_is_attached(home: Path, install: Callable[..., None]) -> None:
    install()
    assert seen() == []


def test_all_is_well(agent: str, home: Path) -> None:
    [one] = seen()
    assert (one.agent, one.file, one.faults) == (agent, str(file_of(home, agent)), ())
    assert DIALECTS[agent].entry("pre_tool_call").theirs[0] in one.events


def test_detached_it_is_forgotten(agent: str) -> None:
    assert main(["detach", agent, "--yes"]) == 0
    assert seen() == []
    assert remembered() == []


def test_written_by_hand_it_is_seen(agent: str) -> None:
    shutil.rmtree(Path(remembered_folder()))
    assert [one.agent for one in seen()] == [agent]


def remembered_folder() -> Path:
    from sliphook.files import paths

    return paths.data_home() / "attached" / "files"


def test_our_lines_are_lost(agent: str, home: Path) -> None:
    file = file_of(home, agent)
    file.write_text("{}")
    title = DIALECTS[agent].title
    assert faults() == [
        (
            "problem",
            f"{file} has lost our hooks: no plugin runs in {title}",
            f"sliphook attach {agent}, or sliphook detach {agent}",
        )
    ]
    file.write_text("{")
    [(level, what, do)] = faults()
    assert (level, do) == ("problem", f"sliphook attach {agent}")
    assert "is no JSON" in what


def test_the_program_is_gone(agent: str, home: Path) -> None:
    [file] = {line.words[0] for line in configs.lines(json.loads(file_of(home, agent).read_text()))}
    Path(file).unlink()
    [(level, what, do)] = faults()
    assert level == "problem"
    assert what.startswith(f"the program of our hooks is gone, {file}: ")
    assert do == f"sliphook attach {agent}"


def test_the_program_is_of_another_version(agent: str, home: Path) -> None:
    file = file_of(home, agent)
    [program] = {line.words[0] for line in configs.lines(json.loads(file.read_text()))}
    other = Path(program).parent.parent / ("0" * 16) / "client"
    other.parent.mkdir()
    shutil.copy(program, other)
    file.write_text(file.read_text().replace(program, str(other)))
    if agent == "codex":
        accept(home)
    [(level, what, _)] = faults()
    assert level == "note"
    assert "of another version of Sliphook" in what


def test_plugins_have_subscribed_to_more(agent: str, install: Callable[..., None]) -> None:
    install("more", {"event": "stop"}, {"event": "subagent_start"}, {"event": "notification"})
    levels = {level for level, _, _ in faults()}
    assert levels <= {"note"}
    if agent not in ("copilot", "gemini"):  # these need no more for it than a guard does
        assert "plugins have subscribed to more since" in faults()[0][1]


def test_a_guard_that_was_installed_since(home: Path, install: Callable[..., None]) -> None:
    install("ear", {"event": "session_start"})
    assert main(["attach", "claude-code", "--yes"]) == 0
    assert faults() == []
    install()
    assert faults() == [
        (
            "problem",
            "Claude Code does not run PreToolUse, so a guard is not asked",
            "sliphook attach claude-code",
        )
    ]


def test_a_guard_that_is_closed_since(home: Path, install: Callable[..., None]) -> None:
    install("ear", {"event": "pre_tool_call", "on_failure": "open"})
    assert main(["attach", "gemini", "--yes"]) == 0
    install()
    assert faults() == [
        (
            "problem",
            "BeforeTool is let through if no plugin can be asked; a guard wants not",
            "sliphook attach gemini",
        )
    ]


@pytest.mark.parametrize("where", ["its own file", "config.toml"])
def test_a_guard_that_the_user_has_closed(
    home: Path, install: Callable[..., None], where: str
) -> None:
    install("ear", {"event": "pre_tool_call", "on_failure": "open"})
    assert main(["attach", "gemini", "--yes"]) == 0
    assert faults() == []
    if where == "its own file":
        closing = ["--hook", "pre_tool_call", "--on-failure", "closed"]
        assert main(["config", "ear", *closing]) == 0
    else:
        file = home / "config" / "sliphook" / "config.toml"
        file.parent.mkdir(parents=True)
        file.write_text('[plugins.ear.hooks.pre_tool_call]\non_failure = "closed"\n')
    [(_, what, _)] = faults()
    assert what == "BeforeTool is let through if no plugin can be asked; a guard wants not"
    assert main(["attach", "gemini", "--yes"]) == 0
    assert faults() == []


def test_a_guard_that_is_never_asked(home: Path, install: Callable[..., None]) -> None:
    install()
    install("filter", {"event": "pre_llm_call", "on_failure": "closed"})
    assert main(["attach", "cursor", "--yes", "--without", "filter"]) == 0
    assert faults() == [
        (
            "note",
            "filter guards pre_llm_call, and is never asked: "
            "Cursor has no hook around its model calls.",
            None,
        )
    ]


def test_plugins_that_are_gone(agent: str) -> None:
    assert main(["uninstall", "guard"]) == 0
    [(level, what, do)] = faults()
    assert (level, do) == ("note", f"sliphook detach {agent}")
    assert "runs hooks that no plugin needs" in what


def test_the_agent_is_gone(agent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    [(level, what, do)] = faults()
    names = " or ".join(DIALECTS[agent].programs)
    assert level == "note"
    assert what == f"there is no {names} on PATH: {DIALECTS[agent].title} may be gone"
    assert do == f"if it is: sliphook detach {agent}"


def test_hooks_that_codex_skips(
    home: Path, install: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    install("ear", {"event": "session_start"})
    assert main(["attach", "codex", "--yes"]) == 0
    skips = "Codex skips hooks without a word: SessionStart, SessionEnd not accepted"
    do = "start codex, and accept them in /hooks"
    assert faults() == [("problem", skips, do)]
    capsys.readouterr()
    assert main(["doctor"]) == 1
    shown = capsys.readouterr().out
    assert "PROBLEM  codex " in shown
    assert skips in shown
    assert f"do: {do}" in shown
    accept(home)
    assert main(["doctor"]) == 0
    (home / ".codex" / "config.toml").write_text("no toml")
    [(level, what, _)] = faults()
    assert level == "note"
    assert what.startswith("what Codex trusts cannot be seen: ")


def test_all_hooks_are_switched_off(home: Path, install: Callable[..., None]) -> None:
    install()
    assert main(["attach", "claude-code", "--yes"]) == 0
    file = file_of(home, "claude-code")
    file.write_text(json.dumps(json.loads(file.read_text()) | {"disableAllHooks": True}))
    assert faults() == [
        ("problem", f"{file} switches all hooks off", "take disableAllHooks out of it")
    ]


def test_a_project(
    home: Path, install: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    install()
    project = home / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    assert main(["attach", "copilot", "--project", "--yes"]) == 0
    file = project / ".github/hooks/sliphook.json"
    assert [(one.file, one.faults) for one in seen()] == [(str(file), ())]
    file.write_text("{}")
    assert faults()[0][2] == (
        f"sliphook attach copilot --project, in {project}, or sliphook detach copilot"
    )
    monkeypatch.chdir(home)
    shutil.rmtree(project)
    assert seen() == []


def test_what_list_shows(
    home: Path, install: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    install("ear", {"event": "session_start"})
    assert main(["attach", "gemini", "--yes"]) == 0
    capsys.readouterr()
    assert main(["list"]) == 0
    shown = capsys.readouterr().out.splitlines()
    file = file_of(home, "gemini")
    assert shown[-2:] == [f"  in gemini  {file}", "     hooks     SessionStart, SessionEnd"]
    assert main(["list", "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found["agents"] == [
        {
            "agent": "gemini",
            "file": str(file),
            "events": ["SessionStart", "SessionEnd"],
            "faults": [],
            "server": None,
        }
    ]
    file.write_text("{}")
    assert main(["list"]) == 0
    assert "     problem   " in capsys.readouterr().out


def test_records_that_cannot_be_read(home: Path) -> None:
    remember("gemini", home / "a.json")
    for name, text in (("x.json", "{"), ("y.json", '{"agent": "none", "file": "/a"}')):
        (remembered_folder() / name).write_text(text)
    (remembered_folder() / "z.json").mkdir()
    assert [(one.agent, one.file) for one in remembered()] == [("gemini", str(home / "a.json"))]


ODD = {
    "half a character": "\ud800",
    "no character of a path": "\0",
    "half a character behind": " \ud800",
}


@pytest.mark.parametrize("more", ODD)
def test_a_command_that_no_file_can_be(agent: str, home: Path, more: str) -> None:
    """Of a project's configuration: whoever writes into that ends neither `list` nor `doctor`."""
    file = file_of(home, agent)
    [program] = {line.words[0] for line in configs.lines(json.loads(file.read_text()))}
    odd = json.dumps(program + ODD[more])[1:-1]
    file.write_text(file.read_text().replace(program, odd))
    assert [one for one in faults() if one[0] == "problem"] != []


def test_a_time_that_is_null(home: Path, install: Callable[..., None]) -> None:
    install()
    assert main(["attach", "codex", "--yes"]) == 0
    accept(home)
    file = file_of(home, "codex")
    text = file.read_text()
    assert '"timeout": 3' in text
    file.write_text(text.replace('"timeout": 3', '"timeout": null'))
    assert faults() == []
