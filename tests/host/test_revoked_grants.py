"""What the user takes away while a host runs: a plugin keeps it until it is started anew."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from sliphook import PluginHost, Session, Submission, Turn
from sliphook.testing import FakePlugin, HostRefused
from sliphook_sdk.protocol import Message, ModelRoute

WAIT_S = 3_600.0
"""On the clock that jumps."""
USES = ["route", "submit", "approve", "ask"]
OWN = ModelRoute(provider="openai", base_url="https://own.example/v1", api="openai")
LOCAL = {"base_url": "http://127.0.0.1:8080/v1"}


def phone(grants: frozenset[str] | None = None) -> FakePlugin:
    return FakePlugin(
        "phone",
        hooks={"pre_llm_call": {"replace": {"route": LOCAL}}},
        subscriptions=[{"event": "pre_llm_call", "replaces": True}],
        hears=["user_input_required"],
        uses=USES,
        servers=["127.0.0.1:8080"],
        grants=grants,
    )


async def routed_by(turn: Turn) -> str | None:
    gate = await turn.pre_llm_call(
        provider="openai",
        model="large",
        messages=[Message(role="user", content="hello")],
        tools=[],
        route=OWN,
    )
    return gate.routed_by


async def refusal(asks: Callable[[], Awaitable[object]]) -> tuple[int, str]:
    with pytest.raises(HostRefused) as refused:
        await asks()
    return refused.value.code, str(refused.value)


async def test_it_holds_until_the_plugin_is_started_anew(autojump_clock: MockClock) -> None:
    before, after = phone(), phone(frozenset())
    taken, problems = list[Submission](), list[str]()

    async def person(_: object) -> str:
        return "a"

    def asks(plugin: FakePlugin, method: str, **params: Any) -> Callable[[], Awaitable[Any]]:
        return lambda: plugin.ask(method, **params)

    with trio.fail_after(WAIT_S):
        async with (
            PluginHost(
                [before],
                asker=person,
                on_submit=taken.append,
                on_problem=lambda _, message: problems.append(message),
            ) as host,
            host.session() as session,
            session.turn("x") as turn,
        ):
            here = {"session_id": session.session_id}
            assert (await before.ask("host/ask", **here, prompt="?"))["answer"] == "a"
            await before.ask("host/submit", session_key="main", text="hello")
            assert await routed_by(turn) == "phone"

            await host.update([after])
            requests = (
                asks(after, "host/ask", **here, prompt="?"),
                asks(after, "host/submit", session_key="main", text="hello"),
                asks(after, "host/answer", **here, question_id="q", choice="allow"),
            )
            for use, ask in zip(("ask", "submit", "approve"), requests, strict=True):
                code, why = await refusal(ask)
                assert code == -32003
                assert why == (
                    f"the user has not granted '{use}' to phone; to grant it: sliphook config"
                    f" phone --grant {use}"
                )
            assert await routed_by(turn) is None
            # what was sent while it was granted still has its turn
            assert [one.text for one in session.waiting] == ["hello"]
    assert len(taken) == 1
    assert problems == [
        "phone did not answer pre_llm_call: the user has not granted 'route' to phone; to grant it:"
        " sliphook config phone --grant route; it counts as no opinion"
    ]


async def test_a_question_that_waits_ends_with_the_old_process(autojump_clock: MockClock) -> None:
    before, after = phone(), phone(frozenset())
    withdrawn = trio.Event()
    outcomes: list[Any] = []

    async def person(_: object) -> str:
        try:
            await trio.sleep_forever()
        finally:
            withdrawn.set()
        raise AssertionError

    async def puts(session: Session) -> None:
        outcomes.append(
            (await before.ask("host/ask", session_id=session.session_id, prompt="?"))["outcome"]
        )

    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([before], asker=person) as host,
            host.session() as session,
            session.turn("x") as turn,
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(puts, session)
            await before.hears("user_input_required")
            await host.update([after])
            await withdrawn.wait()
            assert turn.questions == set()
    assert outcomes == ["interrupted"]


async def test_an_approval_no_longer_waits_for_it(autojump_clock: MockClock) -> None:
    """The old process may not answer in its last moments either."""
    guard = FakePlugin("guard", hooks={"pre_tool_call": {"decision": "ask", "reason": "sure?"}})
    before, after = phone(), phone(frozenset())
    texts: list[str] = []

    async def shell(_: dict[str, Any]) -> str:
        return "ran"

    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([guard, before]) as host,
            host.session() as session,
            session.turn("x") as turn,
            trio.open_nursery() as nursery,
        ):

            async def call() -> None:
                texts.append((await turn.call_tool("shell", {}, run=shell)).text())

            nursery.start_soon(call)
            await before.hears("user_input_required")
            began = trio.current_time()
            await host.update([guard, after])
            while not texts:  # noqa: ASYNC110 - the call sets no event
                await trio.sleep(0.01)
            assert trio.current_time() - began < 60
    assert texts == [
        "the call of shell was denied: guard: sure?; host: a person must approve this, and nobody"
        " can be asked"
    ]
