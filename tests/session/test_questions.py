"""Who answers a question: the person or a plugin, the first counts; and what ends it otherwise."""

# An interrupt leaves a turn's block early; these tests know where it does.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from sliphook import ApprovalRequest, AskRequest, HostError, PluginHost, Session, Turn
from sliphook.plugin.spec import MadeBy
from sliphook.testing import HANGS, FakePlugin, HostRefused
from sliphook_sdk.protocol.questions import UserInputReceived, UserInputRequired
from tests.docs.protocol_sentences.says import limit, says

from .shell import shell

QUESTIONS = ["user_input_required", "user_input_received"]


class Phone(FakePlugin):
    """A plugin that may answer, and hears of questions."""

    def __init__(self, name: str = "phone", **more: Any) -> None:
        settings: dict[str, Any] = {"hears": QUESTIONS, "uses": ["approve"], **more}
        super().__init__(name, **settings)

    async def asked(self, times: int = 1) -> UserInputRequired:
        await self.hears("user_input_required", times=times)
        question: UserInputRequired = self.payloads("user_input_required")[times - 1]
        return question

    async def answers(self, choice: str | None, times: int = 1, **changed: Any) -> bool:
        question = await self.asked(times)
        params = {
            "session_id": question.session_id,
            "question_id": question.question_id,
            "choice": choice,
            **changed,
        }
        return bool((await self.ask("host/answer", **params))["taken"])

    def over(self) -> list[tuple[str, str, str]]:
        payloads: list[UserInputReceived] = self.payloads("user_input_received")
        return [(one.kind, one.choice, one.by) for one in payloads]


class Asker(FakePlugin):
    """A plugin that asks."""

    def __init__(self, name: str = "deploy", **more: Any) -> None:
        settings: dict[str, Any] = {"uses": ["ask"], **more}
        super().__init__(name, **settings)

    async def puts(self, session: Session, prompt: str = "Where to?", **more: Any) -> Any:
        return await self.ask("host/ask", session_id=session.session_id, prompt=prompt, **more)


def guard(name: str = "guard") -> FakePlugin:
    return FakePlugin(name, hooks={"pre_tool_call": {"decision": "ask", "reason": "sure?"}})


class Person:
    """Answers after so many seconds; notes what becomes of the question."""

    def __init__(self, answer: object = True, after_s: float = 5.0) -> None:
        self.notes: list[str] = []
        self._answer = answer
        self._after_s = after_s

    async def __call__(self, request: object) -> Any:
        assert isinstance(request, ApprovalRequest | AskRequest)
        self.notes.append("asked")
        try:
            await trio.sleep(self._after_s)
        except trio.Cancelled:
            self.notes.append("withdrawn")
            raise
        self.notes.append("answered")
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


async def run_shell(turn: Turn) -> str:
    return (await turn.call_tool("shell", {"command": "ls"}, run=shell)).text()


async def beside(
    main: Callable[[], Awaitable[Any]], *others: Callable[[], Awaitable[Any]]
) -> tuple[Any, list[Any]]:
    """What `main` returns, and what the others do that run beside it."""
    found: list[Any] = [None] * len(others)

    async def note(at: int) -> None:
        found[at] = await others[at]()

    with trio.fail_after(2_000):
        async with trio.open_nursery() as nursery:
            for at in range(len(others)):
                nursery.start_soon(note, at)
            result = await main()
    return result, found


# -- approvals


@says(
    "The first answer counts, the person's or a plugin's; the person is told which plugin has"
    " answered."
)
@pytest.mark.parametrize(
    ("choice", "result"),
    [
        ("allow", "ran ls"),
        ("deny", "the call of shell was denied: guard: sure?; phone: declined"),
    ],
)
async def test_a_plugin_approves_before_the_person(
    autojump_clock: MockClock, choice: str, result: str
) -> None:
    phone, person = Phone(), Person()
    told: list[tuple[str, str, str]] = []

    def notify(plugin: str, level: str, message: str) -> None:
        told.append((plugin, level, message))

    async with (
        PluginHost([guard(), phone], approver=person, on_notify=notify) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        text, (taken,) = await beside(lambda: run_shell(turn), lambda: phone.answers(choice))
        assert trio.current_time() < 5
    assert (text, taken, person.notes) == (result, True, ["asked", "withdrawn"])
    assert phone.over() == [("approval", choice, "phone")]
    assert told == [("phone", "info", f"answered Run shell? guard: sure?: {choice}")]


async def test_who_approves_reads_what_will_be_done(autojump_clock: MockClock) -> None:
    """The arguments are those that the tool gets, as other plugins have replaced them."""
    changes = FakePlugin(
        "changes",
        subscriptions=[{"event": "pre_tool_call", "replaces": True}],
        hooks={"pre_tool_call": {"replace": {"arguments": {"command": "ls -l"}}}},
    )
    by_name = {"event": "user_input_required", "match": {"tool_name": "shell", "origin": "agent"}}
    phone, other = Phone(), Phone("other", hears=[], subscriptions=[by_name])
    async with (
        PluginHost([guard(), changes, phone, other], approver=Person()) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):

        async def call() -> str:
            arguments = {"command": "rm -rf /"}
            called = await turn.call_tool("shell", arguments, run=shell, tool_kind="shell")
            return called.text()

        text, _ = await beside(call, lambda: phone.answers("allow"))
        await turn.decide("max_iterations", "go on?", None)
        told = await phone.asked(times=2)
    assert text == "ran ls -l"
    first = phone.payloads("user_input_required")[0]
    assert (first.tool_name, first.tool_kind, first.origin, first.arguments) == (
        "shell",
        "shell",
        "agent",
        {"command": "ls -l"},
    )
    assert (told.tool_name, told.tool_kind, told.origin, told.arguments) == (None,) * 4
    assert [one.kind for one in other.payloads("user_input_required")] == ["approval"]


async def test_the_kind_of_a_tool_is_no_pattern_for_who_approves(
    autojump_clock: MockClock,
) -> None:
    """Null would fit it: what is not known would be allowed as what is named."""
    by_kind = {"event": "user_input_required", "match": {"tool_kind": "read"}}
    async with PluginHost([Phone(hears=[], subscriptions=[by_kind])]) as host:
        assert host.plugins[0].state == "failed"
        assert "match names 'tool_kind', which cannot be matched" in (host.plugins[0].why or "")


async def test_the_person_approves_before_the_plugin(autojump_clock: MockClock) -> None:
    phone, person = Phone(), Person(after_s=1)

    async def later() -> bool:
        await phone.hears("user_input_received")
        return await phone.answers("deny")

    async with (
        PluginHost([guard(), phone], approver=person) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        text, (taken,) = await beside(lambda: run_shell(turn), later)
    assert (text, taken, person.notes) == ("ran ls", False, ["asked", "answered"])
    assert phone.over() == [("approval", "allow", "user")]
    question = phone.payloads("user_input_required")[0]
    assert question.schema == {"type": "string", "enum": ["allow", "deny"]}
    assert question.asked_by is None
    assert phone.payloads("user_input_received")[0].question_id == question.question_id


async def test_of_two_plugins_the_first_counts(autojump_clock: MockClock) -> None:
    one, two = Phone("one"), Phone("two")

    async def second() -> bool:
        await trio.sleep(1)
        return await two.answers("deny")

    async with (
        PluginHost([guard(), one, two], approver=Person()) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        text, taken = await beside(lambda: run_shell(turn), lambda: one.answers("allow"), second)
    assert (text, taken) == ("ran ls", [True, False])
    assert one.over() == two.over() == [("approval", "allow", "one")]


async def test_both_answer_in_the_same_pass_and_one_counts(autojump_clock: MockClock) -> None:
    """The person's task has its answer, and has not run since when the plugin's comes."""
    phone = Phone()
    said = trio.Event()

    async def approve(_: ApprovalRequest) -> bool:
        await said.wait()
        return False

    async with (
        PluginHost([guard(), phone], approver=approve) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        turn_state: Turn = turn

        async def both() -> None:
            await phone.asked()
            (question,) = turn_state.questions
            said.set()
            assert question.settle("answered", "allow", "phone")
            assert not question.settle("answered", "deny", "user")

        text, _ = await beside(lambda: run_shell(turn), both)
    assert text == "ran ls"
    assert phone.over() == [("approval", "allow", "phone")]


async def test_without_a_person_a_plugin_is_waited_for(autojump_clock: MockClock) -> None:
    phone = Phone()

    async def late() -> bool:
        await trio.sleep(500)
        return await phone.answers("allow")

    async with (
        PluginHost([guard(), phone]) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        text, (taken,) = await beside(lambda: run_shell(turn), late)
    assert (text, taken) == ("ran ls", True)


@says(
    "Without a person a question waits up to 600 s for plugins that heard of it and may `approve`,"
    " if any; a plugin that answers null, or ends, is not waited for."
)
async def test_but_not_for_ever(autojump_clock: MockClock) -> None:
    phone = Phone()
    async with (
        PluginHost([guard(), phone]) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        began = trio.current_time()
        text = await run_shell(turn)
        assert trio.current_time() - began == pytest.approx(600, abs=1)
    assert text == (
        "the call of shell was denied: guard: sure?; host: a person must approve this, and nobody"
        " has answered"
    )
    assert phone.over() == [("approval", "deny", "none")]


async def test_a_plugin_that_has_no_answer_is_not_waited_for(autojump_clock: MockClock) -> None:
    phone, other = Phone(), Phone("other")
    async with (
        PluginHost([guard(), phone, other]) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):

        async def none_of_either() -> list[bool]:
            return [await one.answers(None) for one in (phone, other, phone)]

        text, taken = await beside(lambda: run_shell(turn), none_of_either)
        assert trio.current_time() < 1
    assert taken == [[False, False, False]]
    assert text.endswith("and nobody can be asked")


async def test_a_person_is_asked_whatever_a_plugin_has_no_answer_to(
    autojump_clock: MockClock,
) -> None:
    phone = Phone()
    async with (
        PluginHost([guard(), phone], approver=Person()) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        text, _ = await beside(lambda: run_shell(turn), lambda: phone.answers(None))
        assert trio.current_time() == pytest.approx(5, abs=1)
    assert "denied" not in text


@pytest.mark.parametrize(
    "phone",
    [
        Phone(uses=[]),
        Phone(grants=frozenset({"ask"})),
        Phone(hears=["user_input_received"]),
        Phone(subscriptions=[{"event": "user_input_required", "match": {"kind": "question"}}]),
        FakePlugin("phone", hears=QUESTIONS, uses=["ask"]),
    ],
    ids=["asks for no grant", "not granted", "does not hear", "does not match", "other grant"],
)
async def test_for_no_other_plugin_is_waited(autojump_clock: MockClock, phone: FakePlugin) -> None:
    async with (
        PluginHost([guard(), phone]) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        text = await run_shell(turn)
        assert trio.current_time() < 1
    assert text.endswith("and nobody can be asked")


@pytest.mark.parametrize("how", ["dies", "is disabled"])
async def test_a_plugin_that_goes_is_not_waited_for(autojump_clock: MockClock, how: str) -> None:
    phone = Phone()
    async with (
        PluginHost([guard(), phone]) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):

        async def goes() -> None:
            await phone.asked()
            if how == "dies":
                phone.crash()
            else:
                await host.disable("phone")

        text, _ = await beside(lambda: run_shell(turn), goes)
        assert trio.current_time() < 60
    assert text.endswith("and nobody can be asked")


async def test_the_person_is_still_asked_when_the_plugin_goes(autojump_clock: MockClock) -> None:
    phone = Phone()

    async def goes() -> None:
        await phone.asked()
        phone.crash()

    async with (
        PluginHost([guard(), phone], approver=Person(after_s=50)) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        text, _ = await beside(lambda: run_shell(turn), goes)
    assert text == "ran ls"


@says(
    "A plugin that is started again is not told of questions that are open, and may still answer"
    " them."
)
async def test_a_plugin_that_has_ended_and_is_back_may_answer(autojump_clock: MockClock) -> None:
    phone = Phone(hears=[*QUESTIONS, "session_start"])

    async def goes_and_comes() -> bool:
        await phone.asked()
        phone.crash()
        await phone.hears("session_start", times=2)
        return await phone.answers("allow")

    async with (
        PluginHost([guard(), phone], approver=Person(after_s=50)) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        text, (taken,) = await beside(lambda: run_shell(turn), goes_and_comes)
    assert (text, taken) == ("ran ls", True)
    assert len(phone.payloads("user_input_required")) == 1
    assert phone.over() == [("approval", "allow", "phone")]


@says("What a guard denies is no question.")
async def test_a_deny_is_no_question(autojump_clock: MockClock) -> None:
    phone = Phone()
    no = FakePlugin("no", hooks={"pre_tool_call": {"decision": "deny", "reason": "never"}})
    async with (
        PluginHost([guard(), no, phone], approver=Person()) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        assert "never" in await run_shell(turn)
    assert phone.names() == []


@says(
    "No plugin answers its own `host/ask`, nor what is asked about a call of its own tool (-32003)."
)
@pytest.mark.parametrize("made", [None, MadeBy("phone", (), {}, "mcp:phone")], ids=["own", "made"])
async def test_a_plugin_does_not_approve_the_call_of_its_own_tool(
    made: MadeBy | None, autojump_clock: MockClock
) -> None:
    phone = Phone(tools={"dial": "dialled"})
    object.__setattr__(phone, "made", made)  # guards read `mcp:phone` as the tool's owner
    other = Phone("other")

    async def refused() -> int:
        with pytest.raises(HostRefused, match="it is about the plugin's tool") as error:
            await phone.answers("allow")
        assert await other.answers("allow")
        return error.value.code

    async with (
        PluginHost([guard(), phone, other]) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        outcome, (code,) = await beside(lambda: turn.call_tool("dial", {}), refused)
    assert (outcome.text(), code) == ("dialled", -32003)


async def test_nor_is_it_waited_for(autojump_clock: MockClock) -> None:
    phone = Phone(tools={"dial": "dialled"})
    async with (
        PluginHost([guard(), phone]) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        assert (await turn.call_tool("dial", {})).status == "denied"
        assert trio.current_time() < 1


@says("A choice that does not fit the `schema` is refused (-32602), and the question stays open.")
@limit("a question; an answer to it")
@pytest.mark.parametrize(
    ("changed", "comes_to"),
    [
        ({"session_id": "s-0"}, -32002),
        ({"question_id": "q-0"}, False),
        ({"choice": "yes"}, -32602),
        ({"choice": "ALLOW"}, -32602),
        ({"choice": ""}, -32602),
        ({"choice": True}, -32602),
        ({"choice": "a" * 60_000}, -32602),
        ({"choice": "a" * 1_100_000}, -32602),
        ({"question_id": None}, -32602),
    ],
)
async def test_an_answer_that_does_not_fit_leaves_the_question_open(
    autojump_clock: MockClock, changed: dict[str, Any], comes_to: object
) -> None:
    phone = Phone()

    async def wrong() -> object:
        try:
            given: dict[str, Any] = {"choice": "allow", **changed}
            taken: object = await phone.answers(**given)
        except HostRefused as error:
            taken = error.code
        assert phone.over() == []
        assert await phone.answers("deny")
        return taken

    async with (
        PluginHost([guard(), phone]) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        _, found = await beside(lambda: run_shell(turn), wrong)
    assert found == [comes_to]
    assert phone.over() == [("approval", "deny", "phone")]


async def test_a_question_of_another_session_is_not_answered(autojump_clock: MockClock) -> None:
    phone = Phone()

    async def wrong() -> bool:
        taken = await phone.answers("allow", session_id=other.session_id)
        await phone.answers("deny")
        return taken

    async with (
        PluginHost([guard(), phone]) as host,
        host.session() as session,
        host.session() as other,
        session.turn("x") as turn,
        other.turn("y"),
    ):
        _, found = await beside(lambda: run_shell(turn), wrong)
    assert found == [False]


@pytest.mark.parametrize("grants", [None, frozenset[str]()])
async def test_without_the_grant_nothing_is_answered_or_asked(
    autojump_clock: MockClock, grants: frozenset[str] | None
) -> None:
    uses = [] if grants is None else ["approve", "ask"]
    phone, person = Phone(uses=uses, grants=grants), Person()

    async def refused() -> list[int]:
        codes = list[int]()
        with pytest.raises(HostRefused) as error:
            await phone.answers("deny")
        codes.append(error.value.code)
        with pytest.raises(HostRefused) as error:
            await phone.ask("host/ask", session_id=session.session_id, prompt="?")
        return [*codes, error.value.code]

    async with (
        PluginHost([guard(), phone], approver=person, asker=person) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        text, found = await beside(lambda: run_shell(turn), refused)
    assert (text, found) == ("ran ls", [[-32003, -32003]])
    assert person.notes == ["asked", "answered"]


# -- questions of the agent's


async def test_a_plugin_lets_a_turn_go_on(autojump_clock: MockClock) -> None:
    phone = Phone()

    async def never(_: str) -> bool:
        await trio.sleep_forever()
        raise AssertionError

    async with PluginHost([phone]) as host, host.session() as session, session.turn("x") as turn:
        choice, _ = await beside(
            lambda: turn.decide("max_iterations", "50 calls. Go on?", never),
            lambda: phone.answers("allow"),
        )
    assert (choice.allowed, choice.by, choice.why) == (True, "phone", "")
    assert phone.over() == [("max_iterations", "allow", "phone")]


@pytest.mark.parametrize(
    ("answer", "choice"),
    [
        (True, (True, "user", "")),
        (False, (False, "user", "")),
        ("no", (False, "none", "the question failed")),
        (OSError("gone"), (False, "none", "the question failed")),
        (HostError("gone"), (False, "none", "nobody can be asked")),
    ],
)
async def test_what_the_persons_function_may_do(
    autojump_clock: MockClock, answer: object, choice: tuple[object, ...]
) -> None:
    async def asks(_: str) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    phone = Phone()
    async with PluginHost([phone]) as host, host.session() as session, session.turn("x") as turn:
        found = await turn.decide("question", "Go on?", asks)
    assert (found.allowed, found.by, found.why) == choice
    assert phone.over() == [("question", "allow" if choice[0] else "deny", choice[1])]


# -- what a plugin asks


@says("The host answers when the question is over, and takes other requests meanwhile.")
async def test_a_plugin_asks_the_person(autojump_clock: MockClock) -> None:
    asker, phone = Asker(uses=["ask", "notify"]), Phone()
    requests: list[AskRequest] = []

    async def person(request: AskRequest) -> object:
        requests.append(request)
        await asker.ask("host/notify", level="info", message="meanwhile")
        return "b"

    async with (
        PluginHost([asker, phone], asker=person) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        schema = {"type": "string", "enum": ["a", "b"]}
        result = await asker.puts(session, schema=schema)
        await phone.hears("user_input_received")
    assert result == {"outcome": "answered", "answer": "b"}
    (request,) = requests
    assert (request.plugin, request.prompt, request.turn_id, request.call_id) == (
        "deploy",
        "Where to?",
        turn.turn_id,
        None,
    )
    (question,) = phone.payloads("user_input_required")
    assert (question.kind, question.asked_by, question.schema, question.question_id) == (
        "question",
        "deploy",
        schema,
        request.question_id,
    )
    assert phone.over() == [("question", "b", "user")]


WHERE = {
    "type": "object",
    "properties": {"server": {"type": "string"}, "times": {"type": "integer"}},
    "required": ["server"],
}


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        (None, {"outcome": "declined", "answer": None}),
        (
            {"server": "a", "times": 2},
            {"outcome": "answered", "answer": {"server": "a", "times": 2}},
        ),
        ({"server": 1}, {"outcome": "nobody", "answer": None}),
        ("a", {"outcome": "nobody", "answer": None}),
        ({"server": "\ud800"}, {"outcome": "answered", "answer": {"server": "\ufffd"}}),
        ({"server": object()}, {"outcome": "nobody", "answer": None}),
        (OSError("gone"), {"outcome": "nobody", "answer": None}),
        (HostError("no user"), {"outcome": "nobody", "answer": None}),
    ],
)
async def test_what_the_asker_may_return(
    autojump_clock: MockClock, answer: object, result: dict[str, Any]
) -> None:
    asker = Asker()
    async with (
        PluginHost([asker], asker=Person(answer)) as host,
        host.session() as session,
        session.turn("x"),
    ):
        assert await asker.puts(session, schema=WHERE) == result


@pytest.mark.parametrize(
    ("choice", "result", "over"),
    [
        (
            '{"server":"b"}',
            {"outcome": "answered", "answer": {"server": "b"}},
            ("question", '{"server":"b"}', "phone"),
        ),
        (None, {"outcome": "nobody", "answer": None}, ("question", "deny", "none")),
    ],
)
async def test_a_plugin_can_answer_where_no_one_can_be_asked_any_more(
    autojump_clock: MockClock, choice: str | None, result: dict[str, Any], over: tuple[str, ...]
) -> None:
    asker, phone = Asker(), Phone()
    person = Person(HostError("the client has gone"), after_s=5)

    async def answers() -> None:
        await trio.sleep(20)
        await phone.answers(choice)

    async with (
        PluginHost([asker, phone], asker=person) as host,
        host.session() as session,
        session.turn("x"),
    ):
        found, _ = await beside(lambda: asker.puts(session, schema=WHERE), answers)
    assert found == result
    assert phone.over() == [over]
    assert person.notes == ["asked", "answered"]


async def test_another_plugin_answers_it(autojump_clock: MockClock) -> None:
    asker, phone, person = Asker(), Phone(), Person("a")
    async with (
        PluginHost([asker, phone], asker=person) as host,
        host.session() as session,
        session.turn("x"),
    ):
        result, (taken,) = await beside(
            lambda: asker.puts(session, schema=WHERE),
            lambda: phone.answers('{"server":"b"}'),
        )
        await phone.hears("user_input_received")
    assert (result, taken) == ({"outcome": "answered", "answer": {"server": "b"}}, True)
    assert person.notes == ["asked", "withdrawn"]
    assert phone.over() == [("question", '{"server":"b"}', "phone")]


async def test_but_not_the_one_that_asks(autojump_clock: MockClock) -> None:
    both = Phone("both", uses=["ask", "approve"])

    async def own() -> int:
        with pytest.raises(HostRefused, match="the plugin asks it") as error:
            await both.answers("me")
        return error.value.code

    async with (
        PluginHost([both], asker=Person("them")) as host,
        host.session() as session,
        session.turn("x"),
    ):
        result, codes = await beside(
            lambda: both.ask("host/ask", session_id=session.session_id, prompt="Who?"), own
        )
    assert (result["answer"], codes) == ("them", [-32003])


async def test_where_nobody_can_be_asked(autojump_clock: MockClock) -> None:
    asker, hears = Asker(), FakePlugin("hears", hears=QUESTIONS)
    shown: list[tuple[str, str, str]] = []

    def show(plugin: str, level: str, message: str) -> None:
        shown.append((plugin, level, message))

    async with (
        PluginHost([asker, hears], on_notify=show) as host,
        host.session() as session,
        session.turn("x"),
    ):
        assert await asker.puts(session) == {"outcome": "nobody", "answer": None}
        assert trio.current_time() < 1
        await hears.hears("user_input_received")
    assert [one.by for one in hears.payloads("user_input_received")] == ["none"]
    (line,) = shown
    assert line[1] == "info"
    assert line[2].startswith("asked ")
    assert line[2].endswith(": answered nobody, as no one can be asked")


async def test_where_the_session_has_no_person(autojump_clock: MockClock) -> None:
    """The others of the host have one; a plugin answers, or it is `nobody` at once."""
    asker, phone, person = Asker(), Phone(), Person("them")
    requests: list[AskRequest] = []

    def can_ask(request: AskRequest) -> bool:
        requests.append(request)
        return request.prompt != "Where to?"

    async with (
        PluginHost([asker, phone], asker=person, can_ask=can_ask) as host,
        host.session() as session,
        session.turn("x"),
    ):
        result, _ = await beside(lambda: asker.puts(session), lambda: phone.answers("a"))
        assert result == {"outcome": "answered", "answer": "a"}
        assert person.notes == []
        result = await asker.puts(session, prompt="Which?")
        assert result == {"outcome": "answered", "answer": "them"}
    assert [(one.plugin, one.session_id) for one in requests] == [
        ("deploy", session.session_id)
    ] * 2


@pytest.mark.parametrize("person", [None, Person(HostError("the client has gone"), after_s=1)])
async def test_what_only_plugins_can_answer_holds_up_no_question_to_the_person(
    autojump_clock: MockClock, person: Person | None
) -> None:
    asker, phone = Asker(), Phone()

    async def agrees(_: str) -> bool:
        await trio.sleep(0.5)
        return True

    async with (
        PluginHost([asker, phone], asker=person) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):

        async def decides() -> Any:
            await phone.asked()
            await trio.sleep(5)
            found = await quickly(turn.decide("question", "Go on?", agrees))
            await phone.answers('{"server":"b"}')
            return found

        result, (decided,) = await beside(lambda: asker.puts(session, schema=WHERE), decides)
    assert decided.allowed
    assert result == {"outcome": "answered", "answer": {"server": "b"}}
    assert phone.over() == [
        ("question", "allow", "user"),
        ("question", '{"server":"b"}', "phone"),
    ]


@pytest.mark.parametrize("answer", [False, OSError("gone"), "no"])
async def test_without_a_person_it_waits_for_no_other_question(
    autojump_clock: MockClock, answer: object, caplog: pytest.LogCaptureFixture
) -> None:
    asker, person = Asker(), Person(after_s=50)

    def can_ask(request: AskRequest) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    async with (
        PluginHost([asker], asker=person, can_ask=can_ask) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):

        async def of_the_agent(_: str) -> bool:
            await trio.sleep(50)
            return True

        _, (result,) = await beside(
            lambda: turn.decide("question", "Go on?", of_the_agent),
            lambda: quickly(asker.puts(session)),
        )
    assert result == {"outcome": "nobody", "answer": None}
    assert person.notes == []
    assert [one.message for one in caplog.records if one.levelname == "ERROR"] == (
        ["can_ask failed, so no one is asked"] if answer is not False else []
    )


async def quickly(asked: Awaitable[Any]) -> Any:
    with trio.fail_after(1):
        return await asked


async def test_the_time_is_up(autojump_clock: MockClock) -> None:
    asker, phone, person = Asker(), Phone(), Person(after_s=1_000)
    async with (
        PluginHost([asker, phone], asker=person) as host,
        host.session() as session,
        session.turn("x"),
    ):
        for timeout_s, takes_s in ((0.5, 0.5), (None, 60), (600, 600)):
            began = trio.current_time()
            result = await asker.puts(session, timeout_s=timeout_s)
            assert result == {"outcome": "timed_out", "answer": None}
            assert trio.current_time() - began == pytest.approx(takes_s, abs=0.1)
    assert phone.over() == [("question", "deny", "none")] * 3


async def test_outside_of_a_turn_nobody_is_asked(autojump_clock: MockClock) -> None:
    asker, person = Asker(), Person("x")
    over = {"outcome": "interrupted", "answer": None}
    async with PluginHost([asker], asker=person) as host, host.session() as session:
        assert await asker.puts(session) == over
        async with session.turn("x") as turn:
            pass
        async with session.turn("y") as now:
            assert await asker.puts(session, turn_id=turn.turn_id) == over
            assert await asker.puts(session, call_id="c-0") == over
            result = await asker.puts(session, turn_id=now.turn_id)
            assert result == {"outcome": "answered", "answer": "x"}
        with pytest.raises(HostRefused) as error:
            await asker.ask("host/ask", session_id="s-0", prompt="?")
    assert (error.value.code, person.notes) == (-32002, ["asked", "answered"])


async def test_a_tool_asks_in_its_call_also_a_childs(autojump_clock: MockClock) -> None:
    results: list[Any] = []

    async def tool(_: dict[str, Any]) -> str:
        call = asker.received[-1].params
        results.append(await asker.puts(session, call_id=call["call_id"], turn_id=call["turn_id"]))
        results.append(await asker.puts(session, call_id=call["call_id"]))
        results.append(await asker.puts(session, turn_id=call["turn_id"]))
        return "done"

    asker = Asker(tools={"deploy": tool})
    person = Person("a", after_s=1)
    async with (
        PluginHost([asker], asker=person) as host,
        host.session() as session,
        session.turn("x") as turn,
        turn.subagent("y") as child,
    ):
        assert (await turn.call_tool("deploy", {})).text() == "done"
        assert (await child.call_tool("deploy", {})).text() == "done"
    assert results == [{"outcome": "answered", "answer": "a"}] * 6


async def test_a_child_in_the_background_outlives_its_parents_turn(
    autojump_clock: MockClock,
) -> None:
    async def tool(_: dict[str, Any]) -> str:
        call_id = asker.received[-1].params["call_id"]
        return str((await asker.puts(session, call_id=call_id))["answer"])

    asker, phone = Asker(tools={"deploy": tool}), Phone()
    texts: list[str] = []
    async with (
        PluginHost([asker, phone], asker=Person("a", after_s=100)) as host,
        host.session() as session,
        trio.open_nursery() as nursery,
    ):
        over = trio.Event()

        async def child_works() -> None:
            async with turn.subagent("y", background=True) as child:
                await over.wait()
                texts.append((await child.call_tool("deploy", {})).text())

        async with session.turn("x") as turn:
            nursery.start_soon(child_works)
            await trio.sleep(1)
        over.set()
        assert await phone.answers("b")
    assert texts == ["b"]


@pytest.mark.parametrize(
    ("params", "why"),
    [
        ({"prompt": ""}, "the prompt has 0 characters"),
        ({"prompt": " \n"}, "the prompt has 2 characters"),
        ({"prompt": "x" * 4_001}, "the prompt has 4,001 characters"),
        ({"timeout_s": 0}, "timeout_s is 0.0; it must be 0.05 to 600"),
        ({"timeout_s": 601}, "timeout_s is 601.0"),
        ({"timeout_s": -1}, "timeout_s is -1.0"),
        ({"schema": {"type": "array"}}, "the schema cannot be used: type must be one of"),
        ({"prompt": "x" * 66_000}, "any other message may have 65,536"),
        ({"schema": []}, "the params do not fit"),
        ({"schema": {"type": "string", "minLength": "x"}}, "minLength is"),
    ],
)
async def test_what_is_no_question_is_refused(
    autojump_clock: MockClock, params: dict[str, Any], why: str
) -> None:
    asker, person = Asker(), Person("a")
    async with (
        PluginHost([asker], asker=person) as host,
        host.session() as session,
        session.turn("x"),
    ):
        with pytest.raises(HostRefused, match=why) as error:
            await asker.puts(session, **{"prompt": "?", **params})
        assert (error.value.code, person.notes) == (-32602, [])


@limit("`host/ask` that waits")
async def test_one_question_of_a_plugin_waits_in_a_session(autojump_clock: MockClock) -> None:
    asker, person = Asker(), Person("a")
    codes: list[int] = []

    async def again() -> None:
        await trio.sleep(1)
        for _ in range(63):
            with pytest.raises(HostRefused) as error:
                await asker.puts(session)
            codes.append(error.value.code)
        assert (await asker.puts(other))["outcome"] == "answered"

    async with (
        PluginHost([asker], asker=person) as host,
        host.session() as session,
        host.session() as other,
        session.turn("x"),
        other.turn("y"),
    ):
        result, _ = await beside(lambda: asker.puts(session), again)
    assert (result["outcome"], codes) == ("answered", [-32004] * 63)
    assert person.notes.count("asked") == 2


async def test_ten_questions_in_a_minute(autojump_clock: MockClock) -> None:
    asker = Asker()
    async with PluginHost([asker]) as host, host.session() as session, session.turn("x"):
        for _ in range(10):
            assert (await asker.puts(session))["outcome"] == "nobody"
        with pytest.raises(HostRefused, match="more than 10 questions in a minute") as error:
            await asker.puts(session)
        assert error.value.code == -32004
        asker.crash()
        await trio.sleep(5)
        with pytest.raises(HostRefused, match="more than 10 questions in a minute"):
            await asker.puts(session)
        await trio.sleep(61)
        assert (await asker.puts(session))["outcome"] == "nobody"


@says(
    "A session puts one question at a time to its person; others wait, within their `timeout_s`.",
)
async def test_questions_of_several_wait_for_each_other(autojump_clock: MockClock) -> None:
    one, two, phone = Asker("one"), Asker("two"), Phone()
    person = Person("a", after_s=10)
    async with (
        PluginHost([guard(), one, two, phone], approver=Person(after_s=10), asker=person) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        text, results = await beside(
            lambda: run_shell(turn),
            lambda: one.puts(session),
            lambda: two.puts(session, timeout_s=5),
        )
    assert text == "ran ls"
    assert sorted(result["outcome"] for result in results) in (
        ["answered", "timed_out"],
        ["answered", "answered"],
    )
    order = [name for name in phone.names() if name in QUESTIONS]
    assert order == QUESTIONS * (len(order) // 2)


# -- the end


@pytest.mark.parametrize("how", ["interrupt", "reset", "close", "turn ends"])
async def test_the_end_ends_every_question_at_once(autojump_clock: MockClock, how: str) -> None:
    first, second = Asker("first", hears=["turn_end"]), Asker("second")
    person = Person(after_s=1_000)
    async with PluginHost([first, second], asker=person) as host, host.session() as session:
        results: list[Any] = []

        async def ask(asker: Asker) -> None:
            results.append((await asker.puts(session))["outcome"])

        async with trio.open_nursery() as nursery, session.turn("x") as turn:
            for asker in (first, second):
                nursery.start_soon(ask, asker)
            await trio.sleep(1)
            assert len(turn.questions) == 2
            if how == "interrupt":
                session.interrupt()
            elif how == "reset":
                session.reset()
            elif how == "close":
                session.close("exit")
            if how != "turn ends":
                assert all(one.settled is not None for one in turn.questions)
        assert trio.current_time() < 60
        assert results == ["interrupted"] * 2
        assert person.notes == ["asked", "withdrawn"]
        await first.hears("turn_end")


async def test_the_end_of_the_call_ends_its_question(autojump_clock: MockClock) -> None:
    asker = Asker(tools={"deploy": HANGS}, timeout_cap_s=5)
    person, outcomes = Person(after_s=100), list[str]()
    async with (
        PluginHost([asker], asker=person) as host,
        host.session() as session,
        session.turn("x") as turn,
        trio.open_nursery() as nursery,
    ):

        async def ask() -> None:
            await asker.hears("tool/call")
            call_id = asker.received[-1].params["call_id"]
            outcomes.append((await asker.puts(session, call_id=call_id))["outcome"])

        nursery.start_soon(ask)
        assert (await turn.call_tool("deploy", {})).status == "timed_out"
    assert (outcomes, person.notes) == (["interrupted"], ["asked", "withdrawn"])


async def test_an_interrupt_tells_first_and_replies_then(autojump_clock: MockClock) -> None:
    asker = Asker(hears=["agent_loop_stopped", "turn_end", *QUESTIONS])
    order: list[str] = []
    async with (
        PluginHost([asker], asker=Person(after_s=1_000)) as host,
        host.session() as session,
        trio.open_nursery() as nursery,
    ):

        async def ask() -> None:
            await asker.puts(session)
            order.extend(asker.names())

        async with session.turn("x"):
            nursery.start_soon(ask)
            await trio.sleep(1)
            session.interrupt()
    assert order == ["user_input_required", "agent_loop_stopped", "turn_end"]


async def test_an_approval_in_a_task_outside_of_the_turn_ends_with_it(
    autojump_clock: MockClock,
) -> None:
    person = Person(after_s=1_000)
    texts: list[str] = []
    async with (
        PluginHost([guard()], approver=person) as host,
        host.session() as session,
        trio.open_nursery() as nursery,
    ):

        async def call() -> None:
            texts.append(await run_shell(turn))

        async with session.turn("x") as turn:
            nursery.start_soon(call)
            await trio.sleep(1)
            session.interrupt()
    assert trio.current_time() < 60
    assert (texts, person.notes) == (["never began"], ["asked", "withdrawn"])


@says(
    "A question is over at once at an interrupt, at the end of the turn, the call or the plugin, and"
    " when the plugin withdraws the request by `$/cancelRequest`, which is then answered -32800."
)
async def test_a_plugin_withdraws_its_question(autojump_clock: MockClock) -> None:
    asker, phone, person = Asker(), Phone(), Person(after_s=1_000)
    async with (
        PluginHost([asker, phone], asker=person) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        with trio.move_on_after(5):
            await asker.puts(session)
        await phone.hears("user_input_received")
        assert (person.notes, phone.over()) == (
            ["asked", "withdrawn"],
            [("question", "deny", "none")],
        )
        assert turn.questions == set()
        with trio.move_on_after(5):
            await asker.puts(session)
    assert person.notes == ["asked", "withdrawn"] * 2


@pytest.mark.parametrize(
    "how", ["dies", "is disabled", "is disabled and hangs", "is killed with the host"]
)
async def test_the_question_of_a_plugin_that_goes_is_over(
    autojump_clock: MockClock, how: str
) -> None:
    asker, phone, person = Asker(), Phone(), Person(after_s=1_000)
    async with (
        PluginHost([asker, phone], asker=person) as host,
        host.session() as session,
        session.turn("x") as turn,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(asker.puts, session)
        await trio.sleep(1)
        if how == "dies":
            asker.crash()
        elif how == "is disabled":
            await host.disable("deploy")
        elif how == "is disabled and hangs":
            asker.freeze()
            nursery.start_soon(host.disable, "deploy")
        else:
            host.kill()
        await trio.sleep(1)
        assert person.notes == ["asked", "withdrawn"]
        assert turn.questions == set()
        nursery.cancel_scope.cancel()


async def test_a_hook_asks_while_an_approval_is_open(autojump_clock: MockClock) -> None:
    """It waits for its turn, and its own time-out ends the hook all the same."""
    outcomes: list[str] = []

    async def hook(payload: Any) -> Any:
        if payload.tool_name == "shell":
            return {"decision": "ask"}
        result = await asker.puts(session, call_id=payload.call_id, timeout_s=20)
        outcomes.append(result["outcome"])
        return None

    asker = Asker(hooks={"pre_tool_call": hook})
    person = Person(after_s=100)

    async def other() -> str:
        await trio.sleep(1)
        return (await turn.call_tool("other", {}, run=shell)).status

    async with (
        PluginHost([asker], approver=person, asker=person) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        text, (status,) = await beside(lambda: run_shell(turn), other)
        assert trio.current_time() < 110
    assert (text, status, outcomes) == ("ran ls", "denied", [])
    assert person.notes == ["asked", "answered"]


async def test_nothing_of_a_question_is_left_for_the_garbage_collector(
    autojump_clock: MockClock,
) -> None:
    asker, phone, person = Asker(), Phone(), Person("a", after_s=1)
    async with (
        PluginHost([asker, phone], asker=person) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        await asker.puts(session)
        gc.collect()
        gc.disable()
        try:
            await asker.puts(session)
            with trio.move_on_after(0.5):
                await asker.puts(session)
            await beside(lambda: asker.puts(session), lambda: phone.answers("b", times=4))
            await trio.sleep(1)
            gc.set_debug(gc.DEBUG_SAVEALL)
            gc.collect()
            left = [type(one).__name__ for one in gc.garbage]
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()
        assert turn.questions == set()
    ours = {"Question", "DeferredReply", "Settlement", "Form", "AskRequest", "CancelScope"}
    assert [name for name in left if name in ours] == []
