"""A tool call in two halves, on each face: one `post_tool_call` for each `pre_tool_call`."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import pytest
import trio

from sliphook import ApprovalRequest, HostError, PluginHost, Turn
from sliphook.testing import HANGS, After, FakePlugin
from sliphook_sdk.protocol import Answer, ToolResult
from tests.pairs import check_pairs
from tests.programs import EVERYTHING, WAIT_S

from .faces import FACES, Face

SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}}

faces = pytest.mark.parametrize("face", FACES, ids=[face.name for face in FACES])


def ear(**fields: Any) -> FakePlugin:
    return FakePlugin("ear", hears=["turn_start", "turn_end", "post_tool_call"], **fields)


def ends(plugin: FakePlugin) -> list[tuple[str, bool, str | None]]:
    """How each call was told to have ended: the status, whether it began, what it said."""
    return [
        (one.status, one.started, one.result.content if one.result is not None else None)
        for one in plugin.payloads("post_tool_call")
    ]


def ran(_: object) -> str:
    return "ran"


def in_a_turn(
    face: Face, story: Callable[[Any, Any], Any], *plugins: FakePlugin, **settings: Any
) -> None:
    """Run a story that gets a session and its turn."""

    async def all_of_it() -> None:
        async with (
            face.block(face.host(plugins, **settings)) as host,
            face.block(host.session()) as session,
            face.block(session.turn("x")) as turn,
        ):
            await story(session, turn)

    face.run(all_of_it)


@contextmanager
def left_interrupted(face: Face, turn: Any) -> Generator[None]:
    """The block is left by what the face raises in an interrupted turn, which goes on."""
    try:
        yield
    except face.interrupted:
        assert turn.interrupted
        raise
    raise AssertionError("it was not interrupted")


@faces
def test_a_call_that_is_allowed_is_ended_by_the_agent(face: Face) -> None:
    plugin = ear(
        hooks={
            "pre_tool_call": Answer(
                replace={"arguments": {"command": "ls -l"}}, context=["be quick"]
            ),
            "post_tool_call": Answer(replace={"result": {"content": "two files"}}),
        },
        subscriptions=[
            {"event": "pre_tool_call", "replaces": True},
            {"event": "post_tool_call", "replaces": True},
        ],
    )

    async def story(_: Any, turn: Any) -> None:
        call = await face.got(
            turn.begin_tool("shell", {"command": "ls"}, model_call_id="m-1", input_schema=SCHEMA)
        )
        assert (call.name, call.arguments, call.outcome) == ("shell", {"command": "ls -l"}, None)
        assert turn.tools_begun == {"m-1"}
        assert ends(plugin) == []
        outcome = await face.got(call.end("a b"))
        assert (outcome.call_id, outcome.status) == (call.call_id, "ok")
        assert outcome.text() == "two files\n\n[ear] be quick"
        assert call.outcome == outcome

    in_a_turn(face, story, plugin)
    assert ends(plugin) == [("ok", True, "a b")]


@faces
def test_the_agent_says_where_its_tool_comes_from(face: Face) -> None:
    plugin = FakePlugin("ear", hears=["pre_tool_call", "post_tool_call"], tools={"look": "fine"})

    async def story(_: Any, turn: Any) -> None:
        call = await face.got(turn.begin_tool("mcp__files__read", {}, origin="mcp:files"))
        await face.got(call.end())
        await face.got(turn.call_tool("x", {}, run=face.own(ran), origin="mcp:files"))
        await face.got(turn.call_tool("look", {}, origin="mcp:files"))
        await face.got(turn.call_tool("x", {}, run=face.own(ran)))
        for method in (turn.begin_tool, turn.call_tool):
            with pytest.raises(ValueError, match=r"origin is 'ear'; it must be agent, or a text"):
                await face.got(method("x", {}, origin="ear"))

    in_a_turn(face, story, plugin)
    for name in ("pre_tool_call", "post_tool_call"):
        origins = [one.origin for one in plugin.payloads(name)]
        assert origins == ["mcp:files", "mcp:files", "ear", "agent"]


@faces
def test_the_agent_says_what_the_tool_does(face: Face) -> None:
    plugin = FakePlugin(
        "ear",
        hooks={"pre_tool_call": None},
        subscriptions=[
            {"event": "pre_tool_call", "match": {"tool_kind": ["shell", "edit"]}},
            {"event": "post_tool_call", "mode": "event"},
        ],
    )

    async def story(_: Any, turn: Any) -> None:
        for kind in ("shell", "read", None):
            run = face.own(ran)
            await face.got(turn.call_tool("x", {}, run=run, tool_kind=kind))
        for kind in ("edit", "other", None):
            call = await face.got(turn.begin_tool("y", {}, tool_kind=kind))
            await face.got(call.end())
        for method in (turn.begin_tool, turn.call_tool):
            with pytest.raises(ValueError, match=r"tool_kind is 'bash'; it must be one of shell, "):
                await face.got(method("x", {}, tool_kind="bash"))

    in_a_turn(face, story, plugin)
    before = [(one.tool_name, one.tool_kind) for one in plugin.payloads("pre_tool_call")]
    assert before == [("x", "shell"), ("x", None), ("y", "edit"), ("y", None)]
    after = [one.tool_kind for one in plugin.payloads("post_tool_call")]
    assert after == ["shell", "read", None, "edit", "other", None]


@faces
def test_a_call_that_is_denied_is_over(face: Face) -> None:
    plugin = ear(hooks={"pre_tool_call": {"decision": "deny", "reason": "not today"}})

    async def story(_: Any, turn: Any) -> None:
        call = await face.got(turn.begin_tool("shell", {}))
        assert call.outcome is not None
        assert call.outcome.status == "denied"
        assert [reason.text for reason in call.outcome.denied_by] == ["not today"]
        # an agent that ends whatever it began does no harm
        assert await face.got(call.end("ran all the same")) == call.outcome

    in_a_turn(face, story, plugin)
    assert ends(plugin) == [("denied", False, "the call of shell was denied: ear: not today")]


@faces
def test_a_question_is_settled_before_it_returns(face: Face) -> None:
    plugin = ear(hooks={"pre_tool_call": {"decision": "ask"}})

    async def story(_: Any, turn: Any) -> None:
        yes = await face.got(turn.begin_tool("shell", {}))
        no = await face.got(turn.begin_tool("other", {}))
        assert (yes.outcome, no.outcome.status) == (None, "denied")
        await face.got(yes.end())

    def approve(asked: ApprovalRequest) -> bool:
        return asked.tool_name == "shell"

    in_a_turn(face, story, plugin, approver=face.own(approve))
    assert [(status, started) for status, started, _ in ends(plugin)] == [
        ("denied", False),
        ("ok", True),
    ]


@faces
def test_a_plugin_gives_the_result(face: Face) -> None:
    plugin = ear(
        hooks={"pre_tool_call": {"substitute": {"result": "cached"}}},
        subscriptions=[{"event": "pre_tool_call", "replaces": True}],
    )

    async def story(_: Any, turn: Any) -> None:
        call = await face.got(turn.begin_tool("shell", {}))
        assert call.outcome is not None
        assert (call.outcome.text(), call.outcome.substituted_by) == ("cached", "ear")

    in_a_turn(face, story, plugin)
    assert ends(plugin) == [("ok", False, "cached")]


@faces
def test_a_call_that_cannot_begin_is_told_to_no_plugin(face: Face) -> None:
    plugin = ear()

    async def story(_: Any, turn: Any) -> None:
        unfit = await face.got(turn.begin_tool("shell", {"command": 1}, input_schema=SCHEMA))
        unknown = await face.got(turn.begin_tool("nowhere", {}, own=False))
        assert [call.outcome.status for call in (unfit, unknown)] == ["error", "error"]
        assert unknown.outcome.text() == "there is no tool named nowhere"
        assert await face.got(unfit.end("x")) == unfit.outcome

    in_a_turn(face, story, plugin)
    assert ends(plugin) == []


@faces
def test_a_plugins_tool_runs_when_the_agent_says_so(face: Face) -> None:
    plugin = ear(tools={"look": "fine"})

    async def story(_: Any, turn: Any) -> None:
        call = await face.got(turn.begin_tool("look", {}, own=False))
        assert call.outcome is None
        assert "tool/call" not in [message.method for message in plugin.received]
        assert (await face.got(call.run())).text() == "fine"
        own = await face.got(turn.begin_tool("shell", {}))
        with pytest.raises(HostError, match="shell is the agent's own tool: run it, and call end"):
            await face.got(own.run())
        await face.got(own.end())

    in_a_turn(face, story, plugin)
    assert ends(plugin) == [("ok", True, "fine"), ("ok", True, "")]


@faces
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"result": {"files": 2}}, ("ok", True, '{"files":2}')),
        ({"result": ToolResult(content="no", is_error=True)}, ("error", True, "no")),
        ({"error": LookupError("no file")}, ("error", True, "the tool shell failed: no file")),
        (
            {"result": b"x"},
            ("error", True, "the tool shell failed: it returned bytes; return a text"),
        ),
        ({"cancelled": True}, ("cancelled", True, "cancelled")),
    ],
    ids=["value", "result", "error", "unfit", "cancelled"],
)
def test_how_a_call_may_end(face: Face, given: dict[str, Any], told: object) -> None:
    plugin = ear()

    async def story(_: Any, turn: Any) -> None:
        call = await face.got(turn.begin_tool("shell", {}))
        outcome = await face.got(call.end(**given))
        assert (outcome.status, outcome.text()) == (ends(plugin)[0][0], ends(plugin)[0][2])
        assert outcome.error is given.get("error") or isinstance(outcome.error, TypeError)
        assert await face.got(call.end("again")) == outcome

    in_a_turn(face, story, plugin)
    assert ends(plugin) == [told]


@faces
def test_two_that_end_one_call_at_the_same_time_tell_it_once(face: Face) -> None:
    """Both get the outcome of the first, also if plugins are still asked about it."""
    plugin = ear(hooks={"post_tool_call": After(0.02, {"context": ["look"]})})
    outcomes: list[Any] = []

    async def story(_: Any, turn: Any) -> None:
        call = await face.got(turn.begin_tool("shell", {}))

        async def end() -> None:
            outcomes.append(await face.got(call.end("ran")))

        async with face.group() as start:
            start(end)
            start(end)

    in_a_turn(face, story, plugin)
    assert outcomes[0] == outcomes[1]
    assert outcomes[0].text() == "ran\n\n[ear] look"
    assert ends(plugin) == [("ok", True, "ran")]


@faces
def test_a_forgotten_call_ends_with_its_turn(face: Face) -> None:
    plugin = ear()
    kept: list[Any] = []

    async def story(_: Any, turn: Any) -> None:
        kept.append(await face.got(turn.begin_tool("shell", {})))

    in_a_turn(face, story, plugin)
    assert ends(plugin) == [("cancelled", True, None)]
    assert plugin.names()[-2:] == ["post_tool_call", "turn_end"]
    assert kept[0].outcome.status == "cancelled"


@faces
def test_an_exception_of_the_agents_ends_the_call_with_the_turn(face: Face) -> None:
    plugin = ear()

    async def story(_: Any, turn: Any) -> None:
        await face.got(turn.begin_tool("shell", {}))
        raise LookupError("between")

    with pytest.raises(LookupError, match="between"):
        in_a_turn(face, story, plugin)
    assert ends(plugin) == [("cancelled", True, None)]


# -- interrupts
# -------------------------------------------------------------------------------------------------


@faces
def test_an_interrupt_between_the_halves(face: Face) -> None:
    plugin = FakePlugin("ear", hears=EVERYTHING)
    statuses: list[str] = []
    begun: list[Any] = []

    async def beside() -> None:
        statuses.append((await face.got(begun[0].end("too late"))).status)

    async def all_of_it() -> None:
        async with (
            face.block(face.host([plugin])) as host,
            face.block(host.session()) as session,
            face.group() as start,
        ):
            async with face.block(session.turn("x")) as turn:
                begun.append(await face.got(turn.begin_tool("shell", {})))
                session.interrupt()
                assert begun[0].outcome.status == "cancelled"
            # another task or thread, which nothing has cancelled
            start(beside)
        assert begun[0].outcome.status == "cancelled"

    face.run(all_of_it)
    assert statuses == ["cancelled"]
    assert ends(plugin) == [("cancelled", True, None)]
    check_pairs([{"method": m.method, "params": m.params} for m in plugin.fired()])


@faces
@pytest.mark.parametrize("where", ["before", "pre_tool_call", "tool", "own", "post_tool_call"])
@pytest.mark.parametrize("begun", [False, True], ids=["call_tool", "begin_tool"])
def test_every_call_in_an_interrupted_turn_raises(face: Face, where: str, begun: bool) -> None:
    """Whenever the interrupt comes, and even if the call is answered at that moment."""
    got: list[str] = []
    handles: list[Any] = []
    said: dict[str, Any] = {}

    def interrupt(*_: Any) -> str:
        said["session"].interrupt()
        return "ran"

    def interrupt_and_abstain(_: object) -> None:
        interrupt()

    plugin = FakePlugin(
        "ear",
        hears=["turn_start", "turn_end"],
        hooks={
            name: interrupt_and_abstain if name == where else None
            for name in ("pre_tool_call", "post_tool_call")
        },
        tools={"look": interrupt if where == "tool" else "fine"},
    )

    async def call(turn: Any) -> Any:
        run = face.own(interrupt if where == "own" else ran)
        own = where != "tool"
        if not begun:
            return await face.got(
                turn.call_tool("shell", {}, run=run) if own else turn.call_tool("look", {})
            )
        handle = await face.got(turn.begin_tool("shell" if own else "look", {}, own=own))
        handles.append(handle)
        if handle.outcome is None and not own:
            await face.got(handle.run())
        elif handle.outcome is None:
            if where == "own":
                interrupt()
            await face.got(handle.end("ran"))
        return await face.got(turn.stop())

    async def all_of_it() -> None:
        async with face.block(face.host([plugin])) as host, face.block(host.session()) as session:
            said["session"] = session
            async with face.block(session.turn("x")) as turn:
                if where == "before":
                    interrupt()
                with left_interrupted(face, turn):
                    got.append((await call(turn)).status)
            assert turn.interrupted

    face.run(all_of_it)
    assert got == []
    # also if the plugins had not answered `post_tool_call`: they may take something out of a result
    assert [handle.outcome.status for handle in handles] == ["cancelled"] * len(handles)
    begun_calls = len(plugin.payloads("pre_tool_call"))
    assert begun_calls == (0 if where == "before" else 1)
    assert len(plugin.payloads("post_tool_call")) == begun_calls


@faces
@pytest.mark.parametrize("name", ["submit", "pre_llm_call", "stop", "decide"])
@pytest.mark.parametrize("before", [False, True], ids=["meanwhile", "before"])
def test_so_does_every_other_call_that_waits(face: Face, name: str, before: bool) -> None:
    said: dict[str, Any] = {}

    def interrupt(_: object) -> None:
        said["session"].interrupt()

    def yes(_: str) -> bool:
        said["session"].interrupt()
        return True

    hook = "user_prompt_submit" if name == "submit" else name
    plugin = FakePlugin(
        "ear",
        hooks={hook: interrupt} if hook in ("stop", "pre_llm_call", "user_prompt_submit") else {},
    )

    def call(turn: Any) -> Any:
        match name:
            case "pre_llm_call":
                return turn.pre_llm_call(provider=None, model=None, messages=[], tools=[])
            case "decide":
                return turn.decide("question", "go on?", face.own(yes))
            case _:
                return getattr(turn, name)()

    async def all_of_it() -> None:
        async with face.block(face.host([plugin])) as host, face.block(host.session()) as session:
            said["session"] = session
            async with face.block(session.turn("x")) as turn:
                if before:
                    session.interrupt()
                with left_interrupted(face, turn):
                    await face.got(call(turn))
            assert turn.interrupted

    face.run(all_of_it)


@faces
def test_what_its_own_tool_raised_is_the_agents(face: Face) -> None:
    plugin = ear()

    def broken(_: Any) -> str:
        raise FileNotFoundError("no such file")

    async def story(_: Any, turn: Any) -> None:
        outcome = await face.got(turn.call_tool("shell", {}, run=face.own(broken)))
        assert outcome.text() == "the tool shell failed: no such file"
        with pytest.raises(FileNotFoundError, match="no such file"):
            raise outcome.error
        fine = await face.got(turn.call_tool("shell", {}, run=face.own(ran)))
        assert fine.error is None

    in_a_turn(face, story, plugin)
    assert ends(plugin) == [
        ("error", True, "the tool shell failed: no such file"),
        ("ok", True, "ran"),
    ]


async def test_a_task_outside_the_block_is_told_that_its_call_was_cancelled() -> None:
    """Nothing may cancel such a task of trio's; the other faces know no such calls."""
    plugin = FakePlugin("ear", hooks={"pre_tool_call": HANGS})
    statuses: list[str] = []

    async def outside(turn: Turn) -> None:
        statuses.append((await turn.call_tool("shell", {}, run=FACES[0].own(ran))).status)

    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([plugin]) as host,
            host.session() as session,
            trio.open_nursery() as nursery,
            session.turn("x") as turn,
        ):
            nursery.start_soon(outside, turn)
            await plugin.hears("pre_tool_call")
            session.interrupt()
    assert statuses == ["cancelled"]
