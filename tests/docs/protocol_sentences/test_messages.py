"""Host to plugin: common fields, tools, commands; hooks and events in their order."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from sliphook import HostError
from sliphook_sdk import Plugin, deny
from sliphook_sdk.protocol import Message, ToolCallRequest, Usage
from sliphook_sdk.protocol.answers import PreToolCallAnswer
from sliphook_sdk.protocol.payloads import PreToolCall
from sliphook_sdk.testing import Harness
from tests.check import test_suite
from tests.programs import EVERYTHING

from .says import limit, says
from .wire import BY_HAND, NO_ARGUMENTS, Fields, Refuses, Wire, host_of, own, turn_of


def fired(wire: Wire) -> list[Fields]:
    """The hooks and events that it got."""
    return [one for one in wire.got if one.get("method", "").startswith(("hook/", "event/"))]


def names(wire: Wire) -> list[str]:
    return [one["method"].partition("/")[2] for one in fired(wire)]


# -- common fields


@says(
    'A value that is not known is null, never 0 or `""`.',
    "`seq` counts the fires of a session.",
    "A `tool/call` and a `command/run` are not fires: they carry the `seq` of the last fire.",
)
async def test_common_fields() -> None:
    wire = Wire(hears=EVERYTHING, tools=[{"name": "mine"}], commands=[{"name": "go"}])
    wire.answers |= {"tool/call": "fine", "command/run": {}}
    async with (
        host_of(wire) as (host, _),
        host.session(session_key=None, platform=None) as session,
    ):
        await session.ready()
        async with session.turn("x") as turn:
            await turn.call_tool("mine", {})
            said = Message(role="assistant", content=None)
            turn.post_llm_call(
                provider=None,
                model=None,
                response=said,
                finish_reason=None,
                usage=Usage(),
                duration_ms=None,
            )
        await session.run_command("go", "")
    assert [one["params"]["seq"] for one in fired(wire)] == list(range(1, 1 + len(fired(wire))))
    (before,) = wire.params("hook/pre_tool_call")
    (call,), (command,) = wire.params("tool/call"), wire.params("command/run")
    assert call["seq"] == before["seq"]
    (ended,) = wire.params("event/turn_end")
    assert command["seq"] == ended["seq"]
    unknown = ("session_key", "platform", "user_id", "parent_agent_id", "meta")
    assert [before[name] for name in unknown] == [None] * 5
    (told,) = wire.params("event/post_llm_call")
    assert set(told["usage"].values()) == {None}
    assert (told["duration_ms"], told["model"]) == (None, None)


@says(
    "One fire has the same `seq` and `event_id` for all plugins, so a plugin sees gaps if it does"
    " not subscribe to everything.",
)
async def test_one_fire_for_all_plugins() -> None:
    one, two = Wire("one", hears=EVERYTHING), Wire("two", hears=["turn_start", "turn_end"])
    async with turn_of(one, two) as (turn, _):
        await turn.submit()
    numbers = [
        {
            name: (of["seq"], of["event_id"])
            for name in ("turn_start", "turn_end")
            for of in wire.params(f"event/{name}")
        }
        for wire in (one, two)
    ]
    assert numbers[0] == numbers[1]
    assert numbers[1]["turn_end"][0] - numbers[1]["turn_start"][0] > 1


@says(
    "If two hooks are under way at once, a plugin may be asked the later one first, while another"
    " plugin is still replacing something in the earlier one.",
)
async def test_a_later_hook_may_come_first() -> None:
    slow = Wire(
        "slow",
        subscriptions=[{"event": "pre_tool_call", "replaces": True, "match": {"tool_name": "a"}}],
        answers={"hook/pre_tool_call": BY_HAND},
    )
    other = Wire("other", hears=["pre_tool_call"])
    async with turn_of(slow, other) as (turn, _), trio.open_nursery() as nursery:

        async def call(name: str) -> None:
            await turn.call_tool(name, {}, run=own)

        nursery.start_soon(call, "a")
        held = await slow.hears("hook/pre_tool_call")
        await call("b")
        slow.send(id=held["id"], result=None)
    first, second = other.params("hook/pre_tool_call")
    assert (first["tool_name"], second["tool_name"]) == ("b", "a")
    assert first["seq"] > second["seq"]


@says(
    "A child agent shares `session_id` and the count of `seq` with its parent, and has its own"
    " `agent_id` and `turn_id`.",
    "A child agent fires neither `session_*` nor `stop` nor `user_prompt_submit`.",
)
async def test_a_child_agent() -> None:
    """What a child fires; the reference agent is walked in tests/agent/test_catalogue_walk.py."""
    heard = [{"event": one, "subagents": True} for one in EVERYTHING]
    wire = Wire(subscriptions=heard)
    async with turn_of(wire) as (turn, _), turn.subagent("go") as child:
        await child.call_tool("shell", {}, run=own)
    params = [one["params"] for one in fired(wire)]
    assert len({one["session_id"] for one in params}) == 1
    assert [one["seq"] for one in params] == list(range(1, 1 + len(params)))
    theirs = [one for one in fired(wire) if one["params"]["agent_depth"] == 1]
    assert [one["method"].partition("/")[2] for one in theirs] == [
        "turn_start",
        "pre_tool_call",
        "post_tool_call",
        "turn_end",
    ]
    ids = {(one["params"]["agent_id"], one["params"]["turn_id"]) for one in theirs}
    roots = {(one["agent_id"], one["turn_id"]) for one in params if one["agent_depth"] == 0}
    assert len(ids) == 1
    assert not {one for pair in ids for one in pair} & {one for pair in roots for one in pair}


# -- tools and commands


@pytest.mark.parametrize(
    ("answer", "status", "content"),
    [
        ({"content": "web is deployed"}, "ok", "web is deployed"),
        ("web is deployed", "ok", "web is deployed"),
        ({"content": "no web", "is_error": True}, "error", "no web"),
        (Refuses("no web", -32000), "error", "no web (-32000)"),
        ({"text": "x"}, "error", "Object missing required field `content`"),
        (None, "error", "its answer does not fit"),
        ({"content": "x", "isError": True}, "error", "isError"),
        ({"content": [{"type": "text", "text": "x"}]}, "error", "its content is a list, as in MCP"),
        (7, "error", "its answer does not fit"),
    ],
)
@says(
    "The answer is a ToolResult.",
    "A bare string is short for one with that `content`.",
    "MCP's `isError` that is true, or a list as `content`, is refused: the model reads an error"
    " instead.",
    "A tool that failed MAY answer with `is_error`, or with an error reply: the model reads its"
    " message.",
)
async def test_results_of_tools(answer: Any, status: str, content: str) -> None:
    wire = Wire(tools=[{"name": "deploy"}], answers={"tool/call": answer})
    async with turn_of(wire) as (turn, _):
        outcome = await turn.call_tool("deploy", {})
    assert outcome.status == status
    assert content in outcome.result.content


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"text": "web: deployed at noon"}, "web: deployed at noon"),
        ({}, ""),
        ("web", None),
        (7, None),
        (Refuses("no web", -32000), None),
    ],
)
@says(
    "The answer is an object; `{}` is an empty text.",
    "A bare string is no answer here.",
    "The user reads the message of an error reply.",
)
async def test_results_of_commands(answer: Any, text: str | None) -> None:
    wire = Wire(commands=[{"name": "deploys"}], answers={"command/run": answer})
    async with host_of(wire) as (host, _), host.session() as session:
        if text is not None:
            assert await session.run_command("deploys", "web") == text
            return
        with pytest.raises(HostError, match="/deploys of probe failed: ") as caught:
            await session.run_command("deploys", "web")
        assert ("no web" if isinstance(answer, Refuses) else "does not fit") in str(caught.value)
        # the code that only says that it failed is nothing to a user
        wire.answers["command/run"] = Refuses("there is no service web", -32603)
        with pytest.raises(HostError) as caught:
            await session.run_command("deploys", "web")
        assert str(caught.value) == "/deploys of probe failed: there is no service web"


# -- rules of `sliphook check`, each of which tests/check/test_suite.py sees fail


def are_seen_to_fail(*rules: str) -> bool:
    seen = {rule for _, rule, _ in test_suite.ALONE.values()}
    return {*rules} <= seen.union(*(failed for _, failed in test_suite.BROKEN.values()))


@says(
    "A plugin MUST answer an error (SHOULD: -32602) for a tool that it does not have: `host/tools`"
    " may have crossed the call.",
    "A plugin MUST answer a request that it does not know with -32601, and MUST ignore a"
    " notification that it does not know.",
    "A plugin MUST ignore fields that it does not know,",
    "A plugin MUST reply; any reply will do, also an error.",
    "A plugin MUST end now, whether or not `shutdown` came before.",
    "A plugin MUST end on `exit`, and on the end of its input without it: that is how it learns that"
    " the agent was killed.",
    "so a plugin MUST accept `event/NAME` for every hook that it subscribes to.",
    "A plugin MUST answer an error (SHOULD: -32602) for a command that it does not have.",
    "A handler that is under way MUST NOT delay the end.",
)
def test_what_check_finds() -> None:
    assert are_seen_to_fail("unknown-tool", "unknown-request", "unknown-notification", "ping")
    assert are_seen_to_fail("unknown-command", "exit-while-running", "end-of-input-while-running")
    assert are_seen_to_fail("exit", "end-of-input", "hook pre_tool_call", "event pre_tool_call")


@says("A plugin MUST reply; any reply will do, also an error.")
async def test_any_reply_to_a_ping_will_do(autojump_clock: MockClock) -> None:
    answers: tuple[tuple[object, int], ...]
    answers = (NO_ARGUMENTS, 1), (Refuses("what?", -32601), 1), (BY_HAND, 2)
    for answer, starts in answers:
        wire = Wire(hears=["stop"], answers={"hook/stop": BY_HAND, "ping": answer})
        async with turn_of(wire) as (turn, _):
            await turn.stop()
            await wire.hears("ping")
            await trio.sleep(10.5)
            assert wire.starts == starts


# -- shutdown


@says(
    "A plugin SHOULD reply when the handlers of the events that came before it are done, and not"
    " wait for tool calls.",
    "The value does not matter.",
)
async def test_what_has_been_told_by_shutdown(autojump_clock: MockClock) -> None:
    """What a handler still has to do after its reply may be lost: the process is ended then."""
    wire = Wire(hears=["session_end"], answers={"shutdown": {"any": [1]}})
    async with host_of(wire) as (host, _), host.session():
        pass
    assert wire.methods()[-3:] == ["event/session_end", "shutdown", "exit"]


# -- the order of fires


@says(
    "After `/new` come the old session's `session_end`, `session_reset`, and the new"
    " `session_start`.",
)
async def test_a_reset() -> None:
    wire = Wire(hears=EVERYTHING)
    async with host_of(wire) as (host, _), host.session() as session:
        await session.ready()
        session.reset()
        await session.ready()
    assert names(wire) == [
        "session_start",
        "session_end",
        "session_reset",
        "session_start",
        "session_end",
    ]


@says(
    "Tool calls may overlap, and so may their pairs.",
    "An interrupt breaks the order off at any place, even before `user_prompt_submit`.",
)
async def test_calls_overlap_and_an_interrupt_breaks_off() -> None:
    wire = Wire(hears=EVERYTHING)
    both = trio.Event()

    async def slow(_: Fields) -> str:
        if wire.params("hook/pre_tool_call")[1:]:
            both.set()
        await both.wait()
        return "done"

    async with turn_of(wire) as (turn, _), trio.open_nursery() as nursery:

        async def call(name: str) -> None:
            await turn.call_tool(name, {}, run=slow)

        nursery.start_soon(call, "a")
        nursery.start_soon(call, "b")
    pairs = [name for name in names(wire) if "tool_call" in name]
    assert pairs[:2] == ["pre_tool_call"] * 2
    assert pairs[2:] == ["post_tool_call"] * 2

    wire = Wire(hears=EVERYTHING)
    async with host_of(wire) as (host, _), host.session() as session:
        await session.ready()
        async with session.turn("x"):
            session.interrupt()
    assert names(wire) == [
        "session_start",
        "turn_start",
        "agent_loop_stopped",
        "turn_end",
        "session_end",
    ]


@says(
    "`timeout_s` (number): the seconds that are left to answer, when the host writes the request.",
    "Two fields stand in no list below, as the host adds them where they apply:",
    "For a plugin that is still starting it includes the wait.",
)
async def test_timeout_s_is_what_is_left(autojump_clock: MockClock) -> None:
    wire = Wire(hears=["user_prompt_submit"])
    async with host_of(wire) as (host, _), host.session() as session, session.turn("x") as turn:
        await turn.submit()
        wire.answers["initialize"] = BY_HAND
        wire.process.end(1)
        async with trio.open_nursery() as nursery:

            async def back() -> None:
                message = await wire.hears("initialize", 2)
                await trio.sleep(2)
                wire.send(id=message["id"], result=wire.manifest)

            nursery.start_soon(back)
            await wire.restarts()
            began = trio.current_time()
            await turn.submit()
            assert trio.current_time() - began == pytest.approx(2, abs=0.1)
    first, second = (one["timeout_s"] for one in wire.params("hook/user_prompt_submit"))
    assert first == 5
    assert second <= 5


@says(
    "`truncated` (list of string): the heavy fields that were cut to null because the message was"
    " too large, see [limits](#limits).",
    "It is absent if nothing was cut.",
    "If a message *to* a plugin would be over 4 MiB,",
    "its included heavy fields are set to null, and `truncated` names them.",
    "If it is too large even then, a hook fails (`payload_too_large`), and an event is lost, with a"
    " line in the agent's log.",
)
@limit("one message to a plugin")
async def test_a_message_that_is_too_large_for_a_plugin(caplog: pytest.LogCaptureFixture) -> None:
    heavy = [{"event": "pre_llm_call", "include": ["messages"]}]
    wire = Wire(subscriptions=[*heavy, {"event": "pre_tool_call"}, {"event": "notification"}])
    async with (
        host_of(wire) as (host, _seen),
        host.session() as session,
        session.turn("x") as turn,
    ):
        for size in (4 * 1024 * 1024 - 2_000, 4 * 1024 * 1024):
            said = [Message(role="user", content="x" * size)]
            await turn.pre_llm_call(provider=None, model=None, messages=said, tools=[])
        small, large = wire.params("hook/pre_llm_call")
        assert len(small["messages"][0]["content"]) == 4 * 1024 * 1024 - 2_000
        assert "truncated" not in small
        assert (large["messages"], large["truncated"]) == (None, ["messages"])
        # as arguments they fit, but not with the other fields
        outcome = await turn.call_tool("shell", {"x": "x" * (4 * 1024 * 1024 - 100)}, run=own)
        assert outcome.status == "denied"
        assert wire.sent("hook/pre_tool_call") == []
        session.notification("info", "x" * 4 * 1024 * 1024, "agent")
        session.notification("info", "small", "agent")
        await wire.hears("event/notification")
        assert len(wire.sent("event/notification")) == 1
    # the payload names the folder, whose length differs
    assert re.search(r"notification is 4,194,\d{3} bytes, over 4,194,048", caplog.text)


@says("the SDKs run the handler that would be asked, and drop its answer.")
def test_a_hook_that_an_sdk_is_told() -> None:
    """That of Node has the same test in sdk/node/test/testing.test.js."""
    plugin = Plugin("probe")
    ran: list[str] = []

    def handler(name: str) -> Callable[[PreToolCall], PreToolCallAnswer]:
        def handle(call: PreToolCall) -> PreToolCallAnswer:
            ran.append(name)
            return deny("no")

        return handle

    plugin.hook("pre_tool_call", match={"tool_name": "other"})(handler("one"))
    plugin.hook("pre_tool_call", match={"tool_name": "s*"})(handler("two"))
    plugin.hook("pre_tool_call")(handler("three"))
    Harness(plugin).tell("pre_tool_call", tool_name="shell")
    assert ran == ["two"]


def nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


@says(
    "A number is in the range of a double: there is no `1e400`, and no integer has over 308 digits.",
    "Where other people write, one may have more than 64 bits: take it as you can, and live on.",
    "Nothing is nested over 140 levels deep.",
    "too deep (or too full of brackets to tell), or have too long an integer,",
    "Arguments of a tool over 4 MiB or 20,000 values, nested over 128 levels, or with too long an"
    " integer come to no plugin.",
)
@limit("nesting of a message to a plugin", "one integer in a message to a plugin")
async def test_numbers_and_nesting() -> None:
    wire = Wire(
        subscriptions=[
            {"event": "pre_llm_call", "include": ["messages"]},
            {"event": "post_tool_call"},
        ],
        tools=[{"name": "mine"}],
        answers={"tool/call": {"content": "x", "data": [2**64, nested(125)]}},
    )
    async with host_of(wire) as (host, _):
        async with host.session(meta={"a": nested(127)}) as session, session.turn("x") as turn:
            for value, taken in (
                (nested(127), True),
                (nested(128), False),
                (10**308 - 1, True),
                (10**308, False),
                (float("1e400"), False),
                ([0] * 20_000, False),
                ("x" * 4 * 1024 * 1024, False),
            ):
                known = len(wire.got)
                outcome = await turn.call_tool("mine", {"a": value})
                assert (outcome.status == "ok") is taken
                sent = [one["params"] for one in wire.got[known:]]
                assert [one["arguments"]["a"] for one in sent] == [value, value][: 2 * taken]
            # the message, its params, its messages, one, its calls, one, its arguments: 7 levels
            for value, cut in (
                (nested(133), False),
                (nested(134), True),
                (10**308 - 1, False),
                (10**308, True),
                ([[[[1], [2]]]] * 10_000, False),
                ([[[[1], [2]]]] * 200_000, True),
            ):
                call = ToolCallRequest(call_id="c", name="any", arguments={"a": value})
                said = Message(role="assistant", content=None, tool_calls=[call])
                await turn.pre_llm_call(provider=None, model=None, messages=[said], tools=[])
                params = wire.params("hook/pre_llm_call")[-1]
                assert (params["messages"] is None, "truncated" in params) == (cut, cut)
        for meta in ({"a": nested(128)}, {"a": 10**308}):
            with pytest.raises(TypeError, match="cannot be encoded"):
                async with host.session(meta=meta):
                    pass
    # what a plugin wrote as deep as it may is one level deeper in a message to others
    assert wire.params("hook/post_tool_call")[0]["result"]["data"] == [2**64, nested(125)]
    for config in ({"a": nested(128)}, {"a": 10**308}):
        async with host_of(Wire(config=config)) as (host, _):
            assert (host.plugins[0].why or "").startswith("its settings cannot be sent: dict ")


@says(
    "`last_assistant_message` is found by going back over the conversation: messages that only call"
    " tools are skipped, and the text of the others is joined.",
)
async def test_the_last_assistant_message() -> None:
    wire = Wire(hears=["stop"])

    async with turn_of(wire) as (turn, _):
        for text in ("one", None, "two"):
            await turn.pre_llm_call(provider=None, model=None, messages=[], tools=[])
            turn.post_llm_call(
                provider=None,
                model=None,
                response=Message(role="assistant", content=text),
                finish_reason=None,
                usage=Usage(),
                duration_ms=None,
            )
        await turn.stop()
    assert wire.params("hook/stop")[0]["last_assistant_message"] == "two"


@says(
    "At most 8 `continue_with` count in a turn; the agent shows each, the host that the ninth is"
    " ignored.",
)
@limit("`continue_with` in one turn")
async def test_at_most_eight_times() -> None:
    """Each is shown by the agent, which gets it here."""
    wire = Wire(hears=["stop"], answers={"hook/stop": {"continue_with": "more"}})
    async with turn_of(wire) as (turn, seen):
        assert [await turn.stop() for _ in range(9)] == ["more"] * 8 + [None]
        assert "probe asks to go on for the 9th time in this turn; the turn ends" in seen.problems


@says(
    "The alerts of a plugin (`host/notify`) come with its name.",
    "That a plugin died, is left out, or did not answer a hook in time, is said by the `host`.",
    "A plugin is not told of its own alerts and failures, but of its late ends.",
    "Of the failures of one plugin at most 10 in a minute are told.",
    "What has no session is told in the session of the plugin's newest open request, else in the"
    " newest.",
)
async def test_notifications_of_other_plugins(autojump_clock: MockClock) -> None:
    one = Wire("one", hears=["notification", "stop"], uses=["notify"])
    two = Wire("two", hears=["notification"])
    async with (
        host_of(one, two) as (host, _),
        host.session() as old,
        host.session() as new,
        old.turn("x") as turn,
    ):
        await one.ask("host/notify", level="info", message="hi")
        await two.hears("event/notification")
        one.answers["hook/stop"] = BY_HAND
        async with trio.open_nursery() as nursery:
            nursery.start_soon(turn.stop)
            hook = await one.hears("hook/stop")
            await one.ask("host/notify", "later", level="info", message="hi")
            one.send(id=hook["id"], result=None)
        await two.hears("event/notification", 2)
        sessions = [params["session_id"] for params in two.params("event/notification")]
        assert sessions == [new.session_id, old.session_id]
        for _number in range(11):
            await turn.stop()
        await two.hears("event/notification", 12)
        one.process.end(1)
        await one.hears("initialize", 2)
        await trio.sleep(60)
        sources = [params["source"] for params in two.params("event/notification")]
        assert sources[:2] == ["one", "one"]
        assert set(sources[2:]) == {"host"}
        assert one.sent("event/notification") == []


@says(
    "A model's response has the shape of a Message, too.",
)
async def test_the_shape_of_a_response() -> None:
    wire = Wire(subscriptions=[{"event": "post_llm_call", "include": ["response"]}])
    response = Message(role="assistant", content="hi")
    async with turn_of(wire) as (turn, _):
        turn.post_llm_call(
            provider=None,
            model=None,
            response=response,
            finish_reason="of-tomorrow",
            usage=Usage(),
            duration_ms=None,
        )
        told = await wire.hears("event/post_llm_call")
    assert (told["params"]["response"]["role"], told["params"]["response"]["content"]) == (
        "assistant",
        "hi",
    )
    assert told["params"]["finish_reason"] == "of-tomorrow"
