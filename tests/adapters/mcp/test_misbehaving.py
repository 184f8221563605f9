"""Servers that hang, die, flood, change and ask: each is one line and holds nobody."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio

from sliphook import PluginHost, ToolOutcome
from sliphook.check import check_plugin
from tests.programs import WAIT_S, until

from .made import RAW, hurried, patient, server


async def called(way: str, cwd: Path, **options: Any) -> ToolOutcome:
    outcomes: list[ToolOutcome] = []
    async with (
        PluginHost([server("raw", [*RAW, way], "work")], **options) as host,
        host.session(cwd=cwd) as session,
        session.turn("hello") as turn,
    ):
        outcomes.append(await turn.call_tool("work", {}))
    return outcomes[0]


def keeper(lines: list[str]) -> Callable[[str, str], None]:
    """Keeps what the host says of plugins."""

    def keep(_: str, line: str) -> None:
        lines.append(line)

    return keep


@pytest.mark.parametrize("way", ["plain", "strict", "rubbish", "floods", "pings"])
async def test_what_is_no_fault_or_a_small_one_works(way: str, tmp_path: Path) -> None:
    """Plain refuses `server/discover`; strict ends at it; rubbish prints; floods has progress.

    Pings are a thousand, whose answers are read behind the last of them.
    """
    with trio.fail_after(WAIT_S):
        outcome = await called(way, tmp_path)
    assert outcome.result.content == "done"


async def test_half_a_character_is_replaced(tmp_path: Path) -> None:
    """As of a text that a server in JavaScript has cut."""
    with trio.fail_after(WAIT_S):
        outcome = await called("halves", tmp_path)
    assert outcome.result.content == "\ufffd \U0001f600 \ufffd"


async def test_what_is_no_utf8_is_replaced(tmp_path: Path) -> None:
    with trio.fail_after(WAIT_S):
        outcome = await called("latin", tmp_path)
    assert outcome.result.content == "caf\ufffd"


async def test_notices_that_do_not_fit_are_one_line(tmp_path: Path) -> None:
    logged: list[str] = []

    def note(_: str, level: str, line: str) -> None:
        logged.append(line)

    with trio.fail_after(WAIT_S):
        outcome = await called("odd-notices", tmp_path, on_log=note)
    assert outcome.result.content == "done"
    assert [line.split(":")[0] for line in logged] == ["Failed to validate notification"]
    assert "Traceback" not in logged[0]


async def test_an_empty_cursor_is_the_end_of_the_list(tmp_path: Path) -> None:
    logged: list[str] = []

    def note(_: str, level: str, line: str) -> None:
        logged.append(line)

    with trio.fail_after(WAIT_S):
        async with PluginHost([server("raw", [*RAW, "no-more-pages"])], on_log=note) as host:
            await until(lambda: [one.name for one in host.tools()] == ["work"])
    assert [line for line in logged if "left out" in line] == []


async def test_why_the_tools_cannot_be_had_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    problems: list[str] = []
    spec = patient(server("raw", [*RAW, "leaves"]), monkeypatch)
    with trio.fail_after(WAIT_S):
        async with PluginHost([spec], on_problem=keeper(problems), open_wait_s=WAIT_S) as host:
            await until(lambda: host.plugins[0].state in ("failed", "self_disabled"))
            assert "it ended with status 9" in (host.plugins[0].why or "") + "".join(problems)


async def test_a_tool_that_does_not_fit_costs_no_other_tool() -> None:
    logged: list[str] = []

    def note(_: str, level: str, line: str) -> None:
        logged.append(line)

    with trio.fail_after(WAIT_S):
        async with PluginHost([server("raw", [*RAW, "odd-tool"])], on_log=note) as host:
            await until(
                lambda: [one.name for one in host.tools()] == ["work", "bare", "null", "empty"]
            )
    assert [line.partition(": ")[2] for line in logged if "left out" in line] == [
        "'list': its schema must describe an object",
        "'true': its schema must describe an object",
        "['\\x1b[31m']: its name is no text",
        "text: it is no object",
        "None: it is no object",
    ]


@pytest.mark.parametrize("way", ["resources", "odd-resources", "infinite"])
async def test_what_cannot_be_had_costs_no_other_tool(way: str, tmp_path: Path) -> None:
    with trio.fail_after(WAIT_S):
        async with PluginHost([server("raw", [*RAW, way])]) as host:
            await until(lambda: [one.name for one in host.tools()] == ["work"])


async def test_one_that_dies_in_a_call_is_started_again(tmp_path: Path) -> None:
    problems: list[str] = []
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost(
                [server("raw", [*RAW, "dies"], "work")], on_problem=keeper(problems)
            ) as host,
            host.session(cwd=tmp_path) as session,
            session.turn("hello") as turn,
        ):
            outcome = await turn.call_tool("work", {})
            await until(lambda: host.plugins[0].restarts == 1)
            await until(lambda: host.plugins[0].state == "ready")
            assert outcome.result.is_error
    assert "the MCP server raw is gone: it ended with status 3" in problems[0]


@pytest.mark.parametrize(
    ("way", "said"),
    [
        ("leaves-a-child", "it ended with status 3"),
        ("long", "it sent a message of more than 16 MiB"),
        ("heavy", "it sent a message that is too large: it has more than 100,000 values"),
    ],
)
async def test_what_ends_in_a_call_fails_it_with_a_line(
    way: str, said: str, tmp_path: Path
) -> None:
    problems: list[str] = []
    with trio.fail_after(WAIT_S):
        outcome = await called(way, tmp_path, on_problem=keeper(problems))
    assert outcome.result.is_error
    assert said in problems[0]


async def test_one_that_cannot_be_used_does_not_pass_the_checks() -> None:
    with trio.fail_after(WAIT_S):
        report = await check_plugin(server("raw", [*RAW, "strict-and-gone"]))
    (finding,) = report.findings
    assert (report.name, finding.name, finding.verdict) == ("raw", "starts", "failed")
    assert finding.came == "the MCP server cannot be used: it ended with status 1"


async def test_one_that_hangs_in_initialize_leaves_itself_out(tmp_path: Path) -> None:
    problems: list[str] = []
    spec = hurried(server("raw", [*RAW, "hangs"]), list_s=0.5, connect_s=1.5)
    with trio.fail_after(WAIT_S):
        async with PluginHost([spec], on_problem=keeper(problems)) as host:
            assert host.plugins[0].state == "ready"  # nobody waits for it
            await until(lambda: host.plugins[0].state == "self_disabled")
            status = host.plugins[0]
    assert "raw cannot be used: it was not there within 1.5 s" in problems[0]
    assert status.why == "the MCP server did not list its tools in 0.5 s"


@pytest.mark.parametrize("granted", [True, False])
async def test_the_tools_of_one_that_is_late_come_when_they_are_there(
    granted: bool, tmp_path: Path
) -> None:
    """With a download in front, say. Without the grant for more tools it is started again."""
    began = tmp_path / "began"
    spec = hurried(server("raw", [*RAW, "late", str(began)]), list_s=0.5, connect_s=100)
    if not granted:
        spec = replace(spec, grants=frozenset())
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([spec]) as host,
            host.session(cwd=tmp_path) as session,
            session.turn("hello") as turn,
        ):
            assert (host.plugins[0].state, host.tools()) == ("ready", [])
            began.touch()
            await until(lambda: [one.name for one in host.tools()] == ["work"])
            assert host.plugins[0].restarts == (0 if granted else 1)
            assert (await turn.call_tool("work", {})).result.content == "done"


async def test_tools_that_change_in_mid_call_are_followed(tmp_path: Path) -> None:
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([server("raw", [*RAW, "changes"], "work")]) as host,
            host.session(cwd=tmp_path) as session,
            session.turn("hello") as turn,
        ):
            outcome = await turn.call_tool("work", {})
            await until(lambda: [one.name for one in host.tools()] == ["other", "third"])
            assert (await turn.call_tool("third", {})).result.content == "done"
            assert outcome.result.content == "done"


async def test_a_question_goes_to_the_person(tmp_path: Path) -> None:
    seen: list[tuple[str, Any]] = []

    async def asker(question: Any) -> Any:
        seen.append((question.prompt, question.form.schema["properties"]["colour"]["enum"]))
        return {"colour": "blue"}

    with trio.fail_after(WAIT_S):
        outcome = await called("asks", tmp_path, asker=asker)
    assert outcome.result.content == '{"action": "accept", "content": {"colour": "blue"}}'
    assert seen == [("[raw] Which?", ["red", "blue"])]


async def test_without_a_person_a_question_is_declined(tmp_path: Path) -> None:
    with trio.fail_after(WAIT_S):
        outcome = await called("asks", tmp_path)
    assert outcome.result.content == '{"action": "decline"}'


async def test_a_question_without_fields_is_yes_or_no(tmp_path: Path) -> None:
    async def asker(question: Any) -> Any:
        assert question.form.schema == {"type": "boolean"}
        return True

    with trio.fail_after(WAIT_S):
        outcome = await called("confirms", tmp_path, asker=asker)
    assert outcome.result.content == '{"action": "accept"}'


async def test_a_wish_for_the_model_is_refused(tmp_path: Path) -> None:
    with trio.fail_after(WAIT_S):
        outcome = await called("samples", tmp_path)
    assert outcome.result.content == '"Sampling not supported"'


async def test_a_result_that_is_too_large_is_cut(tmp_path: Path) -> None:
    with trio.fail_after(WAIT_S):
        outcome = await called("large", tmp_path)
    assert outcome.result.content.endswith("x\n[the rest is left out: it is too large]")


async def test_the_first_start_asks_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """A prefix and a time limit are for what it has."""
    settings: dict[str, object] = {"prefix": "raw_", "timeout_s": 7.0}
    spec = patient(server("raw", [*RAW, "plain"], settings=settings), monkeypatch)
    with trio.fail_after(WAIT_S):
        async with PluginHost([spec], open_wait_s=WAIT_S) as host:
            assert host.plugins[0].state == "ready"
            assert [(one.name, one.timeout_s) for one in host.tools()] == [("raw_work", 7.0)]


async def test_one_that_is_known_and_gone_fails_in_the_end(tmp_path: Path) -> None:
    problems: list[str] = []
    with trio.fail_after(WAIT_S):
        async with PluginHost(
            [server("raw", [*RAW, "strict-and-gone"], "work")], on_problem=keeper(problems)
        ) as host:
            await until(lambda: host.plugins[0].state == "self_disabled")
    assert "the MCP server raw cannot be used: it ended with status 1" in problems[0]
