"""What plugins ask of the host: granted, bounded, answered at once, also during their hooks."""

# An interrupt leaves a turn's block early; these tests know where it does.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

from typing import Any

import pytest
import trio

from sliphook import PluginHost, PluginSpec, Progress
from tests.programs import WAIT_S, Program, Workshop, case_of, until

NOT_READY, UNKNOWN_SESSION, NOT_GRANTED, BUSY, INVALID_PARAMS, UNKNOWN_METHOD = (
    -32001,
    -32002,
    -32003,
    -32004,
    -32602,
    -32601,
)
USES = ["notify", "tools", "inject", "interrupt"]


def asking(
    shop: Workshop, code: str, *, name: str = "probe", uses: list[str] | None = None, **more: Any
) -> Program:
    """A plugin that asks the host in its `user_prompt_submit`, and waits there for every answer."""
    before = """
    def ask(id, method, **params):
        request(id, method, **params)
        while True:
            message = receive()
            if message.get("id") == id and "method" not in message:
                return message
    """
    return shop.program(
        name,
        hears=["user_prompt_submit"],
        before=before,
        on=case_of("hook/user_prompt_submit", f"session = params['session_id']\n{code.strip()}"),
        uses=USES if uses is None else uses,
        **more,
    )


async def one_turn(program: Program, **options: Any) -> PluginHost:
    """A session with one turn that submits a prompt."""
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([program.path], **options) as host,
            host.session() as session,
            session.turn("hello") as turn,
        ):
            assert not (await turn.submit()).denied
    return host


def codes(program: Program) -> dict[int | str, int]:
    return {
        id: message["error"]["code"]
        for id, message in program.replies().items()
        if "error" in message
    }


async def test_every_call_is_answered_while_the_plugin_is_in_a_hook(shop: Workshop) -> None:
    notices: list[tuple[str, str, str]] = []
    probe = asking(
        shop,
        """
ask("n", "host/notify", level="info", message="hello \\x1b[31m")
new = {"name": "new", "description": "d", "input_schema": {"type": "object"}}
ask("t", "host/tools", session_id=None, tools=[new])
ask("i", "host/inject", session_id=session, text="think")
ask("x", "host/nothing")
""",
        tools=["old"],
    )
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost(
                [probe.path],
                on_notify=lambda plugin, level, message: notices.append((plugin, level, message)),
            ) as host,
            host.session() as session,
        ):
            assert [tool.name for tool in host.tools(session.session_id)] == ["old"]
            async with session.turn("hello") as turn:
                await turn.submit()
            assert [tool.name for tool in host.tools(session.session_id)] == ["new"]
            assert [(text.plugin, text.text) for text in session.take_injected()] == [
                ("probe", "think")
            ]
            assert session.take_injected() == []
    assert codes(probe) == {"x": UNKNOWN_METHOD}
    assert {
        id: message["result"] for id, message in probe.replies().items() if "result" in message
    } == {
        "n": {},
        "t": {},
        "i": {"queued": True},
    }
    assert notices == [("probe", "info", r"hello \x1b[31m")]


async def test_what_is_not_in_uses_is_not_granted(shop: Workshop) -> None:
    probe = asking(
        shop,
        """
ask("n", "host/notify", level="info", message="x")
ask("t", "host/tools", session_id=None, tools=[])
ask("i", "host/inject", session_id=session, text="x")
ask("q", "host/interrupt", session_id=session, reason="x")
""",
        uses=[],
    )
    await one_turn(probe)
    assert codes(probe) == dict.fromkeys("ntiq", NOT_GRANTED)


async def test_what_the_user_has_not_granted_is_not_granted(shop: Workshop) -> None:
    probe = asking(
        shop,
        'ask("n", "host/notify", level="info", message="x")\n'
        'ask("i", "host/inject", session_id=session, text="x")',
    )
    spec = PluginSpec(probe.path, name="probe", grants=frozenset({"inject"}))
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([spec]) as host,
            host.session() as session,
            session.turn("hello") as turn,
        ):
            await turn.submit()
    assert codes(probe) == {"n": NOT_GRANTED}


async def test_before_the_manifest_only_the_log_counts(shop: Workshop) -> None:
    """The host does not know yet what the plugin may use."""
    logged: list[tuple[str, str]] = []
    before = """
    send(method="host/log", params={"level": "info", "message": "starting"})
    request(1, "host/notify", level="info", message="too early")
    request(2, "host/tools", session_id=None, tools=[{"name": "early"}])
    """
    probe = shop.program(uses=USES, before=before)
    with trio.fail_after(WAIT_S):
        async with PluginHost(
            [probe.path], on_log=lambda _, level, line: logged.append((level, line))
        ) as host:
            await probe.has_reply(2)
            assert host.plugins[0].state == "ready"
            assert host.tools() == []
    assert codes(probe) == {1: NOT_READY, 2: NOT_READY}
    assert ("info", "starting") in logged


async def test_bad_params_and_unknown_sessions(shop: Workshop) -> None:
    probe = asking(
        shop,
        """
ask("a", "host/inject", session_id="no such", text="x")
ask("b", "host/inject", session_id=session, text=7)
ask("c", "host/inject", session_id=session, text="x" * 65537)
ask("d", "host/tools", session_id="no such", tools=[])
ask("e", "host/tools", session_id=None, tools=[{"name": "with space"}])
ask("f", "host/interrupt", session_id="no such", reason="x")
ask("g", "host/notify", level="shout", message="x")
""",
    )
    await one_turn(probe)
    assert codes(probe) == {
        "a": UNKNOWN_SESSION,
        "b": INVALID_PARAMS,
        "c": INVALID_PARAMS,
        "d": UNKNOWN_SESSION,
        "e": INVALID_PARAMS,
        "f": UNKNOWN_SESSION,
        "g": INVALID_PARAMS,
    }


async def test_tools_of_a_session_go_with_it_and_clashes_change_nothing(shop: Workshop) -> None:
    probe = asking(
        shop,
        """
ask(1, "host/tools", session_id=session, tools=[{"name": "mine"}])
ask(2, "host/tools", session_id=None, tools=[{"name": "fine"}, {"name": "taken"}])
ask(3, "host/tools", session_id=None, tools=[{"name": "fine"}, {"name": "bash"}])
ask(4, "host/tools", session_id=None, tools=[{"name": "fine"}, {"name": "fine"}])
""",
        tools=["old"],
    )
    other = shop.program("other", tools=["taken"])
    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path, other.path], reserved_tools=["bash"]) as host:
            async with host.session() as session, session.turn("hello") as turn:
                await turn.submit()
                names = {tool.name for tool in host.tools(session.session_id)}
                first = session.session_id
            assert names == {"old", "mine", "taken"}
            assert {tool.name for tool in host.tools(first)} == {"old", "taken"}
    assert codes(probe) == {2: INVALID_PARAMS, 3: INVALID_PARAMS, 4: INVALID_PARAMS}
    assert "other" in probe.replies()[2]["error"]["message"]
    assert "the agent" in probe.replies()[3]["error"]["message"]


async def test_a_tool_that_is_taken_away_under_its_own_call(shop: Workshop) -> None:
    """The call that is under way finishes; the next one is an error that the model can read."""
    probe = shop.program(
        tools=["look"],
        uses=USES,
        on=(
            'if method == "tool/call":\n'
            '    request("t", "host/tools", session_id=None, tools=[])\n    return "seen"'
        ),
    )
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([probe.path]) as host,
            host.session() as session,
            session.turn("hello") as turn,
        ):
            first = await turn.call_tool("look", {})
            second = await turn.call_tool("look", {})
    assert (first.status, first.result.content) == ("ok", "seen")
    assert (second.status, second.result.content) == ("error", "there is no tool named look")


async def test_arguments_are_checked_before_any_plugin_hears_of_them(shop: Workshop) -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    probe = shop.program(
        hears=["pre_tool_call", "post_tool_call"], tools=[{"name": "look", "input_schema": schema}]
    )
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([probe.path]) as host,
            host.session() as session,
            session.turn("hello") as turn,
        ):
            outcome = await turn.call_tool("look", {"path": 7})
    assert outcome.status == "error"
    assert "path" in outcome.result.content
    assert probe.names() == []


async def test_sixteen_injected_texts_wait(shop: Workshop) -> None:
    probe = asking(
        shop, 'for n in range(18): ask(n, "host/inject", session_id=session, text=str(n))'
    )
    await one_turn(probe)
    assert codes(probe) == {16: BUSY, 17: BUSY}


async def test_ten_alerts_a_minute(shop: Workshop) -> None:
    notices: list[str] = []
    probe = asking(shop, 'for n in range(12): ask(n, "host/notify", level="info", message=str(n))')

    def show(plugin: str, level: str, message: str) -> None:
        del plugin, level
        notices.append(message)

    await one_turn(probe, on_notify=show)
    assert codes(probe) == {10: BUSY, 11: BUSY}
    assert notices == [str(number) for number in range(10)]


async def test_a_callback_of_the_agents_that_raises_harms_nothing_else(shop: Workshop) -> None:
    def broken(*_: object) -> None:
        raise ValueError

    probe = asking(
        shop,
        'ask(1, "host/notify", level="info", message="x")\n'
        'send(method="host/log", params={"level": "info", "message": "x"})',
    )
    host = await one_turn(probe, on_notify=broken, on_log=broken, on_problem=broken)
    assert [plugin.restarts for plugin in host.plugins] == [0]


async def test_progress_reaches_the_user_for_what_is_under_way_only(shop: Workshop) -> None:
    seen: list[Progress] = []
    probe = shop.program(
        tools=["look"],
        on="""
        if method == "tool/call":
            send(method="$/progress", params={"id": id, "message": "half\\x07", "fraction": 0.5})
            send(method="$/progress", params={"id": id, "fraction": 7})
            send(method="$/progress", params={"id": 999, "message": "not mine"})
            send(method="$/progress", params={"id": "x"})
            reply(id, "done")
            send(method="$/progress", params={"id": id, "message": "late"})
            return NOTHING
        """,
    )
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([probe.path], on_progress=seen.append) as host,
            host.session() as session,
            session.turn("hello") as turn,
        ):
            outcome = await turn.call_tool("look", {})
    assert outcome.status == "ok"
    assert [(one.plugin, one.call_id, one.message, one.fraction) for one in seen] == [
        ("probe", outcome.call_id, r"half\x07", 0.5),
        ("probe", outcome.call_id, None, 1.0),
    ]


async def test_a_flood_of_requests_is_answered_busy_and_blocks_nothing(shop: Workshop) -> None:
    """It sends 500 requests without reading an answer; a healthy plugin answers meanwhile."""
    flood = shop.program(
        "flood",
        uses=USES,
        main="""
        reply(receive()["id"], MANIFEST)
        asked = {"jsonrpc": "2.0", "method": "host/x", "params": {"pad": "p" * 300}}
        lines = [json.dumps({**asked, "id": number}) + "\\n" for number in range(500)]
        raw("".join(lines).encode())
        serve()
        """,
    )
    healthy = shop.program("healthy", tools=["look"])
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([flood.path, healthy.path]) as host,
            host.session() as session,
            session.turn("hello") as turn,
        ):
            for _ in range(20):
                assert (await turn.call_tool("look", {})).status == "ok"
            await until(lambda: len(flood.replies()) == 500)
    assert set(codes(flood).values()) <= {UNKNOWN_METHOD, BUSY}


async def test_the_same_id_twice_gets_one_answer(shop: Workshop) -> None:
    problems: list[str] = []
    main = """
    reply(receive()["id"], MANIFEST)
    asked = {"jsonrpc": "2.0", "id": 1, "method": "host/x", "params": {}}
    raw(2 * (json.dumps(asked).encode() + b"\\n"))
    serve()
    """
    deaf = shop.program("deaf", main=main)
    with trio.fail_after(WAIT_S):
        async with PluginHost([deaf.path], on_problem=lambda _, line: problems.append(line)):
            await deaf.has_reply(1)
    assert problems == []


async def test_a_command(shop: Workshop) -> None:
    probe = shop.program(
        commands=[{"name": "deploys", "description": "lists them"}],
        on='if method == "command/run": return {"text": "got " + params["arguments"]}',
    )
    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path]) as host, host.session() as session:
            assert [(one.name, one.plugin) for one in host.commands()] == [("deploys", "probe")]
            assert await session.run_command("deploys", "all of them") == "got all of them"
            with pytest.raises(Exception, match="there is no command /nope"):
                await session.run_command("nope")
