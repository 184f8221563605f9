"""What the trace is told of a whole hook: the plugins asked, their answers, and the outcome."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
import trio

from sliphook import PluginHost
from sliphook.session.session import Session
from sliphook.testing import HANGS, After, FakePlugin
from sliphook.trace.filter import parse_filter
from sliphook.trace.record import TraceRecord
from sliphook.trace.render import Style, render_line
from sliphook.trace.views.span_builder import spans_of
from tests.session.shell import shell
from tests.trace.made import Kept


def body_of(record: TraceRecord) -> dict[str, Any]:
    """The body without its durations."""
    body: dict[str, Any] = msgspec.json.decode(record.body or b"")
    for part in body["parts"]:
        part.pop("elapsed_ms", None)
    return body


async def test_an_outcome_says_who_had_what_part() -> None:
    kept = Kept()
    guard = FakePlugin(
        "guard",
        hooks={"pre_tool_call": {"decision": "ask", "reason": "is it Friday?"}},
    )
    slow = FakePlugin(
        "slow",
        subscriptions=[{"event": "pre_tool_call", "timeout_s": 0.05}],
        hooks={"pre_tool_call": HANGS},
    )
    logger = FakePlugin("logger", subscriptions=[{"event": "pre_tool_call", "mode": "event"}])
    with trio.fail_after(120):
        async with PluginHost([guard, slow, logger], trace=kept) as host, host.session() as session:
            turn = session.turn("hi")
            async with turn:
                await turn.call_tool("shell", {}, run=never)
    (outcome,) = kept.of_kind("outcome")
    assert outcome.plugin == ""
    assert outcome.method == "hook/pre_tool_call"
    assert outcome.verdict == "deny"
    assert outcome.turn_id == turn.turn_id
    assert outcome.session_id == session.session_id
    assert outcome.seq == 3
    assert outcome.elapsed_ms is not None
    assert outcome.elapsed_ms >= 50.0
    assert body_of(outcome) == {
        "decision": "deny",
        "parts": [
            {"plugin": "guard", "status": "answered", "decision": "ask", "reason": "is it Friday?"},
            {
                "plugin": "slow",
                "status": "timed_out",
                "decision": "deny",
                "reason": "no answer within 0.05 s",
                "error": "no answer within 0.05 s",
            },
            {"plugin": "logger", "status": "told"},
        ],
    }
    assert render_line(outcome, Style()).endswith(
        " deny guard: ask slow: deny (timed_out) logger: told"
    )


async def test_a_hook_in_an_interrupted_turn_is_cancelled() -> None:
    kept = Kept()
    slow = FakePlugin("slow", hooks={"user_prompt_submit": After(60.0, {})})
    with trio.fail_after(120):
        async with (
            PluginHost([slow], trace=kept) as host,
            host.session() as session,
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(interrupt_when_asked, slow, session)
            async with session.turn("hi") as turn:
                await turn.submit()
    assert [(record.verdict, body_of(record)) for record in kept.of_kind("outcome")] == [
        ("cancelled", {"parts": [], "decision": "deny", "cancelled": True})
    ]
    (settled,) = kept.of_kind("settled")
    (confirmed,) = kept.of_kind("late")
    assert [(one.id, one.verdict) for one in (settled, confirmed)] == [
        (settled.id, "cancelled"),
        (settled.id, "cancelled"),
    ]
    assert settled.note == "told to stop; still running"
    assert re.fullmatch(r"stopped \d+ ms after it was told to", confirmed.note or "")
    assert [
        mark.what
        for mark in spans_of(kept.records).lanes[0].marks
        if mark.kind in ("cancel", "wrong")
    ] == [
        "$/cancelRequest",
        "cancelled",
    ]


async def test_a_hook_that_one_plugin_alone_hears() -> None:
    kept = Kept()
    guard = FakePlugin(
        "guard", subscriptions=[{"event": "pre_tool_call", "match": {"tool_name": "deploy"}}]
    )
    with trio.fail_after(120):
        async with (
            PluginHost([guard], trace=kept) as host,
            host.session() as session,
            session.turn("hi") as turn,
        ):
            await turn.call_tool("shell", {}, run=done)
            await turn.call_tool("deploy", {}, run=done)
    (outcome,) = kept.of_kind("outcome")
    assert (outcome.verdict, body_of(outcome)) == (
        None,
        {"parts": [{"plugin": "guard", "status": "answered"}]},
    )
    assert parse_filter("plugin=guard").fits(outcome)
    assert not parse_filter("plugin=other").fits(outcome)
    assert parse_filter("event=pre_tool_call").fits(outcome)


async def never(arguments: dict[str, Any]) -> str:
    raise AssertionError("it was denied")


async def done(arguments: dict[str, Any]) -> str:
    return "done"


async def interrupt_when_asked(plugin: FakePlugin, session: Session) -> None:
    await plugin.hears("user_prompt_submit")
    session.interrupt()


@pytest.mark.parametrize(
    ("hook", "answer", "says"),
    [
        ("stop", {"continue_with": "more"}, "continue_with one: continue_with two: none"),
        ("stop", {}, "none one: none two: none"),
        ("user_prompt_submit", {"context": ["a"]}, "context one: context two: none"),
        (
            "user_prompt_submit",
            {"replace": {"text": "a"}, "context": ["b"]},
            "replace, context one: replace, context two: none",
        ),
        (
            "pre_tool_call",
            {"substitute": {"result": "a"}},
            "substitute one: substitute two: none",
        ),
        (
            "pre_tool_call",
            {"decision": "allow", "context": ["b"]},
            "allow, context one: allow, context two: none",
        ),
        (
            "pre_tool_call",
            {"decision": "deny", "context": ["b"]},
            "deny one: deny, context two: none",
        ),
    ],
)
async def test_a_line_says_what_an_answer_gives(
    hook: str, answer: dict[str, Any], says: str
) -> None:
    kept = Kept()
    replaces = bool({"replace", "substitute"} & set(answer))
    one = FakePlugin(
        "one", hooks={hook: answer}, subscriptions=[{"event": hook, "replaces": replaces}]
    )
    two = FakePlugin("two", hears=[hook])
    with trio.fail_after(120):
        async with (
            PluginHost([one, two], trace=kept) as host,
            host.session() as session,
            session.turn("hi") as turn,
        ):
            if hook == "stop":
                await turn.stop()
            elif hook == "pre_tool_call":
                await turn.call_tool("shell", {"command": "ls"}, run=shell)
            else:
                await turn.submit()
    (outcome,) = kept.of_kind("outcome")
    line = render_line(outcome, Style())
    assert " ".join(line.partition(" ms ")[2].split()) == says
