"""examples/journal: what agents use, in one database for all, under kills and a full disk."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, closing, contextmanager
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest
import trio

from sliphook import PluginHost, PluginSpec, Session
from sliphook_sdk.protocol import Message, Usage
from tests.docs.test_more_examples import passes
from tests.programs import WAIT_S, until
from tests.stubborn import executable

from .whole_agent import sliphook_run

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "journal"
PRICES = {"large": {"input": 2, "cached": 0.5, "output": 8}, "small*": {"input": 0.2, "output": 1}}
MIB = 1024 * 1024


@pytest.fixture(scope="session")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin with what npm installs for it, once for all processes that run these tests."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    with (shared / "journal.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = shared / "journal"
        if not (folder / "node_modules" / "libsql").is_dir():
            shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("node_modules"))
            package = folder / "package.json"
            wanted = package.read_text().replace("../../sdk/node", str(ROOT / "sdk" / "node"))
            package.write_text(wanted)
            command = ["npm", "install", "--no-fund", "--no-audit", "--silent"]
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, timeout=120, check=False
            )
            assert done.returncode == 0, done.stderr
    return folder / "journal.mjs"


class Agent(NamedTuple):
    """A host with the plugin, and what the user was told."""

    host: PluginHost
    told: list[str]


@asynccontextmanager
async def agent(path: Path, home: Path, **settings: Any) -> AsyncGenerator[Agent]:
    spec = PluginSpec(path, name="journal", config=settings or {"prices": PRICES})
    told: list[str] = []
    with trio.fail_after(WAIT_S):
        async with PluginHost(
            [spec], data_home=home, on_notify=lambda _, level, text: told.append(text)
        ) as host:
            assert [one.state for one in host.plugins] == ["ready"]
            yield Agent(host, told)


async def work(session: Session, *, turns: int = 1, model: str = "large", tool: str = "t") -> None:
    """So many turns, each with a model call and a tool call."""
    for _ in range(turns):
        async with session.turn("hello") as turn:
            await turn.submit()
            await turn.pre_llm_call(provider="p", model=model, messages=[], tools=[])
            usage = Usage(input_tokens=1000, output_tokens=10, cached_tokens=200)
            answer = Message(role="assistant", content="done")
            turn.post_llm_call(
                provider="p",
                model=model,
                response=answer,
                finish_reason="stop",
                usage=usage,
                duration_ms=1.5,
            )
            await turn.call_tool(tool, {}, run=nothing)


async def nothing(_: dict[str, Any]) -> str:
    return "done"


@contextmanager
def database(home: Path) -> Generator[sqlite3.Connection]:
    with closing(sqlite3.connect(home / "journal" / "journal.db", timeout=60)) as opened:
        yield opened


def rows(home: Path, sql: str) -> list[Any]:
    with database(home) as opened:
        return opened.execute(sql).fetchall()


async def test_it_keeps_to_the_protocol(plugin: Path) -> None:
    await passes(plugin)


async def test_what_was_used_is_in_the_database_and_in_the_table(
    plugin: Path, tmp_path: Path
) -> None:
    where: dict[str, Any] = {"cwd": "/srv/project", "user_id": "ada", "platform": "cli"}
    async with agent(plugin, tmp_path) as here, here.host.session(**where) as session:
        await work(session, turns=2)
        await work(session, model="small-1")
        await work(session, model="unknown")
        async with session.turn("hello") as turn:
            turn.llm_call_failed(
                attempt=1, kind="timeout", status=None, message="slow", will_retry=False
            )
            await turn.call_tool("gone", {}, run=fails)
            assert session.interrupt("user_stop", "stop_command")
        table = await session.run_command("usage")
        # how long a tool has run depends on the machine
        assert re.sub(r"(?m)^(t|gone)(.*?) +[\d.]+$", r"\1\2", table).splitlines() == [
            "The last 7 days: 1 session, 5 turns, 1 interrupted, 0 failed",
            "",
            "MODEL    CALLS  INPUT  CACHED  OUTPUT    COST",
            "large        2  2,000     400      20  0.0036",
            "small-1      1  1,000     200      10  0.0002",
            "unknown      1  1,000     200      10       -",
            "all          4  4,000     800      40  0.0038",
            "",
            "TOOL  CALLS  FAILED  DENIED  CANCELLED  SECONDS",
            "t         4       0       0          0",
            "gone      1       1       0          0",
            "",
            "Not in the cost, as they have no price or no tokens: unknown.",
            "Attempts of model calls that failed: 1 timeout.",
        ]
        for wrong in ("x", "0", "1.5", "99999"):
            said = await session.run_command("usage", wrong)
            assert said == "Give a number of days, from 1 to 3650."
    assert rows(
        tmp_path, "SELECT platform, user_id, project, reason, model_calls FROM session"
    ) == [("cli", "ada", "/srv/project", "exit", 4)]
    assert rows(tmp_path, "SELECT outcome, interrupts FROM turn ORDER BY began") == [
        *[("completed", 0)] * 4,
        ("interrupted", 1),
    ]


async def fails(_: dict[str, Any]) -> str:
    raise ValueError("no")


async def test_many_agents_write_at_once(plugin: Path, tmp_path: Path) -> None:
    async def one_agent() -> None:
        async with agent(plugin, tmp_path) as here:

            async def one_session() -> None:
                async with here.host.session() as session:
                    await work(session, turns=20)

            async with trio.open_nursery() as nursery:
                for _ in range(3):
                    nursery.start_soon(one_session)

    async with trio.open_nursery() as nursery:
        for _ in range(4):
            nursery.start_soon(one_agent)
    assert rows(tmp_path, "SELECT count(*), sum(ended IS NOT NULL) FROM session") == [(12, 12)]
    assert rows(tmp_path, "SELECT count(*), sum(outcome = 'completed') FROM turn") == [(240, 240)]
    sums = "SELECT count(*), sum(input_tokens), sum(output_tokens) FROM model_call"
    assert rows(tmp_path, sums) == [(240, 240_000, 2_400)]
    assert rows(tmp_path, "SELECT count(*) FROM tool_call") == [(240,)]


async def test_killed_in_the_middle(plugin: Path, tmp_path: Path) -> None:
    async with agent(plugin, tmp_path) as here:
        async with here.host.session() as session:
            await work(session, turns=5)
            await session.run_command("usage")  # so what was told is written
            pid = here.host.plugins[0].pid
            assert pid is not None
            async with trio.open_nursery() as nursery:
                nursery.start_soon(partial(work, session, turns=200))
                await until(lambda: rows(tmp_path, "SELECT count(*) FROM turn")[0][0] > 20)
                os.kill(pid, signal.SIGKILL)
            await until(lambda: here.host.plugins[0].pid not in (None, pid))
            await until(lambda: here.host.plugins[0].state == "ready")
            await work(session, turns=5)
            await session.run_command("usage")
        async with here.host.session() as session:
            table = await session.run_command("usage")
    (kept,) = rows(tmp_path, "SELECT count(*) FROM model_call")[0]
    assert 10 <= kept <= 210
    missing = f"The journal was away in {210 - kept:,} model call"
    assert (missing in table) == (kept < 210), table
    assert rows(tmp_path, "PRAGMA integrity_check") == [("ok",)]
    assert rows(tmp_path, "SELECT model_calls, turns FROM session ORDER BY began")[0] == (210, 210)


async def test_a_program_that_holds_the_file_delays_and_loses_nothing(
    plugin: Path, tmp_path: Path
) -> None:
    async with agent(plugin, tmp_path) as here, here.host.session() as session:
        await work(session)
        await session.run_command("usage")
        with database(tmp_path) as held:
            held.execute("BEGIN IMMEDIATE")
            await work(session)
            await until(lambda: bool(here.told))
            held.rollback()
        await work(session)
        assert "3 turns" in await session.run_command("usage")
        assert here.told == [
            "the journal cannot be written, and is tried again: database is locked"
        ]


ON_A_SMALL_DISK = """\
#!/bin/sh
exec bwrap --dev-bind / / --size 1048576 --tmpfs '{folder}' --chdir '{folder}' sh -c '
  head -c 850000 /dev/zero >filler
  {{ until [ -e "{flag}" ]; do sleep 0.05; done; rm filler; }} </dev/null >/dev/null 2>&1 &
  exec "{plugin}"'
"""
"""The data folder is a disk of 1 MiB, in memory and seen by the plugin alone, with little room until
there is a flag."""


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
async def test_a_full_disk(plugin: Path, tmp_path: Path) -> None:
    folder, flag = tmp_path / "journal", tmp_path / "flag"
    folder.mkdir()
    script = ON_A_SMALL_DISK.format(folder=folder, flag=flag, plugin=plugin)
    small = executable(tmp_path / "small", script)
    async with agent(small, tmp_path) as here, here.host.session() as session:
        await work(session)
        assert "1 turn," in await session.run_command("usage")
        await work(session, turns=60)
        await until(lambda: bool(here.told))
        assert here.told == [
            "the journal cannot be written, and is tried again: database or disk is full"
        ]
        flag.touch()
        while "61 turns," not in await session.run_command("usage"):  # noqa: ASYNC110
            await trio.sleep(0.1)
    assert list(folder.iterdir()) == []


class Texts(HTMLParser):
    """The texts of a page, and the names of its elements."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.elements.add(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


async def test_the_page_shows_what_others_have_named_as_text(plugin: Path, tmp_path: Path) -> None:
    named = "<script>alert('&\")</script>\x1b[31m"
    async with agent(plugin, tmp_path) as here, here.host.session() as session:
        await work(session, model=named, tool="tool")
        table = await session.run_command("usage")
        assert "\x1b" not in table
        assert "<script>alert('&\")</script>?[31m" in table
        said = await session.run_command("usage-report", "400")
    path = tmp_path / "journal" / "usage.html"
    assert said == f"Open {path} in a browser."
    assert path.stat().st_mode & 0o777 == 0o600
    html = path.read_text(encoding="utf-8")
    seen = Texts()
    seen.feed(html)
    assert {"svg", "table", "caption"} <= seen.elements
    assert not {"script", "img", "link", "iframe", "object"} & seen.elements
    assert "<script>alert('&\")</script>?[31m" in seen.texts
    # nothing is loaded, and the chart says what it is
    assert "default-src 'none'" in html
    assert "http" not in html.replace("http-equiv", "")
    chart = ElementTree.fromstring(html[html.index("<svg") : html.index("</svg>") + 6])
    assert chart.attrib["role"] == "img"
    assert chart.attrib["aria-labelledby"] == "chart-title chart-text"
    assert [element.text for element in chart if element.tag in ("title", "desc")] == [
        "Tokens by day",
        "Bars of the tokens that models have read and written."
        " The table “Tokens by day” has the same numbers.",
    ]
    # 400 days are 80 bars of 5
    assert len(chart.findall("g")) == 80
    assert [path.name for path in (tmp_path / "journal").glob("usage.html*")] == ["usage.html"]


async def test_without_its_price_a_call_has_no_cost(plugin: Path, tmp_path: Path) -> None:
    async with agent(plugin, tmp_path, prices={}) as here, here.host.session() as session:
        await work(session)
    assert rows(tmp_path, "SELECT model, cost FROM model_call") == [("large", None)]


def test_in_the_whole_agent(plugin: Path, tmp_path: Path) -> None:
    """A turn with a scripted model, which calls a tool."""
    usage = {"input_tokens": 1200, "output_tokens": 30, "cached_tokens": 200}
    calls = [{"name": "shell", "arguments": {"command": "echo hello"}}]
    replies = {"replies": [{"calls": calls, "usage": usage}, {"text": "done", "usage": usage}]}
    (tmp_path / "replies.json").write_text(json.dumps(replies))
    words = ["hello", "--shell", "--yes", "--model", "replies.json", "--plugin", str(plugin)]
    done = sliphook_run(*words, cwd=tmp_path, XDG_DATA_HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    home = tmp_path / "sliphook" / "data"
    assert (
        rows(home, "SELECT model, input_tokens, cached_tokens, output_tokens FROM model_call")
        == [("replies.json", 1200, 200, 30)] * 2
    )
    assert rows(home, "SELECT tool_name, tool_kind, status FROM tool_call") == [
        ("shell", "shell", "ok")
    ]
    assert rows(home, "SELECT outcome FROM turn") == [("completed",)]
