"""`sliphook sessions`: what was recorded, for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio
from click.shell_completion import ShellComplete

from sliphook.agent.transcripts.store import Transcripts
from sliphook.cli.main import main, sliphook
from sliphook_sdk.protocol import Message, ToolCallRequest

from .conftest import WAIT_S

CALL = ToolCallRequest(call_id="c1", name="weather", arguments={"city": "Oslo"})


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return tmp_path / "sliphook" / "transcripts.db"


async def _record(file: Path) -> None:
    with Transcripts.open(file) as transcripts:
        one = transcripts.begin("aa11", "main", "cli", "/project", "m-1")
        one.message(Message(role="user", content="weather\n\x1b[31mplease?"))
        one.message(Message(role="assistant", content=None, tool_calls=[CALL]))
        one.message(Message(role="tool", content="cold\n\tvery", call_id="c1"))
        await one.text("Take a ")
        one.abandoned()
        one.message(Message(role="assistant", content="Take"), "interrupted")
        transcripts.end("aa11", "signal")
        transcripts.begin("ab22").message(Message(role="user", content="hello"))


@pytest.fixture
def recorded(file: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("sliphook.agent.transcripts.writer_thread.CLOSE_S", WAIT_S)
    trio.run(_record, file)
    return file


def test_nothing_was_recorded_yet(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions"]) == 0
    assert capsys.readouterr().out == "no conversation has been recorded yet\n"
    assert main(["sessions", "--json"]) == 0
    assert capsys.readouterr().out == "[]\n"
    assert main(["sessions", "show", "a"]) == 1
    assert capsys.readouterr().err == "sliphook: no conversation has been recorded yet\n"
    assert not file.parent.exists()


def test_ids_behind_tab(recorded: Path) -> None:
    for command in (["chat", "--resume"], ["sessions", "show"], ["sessions", "remove"]):
        completion = ShellComplete(sliphook, {}, "sliphook", "_SLIPHOOK_COMPLETE")
        offered = [(item.value, item.help) for item in completion.get_completions(command, "a")]
        assert offered == [("ab22", "hello"), ("aa11", "weather\\n\\x1b[31mplease?")]
        assert [item.value for item in completion.get_completions(command, "aa")] == ["aa11"]
    recorded.write_bytes(b"no database at all")
    assert (
        ShellComplete(sliphook, {}, "sliphook", "_SLIPHOOK_COMPLETE").get_completions(
            ["sessions", "show"], ""
        )
        == []
    )
    recorded.unlink()
    assert (
        ShellComplete(sliphook, {}, "sliphook", "_SLIPHOOK_COMPLETE").get_completions(
            ["sessions", "show"], ""
        )
        == []
    )
    assert not recorded.exists()


def test_the_list(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions"]) == 0
    head, second, first = capsys.readouterr().out.splitlines()
    assert head.split() == ["ID", "LAST", "PLATFORM", "MODEL", "MESSAGES", "PROMPT"]
    assert (second.split()[0], second.split()[3:]) == ("ab22", ["-", "-", "1", "hello"])
    assert (first.split()[0], first.split()[3:]) == (
        "aa11",
        ["cli", "m-1", "4", "weather", "\\x1b[31mplease?"],
    )


def test_the_list_for_programs(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "--json"]) == 0
    second, first = json.loads(capsys.readouterr().out)
    assert second["session_id"] == "ab22"
    assert {key: value for key, value in first.items() if not key.endswith("_at")} == {
        "session_id": "aa11",
        "session_key": "main",
        "platform": "cli",
        "cwd": "/project",
        "model": "m-1",
        "end_reason": "signal",
        "prompt": "weather\n\x1b[31mplease?",
        "messages": 4,
    }


def test_one_as_it_was_said(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "show", "aa"]) == 0
    head, *messages = capsys.readouterr().out.rstrip("\n").split("\n\n")
    assert head.startswith("session aa11, model m-1, platform cli, key main, in /project, ended 20")
    assert head.endswith(" (signal)")
    assert [message.splitlines()[1:] for message in messages] == [
        ["  weather", "  \\x1b[31mplease?"],
        ['  calls weather {"city":"Oslo"}'],
        ["  cold", "      very"],
        ["  Take a "],
        ["  Take"],
    ]
    heads = [message.splitlines()[0] for message in messages]
    assert [line.partition(", ")[0] for line in heads] == [
        "user",
        "assistant",
        "result of c1",
        "assistant",
        "assistant",
    ]
    assert [", ".join(line.split(", ")[2:]) for line in heads] == [
        "",
        "",
        "",
        "did not count: the model was asked again",
        "interrupted",
    ]


def test_one_for_programs(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "show", "ab22", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["session"]["session_id"] == "ab22"
    assert [(line["state"], line["message"]) for line in shown["lines"]] == [
        ("whole", {"role": "user", "content": "hello"})
    ]


def test_one_is_removed(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "remove", "ab"]) == 0
    assert capsys.readouterr().out == "removed ab22: hello\n"
    assert main(["sessions", "show", "ab22"]) == 1
    assert (
        capsys.readouterr().err
        == "sliphook: there is no session that begins with 'ab22'; `sliphook sessions` lists them\n"
    )
    with Transcripts.open(recorded) as transcripts:
        assert [row.session_id for row in transcripts.sessions()] == ["aa11"]


@pytest.mark.parametrize(
    "command", [["sessions"], ["sessions", "show", "a"], ["sessions", "remove", "a"]]
)
def test_a_broken_file_is_named(
    file: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    file.parent.mkdir()
    file.write_bytes(b"no database" * 100)
    assert main(command) == 1
    assert capsys.readouterr().err == (
        f"sliphook: cannot use the transcripts in {file}: file is not a database; repair it, "
        "or move it away and a new one is made\n"
    )
