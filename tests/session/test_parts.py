"""Results with parts: which are taken, and who gets them."""

# An interrupt leaves a turn's block early; these tests know where it does.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

import base64
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from sliphook import PluginHost, ToolOutcome
from sliphook.testing import FakePlugin
from sliphook_sdk.protocol import Answer, Part, ToolResult
from tests.docs.protocol_sentences.says import limit, says

GIF = "R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs="
IMAGE = {"type": "image", "mimeType": "image/gif", "data": GIF}
TEXT = {"type": "text", "text": "before"}


async def called(result: Any, *more: FakePlugin) -> tuple[ToolOutcome, FakePlugin]:
    """What a tool call came to, and the plugin."""
    plugin = FakePlugin("look", tools={"look": result}, hears=["post_tool_call"])
    with trio.fail_after(3_600):
        async with (
            PluginHost([plugin, *more]) as host,
            host.session() as session,
            session.turn("x") as turn,
        ):
            return await turn.call_tool("look", {}), plugin
    raise AssertionError


def with_parts(*parts: object) -> dict[str, Any]:
    return {"content": "a page", "parts": list(parts)}


@says(
    '`parts` are MCP\'s content blocks: `{type: "text", text}`, `image` and `audio` with `mimeType` (of'
    " an image: png, jpeg, gif, webp) and `data` in base64, `resource_link` with `uri` and `name`,"
    " `resource` with `resource`: `{uri, mimeType, text}` or `blob`, in base64, in place of `text`."
)
@pytest.mark.parametrize(
    "part",
    [
        TEXT,
        IMAGE,
        {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="},
        {"type": "image", "mimeType": "image/jpeg", "data": "/9j/4AA="},
        {"type": "image", "mimeType": "image/webp", "data": "UklGRgAAAABXRUJQ"},
        {"type": "audio", "mimeType": "audio/wav", "data": "UklGRg=="},
        {"type": "resource_link", "uri": "file:///log", "name": "the log", "description": None},
        {"type": "resource", "resource": {"uri": "file:///log", "text": ""}},
        {"type": "resource", "resource": {"uri": "a:", "mimeType": "a/pdf", "blob": "AA=="}},
    ],
)
async def test_parts_that_are_taken(autojump_clock: MockClock, part: dict[str, Any]) -> None:
    outcome, plugin = await called(with_parts(part))
    assert (outcome.status, outcome.text()) == ("ok", "a page")
    assert outcome.in_parts() is not None
    (told,) = plugin.payloads("post_tool_call")
    assert told.result.parts == outcome.result.parts
    (heard,) = [one.params for one in plugin.received if one.name == "post_tool_call"]
    assert heard["result"]["parts"] == [
        {name: value for name, value in part.items() if value is not None}
    ]


@says(
    "So is a part of another type, one that lacks a field, and an image that does not begin as its"
    " `mimeType` says."
)
@pytest.mark.parametrize(
    ("part", "why"),
    [
        ({"type": "video"}, "parts[1].type is 'video'; there are text, image, audio,"),
        ({"type": "text"}, "parts[1].text is missing"),
        ({"type": "image", "data": GIF}, "parts[1].mimeType is None; there are image/png"),
        ({**IMAGE, "mimeType": "image/tiff"}, "parts[1].mimeType is 'image/tiff'; there are"),
        ({**IMAGE, "data": None}, "parts[1].data is missing"),
        ({**IMAGE, "data": GIF[:-1]}, "parts[1].data is no base64"),
        ({**IMAGE, "data": GIF + "\n"}, "parts[1].data is no base64"),
        ({**IMAGE, "data": "R0lG ODlh"}, "parts[1].data is no base64"),
        ({**IMAGE, "data": "R0lGOD\u00e9h"}, "parts[1].data is no base64"),
        ({**IMAGE, "mimeType": "image/png"}, "parts[1].data is no image/png: it begins otherwise"),
        ({"type": "audio", "mimeType": "image/png", "data": "AA=="}, "it must begin with audio/"),
        ({"type": "resource_link", "uri": "a:"}, "parts[1].name is missing"),
        ({"type": "resource"}, "parts[1].resource is missing"),
        ({"type": "resource", "resource": {"uri": "a:"}}, "needs either text or blob"),
        (
            {"type": "resource", "resource": {"uri": "a:", "text": "", "blob": "AA=="}},
            "parts[1].resource needs either text or blob",
        ),
        (
            {"type": "resource", "resource": {"uri": "a:", "blob": "="}},
            "parts[1].resource.blob is no base64",
        ),
        ({}, "missing required field `type`"),
        ("text", "Expected `object`"),
    ],
)
async def test_parts_that_are_refused(autojump_clock: MockClock, part: Any, why: str) -> None:
    outcome, _ = await called(with_parts(TEXT, part))
    assert outcome.status == "error"
    assert outcome.text().startswith("the tool look failed: its answer does not fit: ")
    assert why in outcome.text()
    assert outcome.in_parts() is None


@limit("parts of one tool's result")
async def test_at_most_32_parts(autojump_clock: MockClock) -> None:
    assert (await called(with_parts(*[TEXT] * 32)))[0].status == "ok"
    outcome, _ = await called(with_parts(*[TEXT] * 33))
    assert "it has 33 parts; at most 32 are allowed" in outcome.text()


@pytest.mark.parametrize("parts", [None, []])
async def test_no_parts_are_as_none(autojump_clock: MockClock, parts: object) -> None:
    outcome, plugin = await called({"content": "x", "parts": parts})
    assert (outcome.status, outcome.in_parts()) == ("ok", None)
    (heard,) = [one.params for one in plugin.received if one.name == "post_tool_call"]
    assert heard["result"] == {"content": "x", "is_error": False, "data": None}


async def test_texts_of_plugins_stand_behind_the_parts(autojump_clock: MockClock) -> None:
    note = FakePlugin("note", hooks={"post_tool_call": {"context": ["mind the date"]}})
    outcome, _ = await called(with_parts(TEXT, IMAGE), note)
    assert outcome.text() == "a page\n\n[note] mind the date"
    parts = outcome.in_parts()
    assert parts is not None
    assert [part.text for part in parts] == ["before", None, "[note] mind the date"]


@pytest.mark.parametrize("hook", ["pre_tool_call", "post_tool_call"])
async def test_hooks_put_results_with_parts_in_place(autojump_clock: MockClock, hook: str) -> None:
    verb = "substitute" if hook == "pre_tool_call" else "replace"
    good, bad = with_parts(IMAGE), with_parts({**IMAGE, "data": "?"})
    for result, word in ((good, "answered"), (bad, "refused_answer")):
        changes = FakePlugin(
            "changes",
            hooks={hook: {verb: {"result": result}}},
            subscriptions=[{"event": hook, "replaces": True, "on_failure": "open"}]
            if hook == "pre_tool_call"
            else [{"event": hook, "replaces": True}],
        )
        outcome, _ = await called("plain", changes)
        changed = word == "answered"
        assert outcome.text() == ("a page" if changed else "plain")
        assert (outcome.in_parts() is not None) is changed


async def test_messages_with_broken_parts_replace_none(autojump_clock: MockClock) -> None:
    message = {"role": "tool", "content": "x", "call_id": "c", "parts": [{**IMAGE, "data": "?"}]}
    changes = FakePlugin(
        "changes",
        hooks={"pre_llm_call": {"replace": {"messages": [message]}}},
        subscriptions=[{"event": "pre_llm_call", "replaces": True}],
    )
    problems: list[str] = []
    async with (
        PluginHost([changes], on_problem=lambda _, line: problems.append(line)) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        gate = await turn.pre_llm_call(provider=None, model=None, messages=[], tools=[])
    assert gate.messages == []
    assert "replace.messages does not fit: parts[0].data is no base64" in problems[0]


async def test_an_agents_own_tool_returns_parts(autojump_clock: MockClock) -> None:
    async def look(arguments: dict[str, Any]) -> ToolResult:
        data = GIF if arguments["good"] else "?"
        return ToolResult(content="x", parts=[Part(type="image", mime_type="image/gif", data=data)])

    plugin = FakePlugin("hears", hooks={"post_tool_call": Answer()})
    async with PluginHost([plugin]) as host, host.session() as session, session.turn("x") as turn:
        good = await turn.call_tool("look", {"good": True}, run=look)
        bad = await turn.call_tool("look", {"good": False}, run=look)
    assert (good.status, bad.status) == ("ok", "error")
    assert bad.text() == "the tool look failed: parts[0].data is no base64"
    assert [bool(one.result.parts) for one in plugin.payloads("post_tool_call")] == [True, False]


async def test_the_largest_image_that_fits_a_message(autojump_clock: MockClock) -> None:
    large = base64.b64encode(b"GIF89a" + bytes(785_000)).decode()
    outcome, _ = await called(with_parts({**IMAGE, "data": large}))
    assert outcome.status == "ok"
    outcome, _ = await called(with_parts({**IMAGE, "data": large + "A" * 4_000}))
    assert "at most 1,048,576 are allowed" in outcome.text()
