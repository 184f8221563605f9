"""`ctx.ask` and `plugin.host.ask`: withdrawn with the call, also while a handler blocks in it."""

from __future__ import annotations

from typing import Any

import pytest

from sliphook_sdk import Plugin
from sliphook_sdk.errors import HostRefused
from sliphook_sdk.protocol import AnswerParams, AskParams, AskResult
from sliphook_sdk.testing import Harness

from .conftest import Start
from .driver import tool_call

SOURCE = """
from sliphook_sdk import AsyncContext, Context, Plugin

plugin = Plugin("torture", uses=["ask", "approve"])

@plugin.tool
def blocks(ctx: Context) -> str:
    result = ctx.ask("Where to?", {"type": "boolean"}, timeout_s=5.0)
    return f"{result.outcome} {result.answer}"

@plugin.tool
def quick() -> str:
    return "quick"
"""
AWAITS = """
@plugin.tool
async def awaits(ctx: AsyncContext) -> str:
    result = await ctx.ask("Where to?")
    return f"{result.outcome} {result.answer}"
"""
KINDS = pytest.mark.parametrize(
    ("tool", "source"),
    [("blocks", SOURCE), ("blocks", SOURCE + AWAITS), ("awaits", SOURCE + AWAITS)],
    ids=["threads", "a thread beside asyncio", "asyncio"],
)


@KINDS
def test_a_tool_asks_and_other_calls_go_on(start: Start, tool: str, source: str) -> None:
    child = start(source)
    child.initialize()
    call = child.request("tool/call", tool_call(tool))
    asked = child.said("host/ask")
    assert asked["prompt"] == "Where to?"
    assert (asked["session_id"], asked["turn_id"], asked["call_id"]) == ("s-1", "t-1", "c-1")
    assert asked.get("schema") == ({"type": "boolean"} if tool == "blocks" else None)
    assert child.ask("tool/call", tool_call("quick"))["content"] == "quick"
    child.write({"id": asked["_id"], "result": {"outcome": "answered", "answer": True}})
    assert child.result(call)["content"] == "answered True"


@KINDS
def test_a_cancel_of_the_call_withdraws_the_question(start: Start, tool: str, source: str) -> None:
    child = start(source)
    child.initialize()
    call = child.request("tool/call", tool_call(tool))
    asked = child.said("host/ask")
    child.notify("$/cancelRequest", {"id": call})
    assert child.said("$/cancelRequest")["id"] == asked["_id"]
    assert child.reply(call)["error"]["code"] == -32800
    child.write({"id": asked["_id"], "error": {"code": -32800, "message": "request cancelled"}})
    assert child.ask("tool/call", tool_call("quick"))["content"] == "quick"


@KINDS
def test_an_interrupt_ends_the_call_also_if_the_question_ends_first(
    start: Start, tool: str, source: str
) -> None:
    child = start(source)
    child.initialize()
    call = child.request("tool/call", tool_call(tool))
    asked = child.said("host/ask")
    child.write({"id": asked["_id"], "result": {"outcome": "interrupted"}})
    child.notify("$/cancelRequest", {"id": call})
    assert child.reply(call)["error"]["code"] == -32800


@KINDS
def test_a_question_that_ends_alone_is_interrupted(start: Start, tool: str, source: str) -> None:
    child = start(source)
    child.initialize()
    call = child.request("tool/call", tool_call(tool))
    asked = child.said("host/ask")
    child.write({"id": asked["_id"], "result": {"outcome": "interrupted"}})
    assert child.result(call)["content"] == "interrupted None"


@KINDS
def test_the_end_of_the_host_ends_the_wait(start: Start, tool: str, source: str) -> None:
    child = start(source)
    child.initialize()
    child.request("tool/call", tool_call(tool))
    child.said("host/ask")
    child.close_input()
    assert child.ended() == 0


def made() -> Plugin[Any]:
    plugin: Plugin[Any] = Plugin("deploy", uses=["ask", "approve"])

    @plugin.tool
    def deploy(ctx: Any) -> str:
        return repr(ctx.ask("Where to?", {"type": "string"}))

    @plugin.hook("post_tool_call")
    def after(call: Any, ctx: Any) -> None:
        ctx.ask("And now?")

    @plugin.on("user_input_required")
    def required(question: Any, ctx: Any) -> None:
        ctx.answer(question.question_id, {"server": "a"} if question.schema else "allow")

    return plugin


def test_a_test_answers_for_the_person() -> None:
    questions: list[AskParams] = []

    def person(question: AskParams) -> object:
        questions.append(question)
        return "Bonn" if len(questions) == 1 else None

    with Harness(made(), person=person) as harness:
        results = [harness.call_tool("deploy").content for _ in range(2)]
    assert results == [
        repr(AskResult(outcome="answered", answer="Bonn")),
        repr(AskResult(outcome="declined")),
    ]
    assert (questions[0].prompt, questions[0].call_id) == ("Where to?", "c-1")


@pytest.mark.parametrize("how", ["threads", "asyncio"])
def test_an_answer_that_the_host_would_not_take_is_the_tests_fault(how: str) -> None:
    plugin: Plugin[Any] = Plugin("deploy", uses=["ask"])
    schema = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}

    def deploy(ctx: Any) -> str:
        return repr(ctx.ask("Where to?", schema))

    async def awaits(ctx: Any) -> str:
        return repr(await ctx.ask("Where to?", schema))

    plugin.tool(name="deploy")(deploy if how == "threads" else awaits)
    answers: list[object] = [{"sure": "yes"}, "yes", {"sure": True}]
    with Harness(plugin, person=lambda _: answers.pop(0)) as harness:
        with pytest.raises(
            ValueError, match=r"^person: the answer {'sure': 'yes'} has a 'sure' tha"
        ):
            harness.call_tool("deploy")
        with pytest.raises(ValueError, match=r"^person: the answer 'yes' is no object$"):
            harness.call_tool("deploy")
        assert "answered" in harness.call_tool("deploy").content


def test_without_a_person_nobody_can_be_asked() -> None:
    with Harness(made()) as harness:
        assert harness.call_tool("deploy").content == repr(AskResult(outcome="nobody"))
    with Harness(made(), granted=[]) as harness:
        assert "not granted" in harness.call_tool("deploy").content


def test_behind_the_call_the_question_is_not_about_it() -> None:
    """Its end would end the question too."""
    with Harness(made()) as harness:
        harness.fire("post_tool_call")
        (sent,) = [params for _, params in harness.sent if isinstance(params, AskParams)]
    assert (sent.call_id, sent.turn_id) == (None, "t-1")


def test_an_answer_that_is_no_text_is_json() -> None:
    with Harness(made()) as harness:
        harness.tell("user_input_required")
        (sent,) = [params for _, params in harness.sent if isinstance(params, AnswerParams)]
        assert (sent.question_id, sent.choice) == ("q-1", '{"server":"a"}')
        assert harness.plugin.host.answer("deny", session_id="s-1", question_id="q-1")
        assert harness.plugin.host.answer(None, session_id="s-1", question_id="q-1")


def test_a_plugin_that_did_not_ask_for_the_grant_reads_how() -> None:
    plugin: Plugin[Any] = Plugin("deploy")
    with (
        Harness(plugin) as harness,
        pytest.raises(HostRefused) as refused,
    ):
        harness.plugin.host.ask("?", session_id="s-1")
    assert str(refused.value) == 'ask() needs uses=["ask"] in Plugin(...)'


def test_a_schema_that_does_not_say_the_type_is_refused_where_it_is_written() -> None:
    plugin: Plugin[Any] = Plugin("deploy", uses=["ask"])
    with (
        Harness(plugin) as harness,
        pytest.raises(ValueError, match="needs a type: string, number, integer, boolean or obj"),
    ):
        harness.plugin.host.ask("?", {"enum": ["a", "b"]}, session_id="s-1")
    assert harness.sent == []
