"""A word that the protocol does not have is refused before any plugin is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
from trio.testing import MockClock

from sliphook import PluginHost, Session, Turn
from sliphook.agent import Agent, Gateway, ScriptedModel
from sliphook.testing import FakePlugin
from sliphook_sdk.protocol import Message, Usage
from tests.programs import EVERYTHING

WRONG = cast(Any, "nonsense")
FIVE = cast(Any, 5)

SESSION: dict[str, tuple[Callable[[Session], object], str]] = {
    "interrupt": (
        lambda session: session.interrupt(WRONG),
        "reason is 'nonsense'; it must be one of user_stop, reset, new_message, signal, plugin,"
        " shutdown, timeout",
    ),
    "interrupt by a name that is near": (
        lambda session: session.interrupt(cast(Any, "user")),
        "reason is 'user'; it must be one of user_stop, ",
    ),
    "interrupt exactly": (
        lambda session: session.interrupt("user_stop", FIVE),
        "invalidation_reason must be a str, not int",
    ),
    "end": (
        lambda session: session.end(WRONG),
        "reason is 'nonsense'; it must be one of exit, reset, signal, error, shutdown",
    ),
    "close": (lambda session: session.close(WRONG), "reason is 'nonsense'"),
    "reset": (lambda session: session.reset(FIVE), "cause must be a str, not int"),
    "turn": (
        lambda session: session.turn("x", source=WRONG),
        "source is 'nonsense'; it must be one of user, command, queued",
    ),
    "text of a turn": (lambda session: session.turn(FIVE), "text must be a str, not int"),
    "notification": (
        lambda session: session.notification(WRONG, "x"),
        "level is 'nonsense'; it must be one of info, warning, error",
    ),
    "message": (
        lambda session: session.notification("info", FIVE),
        "message must be a str, not int",
    ),
    "source": (
        lambda session: session.notification("info", "x", FIVE),
        "source must be a str, not int",
    ),
}


@pytest.mark.parametrize("name", SESSION)
async def test_a_session_takes_the_words_of_the_protocol(
    name: str, autojump_clock: MockClock
) -> None:
    call, why = SESSION[name]
    ear = FakePlugin("ear", hears=EVERYTHING)
    async with PluginHost([ear]) as host, host.session() as session, session.turn("x"):
        before = session.seq
        with pytest.raises((ValueError, TypeError)) as caught:
            call(session)
        assert session.seq == before  # nothing was fired
        assert str(caught.value).startswith(why)
    assert ear.names() == ["session_start", "turn_start", "turn_end", "session_end"]


def answered(turn: Turn, **changed: Any) -> None:
    given: dict[str, Any] = {
        "provider": "p",
        "model": "m",
        "response": Message(role="assistant", content="x"),
        "finish_reason": "stop",
        "usage": Usage(),
        "duration_ms": 1.0,
    }
    turn.post_llm_call(**given | changed)


def failed(turn: Turn, **changed: Any) -> None:
    given: dict[str, Any] = {
        "attempt": 1,
        "kind": "http",
        "status": 500,
        "message": "x",
        "will_retry": False,
    }
    turn.llm_call_failed(**given | changed)


TURN: dict[str, tuple[Callable[[Turn], object], str]] = {
    "finish": (
        lambda turn: turn.finish(cast(Any, "done")),
        "outcome is 'done'; it must be one of completed, interrupted, failed, denied,"
        " max_iterations, loop_detected, budget_exceeded",
    ),
    "finish with None": (
        lambda turn: turn.finish(cast(Any, None)),
        "outcome must be a str, not NoneType",
    ),
    "goal": (lambda turn: turn.subagent(FIVE), "goal must be a str, not int"),
    "response": (
        lambda turn: answered(turn, response={"role": "assistant"}),
        "response must be a Message, not dict",
    ),
    "usage": (lambda turn: answered(turn, usage=None), "usage must be a Usage, not NoneType"),
    "model": (lambda turn: answered(turn, model=5), "model must be a str or None, not int"),
    "duration": (
        lambda turn: answered(turn, duration_ms=float("nan")),
        "duration_ms is nan; it must be 0 or more",
    ),
    "attempt": (lambda turn: failed(turn, attempt=0), "attempt is 0; it must be 1 or more"),
    "attempt as a text": (lambda turn: failed(turn, attempt="1"), "attempt must be an int"),
    "status": (lambda turn: failed(turn, status="500"), "status must be an int or None, not str"),
    "kind": (lambda turn: failed(turn, kind=None), "kind must be a str, not NoneType"),
}


@pytest.mark.parametrize("name", TURN)
async def test_a_turn_takes_the_words_of_the_protocol(name: str, autojump_clock: MockClock) -> None:
    call, why = TURN[name]
    ear = FakePlugin("ear", hears=EVERYTHING)
    async with PluginHost([ear]) as host, host.session() as session, session.turn("x") as turn:
        with pytest.raises((ValueError, TypeError)) as caught:
            call(turn)
        assert str(caught.value).startswith(why)
    assert ear.names() == ["session_start", "turn_start", "turn_end", "session_end"]


async def test_what_is_put_to_plugins_before_a_model_call(autojump_clock: MockClock) -> None:
    async with PluginHost([]) as host, host.session() as session, session.turn("x") as turn:
        given: dict[str, Any] = {"provider": None, "model": None, "messages": [], "tools": []}
        with pytest.raises(TypeError, match=r"messages\[0\] must be a Message, not dict"):
            await turn.pre_llm_call(**given | {"messages": cast(Any, [{"role": "user"}])})
        with pytest.raises(TypeError, match="tools must be a list of ModelTool, not str"):
            await turn.pre_llm_call(**given | {"tools": cast(Any, "shell")})
        with pytest.raises(TypeError, match="name must be a str, not int"):
            await turn.call_tool(FIVE, {})
        assert not (await turn.pre_llm_call(**given)).denied


async def test_a_host_and_an_agent_too() -> None:
    with pytest.raises(TypeError, match="reserved_tools must be a list of str, not str"):
        PluginHost([], reserved_tools="shell")
    with pytest.raises(ValueError, match=r"timeout_cap_s is 0; it must be 0\.05 or more"):
        PluginHost([], timeout_cap_s=0)
    async with PluginHost([]) as host:
        with pytest.raises(ValueError, match="source is 'nonsense'; it must be one of startup"):
            host.session(source=WRONG)
        with pytest.raises(TypeError, match="user_id must be a str or None, not int"):
            host.session(user_id=FIVE)
        with pytest.raises(ValueError, match="reason is 'nonsense'"):
            host.interrupt_from_thread("s", WRONG)
        async with host.session() as session:
            with pytest.raises(ValueError, match="max_model_calls is 0; it must be 1 or more"):
                Agent(host, session, ScriptedModel(), max_model_calls=0)
    with pytest.raises(ValueError, match="new_message is 'nonsense'; it must be one of queue"):
        Gateway(lambda _: cast(Any, None), new_message=WRONG)
