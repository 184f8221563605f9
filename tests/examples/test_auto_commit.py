"""examples/auto-commit: the real shell and the real git, under a real host."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
import trio

from sliphook import PluginHost, Session
from sliphook.check import check_plugin
from tests.programs import WAIT_S, until
from tests.stubborn import executable, lives, needs_proc

from .whole_agent import model_says, sliphook_run

PLUGIN = Path(__file__).resolve().parents[2] / "examples" / "auto-commit" / "auto-commit.sh"
NEEDS = ("git", "jq", "timeout")
pytestmark = [
    pytest.mark.skipif(shutil.which(name) is None, reason=f"{name} is not installed")
    for name in NEEDS
]
each_shell = pytest.mark.parametrize(
    "shell", [name for name in ("dash", "bash", "busybox") if shutil.which(name)]
)


def git(folder: Path, *args: str, check: bool = True) -> str:
    return subprocess.run(
        ["git", "-C", str(folder), *args],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=check,
    ).stdout


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A repository with one commit, of the file `notes`."""
    folder = tmp_path / "work"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "config", "user.name", "Ada")
    git(folder, "config", "user.email", "ada@example.org")
    (folder / "notes").write_text("one\n")
    git(folder, "add", "notes")
    git(folder, "commit", "--quiet", "--message=first")
    return folder


def subjects(folder: Path) -> list[str]:
    """Of all commits, the newest first."""
    return git(folder, "log", "--format=%s").splitlines()


class Agent(NamedTuple):
    """A host with the plugin, and what the user is told."""

    host: PluginHost
    alerts: list[str]

    async def stops(self, session: Session, said: str | None = "All is done.") -> None:
        """A turn in which the model says this, and which ends."""
        async with session.turn("hello") as turn:
            model_says(turn, said)
            assert await turn.stop() is None
            turn.finish("completed")


@asynccontextmanager
async def agent(plugin: Path = PLUGIN) -> AsyncGenerator[Agent]:
    alerts: list[str] = []
    with trio.fail_after(WAIT_S):
        async with PluginHost([plugin], on_notify=lambda _, __, text: alerts.append(text)) as host:
            assert [one.state for one in host.plugins] == ["ready"]
            yield Agent(host, alerts)


async def test_it_keeps_to_the_protocol() -> None:
    with trio.fail_after(WAIT_S):
        report = await check_plugin(PLUGIN)
    others = [one for one in report.findings if one.verdict != "passed"]
    assert [(one.name, one.verdict) for one in others] == [
        ("utf-8", "skipped"),
        ("escapes", "skipped"),
    ]


def test_a_whole_turn_is_committed(work: Path, tmp_path: Path) -> None:
    write = "echo two > notes && mkdir src && echo '*.o' > .gitignore && touch src/a src/a.o"
    said = 'Wrote "two" to `notes`, $(id) & \\ more\n\n- and a list'
    replies = [{"calls": [{"name": "shell", "arguments": {"command": write}}]}, {"text": said}]
    script = tmp_path / "replies.json"
    script.write_text(json.dumps({"replies": replies}))
    words = ["write two", "--shell", "--yes", "--plugin", str(PLUGIN), "--model", str(script)]
    for _ in range(2):  # the second time nothing changes
        done = sliphook_run(*words, cwd=work)
        assert done.returncode == 0, done.stderr
        assert subjects(work) == ['Wrote "two" to `notes`, $(id) & \\ more', "first"]
        assert git(work, "status", "--porcelain") == ""
    assert git(work, "log", "-1", "--format=%an %b|") == "Ada |\n"
    assert git(work, "ls-files").split() == [".gitignore", "notes", "src/a"]


@each_shell
async def test_the_subject_is_the_first_line_of_what_the_model_said(
    shell: str, work: Path, tmp_path: Path
) -> None:
    first = f"#!/usr/bin/env -S {shell}{' sh' if shell == 'busybox' else ''}\n"
    plugin = executable(tmp_path / "auto-commit", first + PLUGIN.read_text().partition("\n")[2])
    said: dict[str | None, str] = {
        "--amend": "amend",
        "-F/etc/passwd": "F/etc/passwd",
        "\n\n  ## A *heading*\n\nand text": "A *heading*",
        "fixup! squash! first": "first",
        "a\tb\u00a0\u3000c\x1b[31m\u202e d\u2028e \x00": "a b c [31m d e",
        "'; touch pwned; '": "'; touch pwned; '",
        "%s%n \\n \\": "%s%n \\n \\",
        "é" * 73: "é" * 71 + "…",
        "😀" * 72: "😀" * 72,
        "word " * 100_000: "word " * 14 + "w…",
        "\n" * 100_000: "Changes of the agent",
        " \n*** \n": "Changes of the agent",
        None: "Changes of the agent",
    }
    async with agent(plugin) as here, here.host.session(cwd=work) as session:
        for number, (text, subject) in enumerate(said.items()):
            (work / "notes").write_text(f"{number}\n")
            await here.stops(session, text)
            assert subjects(work)[0] == subject
            assert git(work, "log", "-1", "--format=%b").strip() == ""
    assert len(subjects(work)) == 14
    assert here.alerts == []
    assert sorted(os.listdir(work)) == [".git", "notes"]


async def test_an_interrupt_commits_nothing(work: Path) -> None:
    (work / "notes").write_text("two\n")
    async with (
        agent() as here,
        here.host.session(cwd=work) as session,
        session.turn("hello") as turn,
    ):
        model_says(turn, "half")
        session.interrupt("user_stop")
    assert subjects(work) == ["first"]
    assert git(work, "status", "--porcelain") == " M notes\n"


@needs_proc
async def test_an_interrupt_in_the_middle_of_a_commit_ends_git_and_its_hooks(work: Path) -> None:
    began = work / ".git" / "began"
    hook = work / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    executable(hook, f"#!/bin/sh\necho $$ > {began}.part && mv {began}.part {began}\nsleep 1000\n")
    (work / "notes").write_text("two\n")
    async with agent() as here, here.host.session(cwd=work) as session:
        async with session.turn("hello") as turn, trio.open_nursery() as nursery:
            model_says(turn, "too slow")
            nursery.start_soon(turn.stop)
            await until(began.exists)
            session.interrupt("user_stop")
        pid = int(began.read_text())
        await until(lambda: not lives(pid) and not (work / ".git" / "index.lock").exists())
        assert subjects(work) == ["first"]
        hook.unlink()
        await here.stops(session, "at last")
    assert subjects(work) == ["at last", "first"]
    assert here.alerts == []


def merge(work: Path) -> None:
    git(work, "checkout", "--quiet", "-b", "other")
    (work / "notes").write_text("theirs\n")
    git(work, "commit", "--quiet", "--all", "--message=theirs")
    git(work, "checkout", "--quiet", "main")
    (work / "notes").write_text("ours\n")
    git(work, "commit", "--quiet", "--all", "--message=ours")


def in_a_merge(work: Path) -> None:
    merge(work)
    git(work, "merge", "other", check=False)


def in_a_resolved_merge(work: Path) -> None:
    in_a_merge(work)
    (work / "notes").write_text("both\n")
    git(work, "add", "notes")


def in_a_rebase(work: Path) -> None:
    merge(work)
    git(work, "rebase", "other", check=False)


def in_a_cherry_pick(work: Path) -> None:
    merge(work)
    git(work, "cherry-pick", "other", check=False)


def in_a_revert(work: Path) -> None:
    merge(work)
    git(work, "revert", "--no-edit", "HEAD~1", check=False)


def with_conflicts_of_a_stash(work: Path) -> None:
    (work / "notes").write_text("put away\n")
    git(work, "stash")
    (work / "notes").write_text("two\n")
    git(work, "commit", "--quiet", "--all", "--message=two")
    git(work, "stash", "pop", check=False)


@pytest.mark.parametrize(
    "state",
    [
        in_a_merge,
        in_a_resolved_merge,
        in_a_rebase,
        in_a_cherry_pick,
        in_a_revert,
        with_conflicts_of_a_stash,
    ],
)
async def test_nothing_is_committed(work: Path, state: Callable[[Path], None]) -> None:
    state(work)
    (work / "new").write_text("new\n")
    before = git(work, "rev-parse", "HEAD"), git(work, "status", "--porcelain")
    assert "new" in before[1]
    async with agent() as here, here.host.session(cwd=work) as session:
        await here.stops(session)
    assert (git(work, "rev-parse", "HEAD"), git(work, "status", "--porcelain")) == before
    assert here.alerts == []


async def test_folders_that_are_no_work_tree(work: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--bare", "bare")
    (work / "notes").write_text("two\n")
    async with agent() as here:
        (tmp_path / "work\n").mkdir()
        for cwd in ("", "work\n", "work/.git", "bare", "gone"):
            async with here.host.session(cwd=tmp_path / cwd) as session:
                await here.stops(session)
    assert here.alerts == []
    assert subjects(work) == ["first"]


async def test_in_a_folder_of_a_repository_the_rest_is_left_alone(work: Path) -> None:
    folder = work / "-- $HOME 'x' é"
    folder.mkdir()
    (folder / "mine").write_text("mine\n")
    (work / "notes").write_text("staged\n")
    git(work, "add", "notes")
    (work / "other").write_text("other\n")
    async with agent() as here, here.host.session(cwd=folder) as session:
        await here.stops(session)
    assert here.alerts == []
    assert git(work, "show", "--format=", "--name-only", "-z") == "-- $HOME 'x' é/mine\0"
    assert git(work, "status", "--porcelain") == "M  notes\n?? other\n"


async def test_in_a_folder_that_git_ignores(work: Path) -> None:
    (work / ".gitignore").write_text("build/\n")
    folder = work / "build"
    folder.mkdir()
    (folder / "output").write_text("x\n")
    async with agent() as here, here.host.session(cwd=folder) as session:
        await here.stops(session)
        git(work, "add", "--force", "build/output")
        await here.stops(session, "added by force")
        (folder / "output").write_text("y\n")
        await here.stops(session, "changed")
    assert here.alerts == []
    assert subjects(work)[-2:] == ["added by force", "first"]


async def test_a_new_repository_and_one_without_changes(tmp_path: Path, work: Path) -> None:
    new = tmp_path / "new"
    new.mkdir()
    shutil.copytree(work / ".git", new / ".git")
    shutil.rmtree(new / ".git" / "refs")
    (new / ".git" / "refs").mkdir()
    (new / ".git" / "index").unlink()
    async with agent() as here, here.host.session(cwd=new) as session:
        await here.stops(session)
        assert git(new, "log", "--format=%s", check=False) == ""
        (new / "-n").write_text("a name like an option\n")
        await here.stops(session, "begun")
        (new / "-n").unlink()
        await here.stops(session, "all gone")
    assert subjects(new) == ["all gone", "begun"]
    assert here.alerts == []


async def test_the_user_is_told_what_git_has_refused(work: Path) -> None:
    hook = work / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    executable(
        hook, "#!/bin/sh\necho 'lint: \"x\" is unused'\nprintf 'in \\33[1mnotes' >&2\nexit 1\n"
    )
    (work / "notes").write_text("two\n")
    async with agent() as here, here.host.session(cwd=work) as session:
        await here.stops(session)
        executable(hook, "#!/bin/sh\nexit 1\n")
        await here.stops(session)
        hook.unlink()
        git(work, "config", "user.useConfigOnly", "true")
        git(work, "config", "--unset", "user.email")
        await here.stops(session)
        git(work, "config", "user.email", "ada@example.org")
        (work / ".git" / "index.lock").touch()
        await here.stops(session)
        await until(lambda: len(here.alerts) == 4)
    assert subjects(work) == ["first"]
    where = f"nothing is committed in {work}, since git"
    assert here.alerts == [
        f'{where} commit failed: lint: "x" is unused | in \\x1b[1mnotes',
        f"{where} commit failed: it ended with status 1",
        f"{where} does not know who you are: git config --global user.name NAME, and user.email"
        " ADDRESS",
        f"{where} add failed: another git is at work there, or has left its index.lock behind",
    ]


async def test_two_sessions_stop_at_the_same_time(work: Path) -> None:
    async with agent() as here, agent() as there, trio.open_nursery() as nursery:

        async def stop(one: Agent) -> None:
            async with one.host.session(cwd=work) as session:
                await one.stops(session)

        for number in range(200):
            (work / f"new{number}").write_text("new\n")
        for one in (here, here, there, there):
            nursery.start_soon(stop, one)
    assert subjects(work) == ["All is done.", "first"]
    assert git(work, "status", "--porcelain") == ""
    assert here.alerts + there.alerts == []


@pytest.mark.parametrize("missing", NEEDS)
async def test_what_is_missing_is_told(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in {"sh", "cat", *NEEDS} - {missing}:
        found = shutil.which(name)
        assert found is not None
        (tmp_path / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(tmp_path))
    problems: list[str] = []
    with trio.fail_after(WAIT_S):
        async with PluginHost([PLUGIN], on_problem=lambda _, text: problems.append(text)) as host:
            assert [one.state for one in host.plugins] == ["self_disabled"]
    assert f"{missing} is not installed" in problems[0]
