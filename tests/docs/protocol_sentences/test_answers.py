"""Answers and how they merge; failures and timeouts; cancel and interrupt."""

# An interrupt leaves a turn's block early; these tests know where it does.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

import re
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec
import pytest
import trio
from trio.testing import MockClock

from sliphook import ApprovalRequest, HostError, Outcome
from sliphook_sdk.protocol import CATALOGUE, Manifest
from tests.plugin.manifests import payload
from tests.programs import EVERYTHING
from tests.test_layers import folder_of

from .says import PAGE, limit, says
from .wire import BY_HAND, DIES, NO_ARGUMENTS, Fields, Refuses, Wire, host_of, own, turn_of


def asked(name: str, answer: Any, event: str = "pre_tool_call", **subscription: Any) -> Wire:
    """A plugin with one subscription and one answer."""
    subscriptions = [{"event": event, **subscription}]
    return Wire(name, subscriptions=subscriptions, answers={f"hook/{event}": answer})


async def fire(*wires: Wire, event: str = "pre_tool_call", **fields: Any) -> Outcome:
    """What the answers of these plugins come to."""
    async with host_of(*wires) as (host, _):
        return await host.fire(event, payload(event, **fields))


def statuses(outcome: Outcome) -> dict[str, str]:
    return {part.plugin: part.status for part in outcome.parts}


# -- each kind of answer


@says(
    "| in the result | what it is |",
    "| `null` | no opinion |",
    "| `{}` | no opinion |",
    '| `{"decision":"allow","reason":"build/ is made by make"}` | an opinion |',
    '| `{"decision":"deny","reason":"deleting whole trees is not for agents"}` | no |',
    '| `{"decision":"ask","reason":"this pushes to a branch that others use"}` | let a person decide |',
    "A **hook** is a request: the host asks and waits, and the plugin's **answer** can change what"
    " happens.",
)
async def test_decisions() -> None:
    for answer, decision in (
        (None, None),
        ({}, None),
        ({"decision": "allow", "reason": "build/ is made by make"}, "allow"),
        ({"decision": "deny", "reason": "deleting whole trees is not for agents"}, "deny"),
        ({"decision": "ask", "reason": "this pushes to a branch that others use"}, "ask"),
    ):
        outcome = await fire(asked("one", answer))
        assert outcome.decision == decision
        assert outcome.reason == (f"one: {answer['reason']}" if answer else "")
        assert statuses(outcome) == {"one": "answered"}


@says(
    '| `{"replace":{"arguments":{"command":"rm -r build/tmp"}}}` | other arguments; the subscription'
    " says `replaces` |",
    '| `{"reason":"from the cache","substitute":{"result":{"content":"nothing to'
    ' delete","is_error":false,"data":null}}}` | a result in place of the call, which then does not'
    " happen; the subscription says `replaces` |",
    '| `{"context":["The folder build/ is shared with the CI."],"_meta":{"rule":12}}` | text for the'
    " model, with something for the trace |",
    '| `{"continue_with":"The tests have not been run. Run them."}` | in `stop`: go on |',
)
async def test_what_an_answer_changes() -> None:
    ran: list[Fields] = []

    async def shell(arguments: Fields) -> str:
        ran.append(arguments)
        return "ran"

    wire = asked("one", None, replaces=True)
    wire.manifest["subscriptions"] += [{"event": "stop"}]
    async with turn_of(wire) as (turn, _):
        wire.answers["hook/pre_tool_call"] = {"replace": {"arguments": {"command": "rm -r x"}}}
        await turn.call_tool("shell", {"command": "rm -rf ."}, run=shell)
        assert ran == [{"command": "rm -r x"}]
        result = {"content": "nothing to delete", "is_error": False, "data": None}
        wire.answers["hook/pre_tool_call"] = {"substitute": {"result": result}}
        outcome = await turn.call_tool("shell", {}, run=shell)
        assert (outcome.result.content, len(ran)) == ("nothing to delete", 1)
        wire.answers["hook/pre_tool_call"] = {"context": ["shared"], "_meta": {"rule": 12}}
        outcome = await turn.call_tool("shell", {}, run=shell)
        assert outcome.text() == "ran\n\n[one] shared"
        wire.answers["hook/stop"] = {"continue_with": "Run them."}
        assert await turn.stop() == "Run them."


@says("The [catalogue](#hooks-and-events) says which of these fields a hook takes.")
async def test_the_fields_that_each_hook_takes() -> None:
    samples: Fields = {
        "decision": "deny",
        "context": ["x"],
        "continue_with": "x",
        "replace": {},
        "substitute": {},
    }
    for entry in CATALOGUE.values():
        for field in ("decision", "context", "continue_with"):
            if entry.kind == "hook":
                outcome = await fire(
                    asked("one", {field: samples[field]}, entry.name), event=entry.name
                )
                takes = field in entry.answer_fields
                assert (statuses(outcome) == {"one": "answered"}) is takes, (entry.name, field)


# -- order and phases


@says(
    "**Order.** Subscriptions are asked by `priority`, high first, then in the order in which the"
    " plugins were installed (or named).",
    "**First phase.** Subscriptions that say `replaces` are asked one after the other; each gets the"
    " payload as the one before left it.",
    "`replace` holds payload fields, each of which replaces the whole of the old value.",
    "**Second phase.** All others are asked at the same time, with the final payload, also if there"
    " is a substitute.",
    "The first `substitute` wins; later ones are only recorded.",
)
async def test_two_phases() -> None:
    order: list[str] = []

    def first(name: str, **answer: Any) -> Any:
        def asked_now(params: Fields) -> Fields:
            order.append(f"{name} {params['arguments']}")
            return answer

        return asked_now

    replacing: Fields = {"replaces": True}
    wires = [
        asked("late", first("late"), priority=-1),
        asked("c", first("c", substitute={"result": "c"}), **replacing),
        asked("d", first("d", substitute={"result": "d"}), **replacing),
        asked("a", first("a", replace={"arguments": {"a": 1}}), priority=9, **replacing),
        asked("last", first("last")),
    ]
    outcome = await fire(*wires, arguments={"old": 0, "a": 0})
    assert order[:3] == ["a {'old': 0, 'a': 0}", "c {'a': 1}", "d {'a': 1}"]
    assert sorted(order[3:]) == ["last {'a': 1}", "late {'a': 1}"]
    assert [part.plugin for part in outcome.parts] == ["a", "c", "d", "last", "late"]
    assert (outcome.substitute.content, outcome.substituted_by) == ("c", "c")
    assert outcome.parts[2].answer is not None
    assert outcome.parts[2].answer.substitute == {"result": "d"}


@says("All others are asked at the same time,")
async def test_the_second_phase_is_at_the_same_time() -> None:
    wires = [asked(name, BY_HAND) for name in ("one", "two")]
    async with host_of(*wires) as (host, _), trio.open_nursery() as nursery:
        nursery.start_soon(host.fire, "pre_tool_call", payload())
        for wire in wires:
            await wire.hears("hook/pre_tool_call")
        for wire in wires:
            wire.send(id=wire.sent("hook/pre_tool_call")[0]["id"], result=None)


@says(
    "A `deny`, also of a failure that counts as one, ends the fire there.",
    "An `ask` counts.",
    "An `allow` counts as abstaining.",
)
async def test_decisions_of_the_first_phase() -> None:
    for decision, merged, second in (("deny", "deny", 0), ("ask", "ask", 1), ("allow", None, 1)):
        wires = asked("one", {"decision": decision}, replaces=True), asked("two", None)
        assert (await fire(*wires)).decision == merged
        assert len(wires[1].sent("hook/pre_tool_call")) == second
    wires = asked("one", [], replaces=True), asked("two", None)
    assert (await fire(*wires)).denied
    assert wires[1].sent("hook/pre_tool_call") == []


@says(
    "Here `replace` and `substitute` are a failed answer.",
    "So a plugin that needs the last word does not set `replaces`.",
)
async def test_the_second_phase_does_not_replace() -> None:
    answers: tuple[Fields, ...] = ({"replace": {"arguments": {}}}, {"substitute": {"result": "x"}})
    for answer in answers:
        outcome = await fire(asked("one", answer))
        assert statuses(outcome) == {"one": "refused_answer"}
        assert outcome.denied, "as a failure of a closed subscription"


@says(
    "**Merge.** `deny` beats `ask` beats `allow` beats abstaining.",
    "All reasons are kept, in the order above.",
)
async def test_merge() -> None:
    words = ("allow", None, "ask", "deny")
    for kept, merged in ((4, "deny"), (3, "ask"), (2, "allow"), (1, "allow")):
        wires = [
            asked(f"p{number}", {"decision": word, "reason": str(word)} if word else None)
            for number, word in enumerate(words[:kept])
        ]
        outcome = await fire(*wires)
        assert outcome.decision == merged
        assert [one.text for one in outcome.reasons] == [word for word in words[:kept] if word]


@says(
    "`allow` never skips the agent's own permission rules.",
    "`ask` goes to the person that the agent asks.",
    "If there is neither a person nor a plugin that may [answer](#hostanswer), at the end of input,"
    " and at an interrupt, it is a `deny`.",
)
async def test_ask() -> None:
    """What the agent's rules are is the agent's; an allow only leaves the decision empty of a no."""
    requests: list[ApprovalRequest] = []

    async def approve(request: ApprovalRequest) -> bool:
        requests.append(request)
        return True

    wire = asked("one", {"decision": "ask", "reason": "sure?"})
    async with turn_of(wire, approver=approve) as (turn, _):
        assert (await turn.call_tool("shell", {}, run=own)).status == "ok"
    assert [one.text for one in requests[0].reasons] == ["sure?"]
    async with turn_of(asked("one", {"decision": "ask"})) as (turn, _):
        assert (await turn.call_tool("shell", {}, run=own)).status == "denied"

    async def thinks(_: ApprovalRequest) -> bool:
        turn.session.interrupt("user_stop", "test")
        await trio.sleep_forever()
        raise AssertionError

    ran: list[Fields] = []

    async def shell(arguments: Fields) -> None:
        ran.append(arguments)

    async with turn_of(asked("one", {"decision": "ask"}), approver=thinks) as (turn, _):
        await turn.call_tool("shell", {}, run=shell)
    assert ran == []


@says(
    "Several `continue_with` are joined with an empty line between them, to 1,048,576 characters."
)
async def test_several_continue_with() -> None:
    wires = [asked(name, {"continue_with": name}, "stop") for name in ("one", "two")]
    async with turn_of(*wires) as (turn, _):
        assert await turn.stop() == "one\n\ntwo"
    long = "x" * 524_288
    wires = [asked(name, {"continue_with": long}, "stop") for name in ("one", "two", "three")]
    async with turn_of(*wires) as (turn, _):
        assert await turn.stop() == (
            f"{long}\n\n{long}\n\n[the rest is left out: over 1,048,576 characters together]"
        )


@says(
    "**Context** is labelled with the plugin's name, at most 10,000 characters an answer; more is"
    " cut, and the text says so.",
    "If the fire is denied, its context is dropped.",
)
@limit("`context` of one answer")
async def test_context() -> None:
    full = await fire(asked("one", {"context": ["x" * 9_999, "y"]}))
    assert [one.labelled() for one in full.context] == ["[one] " + "x" * 9_999, "[one] y"]
    (cut,) = (await fire(asked("one", {"context": ["x" * 10_001]}))).context
    assert cut.text == "x" * 10_000 + " [cut: 1 of 10,001 characters]"
    texts = (await fire(asked("one", {"context": ["x"] * 64}))).context
    assert [one.text for one in texts] == ["x"] * 64
    texts = (await fire(asked("one", {"context": ["x"] * 65}))).context
    assert [one.text for one in texts] == [*["x"] * 63, "x [cut: 1 of 65 characters]"]
    denied = await fire(asked("one", {"context": ["x"], "decision": "deny"}))
    assert denied.context == ()


# -- failures


@says(
    "A plugin has failed its answer if it times out, crashes, is not ready, or replies with an"
    " error, with something that is not an answer, or with a field that the hook does not allow.",
    "Then the subscription's `on_failure` decides: `open`, as if it had abstained; `closed`, as if it"
    " had denied, with the failure as the reason.",
    "An exception in a hook's handler is an error reply (-32603), never a null: the host decides by"
    " `on_failure`.",
)
async def test_failures(autojump_clock: MockClock) -> None:
    cases: tuple[tuple[object, str], ...] = (
        (BY_HAND, "timed_out"),
        (DIES, "crashed"),
        (Refuses("KeyError: 'command'"), "refused_answer"),
        ([], "refused_answer"),
        ("deny", "refused_answer"),
        ({"continue_with": "x"}, "refused_answer"),
    )
    for answer, status in cases:
        for on_failure, decision in (("open", None), ("closed", "deny")):
            wire = asked("one", answer, on_failure=on_failure)
            outcome = await fire(wire)
            assert (statuses(outcome)["one"], outcome.decision) == (status, decision), answer
            assert bool(outcome.reason) is (decision == "deny")
    outcome = await fire(asked("one", Refuses("KeyError: 'command'")))
    assert "KeyError: 'command'" in outcome.reason


@says(
    "If the subscription does not say, the catalogue does: `pre_tool_call` is closed, the others are"
    " open.",
)
async def test_what_a_failure_counts_as_by_default() -> None:
    for entry in CATALOGUE.values():
        if entry.kind == "hook":
            outcome = await fire(asked("one", [], entry.name), event=entry.name)
            assert outcome.denied is (entry.name == "pre_tool_call")
            assert statuses(outcome) == {"one": "refused_answer"}


@says(
    "A guard that is absent still guards.",
    "The host keeps the manifest that the user accepted.",
    "While the plugin is starting, starting again, refused because its file changed, failed, or"
    " `disabled` by itself, its `closed` subscriptions count, and fail.",
    "They stop only when the user disables the plugin.",
)
async def test_a_guard_that_is_absent(autojump_clock: MockClock) -> None:
    """A changed file is in tests/process/test_trust.py."""
    fields = {"protocol_version": 1, "name": "guard", "subscriptions": [{"event": "pre_tool_call"}]}
    approved = msgspec.convert(fields, Manifest)
    for initialize, state in (
        (Refuses("no"), "failed"),
        (b"", "failed"),
        ({**fields, "disabled": "no git"}, "self_disabled"),
        ({**fields, "tools": [{"name": "more"}]}, "refused"),
    ):
        wire = Wire("guard", recorded=approved, answers={"initialize": initialize})
        async with host_of(wire) as (host, _):
            assert host.plugins[0].state == state
            assert (await host.fire("pre_tool_call", payload())).denied
            await host.disable("guard")
            assert not (await host.fire("pre_tool_call", payload())).denied
    wire = Wire("guard", hears=["pre_tool_call"], recorded=approved)
    async with host_of(wire) as (host, _), trio.open_nursery() as nursery:
        wire.answers["initialize"] = BY_HAND
        wire.process.end(1)
        await wire.hears("initialize", 2)
        assert host.plugins[0].state == "starting"
        assert (await host.fire("pre_tool_call", payload())).denied
        nursery.cancel_scope.cancel()


# -- time


@says(
    "A hook has 5 s, a tool or a command 30 s, unless the subscription or the tool asks for 0.05 to"
    " 600 s (the user's settings may cap it).",
    "Nothing is clamped silently.",
    "After the timeout, an answer is dropped, and the host sends `$/cancelRequest` for the request.",
)
@limit("answer to a hook", "a tool call", "a command", "`timeout_s` of a subscription or a tool")
async def test_times(autojump_clock: MockClock) -> None:
    async def waited(answers_s: float, wire: Wire, do: Any) -> bool:
        """Whether an answer so late is taken."""
        wire.answers |= dict.fromkeys(("hook/stop", "tool/call", "command/run"), BY_HAND)
        known = len(wire.got)

        async def answer() -> None:
            await wire.until(lambda: wire.got[known:])
            request = wire.got[known]
            await trio.sleep(answers_s)
            results = {"hook/stop": {"continue_with": "x"}, "tool/call": "x"}
            wire.send(id=request["id"], result=results.get(request["method"], {"text": "x"}))
            await wire.is_read()
            late = {"id": request["id"]} in wire.params("$/cancelRequest")
            found.append(not late)

        found: list[bool] = []
        async with trio.open_nursery() as nursery:
            nursery.start_soon(answer)
            await do()
        return found[0]

    wire = Wire(
        subscriptions=[{"event": "stop"}],
        tools=[
            {"name": "usual"},
            {"name": "quick", "timeout_s": 0.05},
            {"name": "slow", "timeout_s": 600},
        ],
        commands=[{"name": "go"}],
    )
    async with (
        host_of(wire) as (host, _),
        host.session() as session,
        session.turn("x") as turn,
    ):

        async def command() -> None:
            with suppress(HostError):  # "no answer within 30 s"
                await session.run_command("go", "")

        def tool(name: str) -> Any:
            return lambda: turn.call_tool(name, {})

        for do, time_s in (
            (turn.stop, 5.0),
            (tool("usual"), 30.0),
            (command, 30.0),
            (tool("quick"), 0.05),
            (tool("slow"), 600.0),
        ):
            assert await waited(time_s * 0.98, wire, do)
            assert not await waited(time_s * 1.02, wire, do)
    for timeout_s, taken in ((0.05, True), (600, True), (0.049, False), (600.1, False)):
        manifests: tuple[Fields, ...] = (
            {"subscriptions": [{"event": "stop", "timeout_s": timeout_s}]},
            {"tools": [{"name": "t", "timeout_s": timeout_s}]},
        )
        for manifest in manifests:
            async with host_of(Wire(**manifest)) as (host, _):
                assert (host.plugins[0].state == "ready") is taken
                assert taken or "it must be 0.05 to 600" in (host.plugins[0].why or "")


@says(
    "The clock starts when the host queues the request (for a subscription that says `replaces`:"
    " when its turn comes), and includes the writing.",
    "A fire as a whole ends with the largest timeout among its subscriptions.",
    "A quarter of that is kept for the second phase, and a plugin of the first phase leaves a quarter"
    " of the rest to the next one: a plugin that hangs does not take away that the others are asked.",
)
async def test_the_time_of_a_fire(autojump_clock: MockClock) -> None:
    hangs = asked("hangs", BY_HAND, replaces=True, priority=1, timeout_s=8, on_failure="open")
    next_ = asked("next", BY_HAND, replaces=True, timeout_s=8, on_failure="open")
    last = asked("last", BY_HAND, timeout_s=8)
    began = trio.current_time()
    outcome = await fire(hangs, next_, last)
    assert trio.current_time() - began == pytest.approx(8, abs=0.3)
    assert set(statuses(outcome).values()) == {"timed_out"}
    # of 8 s: 2 are kept for the second phase; of 6, the first leaves a quarter
    times = [of.params("hook/pre_tool_call")[0]["timeout_s"] for of in (hangs, next_, last)]
    assert times == pytest.approx([4.5, 1.5, 2.0], abs=0.1)


@says(
    "A plugin that cannot be asked any more has failed its answer, and `on_failure` decides; the"
    " trace calls it `not_asked`.",
)
async def test_a_plugin_that_cannot_be_asked_any_more(autojump_clock: MockClock) -> None:
    """Only where the agent holds its own loop: the shares leave time for all otherwise."""
    first = asked("first", BY_HAND, replaces=True, timeout_s=0.05, on_failure="open")
    last = asked("last", None, timeout_s=0.05)
    async with host_of(first, last) as (host, _), trio.open_nursery() as nursery:
        outcomes: list[Outcome] = []

        async def go() -> None:
            outcomes.append(await host.fire("pre_tool_call", payload()))

        nursery.start_soon(go)
        await first.hears("hook/pre_tool_call")
        autojump_clock.jump(1)
    assert statuses(outcomes[0])["last"] == "not_asked"
    assert outcomes[0].denied


@says("`$/progress` never extends the time.")
async def test_progress_does_not_extend(autojump_clock: MockClock) -> None:
    wire = Wire(tools=[{"name": "mine", "timeout_s": 2}], answers={"tool/call": BY_HAND})
    async with turn_of(wire) as (turn, seen), trio.open_nursery() as nursery:

        async def report() -> None:
            call = await wire.hears("tool/call")
            while True:
                await trio.sleep(0.5)
                wire.send(method="$/progress", params={"id": call["id"], "fraction": 0.5})

        nursery.start_soon(report)
        began = trio.current_time()
        outcome = await turn.call_tool("mine", {})
        assert outcome.status == "timed_out"
        assert trio.current_time() - began == pytest.approx(2)
        assert len(seen.progress) >= 3
        nursery.cancel_scope.cancel()


# -- cancel


def late_ends(wire: Wire) -> list[Fields]:
    """The ends of late work that it was told of."""
    told = wire.params("event/notification")
    return [params["late_end"] for params in told if "late_end" in params]


@says(
    "`$/cancelRequest` withdraws one request: it timed out, its turn ended, or the agent waits no more.",
    "A plugin SHOULD stop the work at once.",
    "It MUST reply, and SHOULD reply when the work has ended, since the host takes the reply for its"
    " end:",
    "with -32800 if it was stopped or never began, with its result if it was done all the same.",
    "The result is dropped, but the user is told of it.",
    "Without a reply for 5 s the plugin is [suspect](#the-process),",
    "A plugin with a request 5 s past its timeout or its cancel is suspect, and is sent `ping`.",
)
async def test_the_reply_to_a_cancel(autojump_clock: MockClock) -> None:
    error = {"code": -32800, "message": "request cancelled"}
    cases: tuple[tuple[Fields | None, str], ...]
    cases = ({"error": error}, "stopped"), ({"result": "late"}, "ok"), (None, "")
    for reply, how in cases:
        wire = Wire(tools=[{"name": "mine"}], answers={"tool/call": BY_HAND})
        hears = Wire("hears", hears=["notification", "turn_end"])
        async with host_of(wire, hears) as (host, seen), host.session() as session:
            async with session.turn("x") as turn, trio.open_nursery() as nursery:
                nursery.start_soon(turn.call_tool, "mine", NO_ARGUMENTS)
                call = await wire.hears("tool/call")
                session.interrupt()
            await wire.hears("$/cancelRequest")
            await trio.sleep(1)
            assert any("still running" in line for line in seen.problems), "it may still act"
            ended = (await hears.hears("event/turn_end"))["params"]
            assert ended["still_running"] == [call["params"]["call_id"]]
            if reply is not None:
                wire.send(id=call["id"], **reply)
                (end,) = await hears.until(partial(late_ends, hears))
                assert end["how"] == how
                assert end["after_ms"] == pytest.approx(1_000, abs=50)
            await trio.sleep(3.9)
            assert wire.sent("ping") == []
            await trio.sleep(0.2)
            assert len(wire.sent("ping")) == (reply is None)
            if reply is None:
                wire.send(id=call["id"], error=error)


@says("A `notification` may come before a hook that is under way.")
async def test_a_late_end_may_come_first() -> None:
    wire = Wire(
        subscriptions=[{"event": "notification"}, {"event": "user_prompt_submit"}],
        answers={"tool/call": BY_HAND},
    )
    works = Wire("works", tools=[{"name": "mine"}], answers={"tool/call": BY_HAND})
    slow = asked("slow", BY_HAND, "user_prompt_submit", replaces=True)
    async with host_of(wire, works, slow) as (host, _), host.session() as session:
        async with session.turn("x") as turn, trio.open_nursery() as nursery:
            nursery.start_soon(turn.call_tool, "mine", NO_ARGUMENTS)
            call = await works.hears("tool/call")
            session.interrupt()
        async with session.turn("y") as turn, trio.open_nursery() as nursery:
            nursery.start_soon(turn.submit)
            held = await slow.hears("hook/user_prompt_submit")
            works.send(id=call["id"], result="late")
            await wire.until(lambda: late_ends(wire))
            slow.send(id=held["id"], result=None)
            await wire.hears("hook/user_prompt_submit")
    seqs = [one["params"]["seq"] for one in wire.got if "seq" in one.get("params", {})]
    assert wire.methods()[-1] != "event/notification"
    assert late_ends(wire)[0]["how"] == "ok"
    assert max(seqs) > wire.params("hook/user_prompt_submit")[0]["seq"] == seqs[-1]


@says(
    "A plugin MUST ignore an id that is unknown or already answered, since the cancel may have"
    " crossed the reply.",
)
async def test_a_cancel_that_crosses_the_reply() -> None:
    """The host sends it although the reply is under way: it has not read that yet."""
    wire = Wire(tools=[{"name": "mine"}], answers={"tool/call": BY_HAND})
    async with host_of(wire) as (host, _), host.session() as session:
        async with session.turn("x") as turn, trio.open_nursery() as nursery:
            nursery.start_soon(turn.call_tool, "mine", NO_ARGUMENTS)
            call = await wire.hears("tool/call")
            wire.send(id=call["id"], result="done")
            session.interrupt()
        assert (await wire.hears("$/cancelRequest"))["params"] == {"id": call["id"]}
        await wire.is_read()


@says(
    "At an interrupt a plugin receives, in this order and before everything that waited:",
    "events of this session that were waiting, so that `seq` always rises, then"
    " `agent_loop_stopped`;",
    "a `$/cancelRequest` for each of its requests of that turn that it has read or can read; those"
    " that were not yet written never come;",
    "`event/post_tool_call` with the status `cancelled` for each open tool call, then"
    " `event/turn_end` with the outcome `interrupted`.",
    "The agent does not wait for any of it.",
)
async def test_an_interrupt() -> None:
    wire = Wire(hears=EVERYTHING, tools=[{"name": "mine"}], answers={"tool/call": BY_HAND})
    async with host_of(wire) as (host, _), host.session() as session:
        await session.ready()
        async with session.turn("x") as turn, trio.open_nursery() as nursery:
            nursery.start_soon(turn.call_tool, "mine", NO_ARGUMENTS)
            call = await wire.hears("tool/call")
            known = len(wire.got)
            wire.reading = trio.Event()  # from here on, nothing is read until the interrupt is over
            session.notification("info", "waits", "agent")
            session.interrupt("user_stop", "because")
            assert turn.outcome == "interrupted", "at once"
        wire.reading.set()
        await wire.hears("event/turn_end")
        after = wire.got[known:]
        assert [one["method"] for one in after] == [
            "event/notification",
            "event/agent_loop_stopped",
            "$/cancelRequest",
            "event/post_tool_call",
            "event/turn_end",
        ]
        seqs = [one["params"]["seq"] for one in after if "seq" in one["params"]]
        assert seqs == sorted(seqs)
        assert after[1]["params"]["invalidation_reason"] == "because"
        assert after[1]["params"]["inflight"]["requests"] == [call["id"]]
        assert after[2]["params"] == {"id": call["id"]}
        assert after[3]["params"]["status"] == "cancelled"
        assert after[4]["params"]["outcome"] == "interrupted"


@says(
    "The next turn may begin while the plugin still winds down the old one, so requests of two turns"
    " may be under way at once.",
    "Go by `turn_id`.",
    "A second interrupt of a turn sends nothing more; `interrupt_count` has the number.",
)
async def test_the_next_turn_begins_at_once() -> None:
    wire = Wire(
        hears=["agent_loop_stopped", "turn_end"],
        tools=[{"name": "mine"}],
        answers={"tool/call": BY_HAND},
    )
    async with host_of(wire) as (host, _), host.session() as session:
        async with session.turn("x") as turn, trio.open_nursery() as nursery:
            nursery.start_soon(turn.call_tool, "mine", NO_ARGUMENTS)
            await wire.hears("tool/call")
            session.interrupt()
            session.interrupt()
        async with session.turn("y") as turn, trio.open_nursery() as nursery:
            nursery.start_soon(turn.call_tool, "mine", NO_ARGUMENTS)
            await wire.hears("tool/call", 2)
            first, second = wire.sent("tool/call")
            assert first["params"]["turn_id"] != second["params"]["turn_id"]
            wire.send(id=second["id"], result="x")
        await wire.hears("event/turn_end", 2)
    assert len(wire.sent("event/agent_loop_stopped")) == 1
    assert wire.params("event/turn_end")[0]["interrupt_count"] == 1


@says(
    "If there are child agents, their turns end first, the innermost first, each followed by"
    " `subagent_stop` with the status `cancelled`.",
    "`invalidation_reason` is free text.",
)
async def test_an_interrupt_with_child_agents() -> None:
    heard = [{"event": one, "subagents": True} for one in ("turn_end", "subagent_stop")]
    wire = Wire(subscriptions=[*heard, {"event": "agent_loop_stopped"}])
    async with host_of(wire) as (host, _), host.session() as session:
        async with session.turn("x") as turn, turn.subagent("a") as child, child.subagent("b"):
            session.interrupt("user_stop", "any text: of the agent's")
        await wire.hears("event/turn_end", 3)
    (stopped,) = wire.params("event/agent_loop_stopped")
    assert stopped["invalidation_reason"] == "any text: of the agent's"
    told = [(one["method"], one["params"]["agent_depth"]) for one in wire.got if "seq" in str(one)]
    assert told[1:] == [
        ("event/turn_end", 2),
        ("event/subagent_stop", 1),
        ("event/turn_end", 1),
        ("event/subagent_stop", 0),
        ("event/turn_end", 0),
    ]
    assert {one["status"] for one in wire.params("event/subagent_stop")} == {"cancelled"}


@says(
    "These are Sliphook's own: `stop_command`, `stop_command_pending`, `stop_command_handler`,"
    " `new_command`, `new_message`, `plugin_message`, `sigint`, `sigterm`, `host_interrupt`.",
)
def test_the_reasons_of_our_own_are_in_the_code() -> None:
    listed = PAGE.partition("These are Sliphook's own: ")[2].partition(".\n")[0]
    code = "".join(path.read_text("utf-8") for path in folder_of("sliphook").rglob("*.py"))
    words = re.findall(r"`(\w+)`", listed)
    assert len(words) == 9
    assert [word for word in words if f'"{word}"' not in code] == []
