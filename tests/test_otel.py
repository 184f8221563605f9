"""Spans of what the host does, in memory, and the same span in what the plugins are sent."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
import trio
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanContext
from trio.testing import MockClock

from sliphook import PluginHost
from sliphook.otel import OtelSpans
from sliphook.session.session import Session
from sliphook.testing import CRASHES, HANGS, FakePlugin
from sliphook_sdk.protocol import Message, Usage
from tests.docs.protocol_sentences.says import says
from tests.trace.made import Kept


def provider_with(*processors: SpanProcessor) -> TracerProvider:
    provider = TracerProvider(shutdown_on_exit=False)
    for processor in processors:
        provider.add_span_processor(processor)
    return provider


def context_of(span: ReadableSpan) -> SpanContext:
    context = span.get_span_context()
    assert context is not None
    return context


def tree(spans: Sequence[ReadableSpan]) -> list[str]:
    """Every span by name, in the order in which they began, indented under its parent."""
    by_id = {context_of(span).span_id: span for span in spans}

    def depth(span: ReadableSpan) -> int:
        return 0 if span.parent is None else 1 + depth(by_id[span.parent.span_id])

    return [
        "  " * depth(span) + span.name
        for span in sorted(spans, key=lambda span: span.start_time or 0)
    ]


def one(spans: Sequence[ReadableSpan], name: str) -> ReadableSpan:
    (found,) = (span for span in spans if span.name == name)
    return found


def envelopes(kept: Kept, method: str) -> list[dict[str, Any]]:
    return [
        msgspec.json.decode(r.body or b"")
        for r in kept.records
        if r.method == method and r.direction == "to_plugin"
    ]


def written(span: ReadableSpan) -> str:
    return f"00-{context_of(span).trace_id:032x}-{context_of(span).span_id:016x}"


def continued(message: dict[str, Any]) -> str:
    """The span in an envelope, without its flags, of which the first says that it is recorded."""
    given, flags = message["traceparent"].rsplit("-", 1)
    assert int(flags, 16) & 1
    return str(given)


async def converse(session: Session) -> None:
    """A turn with one model call and one tool call."""
    async with session.turn("hi") as turn:
        await turn.submit()
        await turn.pre_llm_call(provider="scripted", model="m-1", messages=[], tools=[])
        message = Message(role="assistant", content="hello")
        usage = Usage(input_tokens=3, output_tokens=5)
        turn.post_llm_call(
            provider="scripted",
            model="m-1",
            response=message,
            finish_reason="stop",
            usage=usage,
            duration_ms=1.0,
        )
        await turn.call_tool("deploy", {"service": "web"})


@says(
    "If the agent makes spans (OpenTelemetry), the host's requests and events have `traceparent`: the"
    " span that the work is part of, in the form of W3C Trace Context (`00-` trace id `-` span id `-`"
    " flags).",
)
async def test_every_part_of_a_session_has_its_span_and_plugins_can_continue_it() -> None:
    exporter, kept = InMemorySpanExporter(), Kept()
    hooks = {
        "user_prompt_submit": None,
        "pre_tool_call": {"decision": "allow", "reason": "a secret reason"},
        "post_tool_call": None,
    }
    guard = FakePlugin("guard", hooks=hooks, hears=["turn_end"], tools={"deploy": "done"})
    hasty = {"event": "pre_tool_call", "timeout_s": 0.05, "on_failure": "open"}
    second = FakePlugin("second", subscriptions=[hasty], hooks={"pre_tool_call": HANGS})
    with trio.fail_after(120):
        provider = provider_with(SimpleSpanProcessor(exporter))
        async with (
            PluginHost([guard, second], trace=kept, spans=OtelSpans(provider)) as host,
            host.session() as session,
        ):
            await converse(session)
    spans = exporter.get_finished_spans()
    assert tree(spans) == [
        "session",
        "  hook session_start",
        "  turn",
        "    hook user_prompt_submit",
        "      plugin guard",
        "    hook pre_llm_call",
        "    chat m-1",
        "    execute_tool deploy",
        "      hook pre_tool_call",
        "        plugin guard",
        "        plugin second",
        "      hook post_tool_call",
        "        plugin guard",
    ]
    assert dict(one(spans, "chat m-1").attributes or {}) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "scripted",
        "gen_ai.request.model": "m-1",
        "gen_ai.response.model": "m-1",
        "gen_ai.usage.input_tokens": 3,
        "gen_ai.usage.output_tokens": 5,
    }
    late = one(spans, "plugin second")
    assert (late.status.is_ok, late.status.description) == (False, "timed_out")
    assert dict(late.attributes or {}) == {
        "sliphook.plugin": "second",
        "sliphook.hook": "pre_tool_call",
        "sliphook.status": "timed_out",
    }
    assert late.end_time is not None
    assert late.start_time is not None
    assert late.end_time - late.start_time >= 50_000_000
    assert (one(spans, "turn").attributes or {})["sliphook.turn.outcome"] == "completed"
    assert "secret" not in "".join(span.to_json() for span in spans)

    (prompt,) = envelopes(kept, "hook/user_prompt_submit")
    assert list(prompt) == ["jsonrpc", "id", "method", "traceparent", "params"]
    guards = [span for span in spans if span.name == "plugin guard"]
    assert continued(prompt) == written(guards[0])
    assert sorted(continued(asked) for asked in envelopes(kept, "hook/pre_tool_call")) == sorted(
        [written(guards[1]), written(late)]
    )
    assert [continued(call) for call in envelopes(kept, "tool/call")] == [
        written(one(spans, "execute_tool deploy"))
    ]
    (end,) = envelopes(kept, "event/turn_end")
    assert list(end) == ["jsonrpc", "method", "traceparent", "params"]
    assert continued(end) == written(one(spans, "turn"))
    assert "traceparent" not in envelopes(kept, "initialize")[0]


@pytest.mark.parametrize("who", ["substituted_by", "routed_by"])
async def test_who_has_sent_or_answered_a_model_call_is_an_attribute(who: str) -> None:
    exporter = InMemorySpanExporter()
    with trio.fail_after(120):
        async with (
            PluginHost([], spans=OtelSpans(provider_with(SimpleSpanProcessor(exporter)))) as host,
            host.session() as session,
            session.turn("hi") as turn,
        ):
            await turn.pre_llm_call(provider="scripted", model="m-1", messages=[], tools=[])
            turn.post_llm_call(
                provider="scripted",
                model="m-1",
                response=Message(role="assistant", content="hello"),
                finish_reason="stop",
                usage=Usage(),
                duration_ms=1.0,
                **{who: "switch"},
            )
    attributes = one(exporter.get_finished_spans(), "chat m-1").attributes or {}
    assert {name: value for name, value in attributes.items() if name.startswith("sliphook")} == {
        f"sliphook.{who}": "switch"
    }


async def test_a_hook_that_one_plugin_hears_takes_its_span_along_too() -> None:
    exporter, kept = InMemorySpanExporter(), Kept()
    guard = FakePlugin("guard", hooks={"user_prompt_submit": None})
    with trio.fail_after(120):
        provider = provider_with(SimpleSpanProcessor(exporter))
        async with (
            PluginHost([guard], trace=kept, spans=OtelSpans(provider)) as host,
            host.session() as session,
            session.turn("hi") as turn,
        ):
            await turn.submit()
    (prompt,) = envelopes(kept, "hook/user_prompt_submit")
    assert continued(prompt) == written(one(exporter.get_finished_spans(), "plugin guard"))


async def test_a_plugin_that_came_back_is_told_of_the_session_with_its_span(
    autojump_clock: MockClock,
) -> None:
    exporter, kept = InMemorySpanExporter(), Kept()
    fragile = FakePlugin("fragile", hooks={"user_prompt_submit": CRASHES}, hears=["session_start"])
    with trio.fail_after(100):
        provider = provider_with(SimpleSpanProcessor(exporter))
        async with (
            PluginHost([fragile], trace=kept, spans=OtelSpans(provider)) as host,
            host.session() as session,
        ):
            async with session.turn("hi") as turn:
                await turn.submit()
            await fragile.hears("session_start", times=2)
    again = envelopes(kept, "event/session_start")[-1]
    assert continued(again) == written(one(exporter.get_finished_spans(), "session"))


async def test_an_interrupt_ends_all_spans() -> None:
    exporter, kept = InMemorySpanExporter(), Kept()
    slow = FakePlugin(
        "slow",
        hooks={"pre_tool_call": HANGS},
        hears=["agent_loop_stopped"],
        tools={"deploy": "done"},
    )
    spans = OtelSpans(provider_with(SimpleSpanProcessor(exporter)))

    async def interrupt(session: Session) -> None:
        await slow.hears("pre_tool_call")
        session.interrupt()

    with trio.fail_after(120):
        async with (
            PluginHost([slow], trace=kept, spans=spans) as host,
            host.session() as session,
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(interrupt, session)
            await converse(session)
    finished = exporter.get_finished_spans()
    assert tree(finished)[-3:] == [
        "    execute_tool deploy",
        "      hook pre_tool_call",
        "        plugin slow",
    ]
    assert (one(finished, "turn").attributes or {})["sliphook.turn.outcome"] == "interrupted"
    assert (one(finished, "execute_tool deploy").attributes or {})[
        "sliphook.tool.status"
    ] == "cancelled"
    assert (one(finished, "plugin slow").attributes or {})["sliphook.status"] == "cancelled"
    assert [continued(stopped) for stopped in envelopes(kept, "event/agent_loop_stopped")] == [
        written(one(finished, "turn"))
    ]
    assert spans._open == {}  # pyright: ignore[reportPrivateUsage]


async def test_a_tool_that_was_told_to_stop_and_goes_on_is_no_cancelled_one_alone() -> None:
    exporter = InMemorySpanExporter()
    runs = trio.Event()

    async def deploy(_: Any) -> str:
        runs.set()
        await trio.sleep_forever()

    slow = FakePlugin("slow", tools={"deploy": deploy})

    async def interrupt(session: Session) -> None:
        await runs.wait()
        session.interrupt()

    with trio.fail_after(120):
        provider = provider_with(SimpleSpanProcessor(exporter))
        async with (
            PluginHost([slow], spans=OtelSpans(provider)) as host,
            host.session() as session,
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(interrupt, session)
            async with session.turn("x") as turn:
                await turn.call_tool("deploy", {})
    told = one(exporter.get_finished_spans(), "execute_tool deploy").attributes or {}
    assert told["sliphook.tool.status"] == "cancelled"
    assert told["sliphook.tool.still_running"] is True


class Throwing(SpanExporter):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        raise RuntimeError("the collector is gone")


class Broken(SpanProcessor):
    def on_start(self, span: Any, parent_context: Any = None) -> None:
        raise RuntimeError("broken")

    def on_end(self, span: ReadableSpan) -> None:
        raise RuntimeError("broken")


@pytest.mark.parametrize("processor", [SimpleSpanProcessor(Throwing()), Broken()])
async def test_what_fails_in_opentelemetry_reaches_no_caller(
    processor: SpanProcessor, caplog: pytest.LogCaptureFixture
) -> None:
    guard = FakePlugin(
        "guard", hooks={"pre_tool_call": {"decision": "deny"}}, tools={"deploy": "done"}
    )
    with trio.fail_after(120):
        async with (
            PluginHost([guard], spans=OtelSpans(provider_with(processor))) as host,
            host.session() as session,
        ):
            await converse(session)
    assert guard.names().count("pre_tool_call") == 1
    said = [record.message for record in caplog.records if record.name == "sliphook.otel"]
    assert len(said) <= 1


async def test_without_spans_there_is_no_traceparent() -> None:
    kept = Kept()
    guard = FakePlugin(
        "guard", hooks={"pre_tool_call": None}, hears=["turn_end"], tools={"deploy": "done"}
    )
    with trio.fail_after(120):
        async with PluginHost([guard], trace=kept) as host, host.session() as session:
            await converse(session)
    assert (
        len([record for record in kept.records if re.search(b"traceparent", record.body or b"")])
        == 0
    )


def test_the_log_says_once_that_spans_fail(caplog: pytest.LogCaptureFixture) -> None:
    spans = OtelSpans(provider_with())
    with caplog.at_level(logging.ERROR):
        for _ in range(2):
            try:
                raise RuntimeError("broken")
            except RuntimeError:
                spans.failed()
    assert [record.message for record in caplog.records] == [
        "spans could not be made; this is said once"
    ]
