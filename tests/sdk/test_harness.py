"""A plugin tried without a process, as its author would."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sliphook_sdk import (
    Answer,
    AsyncContext,
    Context,
    HostRefused,
    Image,
    Part,
    Plugin,
    ToolError,
    ToolResult,
    allow,
    continue_with,
    deny,
    replace,
)
from sliphook_sdk.protocol import (
    InjectParams,
    InterruptParams,
    LogParams,
    NotifyParams,
    SubmitParams,
    ToolsParams,
)
from sliphook_sdk.protocol.answers import PreToolCallAnswer, StopAnswer
from sliphook_sdk.protocol.parts import Resource
from sliphook_sdk.protocol.payloads import (
    PreToolCall,
    SessionEnd,
    SessionStart,
    Stop,
    TurnEnd,
    UserPromptSubmit,
)
from sliphook_sdk.testing import Harness, PluginError


class Config(msgspec.Struct):
    limit: int = 3


plugin = Plugin(
    "sample", uses=["notify", "inject", "interrupt", "tools"], config=Config, sessions=list[str]
)


@plugin.hook("pre_tool_call", match={"tool_name": ["shell"]}, on_failure="closed")
def guard(call: PreToolCall, *, ctx: Context[Config]) -> PreToolCallAnswer | None:
    if len(call.arguments["command"]) > ctx.config.limit:
        return deny(f"longer than {ctx.config.limit}")
    return None


@plugin.hook("user_prompt_submit")
async def prompt(prompt: UserPromptSubmit) -> Any:
    await asyncio.sleep(0)
    return replace(text="no, this needs replaces")


@plugin.hook("stop")
async def stop(stop: Stop, *, ctx: AsyncContext[Config]) -> StopAnswer | None:
    await ctx.notify("info", "done")
    if await ctx.interrupt("enough"):
        await ctx.inject("remember")
    await ctx.set_tools([late])
    return continue_with("more") if stop.stop_count == 0 else None


@plugin.hook("session_start")
def started(session: SessionStart, *, ctx: Context[Config]) -> None:
    assert ctx.deadline is not None
    assert not ctx.cancelled
    assert ctx.wait(0) is False
    ctx.raise_if_cancelled()
    plugin.sessions[ctx.session_id].append(session.source)
    (ctx.data_dir / "started").write_text(str(ctx.turn_id))


@plugin.on("turn_end")
async def ended(turn: TurnEnd, *, ctx: AsyncContext[Config]) -> None:
    assert ctx.deadline is None
    plugin.sessions[turn.session_id].append(turn.outcome)
    ctx.log("info", "a turn", outcome=turn.outcome)


@plugin.on("turn_end")
def ended_too(turn: TurnEnd) -> None:
    if turn.outcome == "failed":
        raise LookupError("gone")


@plugin.on("session_end")
def gone(end: SessionEnd, *, ctx: Context[Config]) -> None:
    ctx.log("info", " ".join(plugin.sessions[end.session_id]))


@plugin.tool
def values(kind: str) -> Any:
    return {
        "text": "plain",
        "none": None,
        "dict": {"é": [1, None]},
        "struct": Config(limit=1),
        "result": ToolResult(content="c", data=1),
        "surrogate": ["\udc80"],
        "object": object(),
    }[kind]


@plugin.tool
async def fails() -> None:
    raise ToolError("not today")


@plugin.command
async def shout(arguments: str) -> str:
    if not arguments:
        raise ToolError("say what to shout: /shout TEXT")
    return arguments.upper()


@plugin.command
def breaks(arguments: str) -> str:
    raise LookupError(arguments)


def late(name: str) -> str:
    return f"late {name}"


def test_hooks_answer() -> None:
    harness = Harness(plugin)
    assert harness.fire("pre_tool_call", arguments={"command": "rm -rf"}) == deny("longer than 3")
    assert harness.fire("pre_tool_call", arguments={"command": "ls"}) is None
    assert harness.fire("pre_tool_call", tool_name="other", arguments={}) is None
    assert (
        Harness(plugin, config={"limit": 9}).fire("pre_tool_call", arguments={"command": "rm -rf"})
        is None
    )


def test_a_failure_is_what_the_host_would_read_with_its_cause() -> None:
    harness = Harness(plugin)
    with pytest.raises(PluginError, match=r"^guard: KeyError: 'command'$") as caught:
        harness.fire("pre_tool_call", arguments={})
    assert isinstance(caught.value.__cause__, KeyError)
    assert harness.logs[0].message == "guard: KeyError: 'command'"
    with pytest.raises(PluginError, match=r"^prompt: replace\(\) needs replaces=True"):
        harness.fire("user_prompt_submit")


def test_what_the_plugin_asks_of_the_host_is_kept() -> None:
    harness = Harness(plugin)
    assert harness.fire("stop") == continue_with("more")
    assert harness.fire("stop", stop_count=1) is None
    assert harness.sent[:3] == [
        ("host/notify", NotifyParams(level="info", message="done")),
        ("host/interrupt", InterruptParams(session_id="s-1", turn_id="t-1", reason="enough")),
        ("host/inject", InjectParams(session_id="s-1", text="remember")),
    ]
    method, tools = harness.sent[3]
    assert method == "host/tools"
    assert isinstance(tools, ToolsParams)
    assert (tools.session_id, [tool.name for tool in tools.tools]) == (None, ["late"])
    assert harness.call_tool("late", name="x").content == "late x"
    with pytest.raises(LookupError, match="there is no tool 'values' here"):
        harness.call_tool("values", kind="text")


def test_what_is_not_granted_is_refused() -> None:
    harness = Harness(plugin, granted=["notify"])
    with pytest.raises(PluginError, match="host/interrupt is not granted") as caught:
        harness.fire("stop")
    assert isinstance(caught.value.__cause__, HostRefused)
    assert caught.value.__cause__.code == -32003


def test_a_session(tmp_path: Path) -> None:
    harness = Harness(plugin, data_dir=tmp_path)
    assert harness.fire("session_start", turn_id=None) is None
    assert (tmp_path / "started").read_text() == "None"
    harness.tell("turn_end")
    assert plugin.sessions["s-1"] == ["startup", "completed"]
    with pytest.raises(PluginError, match="ended_too: LookupError: gone"):
        harness.tell("turn_end", outcome="failed")
    harness.tell("session_end")
    assert "s-1" not in plugin.sessions
    assert [log.message for log in harness.logs] == [
        "a turn",
        "a turn",
        "ended_too: LookupError: gone",
        "startup completed failed",
    ]
    assert harness.logs[0] == LogParams(
        level="info", message="a turn", fields={"outcome": "completed"}
    )


@pytest.mark.parametrize(
    ("kind", "content", "data"),
    [
        ("text", "plain", None),
        ("none", "", None),
        ("dict", '{"é":[1,null]}', {"é": [1, None]}),
        ("struct", '{"limit":1}', {"limit": 1}),
        ("result", "c", 1),
        ("surrogate", '["\\\\udc80"]', ["\\udc80"]),
    ],
)
def test_results_of_tools(kind: str, content: str, data: Any) -> None:
    result = Harness(plugin).call_tool("values", kind=kind)
    assert (result.content, result.is_error) == (content, False)
    assert msgspec.json.decode(msgspec.json.encode(result.data)) == data


def test_failures_of_tools() -> None:
    harness = Harness(plugin)
    assert harness.call_tool("fails") == ToolResult(content="not today", is_error=True)
    assert harness.logs == []
    odd = harness.call_tool("values", kind="object")
    assert odd.is_error
    assert odd.content == "values: returned object, which JSON cannot hold: $ is of type object"
    assert harness.logs[0].message == odd.content


def test_commands() -> None:
    assert Harness(plugin).run_command("shout", "hey") == "HEY"
    harness = Harness(plugin)
    with pytest.raises(PluginError, match=r"^say what to shout: /shout TEXT$"):
        harness.run_command("shout")
    assert harness.logs == []
    with pytest.raises(PluginError, match=r"^breaks: LookupError: no$"):
        harness.run_command("breaks", "no")
    assert harness.logs[0].message == "breaks: LookupError: no"
    with pytest.raises(LookupError, match="there is no command 'gone' here"):
        Harness(plugin).run_command("gone")


def test_mistakes_of_the_test_are_told_from_mistakes_of_the_plugin() -> None:
    harness = Harness(plugin)
    with pytest.raises(
        ValueError, match="there is no hook or event 'pre_toolcall'; did you mean 'pre_tool_call'"
    ):
        harness.fire("pre_toolcall")  # type: ignore[arg-type]  # checkers find it too
    with pytest.raises(
        ValueError, match="hook/pre_tool_call has no field 'tool'; did you mean 'tool_name'"
    ):
        harness.fire("pre_tool_call", tool="x")
    with pytest.raises(ValueError, match="Expected `str`, got `int`"):
        harness.fire("pre_tool_call", tool_name=3)
    with pytest.raises(LookupError, match="sample has no handler for the hook subagent_start"):
        harness.fire("subagent_start")
    with pytest.raises(LookupError, match="sample has no handler for notification"):
        harness.tell("notification")


def test_settings_that_do_not_fit_disable_the_plugin() -> None:
    manifest = Harness(plugin, config={"limit": "many"}).manifest()
    assert manifest.disabled == "its settings do not fit: Expected `int`, got `str` - at `$.limit`"
    assert [subscription.event for subscription in manifest.subscriptions or ()][:1] == [
        "pre_tool_call"
    ]
    assert Harness(plugin).manifest().disabled is None


def test_a_coroutine_from_a_plain_function_is_no_answer() -> None:
    forgetful = Plugin("forgetful")

    async def later() -> Answer:
        return allow()

    @forgetful.hook("pre_tool_call")
    def hook(call: PreToolCall) -> Any:
        return later()

    with pytest.raises(
        PluginError, match="hook: returned something to await; declare it with `async def`"
    ):
        Harness(forgetful).fire("pre_tool_call")


def test_tools_of_a_plugin_that_does_not_run_and_doubled_ones() -> None:
    idle = Plugin("idle", uses=["tools"])
    with pytest.raises(RuntimeError, match="the plugin does not run"):
        idle.set_tools([late])
    Harness(idle)
    with pytest.raises(ValueError, match="two of the tools are called 'late'"):
        idle.set_tools([late, late])
    none = Plugin("idle")
    Harness(none)
    with pytest.raises(HostRefused, match=r'changing tools needs uses=\["tools"\] in Plugin'):
        none.set_tools([late])


async def _in_a_loop() -> Answer | None:
    return Harness(plugin).fire("stop")


def test_inside_a_running_loop() -> None:
    assert asyncio.run(_in_a_loop()) == continue_with("more")


def test_a_message_for_the_model() -> None:
    remind = Plugin("remind", uses=["submit"])

    @remind.command
    def now(text: str) -> str:
        return remind.host.submit(text, session_key="main", platform="cli").message_id

    @remind.command
    async def later(text: str) -> str:
        return (await remind.async_host.submit(text, session_key="main", user_id="ada")).status

    with Harness(remind) as host:
        assert host.run_command("now", "look") == "m-1"
        assert host.run_command("later", "listen") == "started"
        assert [params for _, params in host.sent] == [
            SubmitParams(session_key="main", platform="cli", text="look"),
            SubmitParams(session_key="main", user_id="ada", text="listen"),
        ]
    with Harness(remind, granted=[]) as host, pytest.raises(PluginError, match="not granted"):
        host.run_command("now", "look")


class Own(str):
    """As numpy's `str_` is."""


def test_images() -> None:
    look = Plugin("look")
    gif = b"GIF89a" + bytes(4)
    held: Any = {"uri": "a:b", "mimeType": "text/plain", "text": "y"}
    as_dicts: Any = [
        {"type": "audio", "mimeType": "audio/wav", "data": "AAAA"},
        {"type": "resource", "resource": held},
    ]

    @look.tool
    def show(kind: str) -> Any:
        return {
            "one": Image(data=gif, mime="image/gif"),
            "list": ["before", Image(gif, "image/gif"), ""],
            "result": ToolResult(content="x", parts=[Part(type="text", text="y")]),
            "no list": ["before"],
            "mixed": [Image(gif), 7],
            "text": Image("GIF89a", "image/gif"),  # type: ignore[arg-type] # what is tested
            "wrong": Image(gif),
            "broken": ToolResult(content="x", parts=[Part(type="image")]),
            "dict": ToolResult(content="x", parts=as_dicts),
            "half": ToolResult(content="x", parts=[Part(type="resource", resource=held)]),
            "surrogate": ToolResult(
                content="x",
                parts=[{"type": "text", "text": Own("half \ud83d")}],  # type: ignore[list-item] # also this
            ),
            "odd": ToolResult(content="x", parts=[{"type": 7}]),  # type: ignore[list-item] # also this
        }[kind]

    with Harness(look) as host:
        data = "R0lGODlhAAAAAA=="
        image = Part(type="image", mime_type="image/gif", data=data)
        assert host.call_tool("show", kind="one") == ToolResult(content="", parts=[image])
        listed = host.call_tool("show", kind="list")
        assert listed.content == "before"
        assert listed.parts == [
            Part(type="text", text="before"),
            image,
            Part(type="text", text=""),
        ]
        assert host.call_tool("show", kind="result").parts == [Part(type="text", text="y")]
        file = Part(type="resource", resource=Resource(uri="a:b", mime_type="text/plain", text="y"))
        sound = Part(type="audio", mime_type="audio/wav", data="AAAA")
        assert host.call_tool("show", kind="dict").parts == [sound, file]
        assert host.call_tool("show", kind="half").parts == [file]
        escaped = [Part(type="text", text="half \\ud83d")]
        assert host.call_tool("show", kind="surrogate").parts == escaped
        assert host.call_tool("show", kind="no list").content == '["before"]'
        for kind, why in (
            ("mixed", "a list with an Image and int in it; it takes texts and Images"),
            ("text", "an Image whose data is str, not bytes"),
            ("wrong", "a result that is refused: parts[0].data is no image/png"),
            ("broken", "a result that is refused: parts[0].mimeType is None"),
            ("odd", "a result that is refused: parts[0]: Expected `str`, got `int` - at `$.type`"),
        ):
            refused = host.call_tool("show", kind=kind)
            assert refused.is_error
            assert f"show: returned {why}" in refused.content
