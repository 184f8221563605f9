"""What the agent's own tools return and raise: a result, or an error that names the type."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any, cast

import msgspec
import pytest
import trio
from trio.testing import MockClock

from sliphook import BegunTool, PluginHost
from sliphook.session.results import ToolOutcome
from sliphook.testing import FakePlugin
from sliphook_sdk.protocol import Part, ToolResult
from sliphook_sdk.protocol.parts import Resource

EAR = ["pre_tool_call", "post_tool_call", "turn_end"]


async def called(returned: object) -> tuple[str, ToolResult, dict[str, Any]]:
    """The status, the result, and the result as a plugin was told of it."""

    async def run(_: dict[str, Any]) -> object:
        if isinstance(returned, Exception):
            raise returned
        return returned

    ear = FakePlugin("ear", hears=EAR)
    results: list[ToolOutcome] = []
    async with PluginHost([ear]) as host, host.session() as session, session.turn("x") as turn:
        results.append(await turn.call_tool("shell", {}, run=run))
    [outcome] = results
    assert ear.names() == EAR
    told = next(one.params["result"] for one in ear.fired() if one.name == "post_tool_call")
    return outcome.status, outcome.result, told


class Text(str):
    pass


class Colour(enum.Enum):
    RED = "red"


def generated() -> Iterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("returned", "content", "data"),
    [
        ("text", "text", None),
        (None, "", None),
        ({"exit_code": 0}, '{"exit_code":0}', {"exit_code": 0}),
        ([1, "a"], '[1,"a"]', [1, "a"]),
        (0, "0", 0),
        (False, "false", False),
        (1.5, "1.5", 1.5),
        (ToolResult(content="as it is", data={"a": 1}), "as it is", {"a": 1}),
        ("half \ud83d", "half \ufffd", None),
        (Text("of its own class"), "of its own class", None),
        (ToolResult(content=Text("half \ud83d")), "half \ufffd", None),
        ({"none": None}, '{"none":null}', {"none": None}),
        ({1: None}, '{"1":null}', {"1": None}),
        ({1: "null"}, '{"1":"null"}', {"1": "null"}),
        ({1.5: None, Colour.RED: 3}, '{"1.5":null,"red":3}', {"1.5": None, "red": 3}),
        ([msgspec.Raw(b"[1]"), None], "[[1],null]", [[1], None]),
        (["half \ud83d", None], '["half \ufffd",null]', ["half \ufffd", None]),
    ],
)
async def test_what_a_tool_may_return(
    returned: object, content: str, data: object, autojump_clock: MockClock
) -> None:
    status, result, told = await called(returned)
    assert status == "ok"
    assert told == {"content": content, "is_error": False, "data": data}
    assert (result.content, result.data) == (content, data)


async def test_keys_of_a_results_data_are_told_as_texts(autojump_clock: MockClock) -> None:
    status, _, told = await called(ToolResult(content="x", data={1: None}))
    assert (status, told["data"]) == ("ok", {"1": None})


class Wordless(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("returned", "why"),
    [
        (b"bytes", "it returned bytes; return a text"),
        (bytearray(b"x"), "it returned bytearray; return a text"),
        (generated(), "it returned generator, which JSON cannot hold: "),
        (object(), "it returned object, which JSON cannot hold: "),
        ({"a": object()}, "it returned dict, which JSON cannot hold: "),
        (ToolResult(content=cast(str, None)), "its content is NoneType, and no text"),
        (ToolResult(content=cast(str, b"x")), "its content is bytes, and no text"),
        (ToolResult(content="x", is_error=cast(bool, "no")), "its is_error is str, and no bool"),
        (ToolResult(content="x", data=object()), "object"),
        (float("nan"), "it returned float, which JSON cannot hold: $ is nan, which JSON does not"),
        (
            {"a": [1, float("inf")]},
            "which JSON cannot hold: $.a[1] is inf, which JSON does not have",
        ),
        ({1: float("nan")}, "which JSON cannot hold: $.1 is nan, which JSON does not have"),
        ([0] * 30_000 + [float("nan")], "which JSON cannot hold: $[30000] is nan, which JSON"),
        ({"a": {1: "x", "1": "y"}}, "which JSON cannot hold: it has the key '1' twice"),
        (ToolResult(content="x", data=float("nan")), "its data cannot be told: $ is nan, which"),
        (ValueError("boom"), "boom"),
        (ValueError(), "ValueError"),
        (Wordless(), "Wordless"),
        (ExceptionGroup("two", [ValueError("a")]), "two (1 sub-exception)"),
    ],
)
async def test_what_a_tool_may_not_return(
    returned: object, why: str, autojump_clock: MockClock
) -> None:
    status, result, told = await called(returned)
    assert (status, result.is_error, told["is_error"]) == ("error", True, True)
    assert result.content.startswith("the tool shell failed: ")
    assert why in result.content
    assert told["content"] == result.content


async def test_a_plain_function_where_one_to_await_is_wanted(autojump_clock: MockClock) -> None:
    def plain(_: dict[str, Any]) -> str:
        return "text"

    async with PluginHost([]) as host, host.session() as session, session.turn("x") as turn:
        outcome = await turn.call_tool("shell", {}, run=cast(Any, plain))
        assert outcome.status == "error"
        assert "await" in outcome.result.content


async def test_only_true_is_a_yes_of_the_approver(autojump_clock: MockClock) -> None:
    async def approver(_: object) -> bool:
        return cast(bool, "no")

    async def run(_: dict[str, Any]) -> str:
        return "ran"

    guard = FakePlugin("guard", hooks={"pre_tool_call": {"decision": "ask"}})
    async with (
        PluginHost([guard], approver=approver) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        outcome = await turn.call_tool("shell", {}, run=run)
        assert outcome.status == "denied"


async def test_a_value_of_very_many_parts_is_a_text_alone(autojump_clock: MockClock) -> None:
    status, result, told = await called([[0]] * 15_000)
    assert status == "ok"
    assert (len(result.content), result.data) == (60_001, None)
    assert told["data"] is None


def in_parts(*parts: Part) -> ToolResult:
    return ToolResult(content="", parts=list(parts))


def held(text: str) -> Part:
    return Part(type="resource", resource=Resource(uri="a:", text=text))


async def test_a_text_that_no_plugin_can_be_told_is_not_for_the_model(
    autojump_clock: MockClock,
) -> None:
    """A plugin that hides secrets in results would not be asked."""
    for returned in ("x" * 4_194_305, ToolResult(content="x" * 4_194_305)):
        status, result, _ = await called(returned)
        assert status == "error"
        assert result.content == (
            "the tool shell failed: it returned 4,194,305 characters, and 4,194,304 are the most;"
            " write them to a file and return its path"
        )


@pytest.mark.parametrize(
    ("returned", "size"),
    [
        ('"' * 2_100_000, "4,200,002"),
        ("\x01" * 700_000, "4,200,002"),
        ("漢" * 1_400_000, "4,200,002"),
        ("x" * 4_194_304, "4,194,306"),
        (ToolResult(content="x" * 2_100_000, data="x" * 2_100_000), "4,200,004"),
        (in_parts(Part(type="text", text="\x01" * 700_000)), "4,200,002"),
        (in_parts(Part(type="text", text="漢" * 1_400_000)), "4,200,002"),
        (in_parts(held("\x01" * 700_000)), "4,200,002"),
        (in_parts(held("x" * 2_090_000), held("x" * 2_090_000)), "4,180,002"),
        (
            ToolResult(content="x" * 2_100_000, parts=[Part(type="text", text="x" * 2_100_000)]),
            "4,200,031",
        ),
    ],
    ids=[
        "quotes",
        "controls",
        "wide",
        "plain",
        "data",
        "part",
        "wide part",
        "held",
        "two held",
        "both",
    ],
)
async def test_a_result_that_takes_too_much_in_json_is_not_for_the_model(
    autojump_clock: MockClock, returned: object, size: str
) -> None:
    status, result, _ = await called(returned)
    assert status == "error"
    assert result.content == (
        f"the tool shell failed: it returned {size} bytes in JSON, and 4,128,512 are the most;"
        " write them to a file and return its path"
    )


async def test_a_part_of_more_characters_than_are_told_is_not_for_the_model(
    autojump_clock: MockClock,
) -> None:
    for part in (held("x" * 6_000_000), Part(type="text", text="\x01" * 6_000_000)):
        status, result, _ = await called(in_parts(part))
        assert status == "error"
        assert "it returned 6,000,000 characters, and 4,194,304 are the most" in result.content


@pytest.mark.parametrize("by", ["the agent", "a plugin", "a substitute"])
@pytest.mark.parametrize(("chars", "size"), [(3_200_000, None), (3_990_000, "4,190,")])
async def test_what_plugins_cannot_see_beside_its_arguments_is_not_for_the_model(
    autojump_clock: MockClock, by: str, chars: int, size: str | None
) -> None:
    long: dict[str, Any] = {"content": "x" * 200_000}
    arguments = {"text": "x" * chars}

    async def run(_: dict[str, Any]) -> ToolResult:
        return ToolResult(**long)

    plugin = FakePlugin(
        "reader",
        tools={"theirs": long},
        hooks={"pre_tool_call": {"substitute": {"result": long}} if by == "a substitute" else None},
        subscriptions=[{"event": "pre_tool_call", "replaces": True}],
        hears=["post_tool_call"],
    )
    async with PluginHost([plugin]) as host, host.session() as session, session.turn("x") as turn:
        if by == "a plugin":
            outcome = await turn.call_tool("theirs", arguments)
        else:
            outcome = await turn.call_tool("shell", arguments, run=run)
        told = [one.params["result"] for one in plugin.fired() if one.name == "post_tool_call"]
        assert [one["content"] for one in told] == [outcome.result.content]
        assert outcome.status == ("ok" if size is None else "error")
        assert ("are the most; write long texts to files" in outcome.result.content) is (
            size is not None
        )
        assert size is None or f"it has {size}" in outcome.result.content


@pytest.mark.parametrize(
    "given", [{"meta": {"k": "m" * 100_000}}, {"session_key": "m" * 100_000}], ids=["meta", "key"]
)
async def test_what_plugins_cannot_see_beside_the_session_is_not_for_the_model(
    autojump_clock: MockClock, given: dict[str, Any]
) -> None:
    async def run(_: dict[str, Any]) -> str:
        return "x" * 4_100_000

    guard = FakePlugin("guard", subscriptions=[{"event": "post_tool_call", "replaces": True}])
    async with (
        PluginHost([guard]) as host,
        host.session(**given) as session,
        session.turn("x") as turn,
    ):
        outcome = await turn.call_tool("shell", {}, run=run)
        told = [one.params["result"]["content"] for one in guard.fired()]
        assert outcome.status == "error"
        assert outcome.result.content.startswith(
            "the result of shell is withheld: with its call and the session's meta it has 4,200,"
        )
        assert told == [outcome.result.content]


async def test_a_result_that_one_plugin_makes_too_large_for_the_next_is_not_for_the_model(
    autojump_clock: MockClock,
) -> None:
    async def run(_: dict[str, Any]) -> str:
        return "secret"

    longer = {"replace": {"result": {"content": "secret" * 150_000}}}
    replaces = [{"event": "post_tool_call", "replaces": True}]
    plugins = [
        FakePlugin("first", hooks={"post_tool_call": longer}, subscriptions=replaces),
        FakePlugin("guard", subscriptions=replaces),
    ]
    async with PluginHost(plugins) as host, host.session() as session, session.turn("x") as turn:
        outcome = await turn.call_tool("shell", {"text": "x" * 3_500_000}, run=run)
        assert outcome.status == "error"
        assert outcome.result.content.startswith(
            "the result of shell is withheld: guard cannot look at it: post_tool_call is 4,400,"
        )


async def test_a_long_result_that_is_ended_twice_is_told_once(autojump_clock: MockClock) -> None:
    ear = FakePlugin("ear", hears=EAR)
    contents: list[str] = []
    async with PluginHost([ear]) as host, host.session() as session, session.turn("x") as turn:
        begun = await turn.begin_tool("shell", {"text": "x" * 100_000})

        async def end(result: str) -> None:
            contents.append((await begun.end(result)).result.content)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(end, "it ran")
            nursery.start_soon(end, "it ran")
        assert contents == ["it ran", "it ran"]
    assert ear.names() == EAR


async def test_an_interrupt_while_a_long_result_is_measured_tells_its_end(
    autojump_clock: MockClock,
) -> None:
    ear = FakePlugin("ear", hears=EAR)
    begun: list[BegunTool] = []
    async with PluginHost([ear]) as host, host.session() as session:
        async with session.turn("x") as turn:
            begun.append(await turn.begin_tool("shell", {"text": "x" * 100_000}))
            async with trio.open_nursery() as nursery:
                nursery.start_soon(begun[0].end, "it ran")
                await trio.lowlevel.checkpoint()
                session.interrupt()
        assert begun[0].outcome is not None
        assert begun[0].outcome.status == "cancelled"
    assert ear.names() == EAR
    assert [one.params["status"] for one in ear.fired() if one.name == "post_tool_call"] == [
        "cancelled"
    ]


async def test_a_value_too_long_to_be_told_twice_is_a_text_alone(
    autojump_clock: MockClock,
) -> None:
    status, result, told = await called({"a": "x" * 2_100_000})
    assert (status, result.data, told["data"]) == ("ok", None, None)
    assert len(told["content"]) == len(result.content) == 2_100_008


async def test_half_a_character_in_a_part_is_replaced_as_in_a_text(
    autojump_clock: MockClock,
) -> None:
    link = Part(type="resource_link", uri="file:///\udc80", name="log")
    held = Part(type="resource", resource=Resource(uri="a:", text="half \ud83d"))
    image = Part(type="image", mime_type="image/png", data="iVBORw0KGgo=", name="\ud83d")
    text = Part(type="text", text="half \ud83d")
    _, result, told = await called(ToolResult(content="x", parts=[text, link, held, image]))
    assert result.parts == [
        Part(type="text", text="half \ufffd"),
        Part(type="resource_link", uri="file:///\ufffd", name="log"),
        Part(type="resource", resource=Resource(uri="a:", text="half \ufffd")),
        Part(type="image", mime_type="image/png", data="iVBORw0KGgo=", name="\ufffd"),
    ]
    assert told["parts"][0] == {"type": "text", "text": "half \ufffd"}


async def test_a_part_with_a_field_of_another_type_is_refused(autojump_clock: MockClock) -> None:
    part = Part(type="text", text="x", name=cast(str, 7))
    status, result, _ = await called(
        ToolResult(content="x", parts=[Part(type="text", text=""), part])
    )
    assert (status, result.content) == (
        "error",
        "the tool shell failed: parts[1]: Expected `str | null`, got `int` - at `$.name`",
    )


async def test_parts_of_too_many_characters_are_refused(autojump_clock: MockClock) -> None:
    part = Part(type="text", text="x" * 2_100_000)
    status, result, _ = await called(ToolResult(content="x", parts=[part, part]))
    assert status == "error"
    assert "it returned 4,200,000 characters, and 4,194,304 are the most" in result.content


async def test_what_a_tool_raises_is_cut(autojump_clock: MockClock) -> None:
    _, result, _ = await called(ValueError("x" * 1_000_000))
    assert result.content == f"the tool shell failed: {'x' * 10_000}…"
