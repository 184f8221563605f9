"""What an agent hands over is looked into before anything is sent, counted or changed."""

from __future__ import annotations

import enum
import sys
from collections import OrderedDict
from collections.abc import Callable
from functools import partial, reduce, wraps
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, cast

import pytest
from trio.testing import MockClock

import sliphook
from sliphook import PluginHost, ToolOutcome
from sliphook.session.arguments import structs
from sliphook.session.submission import Submission
from sliphook.testing import FakePlugin
from sliphook_sdk.protocol import (
    LlmFailure,
    Message,
    ModelRoute,
    ModelTool,
    Part,
    ToolCallRequest,
    Usage,
)
from tests.portal.faces import Face, InAsyncio, InThreads, InTrio
from tests.programs import EVERYTHING, Workshop


class Place(NamedTuple):
    """The host, a session and a turn, of any face."""

    host: Any
    session: Any
    turn: Any


def message(**changed: Any) -> Message:
    given: dict[str, Any] = {"role": "assistant", "content": "x"}
    return Message(**given | changed)


def call(**changed: Any) -> ToolCallRequest:
    given: dict[str, Any] = {"call_id": "c", "name": "shell", "arguments": {}}
    return ToolCallRequest(**given | changed)


def tool(**changed: Any) -> ModelTool:
    given: dict[str, Any] = {"name": "shell", "description": "x", "input_schema": {}}
    return ModelTool(**given | changed)


def before(**changed: Any) -> Callable[[Place], Any]:
    given: dict[str, Any] = {"provider": None, "model": None, "messages": [], "tools": []}
    return lambda place: place.turn.pre_llm_call(**given | changed)


def after(**changed: Any) -> Callable[[Place], Any]:
    given: dict[str, Any] = {
        "provider": "p",
        "model": "m",
        "response": message(),
        "finish_reason": "stop",
        "usage": Usage(),
        "duration_ms": 1.0,
    }
    return lambda place: place.turn.post_llm_call(**given | changed)


def failed(**changed: Any) -> Callable[[Place], Any]:
    given: dict[str, Any] = {
        "attempt": 1,
        "kind": "http",
        "status": 500,
        "message": "x",
        "will_retry": False,
    }
    return lambda place: place.turn.llm_call_failed(**given | changed)


def usage(**given: Any) -> Callable[[Place], Any]:
    return after(usage=Usage(**given))


def calls(*given: Any) -> Callable[[Place], Any]:
    return after(response=message(tool_calls=list(given)))


def submission(**changed: Any) -> Submission:
    given = dict.fromkeys(Submission.__struct_fields__, "x")
    return Submission(**given | changed)


LARGE = "has more than 308 digits"
HUGE = 10**308
ANY: Any = object()
DEEP: Any = reduce(lambda inner, _: {"in": inner}, range(3_000), cast(Any, {}))
"""A repr of it would go too deep."""


async def later(*_: object) -> None:
    pass


# fmt: off
WRONG: list[tuple[Callable[[Place], Any], str]] = [
    # what the model said
    (after(response=message(content=3)), "response.content must be a str or None, not int"),
    (after(response=message(content=[{"type": "text", "text": "x"}])), "response.content must be a str or None, not list"),
    (after(response=message(content=b"x")), "response.content must be a str or None, not bytes"),
    (after(response=message(role=3)), "response.role must be a str, not int"),
    (after(response=message(call_id=3)), "response.call_id must be a str or None, not int"),
    (after(response=message(parts=["x"])), "response.parts[0] must be a Part, not str"),
    (after(response=message(parts=[Part(type="text", text=ANY)])), "response.parts[0].text must be a str or None, not object"),
    (after(response=message(parts="x")), "response.parts must be a list or None, not str"),
    (after(response={"role": "assistant"}), "response must be a Message, not dict"),
    (after(response=None), "response must be a Message, not NoneType"),
    (calls({"name": "shell"}), "response.tool_calls[0] must be a ToolCallRequest, not dict"),
    (calls(call(), call(call_id=None)), "response.tool_calls[1].call_id must be a str, not NoneType"),
    (calls(call(arguments=None)), "response.tool_calls[0].arguments must be a dict, not NoneType"),
    (calls(call(arguments="{}")), "response.tool_calls[0].arguments must be a dict, not str"),
    (calls(call(arguments={"a": ANY})), "response.tool_calls[0].arguments cannot be sent: Encoding objects of type object"),
    (usage(input_tokens="x"), "usage.input_tokens must be an int or None, not str"),
    (usage(output_tokens=3.0), "usage.output_tokens must be an int or None, not float"),
    (usage(cached_tokens=-1.5), "usage.cached_tokens must be an int or None, not float"),
    (usage(input_tokens=True), "usage.input_tokens must be an int or None, not bool"),
    (usage(input_tokens=HUGE), f"usage.input_tokens {LARGE}"),
    (after(usage=None), "usage must be a Usage, not NoneType"),
    (after(duration_ms=HUGE), f"duration_ms {LARGE}"),
    (after(duration_ms="1"), "duration_ms must be a number or None, not str"),
    (after(finish_reason=3), "finish_reason must be a str or None, not int"),
    (after(routed_by=3), "routed_by must be a str or None, not int"),
    # what it is asked
    (before(messages=[message(), message(content=3)]), "messages[1].content must be a str or None, not int"),
    (before(messages=(message(tool_calls=[{}]),)), "messages[0].tool_calls[0] must be a ToolCallRequest, not dict"),
    (before(messages=[{"role": "user"}]), "messages[0] must be a Message, not dict"),
    (before(messages=(one for one in [message()])), "messages must be a list of Message, not generator"),
    (before(messages=None), "messages must be a list of Message, not NoneType"),
    (before(tools=[tool(description=None)]), "tools[0].description must be a str, not NoneType"),
    (before(tools=[tool(), tool(input_schema=None)]), "tools[1].input_schema must be a dict, not NoneType"),
    (before(tools=[tool(input_schema={"type": ANY})]), "tools[0].input_schema cannot be sent: Encoding"),
    (before(tools="shell"), "tools must be a list of ModelTool, not str"),
    (before(route=ModelRoute(api=ANY)), "route.api must be a str or None, not object"),
    (before(route=ModelRoute(api="x")), "route.api is 'x'; it must be one of anthropic, openai"),  # type: ignore[arg-type]
    (before(route=ModelRoute(parameters=ANY)), "route.parameters must be a dict or None, not object"),
    (before(route="openai"), "route must be a ModelRoute or None, not str"),
    (before(attempt=2, failure=LlmFailure(kind="http", status=ANY, message="x")), "failure.status must be an int or None, not object"),
    (before(attempt=True), "attempt must be an int, not bool"),
    (failed(will_retry=1), "will_retry must be a bool, not int"),
    (failed(will_retry=None), "will_retry must be a bool, not NoneType"),
    (failed(status=HUGE), f"status {LARGE}"),
    (failed(attempt=HUGE), f"attempt {LARGE}"),
    (failed(message=3), "message must be a str, not int"),
    (before(on_text=3), "on_text must be a function or None, not int"),
    (before(on_text=later), "on_text must be a plain function, not an async one"),
    # tools and questions
    (lambda at: at.turn.call_tool("own", {}, run=3), "run must be a function or None, not int"),
    (lambda at: at.turn.call_tool("own", {}, run=""), "run must be a function or None, not str"),
    (lambda at: at.turn.call_tool("own", {}, run=later, input_schema=[]), "input_schema must be a dict or None, not list"),
    (lambda at: at.turn.call_tool("own", {}, run=later, tool_kind=DEEP), "tool_kind must be a str or None, not dict"),
    (lambda at: at.turn.call_tool("own", {}, run=later, origin="x" * 99), f"origin is '{'x' * 80}…'; it must be agent, or "),
    (lambda at: at.turn.begin_tool("own", {}, own="no"), "own must be a bool, not str"),
    (lambda at: at.turn.begin_tool("own", {}, input_schema=True), "input_schema must be a dict or None, not bool"),
    (lambda at: at.turn.begin_tool("own", {}, tool_kind=DEEP), "tool_kind must be a str or None, not dict"),
    (lambda at: at.turn.decide("question", "x", 3), "asks must be a function or None, not int"),
    (lambda at: at.turn.decide(DEEP, "x", None), "kind must be a str, not dict"),
    (lambda at: at.turn.tell_question(DEEP, "x"), "kind must be a str, not dict"),
    (lambda at: at.turn.subagent("x", background="no"), "background must be a bool, not str"),
    (lambda at: at.turn.finish(DEEP), "outcome must be a str, not dict"),
    (lambda at: at.turn.finish("x" * 99), f"outcome is '{'x' * 80}…'; it must be one of "),
    (lambda at: at.turn.interrupt(DEEP), "reason must be a str, not dict"),
    (lambda at: at.turn.call_tool(3, {}), "name must be a str, not int"),
    (lambda at: at.turn.call_tool("own", {}, model_call_id=3), "model_call_id must be a str or None, not int"),
    (lambda at: at.turn.begin_tool("own", {}, tool_kind="x"), "tool_kind is 'x'; it must be one of shell, "),
    (lambda at: at.turn.begin_tool("own", {}, origin=3), "origin must be a str, not int"),
    (lambda at: at.turn.decide("question", 3, None), "prompt must be a str, not int"),
    (lambda at: at.turn.tell_question("question", "x", call_id=3), "call_id must be a str or None, not int"),
    (lambda at: at.turn.end_question("x", allowed="no"), "allowed must be a bool or None, not str"),
    (lambda at: at.turn.end_question(3, allowed=True), "told must be a str, not int"),
    (lambda at: at.turn.subagent(3), "goal must be a str, not int"),
    (lambda at: at.turn.finish(3), "outcome must be a str, not int"),
    (lambda at: at.turn.interrupt("user_stop", 3), "invalidation_reason must be a str, not int"),
    # the session
    (lambda at: at.session.turn("x", interrupt="no"), "interrupt must be a bool, not str"),
    (lambda at: at.session.turn("x", source=DEEP), "source must be a str, not dict"),
    (lambda at: at.session.interrupt(DEEP), "reason must be a str, not dict"),
    (lambda at: at.session.drop_submission(submission(), DEEP), "outcome must be a str, not dict"),
    (lambda at: at.session.notification(DEEP, "x"), "level must be a str, not dict"),
    (lambda at: at.session.end(DEEP), "reason must be a str, not dict"),
    (lambda at: at.session.turn(submission(text=3)), "text.text must be a str, not int"),
    (lambda at: at.session.drop_submission("x"), "submission must be a Submission, not str"),
    (lambda at: at.session.interrupt_all(3), "reason must be a str, not int"),
    (lambda at: at.session.reset("x", session_id=3), "session_id must be a str or None, not int"),
    (lambda at: at.session.notification("info", "x", None), "source must be a str, not NoneType"),
    (lambda at: at.session.run_command("x", 3), "arguments must be a str, not int"),
    # the host
    (lambda at: at.host.session(on_interrupt=3), "on_interrupt must be a function or None, not int"),
    (lambda at: at.host.session(on_interrupt=later), "on_interrupt must be a plain function, not an async one"),
    (lambda at: at.host.session(source=DEEP), "source must be a str, not dict"),
    (lambda at: at.host.hears("stop", closed="no"), "closed must be a bool, not str"),
    (lambda at: at.host.hears("stop", replaces=1), "replaces must be a bool, not int"),
    (lambda at: at.host.session(meta=[1]), "meta must be a dict or None, not list"),
    (lambda at: at.host.session(meta="x"), "meta must be a dict or None, not str"),
    (lambda at: at.host.session(meta={"a": ANY}), "meta cannot be sent: Encoding objects of type object"),
    (lambda at: at.host.session(cwd=3), "cwd must be a str or None, not int"),
    (lambda at: at.host.session(cwd=b"/"), "cwd must be a str or None, not bytes"),
    (lambda at: at.host.session(platform=3), "platform must be a str or None, not int"),
    (lambda at: at.host.restart(3), "name must be a str, not int"),
    (lambda at: at.host.disable(None), "name must be a str, not NoneType"),
    (lambda at: at.host.update("plugin.py"), "plugins must be a list of paths or PluginSpec, not str"),
    (lambda at: at.host.update([3]), "plugins[0] must be a path or a PluginSpec, not int"),
    (lambda at: at.host.hide("secret"), "secrets must be a list of str, not str"),
    (lambda at: at.host.hide(["x", 3]), "secrets[1] must be a str, not int"),
    (lambda at: at.host.tools(3), "session_id must be a str or None, not int"),
    (lambda at: at.host.hears("stop", turn_id=3), "turn_id must be a str or None, not int"),
    (lambda at: at.host.fire("stopp", message()), "'stopp' is no hook or event; there are session_start, "),
    (lambda at: at.host.fire("stop", message()), "payload must be a Stop, not Message"),
    (lambda at: at.host.call_plugin_tool("x", {}), "params must be a ToolCallParams, not dict"),
    (lambda at: at.host.ask_raw("ear", 3, {}, timeout_s=1), "method must be a str, not int"),
    (lambda at: at.host.ask_raw("ear", "x", [], timeout_s=1), "params must be a dict, not list"),
]
# fmt: on


@pytest.mark.parametrize("face", [InTrio(), InThreads(), InAsyncio()], ids=lambda face: face.name)
@pytest.mark.parametrize(("wrong", "why"), WRONG, ids=[why for _, why in WRONG])
def test_nothing_is_sent_of_it(
    face: Face, wrong: Callable[[Place], Any], why: str, caplog: pytest.LogCaptureFixture
) -> None:
    ear = FakePlugin("ear", hears=EVERYTHING)

    async def story() -> None:
        async with face.block(face.host([ear])) as host, face.block(host.session()) as session:
            await face.got(session.ready())  # else its end cancels a hook, which may be told
            async with face.block(session.turn("x")) as turn:
                with pytest.raises((TypeError, ValueError)) as caught:
                    await face.got(wrong(Place(host, session, turn)))
                assert str(caught.value).startswith(why)
            assert turn.outcome == "completed"

    face.run(story)
    assert ear.names() == ["session_start", "turn_start", "turn_end", "session_end"]
    over = ear.fired()[-2].params
    assert (over["model_calls"], over["usage"], over["last_assistant_message"]) == (
        0,
        {"input_tokens": None, "output_tokens": None, "cached_tokens": None},
        None,
    )
    assert caplog.records == []


@pytest.mark.parametrize("face", [InTrio(), InThreads(), InAsyncio()], ids=lambda face: face.name)
def test_a_call_whose_end_is_wrong_is_still_open(face: Face) -> None:
    ear = FakePlugin("ear", hears=EVERYTHING)

    async def story() -> None:
        async with (
            face.block(face.host([ear])) as host,
            face.block(host.session()) as session,
            face.block(session.turn("x")) as turn,
        ):
            begun = await face.got(turn.begin_tool("own", {}))
            with pytest.raises(TypeError, match=r"^error must be an exception or None, not str"):
                await face.got(begun.end(error="it broke"))
            with pytest.raises(TypeError, match=r"^cancelled must be a bool, not str"):
                await face.got(begun.end("done", cancelled="no"))
            assert begun.outcome is None
            ended: ToolOutcome = await face.got(begun.end("done"))
            assert ended.status == "ok"

    face.run(story)
    assert ear.names()[2:4] == ["pre_tool_call", "post_tool_call"]


CALLED = [
    "approver",
    "asker",
    "can_ask",
    "on_submit",
    "on_notify",
    "on_progress",
    "on_log",
    "on_problem",
    "on_offers",
]


@pytest.mark.parametrize("face", [InTrio(), InThreads(), InAsyncio()], ids=lambda face: face.name)
@pytest.mark.parametrize(
    ("given", "why"),
    [
        *(({name: 3}, f"{name} must be a function or None, not int") for name in CALLED),
        *(({name: later}, f"{name} must be a plain function, not an async") for name in CALLED[2:]),
        ({"approver_queues": "no"}, "approver_queues must be a bool, not str"),
        ({"plugin_messages": DEEP}, "plugin_messages must be a str, not dict"),
        ({"providers": 3}, "providers must be a dict or None, not int"),
        ({"providers": ["x"]}, "providers must be a dict or None, not list"),
        ({"providers": {3: None}}, "a name in providers must be a str, not int"),
        ({"providers": {"x": 3}}, r"providers\['x'\] must be a str or None, not int"),
        ({"trace": 3}, r"trace must be an object with record\(\) and hide\(\) or None, not int"),
        ({"trace": Path()}, r"trace must be an object with record\(\) and hide\(\) or None, not"),
        (
            {"spans": 3},
            r"spans must be an object with hook\(\) and told\(\) and span_of\(\) or None",
        ),
        ({"data_home": 3}, "data_home must be a path or None, not int"),
        ({"data_home": b"x"}, "data_home must be a path or None, not bytes"),
        ({"log_dir": 3}, "log_dir must be a path or None, not int"),
        ({"name": 3}, "name must be a str, not int"),
        ({"plugins": "plugin.py"}, "plugins must be a list of paths or PluginSpec, not str"),
        ({"plugins": [3]}, r"plugins\[0\] must be a path or a PluginSpec, not int"),
        ({"reserved_tools": "shell"}, "reserved_tools must be a list of str, not str"),
        ({"reserved_commands": [3]}, r"reserved_commands\[0\] must be a str, not int"),
        ({"open_wait_s": HUGE}, f"open_wait_s {LARGE}"),
        ({"timeout_cap_s": "1"}, "timeout_cap_s must be a number or None, not str"),
    ],
)
def test_a_host_is_not_made_of_it(face: Face, given: dict[str, Any], why: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{why}"):
        face.host(**given)


@pytest.mark.parametrize("name", ["approver", "asker"])
def test_each_face_says_which_kind_of_function_asks_its_person(name: str) -> None:
    def now(_: object) -> bool:
        return True

    def decorated(request: object) -> Any:
        return later(request)

    threads: Face = InThreads()
    only_returns: Callable[[], Any] = lambda: later(name)  # noqa: E731 - no `def`
    awaiting: list[Face] = [InTrio(), InAsyncio()]
    for face in awaiting:
        with pytest.raises(TypeError, match=f"^{name} must be an async function, not a plain one"):
            face.host(**{name: now})
        with pytest.raises(TypeError, match=f"^{name} must be an async function, not a plain one"):
            face.host(**{name: partial(now)})
        # what only returns a coroutine can be awaited too
        for right in [later, partial(later), wraps(later)(decorated), only_returns, Person()]:
            face.host(**{name: right})
    with pytest.raises(TypeError, match=f"^{name} must be a plain function, not an async one"):
        threads.host(**{name: later})
    with pytest.raises(TypeError, match=f"^{name} must be a plain function, not an async one"):
        threads.host(**{name: Person()})
    threads.host(**{name: now})


@pytest.mark.parametrize("face", [InTrio(), InThreads(), InAsyncio()], ids=lambda face: face.name)
def test_a_text_is_a_path(face: Face, tmp_path: Path, shop: Workshop) -> None:
    says = 'os.write(2, b"no\\n")\nreturn {"decision": "deny"}'
    guard = shop.program("guard", hears=["pre_tool_call"], on=says)
    homes = {"data_home": str(tmp_path / "data"), "log_dir": str(tmp_path / "logs")}

    async def story() -> None:
        async with (
            face.block(face.host([guard.path], **homes)) as host,
            face.block(host.session()) as session,
            face.block(session.turn("x")) as turn,
        ):
            outcome = await face.got(turn.call_tool("own", {}, run=face.own(str)))
            assert outcome.status == "denied"

    face.run(story)
    assert (tmp_path / "data" / "guard").is_dir()
    assert (tmp_path / "logs" / "guard.log").is_file()


class Person:
    async def __call__(self, _: object) -> bool:
        return True


class Text(str):
    pass


class Count(int):
    pass


class Share(float):
    pass


class Role(enum.StrEnum):
    USER = "user"


class MyMessage(Message, frozen=True, kw_only=True):
    note: object = None


async def test_what_is_sent_in_the_right_type_is_taken(autojump_clock: MockClock) -> None:
    asks: list[dict[str, Any]] = [
        {"event": "pre_llm_call", "include": ["messages", "tools"]},
        {"event": "post_llm_call", "mode": "event", "include": ["response"]},
        {"event": "turn_end", "mode": "event"},
    ]
    ear = FakePlugin("ear", subscriptions=asks)
    asked: Any = (
        Message(role=Role.USER, content=Text("hi")),
        MyMessage(role="assistant", content=None, tool_calls=(call(),)),  # type: ignore[arg-type]
        message(role="tool", parts=[Part(type="text", text="x")], call_id="c"),
    )
    async with (
        PluginHost([ear]) as host,
        host.session(meta=OrderedDict(a=Count(1)), session_key=Text("k")) as session,
        session.turn(Text("x")) as turn,
    ):
        route = ModelRoute(api="openai", parameters={"t": Share(0.5), 1: 2})  # type: ignore[dict-item]
        await turn.pre_llm_call(
            provider=None,
            model=None,
            messages=asked,
            tools=[tool()],
            route=route,
        )
        turn.post_llm_call(
            provider=None,
            model=Text("m"),
            response=message(content=Text("done"), tool_calls=[]),
            finish_reason=None,
            usage=Usage(input_tokens=Count(3), output_tokens=10**308 - 1),
            duration_ms=1,
        )
    hook, told, over = (one.params for one in ear.fired())
    assert [one["role"] for one in hook["messages"]] == ["user", "assistant", "tool"]
    assert hook["messages"][0]["content"] == "hi"
    assert hook["messages"][1]["tool_calls"][0]["name"] == "shell"
    assert hook["route"]["parameters"] == {"t": 0.5, "1": 2}
    assert (hook["meta"], hook["session_key"]) == ({"a": 1}, "k")
    assert (told["usage"]["input_tokens"], told["duration_ms"]) == (3, 1)
    assert over["last_assistant_message"] == "done"


async def test_a_long_conversation_is_looked_into_once(autojump_clock: MockClock) -> None:
    """Python's calls in the host are counted, as time differs by machine."""
    counted = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal counted
        host = str(Path(sliphook.__file__).parent)
        counted += event == "call" and frame.f_code.co_filename.startswith(host)

    async def work() -> int:
        nonlocal counted
        counted = 0
        sys.setprofile(count)
        try:
            await turn.pre_llm_call(
                provider=None, model=None, messages=conversation, tools=tools, attempt=1
            )
        finally:
            sys.setprofile(None)
        return counted

    conversation = [message(content=str(index)) for index in range(5_000)]
    tools = [tool(name=str(index)) for index in range(100)]
    async with PluginHost([]) as host, host.session() as session:
        async with session.turn("x") as turn:
            assert await work() > 5_000
            conversation += [message(), message()]
            assert await work() < 100
        async with session.turn("y") as turn:
            tools = [
                tool(name=one.name, description=one.description, input_schema=one.input_schema)
                for one in tools
            ]
            assert await work() < 250  # one for each tool, and three if it is looked into
            conversation = [message(role="system"), *conversation[1:]]
            assert await work() < 100
            async with turn.subagent("z") as child:
                short = [message()]
                await child.pre_llm_call(provider=None, model=None, messages=short, tools=[])
            assert await work() < 100
            conversation[2_500] = message(content=3)
            with pytest.raises(TypeError, match=r"^messages\[2500\]\.content must be a str"):
                await work()
            conversation[2_500] = message()
        session.reset()  # nothing of the old conversation is kept
        async with session.turn("x") as turn:
            assert await work() > 5_000


def test_others_run_while_a_conversation_is_looked_into() -> None:
    """Each pause is 5 ms after the one before; `make torture` measures it."""
    conversation = [message()] * 60_000
    steps = structs.CheckedLists().check_in_steps("messages", conversation, Message)
    assert sum(1 for _ in steps) == 18
    calling = [message(tool_calls=[call(arguments={"text": "x" * 100_000})]) for _ in range(45)]
    steps = structs.CheckedLists().check_in_steps("messages", calling, Message)
    assert sum(1 for _ in steps) == 9
