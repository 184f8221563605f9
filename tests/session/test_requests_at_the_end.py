"""What a plugin still asks while it is ended: taken where it can be, else refused by its reason."""

# An interrupt leaves a turn's block early; these tests know where it does.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

import pytest
import trio

from sliphook import PluginHost, PluginSpec
from sliphook_sdk.protocol import Manifest
from tests.programs import WAIT_S, Workshop, until

pytestmark = pytest.mark.usefixtures("patient_ends")

ASK = """
def ask(id, method, **params):
    request(id, method, **params)
    while True:
        message = receive()
        if message.get("id") == id and "method" not in message:
            return message
"""


async def test_every_request_at_shutdown_has_its_own_answer(shop: Workshop) -> None:
    notices: list[tuple[str, str, str]] = []
    logged: list[str] = []
    probe = shop.program(
        before=ASK,
        on="""
        if method == "shutdown":
            ask("n", "host/notify", level="info", message="goodbye")
            ask("t", "host/tools", tools=[{"name": "late"}])
            ask("i", "host/inject", session_id="s-0", text="x")
            ask("g", "host/interrupt", session_id="s-0", reason="x")
            ask("s", "host/submit", session_key="main", text="x")
            ask("r", "host/answer", session_id="s-0", question_id="q-0", choice="allow")
            ask("u", "of_tomorrow/do")
            send(method="host/log", params={"level": "info", "message": "last words"})
        """,
        uses=["notify", "tools", "inject", "submit", "approve"],
    )
    with trio.fail_after(WAIT_S):
        async with PluginHost(
            [probe.path],
            on_notify=lambda plugin, level, message: notices.append((plugin, level, message)),
            on_log=lambda _, level, message: logged.append(message),
        ) as host:
            await host.disable("probe")
            assert host.tools() == []
    replies = probe.replies()
    assert replies["n"]["result"] == {}
    assert {id: reply["error"] for id, reply in replies.items() if "error" in reply} == {
        "t": {"code": -32001, "message": "host/tools after shutdown: the plugin is ending"},
        "i": {"code": -32002, "message": "no living session has the id s-0"},
        "g": {"code": -32003, "message": "host/interrupt needs 'interrupt' in the manifest's uses"},
        "s": {"code": -32001, "message": "host/submit after shutdown: the plugin is ending"},
        "r": {"code": -32001, "message": "host/answer after shutdown: the plugin is ending"},
        "u": {"code": -32601, "message": "there is no method 'of_tomorrow/do'"},
    }
    assert notices == [("probe", "info", "goodbye")]
    assert "last words" in logged


async def test_an_alert_that_a_handler_of_turn_end_sends_during_the_end_is_not_lost(
    shop: Workshop,
) -> None:
    notices: list[str] = []
    probe = shop.program(
        hears=["turn_end"],
        before=f"""{ASK}
def heard(message):
    if message.get("method") == "event/turn_end":
        while (last := receive()).get("method") != "shutdown": pass
        ask("n", "host/notify", level="info", message="the turn is over")
        reply(last["id"], None)
""",
        uses=["notify"],
    )
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost(
                [probe.path], on_notify=lambda _, level, message: notices.append(message)
            ) as host,
            host.session() as session,
            session.turn("x"),
        ):
            pass
    assert notices == ["the turn is over"]


async def test_no_person_is_asked_for_a_plugin_that_is_ending(shop: Workshop) -> None:
    probe = shop.program(
        hears=["turn_start"],
        before=f"""{ASK}
seen = {{}}
def heard(message):
    if message.get("method") == "event/turn_start":
        seen.update(message["params"])
""",
        on="""
        if method == "shutdown":
            ask("a", "host/ask", session_id=seen["session_id"], prompt="Where to?")
        """,
        uses=["ask"],
    )
    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path]) as host, host.session() as session, session.turn("x"):
            await host.disable("probe")
    assert probe.replies()["a"]["error"] == {
        "code": -32001,
        "message": "host/ask after shutdown: the plugin is ending",
    }


@pytest.mark.parametrize("is_recorded", [False, True])
async def test_before_the_manifest_every_request_is_too_early(
    shop: Workshop, is_recorded: bool
) -> None:
    probe = shop.program(
        before=ASK,
        main="""
        id = receive()["id"]
        request("n", "host/notify", level="info", message="x")
        request("u", "host/nothing")
        reply(id, MANIFEST)
        serve()
        """,
        uses=["notify"],
    )
    with trio.fail_after(WAIT_S):
        manifest = Manifest(name="probe", version="1", protocol_version=1, uses=["notify"])
        recorded = manifest if is_recorded else None
        async with PluginHost([PluginSpec(path=probe.path, recorded=recorded)]):
            await probe.has_reply("u")
    assert {id: reply["error"] for id, reply in probe.replies().items()} == {
        "n": {"code": -32001, "message": "host/notify before the manifest was read"},
        "u": {"code": -32001, "message": "host/nothing before the manifest was read"},
    }


async def test_a_batch_on_a_line_is_refused(shop: Workshop) -> None:
    probe = shop.program(
        main="""
        reply(receive()["id"], MANIFEST)
        raw(b'[{"jsonrpc":"2.0","id":1,"method":"host/notify"}]\\n')
        serve()
        """
    )
    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path]) as host:
            await until(lambda: any("error" in message for message in probe.messages()))
            (status,) = host.plugins
    assert status.state == "ready"
    (answer,) = [message for message in probe.messages() if "error" in message]
    assert answer == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": -32600, "message": "a batch; each message is sent on its own"},
    }


async def test_100_violations_are_allowed_and_the_next_one_ends_it(shop: Workshop) -> None:
    probe = shop.program(
        tools=["look"],
        on="""
        if method == "tool/call":
            for _ in range(params["arguments"]["count"]):
                raw(b'{"jsonrpc":"2.0","id":99,"result":null}\\n')
        """,
    )
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([probe.path]) as host,
            host.session() as session,
            session.turn("x") as turn,
        ):
            kept = await turn.call_tool("look", {"count": 100})
            ended = await turn.call_tool("look", {"count": 1})
            host.kill()
    assert (kept.status, kept.result.content) == ("ok", "fine")
    assert ended.status == "error"
    assert "more than 100 violations, the last: a reply to the request 99" in ended.result.content
