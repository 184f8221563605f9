"""A request of our MCP server on its connection: replies, and questions to the person."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from sliphook import AskRequest, HostError
from sliphook.adapters.mcp.serve.backend import untold
from sliphook.adapters.mcp.serve.dialogue import Dialogue
from sliphook.adapters.mcp.serve.finding import DaemonReply
from sliphook.adapters.relayed.messages import (
    Called,
    PersonAnswer,
    PersonQuestion,
    QuestionOver,
    answer_line,
)
from sliphook.adapters.relayed.peer import Peer, talking
from sliphook.adapters.relayed.waiting_calls import Person, WaitingCalls
from sliphook.session.questions.form import read_form
from tests.programs import WAIT_S

FORM: dict[str, Any] = {"type": "object", "properties": {}}


class Other:
    """The server's end of the connection."""

    def __init__(self, socket: trio.socket.SocketType) -> None:
        self.stream = trio.SocketStream(socket)
        self._read = b""

    async def line(self) -> dict[str, Any] | None:
        """The next line; None at the end."""
        while b"\n" not in self._read:
            piece = await self.stream.receive_some()
            if not piece:
                assert self._read == b"", "half a line"
                return None
            self._read += piece
        line, _, self._read = self._read.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        return found

    async def answers(self, id: int, content: dict[str, Any] | None) -> None:
        await self.stream.send_all(answer_line(PersonAnswer(id, content)))


@asynccontextmanager
async def connected() -> AsyncGenerator[tuple[trio.socket.SocketType, Other]]:
    here, there = trio.socket.socketpair()
    with trio.fail_after(WAIT_S), here:
        other = Other(there)
        async with other.stream:
            yield here, other


async def failure(peer: Peer) -> str:
    """Why a question is not answered."""
    with pytest.raises(HostError) as error:
        await peer.ask("?", FORM)
    return str(error.value)


# -- the daemon's side


async def test_a_question_is_answered_once_whatever_else_comes() -> None:
    async with connected() as (socket, other), talking(socket) as peer:
        async with trio.open_nursery() as nursery:
            found: list[Any] = []

            async def ask() -> None:
                found.append(await peer.ask("Which?", FORM))

            nursery.start_soon(ask)
            line = await other.line()
            assert line == {"type": "question", "id": 1, "prompt": "Which?", "schema": FORM}
            await other.stream.send_all(b'no JSON\n{"id": "x"}\n\xff\n' + b"[" * 5_000 + b"\n")
            await other.answers(7, {"of": "no question"})
            await other.answers(1, {"a": 1})
            await other.answers(1, {"a": 2})
        assert found == [{"a": 1}]
        await other.answers(1, {"a": 3})
        await peer.say(Called(content="done"))
        assert (await other.line() or {})["content"] == "done"


async def test_a_question_that_is_withdrawn_is_over_for_the_server() -> None:
    async with connected() as (socket, other), talking(socket) as peer:
        with trio.CancelScope() as settled:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(peer.ask, "Which?", FORM)
                await other.line()
                settled.cancel()
        assert await other.line() == {"type": "settled", "id": 1}


async def test_the_end_of_the_request_ends_its_questions() -> None:
    async with connected() as (socket, other), trio.open_nursery() as nursery:
        why: list[str] = []

        async def ask(peer: Peer) -> None:
            why.append(await failure(peer))

        async with talking(socket) as peer:
            nursery.start_soon(ask, peer)
            await other.line()
            peer.end()
            await other.answers(1, {"a": 1})
        assert await failure(peer) == "the call is over"
    assert why == ["the call is over"]


async def test_a_server_that_is_gone_ends_its_questions() -> None:
    async with connected() as (socket, other):
        why: list[str] = []
        ended = False

        async def ask(peer: Peer) -> None:
            why.append(await failure(peer))

        async with trio.open_nursery() as nursery:
            async with talking(socket) as peer:
                nursery.start_soon(ask, peer)
                await other.line()
                await other.stream.aclose()
                await trio.Event().wait()
            ended = True
    assert (ended, why) == (True, ["the call is over"])


async def test_an_answer_without_end_ends_the_connection() -> None:
    async with connected() as (socket, other), talking(socket):
        await other.stream.send_all(b"x" * 200_000)
        await trio.Event().wait()


async def test_each_line_is_whole_for_a_server_that_reads_late() -> None:
    """Questions are withdrawn, and more progress comes than may wait, while 4 MB are on the way."""
    large = Called(content="x" * 4_000_000)
    async with connected() as (socket, other), trio.open_nursery() as nursery:
        told: list[str] = []

        async def read() -> None:
            while (line := await other.line()) is not None:
                told.append(line["type"])
            nursery.cancel_scope.cancel()

        async with talking(socket) as peer:
            nursery.start_soon(peer.say, large)
            await wait_all_tasks_blocked()
            for _ in range(2):
                async with trio.open_nursery() as asking:
                    asking.start_soon(peer.ask, "Which?", FORM)
                    await wait_all_tasks_blocked()
                    asking.cancel_scope.cancel()
            for _ in range(100):
                peer.progressed(None, "on the way")
            nursery.start_soon(read)
            await peer.say(Called(content="done"))
        socket.close()
        await trio.Event().wait()
    asked = ["question", "settled"] * 2
    assert told == ["called", *asked, *["progress"] * 12, "called"]


# -- our server's side


@asynccontextmanager
async def asked_by_daemon(person: Person | None) -> AsyncGenerator[tuple[Peer, list[Any]]]:
    """A daemon's peer, and what the dialogue has come to."""
    came: list[Any] = []

    async def run(daemon: DaemonReply) -> None:
        came.append(await Dialogue(daemon, untold, person).run())

    async with (
        connected() as (socket, other),
        trio.open_nursery() as nursery,
        talking(socket) as peer,
    ):
        nursery.start_soon(run, DaemonReply(other.stream))
        yield peer, came
        await peer.say(Called(content="done"))


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (HostError("the client is old"), "the client is old"),
        (HostError("half a \ud800"), "half a \\ud800"),
        (msgspec.ValidationError("of its form"), "the client's answer cannot be used"),
        ({"text": "\ud800"}, "the client's answer cannot be used"),
        ({"text": "x" * 70_000}, "the answer is too long"),
        (None, "the client asks nobody"),
    ],
    ids=[
        "refuses",
        "refuses-with-half-a-character",
        "raises",
        "half-a-character",
        "too-long",
        "no-forms",
    ],
)
async def test_what_is_no_answer(
    said: Exception | dict[str, Any] | None, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def person(prompt: str, schema: dict[str, Any]) -> dict[str, Any] | None:
        if isinstance(said, Exception):
            raise said
        return said

    async with asked_by_daemon(person if said is not None else None) as (peer, came):
        assert await failure(peer) == why
        assert await failure(peer) == why
    assert came == [Called(content="done")]


async def test_a_question_that_is_over_is_taken_back_and_the_next_is_asked() -> None:
    notes: list[str] = []
    is_asked = trio.Event()

    async def person(prompt: str, schema: dict[str, Any]) -> dict[str, Any] | None:
        notes.append(prompt)
        is_asked.set()
        if prompt == "first":
            try:
                await trio.sleep_forever()
            finally:
                notes.append("taken back")
        return {"to": prompt}

    async with asked_by_daemon(person) as (peer, came):
        with trio.CancelScope() as settled:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(peer.ask, "first", FORM)
                await is_asked.wait()
                settled.cancel()
        assert await peer.ask("second", FORM) == {"to": "second"}
    assert sorted(notes) == ["first", "second", "taken back"]
    assert came == [Called(content="done")]


async def test_a_daemon_that_dies_while_it_asks_is_a_plain_error() -> None:
    async def person(prompt: str, schema: dict[str, Any]) -> dict[str, Any] | None:
        await trio.sleep_forever()

    async with connected() as (socket, other):
        question = msgspec.json.encode(PersonQuestion(1, "?", FORM))
        await trio.SocketStream(socket).send_all(question + b"\nno JSON\n")
        with pytest.raises(OSError, match="JSON"):
            await Dialogue(DaemonReply(other.stream), untold, person).run()


async def test_a_question_is_over_that_was_never_asked() -> None:
    async with connected() as (socket, other):
        lines = [QuestionOver(3), Called(content="done")]
        stream = trio.SocketStream(socket)
        await stream.send_all(b"".join(msgspec.json.encode(one) + b"\n" for one in lines))
        said = await Dialogue(DaemonReply(other.stream), untold, None).run()
    assert said == Called(content="done")


# -- whose person is asked


async def test_a_question_goes_to_the_call_that_it_is_about() -> None:
    """A guard asks before its call has an id of ours."""

    def person_of(name: str) -> Person:
        async def person(prompt: str, schema: dict[str, Any]) -> dict[str, Any] | None:
            asked.append(name)
            return None

        return person

    asked: list[str] = []
    calls = WaitingCalls()
    with calls.open(untold, person_of("a")) as a, calls.open(untold, person_of("b")) as b:
        a.begins("c-a")
        for call_id in ("c-a", "c-b", None):
            await calls.ask(question(call_id))
        b.begins("c-b")
        await calls.ask(question("c-b"))
    assert asked == ["a", "b", "b", "b"]
    assert not calls.can_ask(question("c-a"))


def question(call_id: str | None) -> AskRequest:
    return AskRequest(
        session_id="s",
        turn_id="t",
        question_id="q",
        call_id=call_id,
        plugin="p",
        prompt="?",
        form=read_form(None),
    )
