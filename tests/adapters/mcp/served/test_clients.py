"""What each real client says, played to the installed plugins in a host of the server's own."""

from __future__ import annotations

from typing import Any

import pytest

from tests.adapters.mcp.served.clients import DIALOGUES, Message
from tests.programs import Program

from .conftest import Mcp


@pytest.mark.parametrize("client", DIALOGUES)
async def test_a_dialogue(client: str, guard: Program, mcp_server: Mcp) -> None:
    said: dict[str, Any] = {}
    async with mcp_server() as server:
        for message in DIALOGUES[client]():
            await server.say(message)
            if message.get("method") == "subscriptions/listen":
                heard = await server.told("notifications/subscriptions/acknowledged")
                ids = heard["params"]["_meta"]
                assert ids == {"io.modelcontextprotocol/subscriptionId": "listen:0"}
            elif "id" in message:
                said[message["method"]] = (await server.answer(message["id"]))["result"]
    assert [tool["name"] for tool in said["tools/list"]["tools"]] == ["echo"]
    assert said["tools/list"]["tools"][0]["inputSchema"]["required"] == ["text"]
    called = said["tools/call"]
    assert called["content"] == [{"type": "text", "text": "echo: hello"}]
    assert "structuredContent" not in called
    assert not called["isError"]
    if "prompts/list" in said:
        (prompt,) = said["prompts/list"]["prompts"]
        assert (prompt["name"], prompt["arguments"][0]["name"]) == ("deploys", "arguments")
    assert guard.names() == [
        "session_start",
        "turn_start",
        "pre_tool_call",
        "post_tool_call",
        "turn_end",
        "session_end",
    ]


async def test_a_deny_another_argument_and_a_prompt(guard: Program, mcp_server: Mcp) -> None:
    opening: list[Message] = DIALOGUES["gemini"]()[:2]
    async with mcp_server() as server:
        await server.ask(opening[0])
        await server.say(opening[1])
        denied = await server.ask(_call(1, "forbidden"))
        assert denied["result"] == {
            "content": [{"type": "text", "text": "the call of echo was denied: guard: no"}],
            "isError": True,
        }
        changed = (await server.ask(_call(2, "secret")))["result"]
        assert [block["text"] for block in changed["content"]] == [
            "echo: public",
            "[guard] it was changed",
        ]
        unfit = await server.ask(
            {"id": 3, "method": "tools/call", "params": {"name": "echo", "arguments": {}}}
        )
        assert unfit["result"]["isError"]
        unknown = await server.ask(
            {"id": 4, "method": "tools/call", "params": {"name": "ls", "arguments": {}}}
        )
        assert unknown["error"] == {"code": -32602, "message": "there is no tool named ls"}
        params = {"name": "deploys", "arguments": {"arguments": "today"}}
        prompt = await server.ask({"id": 5, "method": "prompts/get", "params": params})
        content = {"type": "text", "text": "deploys of today"}
        assert prompt["result"]["messages"] == [{"role": "user", "content": content}]
        nobody = await server.ask(_call(6, "ask"))  # this client has no forms
        assert nobody["result"]["isError"]
        assert "nobody can be asked" in nobody["result"]["content"][0]["text"]


async def test_a_cancel_reaches_the_plugin(guard: Program, mcp_server: Mcp) -> None:
    opening: list[Message] = DIALOGUES["gemini"]()[:2]
    async with mcp_server() as server:
        await server.ask(opening[0])
        await server.say(opening[1])
        await server.say(_call(1, "hang"))
        await guard.hears("tool/call")
        await server.say({"method": "notifications/cancelled", "params": {"requestId": 1}})
        await guard.hears("$/cancelRequest")
        assert not (await server.ask(_call(2, "hello")))["result"]["isError"]


async def test_progress_where_a_token_came(guard: Program, mcp_server: Mcp) -> None:
    opening: list[Message] = DIALOGUES["gemini"]()[:2]
    async with mcp_server() as server:
        await server.ask(opening[0])
        await server.say(opening[1])
        await server.ask(_call(1, "steps"))
        assert server.notified == []
        await server.ask(_call(2, "steps", progressToken="t"))
        told = [one["params"] for one in server.notified]
        assert told[-1]["message"] == "step 2"
        assert [one["progress"] for one in told] == [1.0, 2.0][: len(told)]
        assert {one["progressToken"] for one in told} == {"t"}


async def test_other_tools_are_told(guard: Program, mcp_server: Mcp) -> None:
    opening: list[Message] = DIALOGUES["gemini"]()[:2]
    async with mcp_server() as server:
        await server.ask(opening[0])
        await server.say(opening[1])
        await server.ask({"id": 1, "method": "tools/list"})
        await server.say(_call(2, "more"))
        await server.told("notifications/tools/list_changed")
        listed = await server.ask({"id": 3, "method": "tools/list"})
        assert [tool["name"] for tool in listed["result"]["tools"]] == ["echo", "late"]


async def test_other_tools_are_told_to_those_that_listen(guard: Program, mcp_server: Mcp) -> None:
    asked = DIALOGUES["claude-code"]()
    meta = asked[0]["params"]["_meta"]
    async with mcp_server() as server:
        await server.ask(asked[0])
        await server.say(asked[1])
        await server.ask({"id": 1, "method": "tools/list", "params": {"_meta": meta}})
        await server.say({"id": 2, "method": "tools/call", "params": _more(meta)})
        told = await server.told("notifications/tools/list_changed")
        ids = told["params"]["_meta"]
        assert ids == {"io.modelcontextprotocol/subscriptionId": "listen:0"}


async def test_what_a_signal_ends_is_ended_in_order(guard: Program, mcp_server: Mcp) -> None:
    opening: list[Message] = DIALOGUES["gemini"]()[:2]
    async with mcp_server(status=143) as server:
        await server.ask(opening[0])
        await server.say(opening[1])
        await server.say(_call(1, "hang"))
        await guard.hears("tool/call")
        server.process.terminate()
        await server.process.wait()
    assert guard.names()[-2:] == ["turn_end", "session_end"]
    assert guard.methods()[-2:] == ["shutdown", "exit"]


def _call(id: int, text: str, **meta: Any) -> Message:
    params = {"name": "echo", "arguments": {"text": text}, **({"_meta": meta} if meta else {})}
    return {"id": id, "method": "tools/call", "params": params}


def _more(meta: Message) -> Message:
    return {"name": "echo", "arguments": {"text": "more"}, "_meta": meta}
