"""What an agent with a loop of its own needs, on each face: interrupts that it is told of, children
that work in the background, blocks that are entered by plain calls.
"""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

from sliphook import HostError, Interruption
from sliphook.blocking import PluginHost
from sliphook.testing import FakePlugin
from tests.docs.protocol_sentences.says import says
from tests.pairs import check_pairs
from tests.programs import EVERYTHING, WAIT_S

from .faces import FACES, Face


def ran(_: object) -> str:
    return "ran"


faces = pytest.mark.parametrize("face", FACES, ids=[face.name for face in FACES])
beside_tasks = pytest.mark.parametrize(
    "face", [face for face in FACES if face.name != "trio"], ids=["threads", "asyncio"]
)


def ear(**fields: Any) -> FakePlugin:
    """Hears everything, child agents too."""
    return FakePlugin(
        "ear",
        subscriptions=[{"event": event, "subagents": True} for event in EVERYTHING],
        **fields,
    )


def told(plugin: FakePlugin, *, nested: bool = True) -> list[str]:
    """What it was told, in order; pairs and numbers are whole."""
    check_pairs(
        [{"method": one.method, "params": one.params} for one in plugin.fired()], nested=nested
    )
    return plugin.names()


# -- told of interrupts
# -------------------------------------------------------------------------------------------------


@faces
@pytest.mark.parametrize("by", ["session", "turn", "plugin"])
def test_the_agent_is_told_once_of_an_interrupt_by_anybody(face: Face, by: str) -> None:
    async def ask(call: Any) -> None:
        await plugin.ask("host/interrupt", session_id=call.session_id, reason="enough")

    hooks = {"pre_tool_call": ask} if by == "plugin" else {}
    plugin: FakePlugin = ear(uses=["interrupt"], hooks=hooks)
    heard: list[Interruption] = []
    turns: list[Any] = []

    async def story() -> None:
        async with (
            face.block(face.host([plugin])) as host,
            face.block(host.session(on_interrupt=heard.append)) as session,
        ):
            async with face.block(session.turn("x")) as turn:
                turns.append(turn)
                if by == "plugin":
                    await face.got(turn.call_tool("shell", {}, run=face.own(ran)))
                interrupt = turn.interrupt if by == "turn" else session.interrupt
                assert interrupt("timeout", "too long") is True
                assert interrupt("timeout") is False
            async with face.block(session.turn("next")):
                pass
            await face.until(lambda: heard != [])

    face.run(story)
    [one] = heard
    assert one.turn_id == turns[0].turn_id
    assert (one.reason, one.invalidation_reason) == (
        ("plugin", "host_interrupt") if by == "plugin" else ("timeout", "too long")
    )
    told(plugin)


@faces
def test_what_the_callback_raises_is_logged(face: Face, caplog: pytest.LogCaptureFixture) -> None:
    def broken(_: Interruption) -> None:
        raise LookupError("the agent's own")

    async def story() -> None:
        async with (
            face.block(face.host([])) as host,
            face.block(host.session(on_interrupt=broken)) as session,
        ):
            async with face.block(session.turn("x")) as turn:
                assert session.interrupt() is True
            assert turn.interrupted
            await face.until(lambda: "the agent's own" in caplog.text)

    with caplog.at_level(logging.ERROR):
        face.run(story)


@faces
def test_the_callback_may_interrupt_again(face: Face) -> None:
    """As an agent does that stops its own loop, which stops the turn."""
    again: list[bool] = []
    sessions: list[Any] = []
    plugin = ear()

    def interrupt_again(_: Interruption) -> None:
        again.append(sessions[0].interrupt())

    async def story() -> None:
        async with (
            face.block(face.host([plugin])) as host,
            face.block(host.session(on_interrupt=interrupt_again)) as session,
        ):
            sessions.append(session)
            async with face.block(session.turn("x")):
                session.interrupt()
            await face.until(lambda: again != [])

    face.run(story)
    assert again == [False]
    assert told(plugin).count("agent_loop_stopped") == 1


def test_a_callback_of_threads_does_not_wait_for_the_others() -> None:
    """Neither the loop nor another callback holds it up, nor it them."""
    release, heard = threading.Event(), threading.Event()

    async def notify(_: object) -> None:
        await plugin.ask("host/notify", level="warning", message="x")

    plugin: FakePlugin = ear(
        uses=["notify"],
        hooks={"turn_start": notify},
    )

    def hold(*_: str) -> None:
        release.wait(WAIT_S)

    def hear(_: Interruption) -> None:
        heard.set()

    with (
        PluginHost([plugin], on_notify=hold) as host,
        host.session(on_interrupt=hear) as session,
    ):
        with session.turn("x"):
            session.interrupt()
        assert heard.wait(WAIT_S)
        release.set()


# -- children
# -------------------------------------------------------------------------------------------------


@says("`agent_loop_stopped` with a child's `turn_id` is of that child alone")
@faces
def test_a_child_is_interrupted_alone(face: Face) -> None:
    plugin = ear()
    heard: list[Interruption] = []

    async def story() -> None:
        async with (
            face.block(face.host([plugin])) as host,
            face.block(host.session(on_interrupt=heard.append)) as session,
            face.block(session.turn("x")) as turn,
        ):
            async with face.block(turn.subagent("look")) as child:
                assert child.interrupt("timeout", "too long") is True
                await face.got(child.call_tool("shell", {}, run=face.own(ran)))
                raise AssertionError("it does not go on")
            assert (child.interrupted, turn.interrupted, child.ended, turn.ended) == (
                True,
                False,
                True,
                False,
            )
            outcome = await face.got(turn.call_tool("shell", {}, run=face.own(ran)))
            assert outcome.status == "ok"
            await face.until(lambda: heard != [])
            assert [one.turn_id for one in heard] == [child.turn_id]

    face.run(story)
    assert told(plugin) == [
        "session_start",
        "turn_start",
        "subagent_start",
        "turn_start",
        "agent_loop_stopped",
        "turn_end",
        "subagent_stop",
        "pre_tool_call",
        "post_tool_call",
        "turn_end",
        "session_end",
    ]
    [stopped] = plugin.payloads("agent_loop_stopped")
    assert (stopped.agent_depth, stopped.reason) == (1, "timeout")
    assert stopped.turn_id == plugin.payloads("turn_end")[0].turn_id
    assert [one.outcome for one in plugin.payloads("turn_end")] == ["interrupted", "completed"]
    assert [one.status for one in plugin.payloads("subagent_stop")] == ["cancelled"]


@faces
def test_the_parents_interrupt_after_the_childs_ends_it_once(face: Face) -> None:
    plugin = ear()

    async def story() -> None:
        async with face.block(face.host([plugin])) as host, face.block(host.session()) as session:
            async with (
                face.block(session.turn("x")) as turn,
                face.block(turn.subagent("look")) as child,
            ):
                child.interrupt()
                session.interrupt()
            assert turn.interrupted

    face.run(story)
    assert told(plugin).count("turn_end") == 2


@says("background children go on.")
@says(
    "A background child may outlive its parent's turn: then its `subagent_stop` has no `turn_id`."
)
@faces
@pytest.mark.parametrize("how", ["turn_end", "interrupt"])
def test_a_child_in_the_background_outlives_the_turn_that_began_it(face: Face, how: str) -> None:
    plugin = ear()
    statuses: list[str] = []

    async def story() -> None:
        async with (
            face.block(face.host([plugin])) as host,
            face.block(host.session()) as session,
            face.group() as start,
        ):
            made: list[Any] = []
            over: list[bool] = []

            async def work() -> None:
                async with face.block(made[0]) as child:
                    made.append(child)
                    await face.until(lambda: bool(over))
                    outcome = await face.got(child.call_tool("shell", {}, run=face.own(ran)))
                    statuses.append(outcome.status)
                    child.summary = "found it"

            async with face.block(session.turn("x")) as turn:
                made.append(turn.subagent("look", background=True))
                start(work)
                await face.until(lambda: len(made) == 2)
                if how == "interrupt":
                    session.interrupt()
            assert (turn.interrupted, made[1].ended) == (how == "interrupt", False)
            async with face.block(session.turn("next")):
                over.append(True)
                await face.until(lambda: statuses != [])

    face.run(story)
    told(plugin, nested=False)
    assert statuses == ["ok"]
    [guarded] = plugin.payloads("pre_tool_call")
    assert guarded.agent_depth == 1
    [stop] = plugin.payloads("subagent_stop")
    assert (stop.status, stop.summary, stop.turn_id) == ("completed", "found it", None)
    [_, child_began, _] = plugin.payloads("turn_start")
    assert child_began.parent_turn_id == plugin.payloads("subagent_start")[0].turn_id


@faces
def test_a_child_whose_parent_is_interrupted_before_it_begins(face: Face) -> None:
    """Its `subagent_start` has its `subagent_stop`, and no turn of it begins."""
    sessions: list[Any] = []

    def interrupt(_: object) -> None:
        sessions[0].interrupt()

    plugin = ear(hooks={"subagent_start": interrupt})
    refused: list[str] = []

    async def story() -> None:
        async with (
            face.block(face.host([plugin])) as host,
            face.block(host.session()) as session,
            face.group() as start,
        ):
            sessions.append(session)
            turns: list[Any] = []

            async def begin() -> None:
                try:
                    async with face.block(turns[0].subagent("look", background=True)):
                        raise AssertionError("it does not begin")
                except HostError as error:
                    refused.append(str(error))

            async with face.block(session.turn("x")) as turn:
                turns.append(turn)
                start(begin)
                await face.until(lambda: turn.interrupted)

    face.run(story)
    assert refused == ["the turn has ended, so no child agent can begin in it"]
    assert told(plugin, nested=False) == [
        "session_start",
        "turn_start",
        "subagent_start",
        "agent_loop_stopped",
        "turn_end",
        "subagent_stop",
        "session_end",
    ]


@faces
@pytest.mark.parametrize("how", ["leave", "reset", "interrupt_all"])
def test_the_end_of_the_session_ends_a_child_in_the_background(face: Face, how: str) -> None:
    plugin = ear()
    interrupted: list[bool] = []

    async def story() -> None:
        made: list[Any] = []

        async def work() -> None:
            async with face.block(made[0]) as child:
                made.append(child)
                await face.until(lambda: child.interrupted)
                await face.got(child.call_tool("shell", {}, run=face.own(ran)))
                raise AssertionError("it does not go on")
            interrupted.append(child.interrupted)

        async with (
            face.block(face.host([plugin])) as host,
            face.group() as start,
            face.block(host.session()) as session,
        ):
            async with face.block(session.turn("x")) as turn:
                made.append(turn.subagent("look", background=True))
                start(work)
                await face.until(lambda: len(made) == 2)
            if how == "reset":
                session.reset()
            elif how == "interrupt_all":
                session.interrupt_all()

    face.run(story)
    assert interrupted == [True]
    first = [
        one
        for one in plugin.fired()
        if one.params["session_id"] == plugin.fired()[0].params["session_id"]
    ]
    names = [one.name for one in first]
    assert names[-4:] == ["agent_loop_stopped", "turn_end", "subagent_stop", "session_end"]
    check_pairs([{"method": one.method, "params": one.params} for one in first], nested=False)


def open_turns(session: Any) -> list[Any]:
    return [] if session.open_turn is None else [session.open_turn]


# -- without blocks
# -------------------------------------------------------------------------------------------------


@beside_tasks
def test_sessions_and_turns_are_entered_and_left_by_plain_calls(face: Face) -> None:
    """By any thread or task, and in the order of the calls."""
    plugin = ear()

    async def story() -> None:
        host = await face.got(face.host([plugin]).enter())
        session = await face.got(host.session().enter())
        turn = session.turn("x")
        assert open_turns(session) == []

        async def begin() -> None:
            assert await face.got(turn.enter()) is turn

        async def end() -> None:
            await face.got(turn.leave(LookupError("broken")))

        async with face.group() as start:
            start(begin)
        assert session.open_turn is turn
        assert (await face.got(turn.call_tool("a", {}, run=face.own(ran)))).text() == "ran"
        child = await face.got(turn.subagent("look").enter())
        await face.got(child.leave())
        assert (child.outcome, child.agent_depth) == ("completed", 1)
        async with face.group() as start:
            start(end)
        assert (open_turns(session), turn.outcome, turn.ended) == ([], "failed", True)
        before = session.ended
        await face.got(session.leave())
        assert (before, session.ended) == (False, True)
        await face.got(host.leave())

    face.run(story)
    assert told(plugin)[-1] == "session_end"


@beside_tasks
def test_an_interrupt_of_a_turn_without_a_block_reaches_its_calls(face: Face) -> None:
    plugin = ear()

    async def story() -> None:
        async with face.block(face.host([plugin])) as host, face.block(host.session()) as session:
            turn = await face.got(session.turn("x").enter())
            assert session.interrupt() is True
            with pytest.raises(face.interrupted) as caught:
                await face.got(turn.stop())
            await face.got(turn.leave(caught.value))
            assert turn.outcome == "interrupted"
            async with face.block(session.turn("next")):
                pass

    face.run(story)
    assert [one.outcome for one in plugin.payloads("turn_end")] == ["interrupted", "completed"]


@beside_tasks
@pytest.mark.parametrize("what", ["session", "host"])
def test_a_turn_that_nobody_left_is_interrupted_with_its_session(face: Face, what: str) -> None:
    plugin = ear()

    async def story() -> None:
        host = await face.got(face.host([plugin]).enter())
        session = await face.got(host.session().enter())
        turn = await face.got(session.turn("x").enter())
        await face.got(turn.begin_tool("shell", {}))
        if what == "session":
            await face.got(session.leave())
        await face.got(host.leave())
        assert turn.interrupted

    face.run(story)
    assert told(plugin)[-4:] == ["agent_loop_stopped", "post_tool_call", "turn_end", "session_end"]


# -- small things
# -------------------------------------------------------------------------------------------------


@faces
def test_the_agent_gives_the_id_of_the_new_session(face: Face) -> None:
    plugin = ear()

    async def story() -> None:
        async with (
            face.block(face.host([plugin])) as host,
            face.block(host.session(session_id="first")) as session,
            face.block(host.session(session_id="taken")),
        ):
            session.reset("branch", session_id="second")
            assert session.session_id == "second"
            with pytest.raises(ValueError, match="'taken', which an open session has"):
                session.reset(session_id="taken")
            session.reset()
            assert session.session_id not in ("first", "second", "taken")

    face.run(story)
    [one, two] = plugin.payloads("session_reset")
    assert (one.old_session_id, one.session_id, one.cause) == ("first", "second", "branch")
    assert two.old_session_id == "second"


@faces
def test_a_session_with_the_id_of_an_open_one_is_not_opened(face: Face) -> None:
    plugin = ear()

    async def story() -> None:
        async with face.block(face.host([plugin])) as host:
            second = host.session(session_id="same")
            async with face.block(host.session(session_id="same")) as session:
                with pytest.raises(ValueError, match="'same', which an open session has"):
                    async with face.block(second):
                        pass
                # the first one is still the host's
                async with face.block(session.turn("hi")):
                    await face.until(lambda: "turn_start" in plugin.names())
            async with face.block(second):  # now it is free
                pass

    face.run(story)
    assert plugin.names() == [
        *("session_start", "turn_start", "turn_end", "session_end"),
        *("session_start", "session_end"),
    ]


@faces
def test_whether_anybody_hears_something(face: Face) -> None:
    budget = FakePlugin("budget", hears=["pre_llm_call"])
    reader = FakePlugin(
        "reader", subscriptions=[{"event": "pre_llm_call", "include": ["messages"]}]
    )

    async def story() -> None:
        async with face.block(face.host([budget, reader])) as host:
            assert host.hears("pre_llm_call")
            assert host.hears("pre_llm_call", include="messages")
            assert not host.hears("pre_llm_call", include="tools")
            assert not host.hears("stop")
            await face.got(host.disable("reader"))
            assert not host.hears("pre_llm_call", include="messages")
            assert host.hears("pre_llm_call")
            with pytest.raises(ValueError, match="'pre_lm_call' is no hook or event"):
                host.hears("pre_lm_call")
            with pytest.raises(ValueError, match="'message' is no heavy field of pre_llm_call"):
                host.hears("pre_llm_call", include="message")

    face.run(story)


@faces
def test_whether_a_guard_would_be_asked(face: Face) -> None:
    ear = FakePlugin("ear", subscriptions=[{"event": "pre_tool_call", "mode": "event"}])
    open_one = FakePlugin("open", subscriptions=[{"event": "pre_tool_call", "on_failure": "open"}])
    guard = FakePlugin(
        "guard",
        subscriptions=[
            {"event": "pre_tool_call", "match": {"tool_name": "ls"}, "on_failure": "open"},
            {"event": "pre_tool_call", "match": {"tool_kind": "shell"}},
            {"event": "pre_tool_call", "match": {"tool_name": "rm*", "origin": "agent"}},
            {
                "event": "pre_tool_call",
                "match": {"tool_name": "mv"},
                "on_failure": "open",
                "subagents": False,
            },
            {"event": "pre_tool_call", "match": {"tool_name": "mv"}},
        ],
    )

    async def story() -> None:
        async with face.block(face.host([ear, open_one, guard])) as host:

            def guarded(tool_name: str, tool_kind: str | None) -> bool:
                known = {"tool_name": tool_name, "tool_kind": tool_kind}
                heard: bool = host.hears("pre_tool_call", closed=True, **known)
                return heard

            assert host.hears("pre_tool_call", closed=True)
            assert guarded("sh", "shell")
            assert guarded("sh", None)  # nobody knows what it does
            assert not guarded("ls", "shell")
            assert not guarded("cat", "read")
            assert guarded("rmdir", "edit")  # its origin was not said
            assert guarded("mv", "edit")  # a child agent may want it
            assert not host.hears("pre_llm_call", closed=True)
            await face.got(host.disable("guard"))
            assert host.hears("pre_tool_call")
            assert not guarded("sh", "shell")

    face.run(story)
