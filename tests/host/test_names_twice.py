"""A message with a name twice is refused, with the name; nothing else of the plugin is lost."""

# An interrupt leaves a turn's block early; these tests know where it does.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

import msgspec
import pytest
import trio

from sliphook import HostError, PluginHost
from sliphook_sdk.protocol import ToolCallParams
from sliphook_sdk.protocol.describe import example_of
from tests.programs import WAIT_S, Workshop, case_of, until

from .guarding import ask, guarding

TWICE = 'def twice(id, body): raw(b\'{"jsonrpc":"2.0","id":%d,%b}\\n\' % (id, body))\n'


async def test_a_guard_that_says_both_denies_and_goes_on(shop: Workshop) -> None:
    probe = guarding(
        shop,
        """
        global asked
        asked += 1
        if asked == 2:
            return {"decision": "allow"}
        twice(id, b'"result":{"decision":"deny","decision":"allow"}')
        return NOTHING
        """,
        before=f"asked = 0\n{TWICE}",
    )
    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path]) as host:
            outcomes = [await ask(host) for _ in range(3)]
            (status,) = host.plugins
    assert [outcome.decision for outcome in outcomes] == ["deny", "allow", "deny"]
    assert outcomes[0].reason == (
        "probe: its reply cannot be taken: it has the name 'decision' twice in one object"
    )
    assert status.restarts == 0


async def test_many_of_them_are_no_violations(shop: Workshop) -> None:
    probe = guarding(
        shop,
        'twice(id, b\'"result":{"reason":"","reason":""}\')\nreturn NOTHING',
        before=TWICE,
    )
    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path]) as host:
            for _ in range(110):
                assert (await ask(host)).denied
            (status,) = host.plugins
    assert (status.state, status.restarts) == ("ready", 0)


async def test_in_a_manifest(shop: Workshop) -> None:
    probe = shop.program(
        before=TWICE,
        main="""
        id = receive()["id"]
        twice(id, b'"result":{"protocol_version":1,"name":"probe","name":"other"}')
        serve()
        """,
    )
    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path]) as host:
            (status,) = host.plugins
    assert status.state == "failed"
    assert status.why == "its reply cannot be taken: it has the name 'name' twice in one object"


async def test_in_a_subscription_even_if_both_say_the_same(shop: Workshop) -> None:
    entry = '{"event":"stop","on_failure":"open","on_failure":"open"}'
    manifest = f'"result":{{"protocol_version":1,"name":"probe","subscriptions":[{entry}]}}'
    probe = shop.program(
        before=TWICE, main=f'id = receive()["id"]\ntwice(id, {manifest.encode()!r})\nserve()'
    )
    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path]) as host:
            (status,) = host.plugins
    assert status.state == "failed"
    assert "'on_failure' twice" in str(status.why)


async def test_in_the_results_of_a_tool_and_a_command(shop: Workshop) -> None:
    probe = shop.program(
        before=TWICE,
        on="\n".join(
            [
                case_of("tool/call", 'twice(id, b\'"result":{"content":"a","content":"b"}\')'),
                case_of("command/run", 'twice(id, b\'"result":{"text":"a","text":"b"}\')'),
                'if method in ("tool/call", "command/run"): return NOTHING',
            ]
        ),
        tools=["look"],
        commands=[{"name": "show"}],
    )
    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path]) as host, host.session() as session:
            params = msgspec.structs.replace(
                msgspec.convert(example_of(ToolCallParams), ToolCallParams), name="look"
            )
            answer = await host.call_plugin_tool("look", params)
            with pytest.raises(HostError, match="it has the name 'text' twice in one object"):
                await session.run_command("show", "")
    assert answer.status == "refused_answer"
    assert answer.result.is_error
    assert "it has the name 'content' twice in one object" in answer.result.content


async def test_in_what_a_plugin_asks_and_logs(shop: Workshop) -> None:
    logged: list[tuple[str, str]] = []
    log = b'"method":"host/log","params":{"level":"info","message":"one","message":"two"}'
    notify = b'"method":"host/notify","params":{"level":"info","level":"info","message":"m"}'
    probe = shop.program(
        before=TWICE,
        main=f"""
        reply(receive()["id"], MANIFEST)
        raw(b'{{"jsonrpc":"2.0",%b}}\\n' % {log!r})
        twice(7, {notify!r})
        send(method="host/log", params={{"level": "info", "message": "three"}})
        serve()
        """,
        uses=["notify"],
    )
    with trio.fail_after(WAIT_S):
        async with PluginHost(
            [probe.path], on_log=lambda _, level, message: logged.append((level, message))
        ):
            reply = await probe.has_reply(7)
            await until(lambda: ("info", "three") in logged)
    assert reply["error"] == {
        "code": -32602,
        "message": "it has the name 'level' twice in one object",
    }
    host_lines = [message for level, message in logged if level == "host"]
    assert [line for line in host_lines if "'message' twice" in line]
    assert not [line for line in logged if line[1] in ("one", "two")]
