"""What a plugin has nearly said is told in its log, once; what would count wrongly is refused."""

# An interrupt leaves a turn's block early; these tests know where it does.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import msgspec
import pytest
import trio

from sliphook import PluginHost
from sliphook.dispatch.answers import AnswerError, check_answer, read_answer
from sliphook.session.plugin_calls import ToolAnswer
from sliphook.testing import FakePlugin
from sliphook.wire.near_misses import MAX_NEAR_MISSES, NearMisses, meant_level
from sliphook_sdk.protocol import CATALOGUE, ToolCallParams
from sliphook_sdk.protocol.describe import example_of
from tests.programs import WAIT_S, Workshop, case_of, until

CALL = msgspec.structs.replace(
    msgspec.convert(example_of(ToolCallParams), ToolCallParams), name="look", timeout_s=60.0
)


class Log:
    """What the host and the plugin said, by `on_log`."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []

    def __call__(self, _: str, level: str, message: str) -> None:
        self.lines.append((level, message))

    @property
    def by_host(self) -> list[str]:
        return [message for level, message in self.lines if level == "host"]


async def answered(result: Any, *, times: int = 1) -> tuple[ToolAnswer, list[str]]:
    """The outcome of a tool that returns this, and what the host said of it."""
    log = Log()
    plugin = FakePlugin("probe", tools={"look": lambda arguments: result})
    with trio.fail_after(WAIT_S):
        async with PluginHost([plugin], on_log=log) as host:
            for _ in range(times):
                answer = await host.call_plugin_tool("look", CALL)
    return answer, log.by_host


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (
            {"content": "x", "isError": False},
            "'isError', which is ignored; did you mean is_error?",
        ),
        ({"content": "x", "structuredContent": {}}, "'structuredContent', which is ignored; did"),
        ({"content": "x", "odd": 1}, "the result of a tool has the unknown field 'odd', which is"),
    ],
)
async def test_an_unknown_field_of_a_result(result: Any, said: str) -> None:
    answer, lines = await answered(result, times=3)
    assert (answer.status, answer.result.content) == ("answered", "x")
    assert len(lines) == 1
    assert said in lines[0]


@pytest.mark.parametrize("result", [{"content": "x"}, {"content": "x", "_meta": {}}, "x"])
async def test_what_is_no_near_miss(result: Any) -> None:
    answer, lines = await answered(result)
    assert (answer.status, lines) == ("answered", [])


async def test_an_error_in_the_words_of_mcp_is_no_success() -> None:
    answer, lines = await answered({"content": "no such file", "isError": True})
    assert (answer.status, answer.result.is_error) == ("refused_answer", True)
    assert answer.result.content == (
        "the tool look failed: it says isError, which is MCP's name; say is_error: no such file"
    )
    assert any("the result of the tool look is refused: it says isError" in line for line in lines)


@pytest.mark.parametrize(
    "result", [{"content": [{"type": "text", "text": "x"}]}, [{"type": "text", "text": "x"}]]
)
async def test_content_in_the_words_of_mcp(result: Any) -> None:
    answer, _ = await answered(result)
    assert answer.status == "refused_answer"
    assert answer.error == (
        "its content is a list, as in MCP; give that as parts, and one text as content"
    )


async def test_an_error_of_the_plugin_is_no_refused_answer(shop: Workshop) -> None:
    probe = shop.program(
        tools=["look"],
        on=case_of("tool/call", 'send(id=id, error={"code": 7, "message": "no"})\nreturn NOTHING'),
    )
    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path]) as host:
            answer = await host.call_plugin_tool("look", CALL)
    assert (answer.status, answer.error) == ("error", "no (7)")
    assert answer.result.is_error


@pytest.mark.parametrize("word", ["replace", "substitute"])
def test_a_result_in_an_answer_is_as_strict_as_the_answer(word: str) -> None:
    entry = CATALOGUE["post_tool_call" if word == "replace" else "pre_tool_call"]
    body = {word: {"result": {"content": "x", "isError": True}}}
    answer = read_answer(json.dumps(body).encode())
    payload = msgspec.convert(example_of(entry.payload), entry.payload)
    with pytest.raises(
        AnswerError,
        match=f"{word}.result has an unknown field 'isError'; did you mean is_error\\?",
    ):
        check_answer(entry, answer, payload, replacing=True)


async def test_unknown_fields_of_a_manifest_and_its_parts(shop: Workshop) -> None:
    log = Log()
    probe = shop.program(
        tools=[
            {"name": "look", "inputSchema": {"type": "object"}},
            {"name": "deploy", "inputSchema": {}, "parameters": {}},
        ],
        commands=[{"name": "show", "help": "x"}],
        descripton="x",
    )
    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path], on_log=log) as host:
            await host.restart("probe")
    assert sorted(log.by_host) == [
        "the command show has the unknown field 'help', which is ignored",
        "the manifest has the unknown field 'descripton', which is ignored;"
        " did you mean description?",
        "the tool deploy has the unknown field 'parameters', which is ignored;"
        " did you mean input_schema?",
        "the tool look has the unknown field 'inputSchema', which is ignored;"
        " did you mean input_schema?",
    ]


async def test_lines_that_do_not_fit(shop: Workshop) -> None:
    log = Log()
    sends: list[dict[str, object]] = [
        {"level": "warn", "message": "a"},
        {"level": "warn", "message": "b"},
        {"level": "FATAL!", "message": "c"},
        {"message": "d"},
        {"level": "info", "msg": "lost"},
        {"level": "info", "message": "e", "feilds": {}},
        {"level": "info", "message": "end"},
    ]
    main = "\n".join(f"send(method='host/log', params={one!r})" for one in sends)
    probe = shop.program(
        main=f"reply(receive()['id'], MANIFEST)\n{main}\n"
        "send(method='$/progress', params={'id': 'seven'})\nserve()"
    )
    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path], on_log=log):
            await until(lambda: any("$/progress" in line for line in log.by_host))
    own = [line for line in log.lines if line[0] != "host"]
    assert own == [
        ("warning", "a"),
        ("warning", "b"),
        ("info", "c"),
        ("info", "d"),
        ("info", "e"),
        ("info", "end"),
    ]
    said = "\n".join(log.by_host)
    known = "there are debug, info, warning, error"
    assert f"the level of a host/log, 'warn', is unknown: it is logged as warning; {known}" in said
    assert f"'FATAL!', is unknown: it is logged as info; {known}" in said
    assert "host/log has the unknown field 'msg', which is ignored; did you mean message?" in said
    assert "a host/log does not fit and is left out: Object missing required field" in said
    assert "unknown field 'feilds', which is ignored; did you mean fields?" in said
    assert "a $/progress does not fit and is left out: Expected `int`, got `str`" in said
    assert len(log.by_host) == 7


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("warn", "warning"),
        ("CRITICAL", "error"),
        ("fatal", "error"),
        ("Err", "error"),
        ("emergency", "error"),
        ("notice", "info"),
        ("TRACE", "debug"),
        ("x" * 1000, "info"),
        ("", "info"),
    ],
)
def test_which_level_is_meant(given: str, meant: str) -> None:
    assert meant_level(given) == meant


async def test_a_flood_of_near_misses_is_said_32_times(shop: Workshop) -> None:
    log = Log()
    probe = shop.program(
        main="""
        reply(receive()["id"], MANIFEST)
        for index in range(2_000):
            fields = {f"odd_{index}_{more}": 1 for more in range(50)}
            send(method="host/log", params={"level": f"l{index}", "message": "m", **fields})
        serve()
        """,
    )
    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path], on_log=log) as host, host.session() as session:
            async with session.turn("x"):
                pass
            host.kill()
    unknown = [line for line in log.by_host if "unknown" in line]
    assert len(unknown) <= MAX_NEAR_MISSES


def test_what_is_said_of_one_message_is_bounded_and_looked_for_no_more() -> None:
    found = NearMisses()
    many = json.dumps({f"odd_{index}": 1 for index in range(9_000)}).encode()
    assert len(list(found.found_in("tool/call", many))) == MAX_NEAR_MISSES
    assert list(found.found_in("tool/call", b'{"other":1}')) == []


def test_little_is_kept_of_a_name_and_of_long_ones_that_begin_alike_one_is_said() -> None:
    found, said = NearMisses(), 0
    tracemalloc.start()
    try:
        for index in range(MAX_NEAR_MISSES):
            for end in "ab":
                name = f"{index}{'x' * 100_000}{end}"
                said += len(list(found.found_in("tool/call", json.dumps({name: 1}).encode())))
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert said == MAX_NEAR_MISSES
    assert kept < 1_000_000


@pytest.mark.parametrize("method", ["ping", "hook/stop", "of_tomorrow", "host/nothing", "shutdown"])
def test_methods_without_a_shape(method: str) -> None:
    assert list(NearMisses().found_in(method, b'{"odd":1}')) == []
