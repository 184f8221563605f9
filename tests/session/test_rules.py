"""Rules of hooks, answers and turns through the public face: on fakes, on a clock that jumps."""

# An interrupt leaves a turn's block early; these tests know where it does.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from sliphook import ApprovalRequest, Context, PluginHost
from sliphook.testing import CRASHES, HANGS, After, FakePlugin
from sliphook_sdk.protocol import Answer, Message, Usage
from sliphook_sdk.protocol.payloads import PreToolCall, Stop
from tests.pairs import check_pairs
from tests.programs import EVERYTHING

from .shell import call_shell, fired, shell

# -- section 5: what is fired
# ------------------------------------------------------------------------------------------


async def test_a_child_shares_session_and_seq_and_has_its_own_agent_and_turn(
    autojump_clock: MockClock,
) -> None:
    plugin = FakePlugin(
        "probe", subscriptions=[{"event": event, "subagents": True} for event in EVERYTHING]
    )
    async with (
        PluginHost([plugin]) as host,
        host.session() as session,
        session.turn("x") as turn,
        turn.subagent("look") as child,
    ):
        await child.call_tool("shell", {"command": "ls"}, run=shell)
    check_pairs(fired(plugin))
    root, inner = (payload for payload in plugin.payloads("turn_start"))
    assert inner.session_id == root.session_id
    assert inner.parent_turn_id == root.turn_id
    assert inner.parent_agent_id == root.agent_id
    assert (inner.agent_depth, inner.index) == (1, 1)
    assert inner.agent_id != root.agent_id
    assert plugin.payloads("pre_tool_call")[0].agent_id == inner.agent_id


async def test_child_agents_fire_neither_stop_nor_the_prompt_for_those_who_did_not_ask(
    autojump_clock: MockClock,
) -> None:
    plugin = FakePlugin("probe", hears=EVERYTHING)
    async with (
        PluginHost([plugin]) as host,
        host.session() as session,
        session.turn("x") as turn,
        turn.subagent("look") as child,
    ):
        await child.call_tool("shell", {"command": "ls"}, run=shell)
    assert [message.name for message in plugin.fired() if message.params["agent_depth"] == 1] == [
        "pre_tool_call",
        "post_tool_call",
    ]


async def test_what_is_unknown_is_null(autojump_clock: MockClock) -> None:
    plugin = FakePlugin("probe", hears=["session_start", "turn_end"])
    async with (
        PluginHost([plugin]) as host,
        host.session(session_key=None, platform=None) as session,
        session.turn("x"),
    ):
        pass
    start, end = (message.params for message in plugin.fired())
    assert [
        start[name]
        for name in (
            "session_key",
            "platform",
            "user_id",
            "turn_id",
            "parent_agent_id",
            "meta",
            "model",
        )
    ] == [None] * 7
    assert end["usage"] == {"input_tokens": None, "output_tokens": None, "cached_tokens": None}
    assert end["last_assistant_message"] is None


async def test_the_agents_meta_comes_to_the_plugins_as_it_is(autojump_clock: MockClock) -> None:
    plugin = FakePlugin("probe", hears=["session_start"])
    meta = {"chat": 7, "tags": ["a"]}
    async with (
        PluginHost([plugin]) as host,
        host.session(
            meta=meta, session_key="k", platform="api", user_id="ada", cwd="/tmp"
        ) as session,
    ):
        await session.ready()
    (params,) = (message.params for message in plugin.fired())
    assert params["meta"] == meta
    assert params["session_key"] == "k"
    assert params["platform"] == "api"
    assert params["user_id"] == "ada"
    assert params["cwd"] == "/tmp"


async def test_the_last_assistant_message_skips_messages_that_only_call_tools(
    autojump_clock: MockClock,
) -> None:
    """Such a message has no text to show."""
    plugin = FakePlugin("probe", hears=["stop"])
    async with PluginHost([plugin]) as host, host.session() as session, session.turn("x") as turn:
        for content in ("first", None):
            answer = Message(role="assistant", content=content)
            turn.post_llm_call(
                provider=None,
                model=None,
                response=answer,
                finish_reason=None,
                usage=Usage(),
                duration_ms=None,
            )
        await turn.stop()
    assert [payload.last_assistant_message for payload in plugin.payloads("stop")] == ["first"]


# -- section 6: answers
# --------------------------------------------------------------------------------------------------


async def test_allow_skips_no_plugin_and_no_opinion_at_all_runs_the_tool(
    autojump_clock: MockClock,
) -> None:
    yes, no = (
        FakePlugin("yes", hooks={"pre_tool_call": {"decision": "allow"}}),
        FakePlugin("no", hooks={"pre_tool_call": {"decision": "deny"}}),
    )
    async with PluginHost([yes, no]) as host, host.session() as session:
        assert await call_shell(session) == (
            "denied",
            "the call of shell was denied: no: denied without a reason",
        )
        await host.disable("no")
        assert await call_shell(session) == ("ok", "ran ls")


async def test_ask_without_an_approver_is_deny(autojump_clock: MockClock) -> None:
    plugin = FakePlugin(
        "p",
        hooks={"pre_tool_call": {"decision": "ask", "reason": "sure?"}},
        hears=["user_input_received"],
    )
    async with PluginHost([plugin]) as host, host.session() as session:
        status, text = await call_shell(session)
    assert (status, text) == (
        "denied",
        "the call of shell was denied: p: sure?; host: a person must approve this, and "
        "nobody can be asked",
    )
    assert [(payload.choice, payload.by) for payload in plugin.payloads("user_input_received")] == [
        ("deny", "none")
    ]


@pytest.mark.parametrize(("answer", "status"), [(True, "ok"), (False, "denied")])
async def test_ask_goes_to_the_approver_inside_the_turn(
    autojump_clock: MockClock, answer: bool, status: str
) -> None:
    plugin = FakePlugin(
        "p",
        hooks={"pre_tool_call": {"decision": "ask", "reason": "sure?"}},
        hears=["user_input_required", "user_input_received"],
    )
    asked: list[ApprovalRequest] = []

    async def approve(request: ApprovalRequest) -> bool:
        asked.append(request)
        return answer

    async with PluginHost([plugin], approver=approve) as host, host.session() as session:
        assert (await call_shell(session))[0] == status
    (request,) = asked
    assert request.tool_name == "shell"
    assert request.arguments == {"command": "ls"}
    assert [reason.text for reason in request.reasons] == ["sure?"]
    assert plugin.names() == ["pre_tool_call", "user_input_required", "user_input_received"]
    assert plugin.payloads("user_input_required")[0].call_id == request.call_id


async def test_what_a_person_declines_loses_its_context(autojump_clock: MockClock) -> None:
    """As every fire that is denied does."""
    plugin = FakePlugin("p", hooks={"pre_tool_call": {"decision": "ask", "context": ["a hint"]}})

    async def declines(_: ApprovalRequest) -> bool:
        return False

    async with (
        PluginHost([plugin], approver=declines) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        outcome = await turn.call_tool("shell", {"command": "ls"}, run=shell)
    assert (outcome.status, outcome.context) == ("denied", [])


async def test_an_approver_that_fails_is_deny(autojump_clock: MockClock) -> None:
    async def approve(_: ApprovalRequest) -> bool:
        raise LookupError

    plugin = FakePlugin("p", hooks={"pre_tool_call": {"decision": "ask"}})
    async with PluginHost([plugin], approver=approve) as host, host.session() as session:
        assert (await call_shell(session))[0] == "denied"


async def test_an_interrupt_ends_the_asking(autojump_clock: MockClock) -> None:
    async def approve(_: ApprovalRequest) -> bool:
        session.interrupt()
        await trio.sleep_forever()
        raise AssertionError

    plugin = FakePlugin(
        "p", hooks={"pre_tool_call": {"decision": "ask"}}, hears=["post_tool_call", "turn_end"]
    )
    async with PluginHost([plugin], approver=approve) as host, host.session() as session:
        async with session.turn("x") as turn:
            await turn.call_tool("shell", {"command": "ls"}, run=shell)
        assert turn.interrupted
    assert [payload.status for payload in plugin.payloads("post_tool_call")] == ["cancelled"]


async def test_context_is_labelled_with_the_plugins_name(autojump_clock: MockClock) -> None:
    hooks = {
        name: {"context": [name]}
        for name in (
            "session_start",
            "user_prompt_submit",
            "pre_llm_call",
            "pre_tool_call",
            "subagent_start",
        )
    }
    async with (
        PluginHost([FakePlugin("memo", hooks=hooks)]) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        assert [text.labelled() for text in await session.ready()] == ["[memo] session_start"]
        assert (await turn.submit()).context == [Context("memo", "user_prompt_submit")]
        assert (
            await turn.pre_llm_call(provider=None, model=None, messages=[], tools=[])
        ).context == [Context("memo", "pre_llm_call")]
        assert (
            await turn.call_tool("shell", {"command": "ls"}, run=shell)
        ).text() == "ran ls\n\n[memo] pre_tool_call"
        async with turn.subagent("look") as child:
            assert child.context == [Context("memo", "subagent_start")]


async def test_a_turn_goes_on_eight_times_at_most(autojump_clock: MockClock) -> None:
    """A `stop` hook that always sends the model on must not keep the turn for ever."""

    def go_on(stop: Stop) -> Answer:
        return Answer(continue_with=f"once more, {stop.stop_count}")

    plugin = FakePlugin("eager", hooks={"stop": go_on}, hears=["notification"])
    quiet, other = FakePlugin("quiet", hears=["stop"]), FakePlugin("other", hears=["notification"])
    told: list[tuple[str, str]] = []

    def problem(name: str, line: str) -> None:
        told.append((name, line))

    async with (
        PluginHost([plugin, quiet, other], on_problem=problem) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        assert [await turn.stop() for _ in range(9)] == [
            *(f"once more, {number}" for number in range(8)),
            None,
        ]
        assert turn.continued_by == ("eager",)
    says = "eager asks to go on for the 9th time in this turn; the turn ends"
    assert told == [("eager", says)]
    alerts = [(one.level, one.message, one.source) for one in other.payloads("notification")]
    assert alerts == [("warning", says, "host")]
    assert plugin.payloads("notification") == []


async def test_a_substitute_stands_in_for_the_tool_and_the_guards_see_it_all_the_same(
    autojump_clock: MockClock,
) -> None:
    cache = FakePlugin(
        "cache",
        hooks={"pre_tool_call": {"substitute": {"result": "cached"}}},
        subscriptions=[{"event": "pre_tool_call", "replaces": True}],
    )
    guard = FakePlugin("guard", hears=["pre_tool_call", "post_tool_call"])
    async with PluginHost([cache, guard]) as host, host.session() as session:
        assert await call_shell(session) == ("ok", "cached")
    (after,) = guard.payloads("post_tool_call")
    assert guard.names() == ["pre_tool_call", "post_tool_call"]
    assert after.substituted_by == "cache"
    assert after.started is False


async def test_replaced_arguments_are_what_the_others_see_and_the_tool_gets(
    autojump_clock: MockClock,
) -> None:
    def safer(call: PreToolCall) -> dict[str, Any]:
        return {"replace": {"arguments": {"command": f"{call.arguments['command']} --dry-run"}}}

    first = FakePlugin(
        "first",
        hooks={"pre_tool_call": safer},
        subscriptions=[{"event": "pre_tool_call", "replaces": True}],
    )
    guard = FakePlugin("guard", hears=["pre_tool_call"])
    async with PluginHost([first, guard]) as host, host.session() as session:
        assert await call_shell(session) == ("ok", "ran ls --dry-run")
    assert guard.payloads("pre_tool_call")[0].arguments == {"command": "ls --dry-run"}


async def test_replaced_arguments_that_do_not_fit_never_reach_the_tool(
    autojump_clock: MockClock,
) -> None:
    plugin = FakePlugin(
        "p",
        hooks={"pre_tool_call": {"replace": {"arguments": {"command": 7}}}},
        subscriptions=[{"event": "pre_tool_call", "replaces": True}],
    )
    schema = {"type": "object", "properties": {"command": {"type": "string"}}}
    ran: list[dict[str, Any]] = []

    async def tool(arguments: dict[str, Any]) -> str:
        ran.append(arguments)
        return "ran"

    async with (
        PluginHost([plugin]) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        outcome = await turn.call_tool("shell", {"command": "ls"}, run=tool, input_schema=schema)
    assert (outcome.status, ran) == ("error", [])
    assert outcome.result.content.startswith(
        "the arguments, as a plugin replaced them, do not fit shell: "
    )


async def test_a_fire_ends_with_the_largest_timeout_of_its_subscriptions(
    autojump_clock: MockClock,
) -> None:
    def slow(name: str, timeout_s: float) -> FakePlugin:
        return FakePlugin(
            name,
            hooks={"user_prompt_submit": HANGS},
            subscriptions=[
                {"event": "user_prompt_submit", "replaces": True, "timeout_s": timeout_s}
            ],
        )

    async with (
        PluginHost([slow("a", 2.0), slow("b", 3.0), slow("c", 1.0)]) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        began = trio.current_time()
        assert not (await turn.submit()).denied
        assert trio.current_time() - began == pytest.approx(3.0)


async def test_all_plugins_are_asked_at_the_same_time(autojump_clock: MockClock) -> None:
    plugins = [
        FakePlugin(f"p{number}", hooks={"pre_tool_call": After(2.0, {})}) for number in range(5)
    ]
    async with PluginHost(plugins) as host, host.session() as session:
        began = trio.current_time()
        assert (await call_shell(session))[0] == "ok"
        assert trio.current_time() - began == 2.0


@pytest.mark.parametrize("fault", [HANGS, CRASHES, {"decison": "deny"}, "nonsense", []])
async def test_no_fault_of_a_plugin_is_an_exception_in_the_agent(
    autojump_clock: MockClock, fault: Any
) -> None:
    hooks = dict.fromkeys(
        [
            "session_start",
            "user_prompt_submit",
            "pre_llm_call",
            "pre_tool_call",
            "post_tool_call",
            "stop",
            "subagent_start",
        ],
        fault,
    )
    async with (
        PluginHost([FakePlugin("p", hooks=hooks)]) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        assert await session.ready() == []
        assert not (await turn.submit()).denied
        assert not (
            await turn.pre_llm_call(provider=None, model=None, messages=[], tools=[])
        ).denied
        assert (await turn.call_tool("shell", {"command": "ls"}, run=shell)).status == "denied", (
            "this one is closed"
        )
        assert await turn.stop() is None
        async with turn.subagent("look") as child:
            assert child.context == []
    assert turn.outcome == "completed"
