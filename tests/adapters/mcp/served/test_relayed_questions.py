"""What a plugin of an attached agent asks in a call of our server is put to the client's person."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from sliphook.adapters.attached.build import Client
from tests.adapters.attached.conftest import Install
from tests.programs import Program, until

from .clients import DIALOGUES, Message
from .conftest import Mcp, Server
from .painter import PAINTER
from .test_relay import ATTACHED, SESSION, Agents, built_c, hello, opened, texts

__all__ = ["built_c"]

PHONE: dict[str, Any] = {
    "name": "phone",
    "subscriptions": [{"event": "user_input_required"}],
    "uses": ["approve"],
    "before": """
def heard(message):
    if message.get("method") == "event/user_input_required":
        wait_for_flag("answer")
        asked = message["params"]
        ids = {name: asked[name] for name in ("session_id", "question_id")}
        request("a1", "host/answer", choice="red", **ids)
""",
}
ASKING_GUARD: dict[str, Any] = {
    "name": "asking",
    "tools": ["paint"],
    "subscriptions": [{"event": "pre_tool_call"}],
    "uses": ["ask"],
    "before": """
calls = []

def heard(message):
    if message.get("id") == "q1":
        reply(calls.pop(), {})
""",
    "on": """
if method == "hook/pre_tool_call":
    calls.append(id)
    names = ("session_id", "call_id") if params["arguments"]["id"] else ("session_id",)
    request("q1", "host/ask", prompt="Which colour?", **{name: params[name] for name in names})
    return NOTHING
if method == "tool/call":
    return {"content": "painted"}
""",
}
BLUE: Message = {"action": "accept", "content": {"answer": "blue"}}
PAINT: Message = {"id": 1, "method": "tools/call", "params": {"name": "paint", "arguments": {}}}


@pytest.fixture
def phone(install: Install) -> Program:
    return install(**PHONE)


@pytest.fixture
def painter(install: Install) -> Program:
    return install(**PAINTER)


@pytest.fixture
def carver(install: Install) -> Program:
    return install(**{**PAINTER, "name": "carver", "tools": ["carve"]})


@pytest.fixture
def watcher(install: Install) -> Program:
    return install(name="watcher", subscriptions=[{"event": "user_input_required"}])


@pytest.fixture
def asking_guard(install: Install) -> Program:
    return install(**ASKING_GUARD)


Attached = Callable[..., AbstractAsyncContextManager[Server]]


@pytest.fixture
def attached(built_c: Client, agents: Agents, mcp_server: Mcp) -> Attached:
    """Begin a session of Claude Code, with our server for a client of this kind."""

    @asynccontextmanager
    async def begin(client: str = "claude-code, with a handshake") -> AsyncGenerator[Server]:
        opened(agents, built_c)
        async with mcp_server(*ATTACHED, **SESSION) as server:
            await hello(server, client)
            yield server

    return begin


def outcome(answer: Message) -> dict[str, Any]:
    (text,) = texts(answer)
    found: dict[str, Any] = json.loads(text)
    return {name: found[name] for name in ("outcome", "answer") if found.get(name) is not None}


async def asked(server: Server) -> Message:
    """Call the tool; what the client is asked."""
    await server.say(PAINT)
    question = await server.told("elicitation/create")
    assert question["params"]["message"] == "painter: Which colour?"
    assert question["params"]["requestedSchema"]["properties"]["answer"]["enum"] == ["red", "blue"]
    return question


@pytest.mark.parametrize(
    ("said", "came"),
    [
        (BLUE, {"outcome": "answered", "answer": "blue"}),
        ({"action": "decline"}, {"outcome": "declined"}),
        ({"action": "cancel"}, {"outcome": "declined"}),
        ({"action": "accept", "content": {"answer": "green"}}, {"outcome": "nobody"}),
        ({"action": "accept", "content": {"answer": "b" * 100_000}}, {"outcome": "nobody"}),
        ([], {"outcome": "nobody"}),
    ],
    ids=["accepts", "declines", "cancels", "does-not-fit", "says-too-much", "is-no-answer"],
)
async def test_the_clients_person_is_asked(
    said: Any,
    came: Message,
    painter: Program,
    attached: Attached,
) -> None:
    async with attached() as server:
        question = await asked(server)
        await server.say({"id": question["id"], "result": said})
        assert outcome(await server.answer(1)) == came


async def test_the_question_is_in_the_result_for_a_client_without_a_handshake(
    built_c: Client, painter: Program, agents: Agents, mcp_server: Mcp
) -> None:
    meta = DIALOGUES["claude-code"]()[2]["params"]
    params = {**PAINT["params"], **meta}
    opened(agents, built_c)
    async with mcp_server(*ATTACHED, **SESSION) as server:
        first = (await server.ask({**PAINT, "params": params}))["result"]
        assert first["resultType"] == "input_required"
        (name, question) = next(iter(first["inputRequests"].items()))
        assert question["params"]["message"] == "painter: Which colour?"
        said = {name: BLUE}
        again = {**params, "requestState": first["requestState"], "inputResponses": said}
        answer = await server.ask({**PAINT, "id": 2, "params": again})
        assert outcome(answer) == {"outcome": "answered", "answer": "blue"}


async def test_two_calls_of_such_a_client_ask_one_after_the_other(
    built_c: Client, painter: Program, carver: Program, agents: Agents, mcp_server: Mcp
) -> None:
    meta = DIALOGUES["claude-code"]()[2]["params"]
    calls: dict[int, Message] = {
        id: {"name": name, "arguments": {}, **meta} for id, name in ((1, "paint"), (2, "carve"))
    }
    opened(agents, built_c)
    async with mcp_server(*ATTACHED, **SESSION) as server:
        for id, call in calls.items():
            await server.say({**PAINT, "id": id, "params": call})
        for again in (3, 4):
            asked = await server.result()
            result = asked["result"]
            (name,) = result["inputRequests"]
            said = {name: BLUE}
            more = {"requestState": result["requestState"], "inputResponses": said}
            params = {**calls[asked["id"]], **more}
            answer = await server.ask({**PAINT, "id": again, "params": params})
            assert outcome(answer) == {"outcome": "answered", "answer": "blue"}


async def test_what_the_agent_tells_of_the_question_is_no_second_one(
    watcher: Program, built_c: Client, painter: Program, agents: Agents, mcp_server: Mcp
) -> None:
    """Claude Code's own hooks of an elicitation."""
    agent = opened(agents, built_c)
    async with mcp_server(*ATTACHED, **SESSION) as server:
        await hello(server)
        question = await asked(server)
        for name in ("sliphook", "another"):
            agent.hook("Elicitation", mcp_server_name=name, message="Which?", mode="form")
            agent.hook("ElicitationResult", mcp_server_name=name, action="accept", content={})
        await server.say({"id": question["id"], "result": BLUE})
        assert outcome(await server.answer(1)) == {"outcome": "answered", "answer": "blue"}
        await until(lambda: len(watcher.params("event/user_input_required")) == 2)
    told = [one["prompt"] for one in watcher.params("event/user_input_required")]
    assert told == ["Which colour?", "another: Which?"]


async def test_a_guard_asks_before_the_call_runs(asking_guard: Program, attached: Attached) -> None:
    """No hook has told of the call; with its id or without."""
    async with attached() as server:
        for id, sends_id in ((1, True), (2, False)):
            call = {**PAINT["params"], "arguments": {"id": sends_id}}
            await server.say({"id": id, "method": "tools/call", "params": call})
            question = await server.told("elicitation/create")
            await server.say({"id": question["id"], "result": BLUE})
            assert texts(await server.answer(id)) == ["painted"]
    results = [one["result"]["answer"] for one in asking_guard.messages() if one.get("id") == "q1"]
    assert results == ["blue", "blue"]


async def test_a_client_without_forms_asks_nobody(painter: Program, attached: Attached) -> None:
    async with attached("gemini") as server:
        assert outcome(await server.ask(PAINT)) == {"outcome": "nobody"}


async def test_a_plugin_may_answer_first(
    phone: Program, painter: Program, attached: Attached
) -> None:
    async with attached() as server:
        question = await asked(server)
        phone.path.with_name("answer.flag").touch()
        assert outcome(await server.answer(1)) == {"outcome": "answered", "answer": "red"}
        told = [one["params"]["requestId"] for one in server.notified if "cancel" in one["method"]]
        assert told == [question["id"]]
        # its person says something all the same, and the next call is as any other
        await server.say({"id": question["id"], "result": BLUE})
        assert outcome(await server.ask({**PAINT, "id": 2})) == {
            "outcome": "answered",
            "answer": "red",
        }


async def test_a_plugin_may_answer_where_the_client_has_no_forms(
    phone: Program, painter: Program, attached: Attached
) -> None:
    phone.path.with_name("answer.flag").touch()
    async with attached("gemini") as server:
        assert outcome(await server.ask(PAINT)) == {"outcome": "answered", "answer": "red"}


async def test_a_client_that_gives_the_call_up_is_asked_no_more(
    painter: Program, attached: Attached
) -> None:
    async with attached() as server:
        await asked(server)
        await server.say({"method": "notifications/cancelled", "params": {"requestId": 1}})
        await painter.hears("$/cancelRequest")
        assert (await painter.has_reply("q1"))["result"]["outcome"] == "interrupted"
