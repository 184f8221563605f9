"""Rules of hooks, answers and turns through the public face: on fakes, on a clock that jumps."""

from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from sliphook import ApprovalRequest, Context, Outcome, PluginHost, Turn, TurnOpen
from sliphook.dispatch.fast_path import SingleFire
from sliphook.dispatch.fire import Fire
from sliphook.session.interrupt import interrupt_turns
from sliphook.session.session import Session
from sliphook.testing import CRASHES, HANGS, After, FakePlugin
from sliphook_sdk.protocol import Answer, Message, Usage
from sliphook_sdk.protocol.payloads import PreToolCall, Stop
from tests.pairs import check_pairs
from tests.programs import EVERYTHING


async def shell(arguments: dict[str, Any]) -> str:
    return f"ran {arguments['command']}"


def fired(plugin: FakePlugin) -> list[dict[str, Any]]:
    return [{"method": message.method, "params": message.params} for message in plugin.fired()]


async def call_shell(session: Session) -> tuple[str, str]:
    async with session.turn("x") as turn:
        outcome = await turn.call_tool("shell", {"command": "ls"}, run=shell)
        return outcome.status, outcome.text()
    raise AssertionError("there is no interrupt here")


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
    def go_on(stop: Stop) -> Answer:
        return Answer(continue_with=f"once more, {stop.stop_count}")

    plugin = FakePlugin("eager", hooks={"stop": go_on}, hears=["notification"])
    async with PluginHost([plugin]) as host, host.session() as session, session.turn("x") as turn:
        assert [await turn.stop() for _ in range(9)] == [
            *(f"once more, {number}" for number in range(8)),
            None,
        ]
    assert [payload.level for payload in plugin.payloads("notification")] == ["warning"]


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


# -- section 7: interrupts
# -------------------------------------------------------------------------------------------------


async def test_everything_is_said_in_order_before_interrupt_returns(
    autojump_clock: MockClock,
) -> None:
    plugin = FakePlugin(
        "probe",
        hears=["turn_start", "agent_loop_stopped", "post_tool_call", "turn_end", "pre_tool_call"],
        tools={"slow": HANGS},
    )
    async with (
        PluginHost([plugin]) as host,
        host.session() as session,
        trio.open_nursery() as nursery,
    ):

        async def stop() -> None:
            await plugin.hears("tool/call")
            before = len(plugin.received)
            assert session.interrupt("user_stop", "stop_command")
            assert turn.outcome == "interrupted"
            await trio.testing.wait_all_tasks_blocked()
            said = [message.method for message in plugin.received[before:]]
            assert said == [
                "event/agent_loop_stopped",
                "$/cancelRequest",
                "event/post_tool_call",
                "event/turn_end",
            ]

        nursery.start_soon(stop)
        async with session.turn("x") as turn:
            await turn.call_tool("slow", {})
    (stopped,) = plugin.payloads("agent_loop_stopped")
    (call,) = plugin.payloads("pre_tool_call")
    (request,) = (message.id for message in plugin.received if message.method == "tool/call")
    assert (stopped.reason, stopped.invalidation_reason) == ("user_stop", "stop_command")
    assert (stopped.inflight.tools, stopped.inflight.requests) == ([call.call_id], [request])


async def test_the_next_turn_may_begin_at_once_and_what_comes_late_stays_out_of_it(
    autojump_clock: MockClock,
) -> None:
    plugin = FakePlugin(
        "probe", hears=["turn_start", "turn_end", "pre_tool_call", "post_tool_call"]
    )
    running, late = trio.Event(), list[str]()

    async def stubborn(_: dict[str, Any]) -> str:
        running.set()
        with trio.CancelScope(shield=True):
            await trio.sleep(3.0)
        late.append("it ran on")
        return "too late"

    async def first(session: Session) -> None:
        async with session.turn("one") as turn:
            await turn.call_tool("stubborn", {}, run=stubborn)

    async with (
        PluginHost([plugin]) as host,
        host.session() as session,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(first, session)
        await running.wait()
        async with session.turn("two", interrupt=True):
            assert late == []
            await trio.sleep(5.0)
            assert late == ["it ran on"]
    check_pairs(fired(plugin), gapless=False)
    assert plugin.names() == [
        "turn_start",
        "pre_tool_call",
        "post_tool_call",
        "turn_end",
        "turn_start",
        "turn_end",
    ]
    assert [payload.status for payload in plugin.payloads("post_tool_call")] == ["cancelled"]


async def test_a_second_interrupt_sends_nothing_and_without_a_turn_nothing_is_fired(
    autojump_clock: MockClock,
) -> None:
    plugin = FakePlugin("probe", hears=["agent_loop_stopped", "turn_end"])
    async with PluginHost([plugin]) as host, host.session() as session:
        assert session.interrupt() is False
        async with session.turn("x"):
            assert (session.interrupt(), session.interrupt()) == (True, False)
            await trio.lowlevel.checkpoint()
        assert session.interrupt() is False
    assert plugin.names() == ["agent_loop_stopped", "turn_end"]


async def test_a_turn_that_is_open_refuses_another(autojump_clock: MockClock) -> None:
    async with PluginHost([]) as host, host.session() as session, session.turn("one"):
        with pytest.raises(TurnOpen):
            async with session.turn("two"):
                raise AssertionError


async def test_new_only_queues(autojump_clock: MockClock) -> None:
    plugin = FakePlugin(
        "slow",
        hooks={"session_start": After(3.0, {"context": ["hello"]})},
        hears=["session_end", "session_reset"],
    )
    async with PluginHost([plugin]) as host, host.session() as session:
        old_id, began = session.session_id, trio.current_time()
        session.reset()
        assert trio.current_time() == began
        async with session.turn("x") as turn:
            await turn.submit()
            assert trio.current_time() - began == 3.0
    assert plugin.names() == [
        "session_start",
        "session_end",
        "session_reset",
        "session_start",
        "session_end",
    ]
    (reset,) = plugin.payloads("session_reset")
    assert (reset.old_session_id, reset.session_id != old_id) == (old_id, True)


async def test_a_plugin_may_interrupt_from_inside_its_own_hook(autojump_clock: MockClock) -> None:
    async def enough(call: PreToolCall) -> Answer:
        await plugin.ask(
            "host/interrupt", session_id=call.session_id, turn_id=call.turn_id, reason="enough"
        )
        return Answer()

    plugin = FakePlugin(
        "p", hooks={"pre_tool_call": enough}, hears=["agent_loop_stopped"], uses=["interrupt"]
    )
    async with PluginHost([plugin]) as host, host.session() as session, session.turn("x") as turn:
        await turn.call_tool("shell", {"command": "ls"}, run=shell)
    assert turn.interrupted
    assert [payload.reason for payload in plugin.payloads("agent_loop_stopped")] == ["plugin"]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (HANGS, ["slow did not answer stop: no answer within 5 s; it counts as no opinion"]),
        (
            {"decison": "deny"},
            [
                "slow did not answer stop: the answer has an unknown field 'decison'; did "
                "you mean decision?; it counts as no opinion"
            ],
        ),
        ({"continue_with": "more"}, []),
        (None, []),
    ],
)
async def test_a_failure_that_counts_as_none_is_said(
    autojump_clock: MockClock, answer: Any, says: list[str]
) -> None:
    problems: list[str] = []
    slow = FakePlugin("slow", hooks={"stop": answer})
    async with (
        PluginHost([slow], on_problem=lambda _, message: problems.append(message)) as host,
        host.session() as session,
        session.turn("hello") as turn,
    ):
        await turn.stop()
    assert problems == says


@pytest.mark.parametrize(
    ("kind", "plugins"), [(SingleFire, ["guard"]), (Fire, ["guard", "second"])]
)
async def test_an_answer_that_an_interrupt_overtakes_permits_nothing(
    kind: type[SingleFire | Fire], plugins: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The turn ends after the last answer, before the waiting task can run.

    That task is outside of the turn's block.
    """
    guards = [FakePlugin(name, hooks={"pre_tool_call": {"decision": "allow"}}) for name in plugins]
    came: list[tuple[str | None, bool]] = []
    finish = kind._finish  # pyright: ignore[reportPrivateUsage]

    with trio.fail_after(10):
        async with (
            PluginHost(guards) as host,
            host.session() as session,
            trio.open_nursery() as nursery,
        ):

            def finish_and_interrupt(fire: SingleFire | Fire, outcome: Outcome) -> None:
                finish(fire, outcome)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
                if isinstance(outcome.payload, PreToolCall):
                    session.interrupt()

            monkeypatch.setattr(kind, "_finish", finish_and_interrupt)
            async with session.turn("x") as turn:

                async def outside() -> None:
                    call: dict[str, Any] = {
                        "call_id": "c",
                        "model_call_id": None,
                        "tool_name": "shell",
                        "origin": "agent",
                        "arguments": {},
                    }
                    outcome = await session.hooks.ask("pre_tool_call", turn, **call)
                    came.append((outcome.decision, outcome.cancelled))

                nursery.start_soon(outside)
                await trio.sleep_forever()
    assert came == [("deny", True)]


async def test_a_stale_turn_id_interrupts_nothing() -> None:
    plugin = FakePlugin("budget", hears=["agent_loop_stopped"], uses=["interrupt"])
    came: list[Any] = []
    with trio.fail_after(10):
        async with (
            PluginHost([plugin]) as host,
            host.session() as session,
            trio.open_nursery() as nursery,
        ):
            async with session.turn("one") as first:
                pass

            async def interrupt(
                turn_id: str,
            ) -> None:  # outside of the turn's block, so that it sees what comes of it
                asked = {"session_id": session.session_id, "reason": "the budget is spent"}
                came.append(await plugin.ask("host/interrupt", turn_id=first.turn_id, **asked))
                came.append(await plugin.ask("host/interrupt", turn_id=turn_id, **asked))
                came.append(await plugin.ask("host/interrupt", **asked))

            async with session.turn("two") as second:
                nursery.start_soon(interrupt, second.turn_id)
                await trio.sleep_forever()
    assert came == [{"interrupted": False}, {"interrupted": True}, {"interrupted": False}]
    assert plugin.names() == ["agent_loop_stopped"]


async def test_an_interrupt_inside_of_an_interrupt_only_counts(autojump_clock: MockClock) -> None:
    """As by a callback of the agent that interrupts, called while an interrupt is at work."""
    plugin = FakePlugin("probe", hears=EVERYTHING)
    async with PluginHost([plugin]) as host, host.session() as session:
        async with session.turn("x") as turn:
            session.interrupt()
            interrupt_turns(turn.hooks, turn, "user_stop", "again")
        assert turn.interrupt_count == 2
    assert plugin.names() == [
        "session_start",
        "turn_start",
        "agent_loop_stopped",
        "turn_end",
        "session_end",
    ]


async def test_a_text_of_several_lines_is_logged_line_by_line() -> None:
    logged: list[tuple[str, str]] = []
    plugin = FakePlugin("probe", uses=["notify"])
    with trio.fail_after(10):
        async with PluginHost(
            [plugin], on_log=lambda _, level, message: logged.append((level, message))
        ):
            fields = {"where": "a.py:7", "traceback": "Traceback\n  \x1b[31mboom\n" + "deep\n" * 60}
            await plugin.tell("host/log", level="error", message="it failed", fields=fields)
            await plugin.ask("host/notify", level="info", message="behind the log")
    lines = [message for level, message in logged if level == "error"]
    assert lines[:3] == ['it failed {"where":"a.py:7"}', "  Traceback", "    \\x1b[31mboom"]
    assert len(lines) == 51


@pytest.mark.parametrize("others", [0, 1])
@pytest.mark.parametrize("tool", ["shell", "deploy"])
@pytest.mark.parametrize("how", ["disabled", "removed"])
async def test_an_interrupt_waits_for_no_plugin_that_is_being_ended(
    autojump_clock: MockClock, how: str, tool: str, others: int
) -> None:
    """It is killed seconds later; a caller outside of the turn's block is free at once, too."""
    match = {"event": "pre_tool_call", "match": {"tool_name": "shell"}}
    guard = FakePlugin(
        "guard", hooks={"pre_tool_call": HANGS}, subscriptions=[match], tools={"deploy": HANGS}
    )
    rest = [FakePlugin(f"other{index}", hears=["pre_tool_call"]) for index in range(others)]
    free_at: list[float] = []
    with trio.fail_after(60):
        async with (
            PluginHost([guard, *rest]) as host,
            host.session() as session,
            trio.open_nursery() as nursery,
        ):

            async def call(turn: Turn) -> None:
                outcome = await turn.call_tool(
                    tool, {"command": "ls"}, run=shell if tool == "shell" else None
                )
                free_at.append(trio.current_time())
                assert outcome.status == "cancelled"

            async with session.turn("x") as turn:
                nursery.start_soon(call, turn)
                await guard.hears("pre_tool_call" if tool == "shell" else "tool/call")
                guard.freeze()
                if how == "disabled":
                    nursery.start_soon(host.disable, "guard")
                else:
                    nursery.start_soon(host.update, rest)
                await trio.sleep(0.5)
                session.interrupt()
            assert (turn.interrupted, trio.current_time()) == (True, 0.5)
    assert free_at == [0.5]


async def test_no_two_events_have_the_same_id_also_where_one_is_told_of_a_session_again(
    autojump_clock: MockClock,
) -> None:
    plugin = FakePlugin("probe", hears=["session_start", "turn_start", "turn_end"])
    async with PluginHost([plugin]) as host, host.session() as session:
        for _ in range(2):
            async with session.turn("x"):
                await plugin.hears("turn_start")
            await trio.sleep(1)
            plugin.crash()
            await trio.sleep(5)
    seen = [(message.name, message.params["event_id"]) for message in plugin.fired()]
    assert [name for name, _ in seen] == [
        *["session_start", "turn_start", "turn_end"] * 2,
        "session_start",
    ]
    assert len({event_id for _, event_id in seen}) == 7
