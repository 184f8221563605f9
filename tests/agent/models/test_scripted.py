"""The scripted model: the file of replies, its mistakes, and what it does without one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from sliphook.agent.models.base import Finish, ModelError, Piece, TextDelta, ToolCall
from sliphook.agent.models.script import ScriptedCall, ScriptedReply, ScriptError, load_script
from sliphook.agent.models.scripted import ScriptedModel, improvise
from sliphook_sdk.protocol import Message, ModelTool, ToolCallRequest, Usage

HELLO = [Message(role="user", content="hello")]
WEATHER = ModelTool(name="weather", description="", input_schema={"type": "object"})


def script(tmp_path: Path, content: object) -> Path:
    path = tmp_path / "replies.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


async def answer(model: ScriptedModel) -> list[Piece]:
    async with model.stream(HELLO, []) as pieces:
        return [piece async for piece in pieces]


async def test_every_attempt_takes_the_next_reply(tmp_path: Path) -> None:
    model = ScriptedModel.from_file(
        script(tmp_path, {"replies": [{"text": "one"}, {"text": "two", "finish_reason": "length"}]})
    )
    assert await answer(model) == [
        TextDelta("one"),
        Finish(reason="stop", usage=Usage(), model="replies.json"),
    ]
    assert await answer(model) == [
        TextDelta("two"),
        Finish(reason="length", usage=Usage(), model="replies.json"),
    ]
    with pytest.raises(
        ModelError, match=r"the script replies\.json has no reply for call 3; add one"
    ) as caught:
        await answer(model)
    assert not caught.value.transient


async def test_calls_come_after_the_text_with_ids_of_their_own(tmp_path: Path) -> None:
    calls = [
        {"name": "weather", "arguments": {"city": "Oslo"}},
        {"name": "time"},
        {"name": "x", "arguments": "{no", "call_id": "mine"},
    ]
    model = ScriptedModel.from_file(
        script(
            tmp_path, {"replies": [{"text": "wait", "calls": calls, "usage": {"input_tokens": 3}}]}
        )
    )
    assert await answer(model) == [
        TextDelta("wait"),
        ToolCall(call_id="call_1_1", name="weather", arguments={"city": "Oslo"}),
        ToolCall(call_id="call_1_2", name="time", arguments={}),
        ToolCall(call_id="mine", name="x", arguments={}, unreadable="{no"),
        Finish(reason="tool_calls", usage=Usage(input_tokens=3), model="replies.json"),
    ]


async def test_waits_and_streams_slowly(autojump_clock: MockClock) -> None:
    model = ScriptedModel([ScriptedReply(wait_s=2.0, text=" one two\nthree ", over_s=6.0)])
    seen: list[tuple[float, str]] = []
    began = trio.current_time()
    async with model.stream(HELLO, []) as pieces:
        async for piece in pieces:
            if isinstance(piece, TextDelta):
                seen.append((round(trio.current_time() - began, 3), piece.text))
    assert seen == [(2.0, " "), (3.5, "one "), (5.0, "two\n"), (6.5, "three ")]
    assert trio.current_time() - began == 8.0


@pytest.mark.parametrize(
    ("fail", "kind", "status", "transient", "after_s"),
    [
        (
            {"kind": "rate_limited", "status": 429, "retry_after_s": 2},
            "rate_limited",
            429,
            True,
            2.0,
        ),
        ({"kind": "refused", "status": 401}, "refused", 401, False, None),
        ({"kind": "http", "status": 503}, "http", 503, True, None),
        ({"kind": "http", "status": 400}, "http", 400, False, None),
        ({"kind": "stream", "transient": False}, "stream", None, False, None),
    ],
)
async def test_fails_after_its_text(
    tmp_path: Path,
    fail: object,
    kind: str,
    status: int | None,
    transient: bool,
    after_s: float | None,
) -> None:
    model = ScriptedModel.from_file(
        script(tmp_path, {"replies": [{"text": "I thi", "fail": fail}]})
    )
    async with model.stream(HELLO, []) as pieces:
        assert await anext(pieces) == TextDelta("I thi")
        with pytest.raises(ModelError) as caught:
            await anext(pieces)
    error = caught.value
    assert error.kind == kind
    assert error.status == status
    assert error.transient == transient
    assert error.retry_after_s == after_s


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (
            '{"replies": [\n  {"text": "a" "b"}\n]}',
            "line 2, column 16: Expecting ',' delimiter; a script is JSON: ",
        ),
        ("", "line 1, column 1: Expecting value; a script is JSON: "),
        ("[]", "at the top: expected `object`, got `array`; docs/scripted-model.md has the format"),
        ("{}", "at the top: object missing required field `replies`; docs/"),
        (
            {"replies": [{}, {"txt": "a"}]},
            "at replies[1]: object contains unknown field `txt`; docs/",
        ),
        ({"replies": [{"text": 3}]}, "at replies[0].text: expected `str | null`, got `int`; docs/"),
        ({"replies": [{"wait_s": -1}]}, "at replies[0].wait_s: expected `float` >= 0.0; docs/"),
        (
            {"replies": [{"fail": {"kind": "boom"}}]},
            "at replies[0].fail.kind: invalid enum value 'boom'; docs/",
        ),
        (
            {"replies": [{"calls": [{"arguments": "{}"}]}]},
            "at replies[0].calls[0]: object missing required field `name`; docs/",
        ),
    ],
)
def test_a_broken_script_says_where(tmp_path: Path, content: object, says: str) -> None:
    path = script(tmp_path, content)
    with pytest.raises(ScriptError) as caught:
        load_script(path)
    line = str(caught.value)
    assert line.startswith(f"{path}: {says}")
    assert "\n" not in line


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "replies.json"
    path.write_bytes(b'{"replies": [{"text": "\xff"}]}')
    with pytest.raises(ScriptError, match="a script is JSON"):
        load_script(path)


def test_a_script_nested_without_end(tmp_path: Path) -> None:
    path = script(
        tmp_path, '{"replies": [{"calls": [{"name": "x", "arguments": {"a": ' + "[" * 100_000
    )
    with pytest.raises(ScriptError, match="a script is JSON"):
        load_script(path)


def test_a_script_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ScriptError) as caught:
        load_script(tmp_path / "none.json")
    assert str(caught.value) == (
        f"{tmp_path}/none.json: cannot read the script (No such file or directory); check the path"
    )


def test_the_file_in_the_documentation_is_a_script(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "scripted-model.md").read_text(encoding="utf-8")
    [example] = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    replies = load_script(script(tmp_path, example))
    assert [reply.text for reply in replies] == [
        "I look at the weather.",
        None,
        "It is cold in Oslo, take a coat.",
    ]
    fields = {
        name
        for table_row in re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
        for name in [table_row]
    }
    assert fields == set(ScriptedReply.__struct_fields__)


def test_without_a_script_it_says_what_it_is_and_what_it_was_told() -> None:
    text = improvise([Message(role="system", content="be brief"), *HELLO], [WEATHER]).text
    assert text == (
        "Hello. I am the scripted model: no network, no key, no ideas of my own. "
        "On offer: weather; --plugin PATH adds more. Write `TOOL weather {}` and I call it.\n"
        "My system text: be brief\n"
        "You said: hello"
    )
    assert "No tools are on offer; --plugin PATH adds some." in (improvise(HELLO, []).text or "")


@pytest.mark.parametrize(
    ("prompt", "calls"),
    [
        (
            'TOOL weather {"city": "Oslo"}',
            [ScriptedCall(name="weather", arguments='{"city": "Oslo"}')],
        ),
        (
            'please call weather {"at": {"city": "}"}} now',
            [ScriptedCall(name="weather", arguments='{"at": {"city": "}"}}')],
        ),
        ("Call weather", [ScriptedCall(name="weather")]),
        ("TOOL nothing", [ScriptedCall(name="nothing")]),
        (
            "TOOL weather {city: Oslo} now\nthanks",
            [ScriptedCall(name="weather", arguments="{city: Oslo} now")],
        ),
        ("call my mother", []),
    ],
)
def test_without_a_script_it_calls_what_the_prompt_spells_out(
    prompt: str, calls: list[ScriptedCall]
) -> None:
    assert improvise([Message(role="user", content=prompt)], [WEATHER]).calls == calls


def test_a_call_that_passes_on_a_call_is_one_call() -> None:
    conversation = [
        Message(role="user", content='TOOL delegate {"goal": "TOOL weather {}"} TOOL time')
    ]
    for name in ("delegate", "time"):
        [call] = improvise(conversation, []).calls
        assert call.name == name
        request = ToolCallRequest(call_id=name, name=name, arguments={})
        conversation += [
            Message(role="assistant", content=None, tool_calls=[request]),
            Message(role="tool", content="done", call_id=name),
        ]
    assert improvise(conversation, []).calls == []


def test_without_a_script_several_tools_are_called_one_after_the_other() -> None:
    conversation = [Message(role="user", content="TOOL weather {} TOOL time {}")]
    for number, name in enumerate(["weather", "time"]):
        assert [call.name for call in improvise(conversation, []).calls] == [name]
        request = ToolCallRequest(call_id=f"c{number}", name=name, arguments={})
        conversation += [
            Message(role="assistant", content=None, tool_calls=[request]),
            Message(role="tool", content=f"result {number}", call_id=f"c{number}"),
        ]
    assert improvise(conversation, []).text == "weather: result 0\ntime: result 1"
