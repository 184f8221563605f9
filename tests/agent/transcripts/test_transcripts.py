"""Transcripts: a killed agent loses nothing of the file, and a broken file stops no agent."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import trio

from sliphook.agent.conversation import Conversation
from sliphook.agent.transcripts.database import connect
from sliphook.agent.transcripts.store import TranscriptError, Transcripts
from sliphook_sdk.protocol import Part, Resource

from .stored import CALL_1, CALL_2, CALLING, assistant, load, result, sessions, user


async def test_a_conversation_comes_back_as_it_was(path: Path) -> None:
    with Transcripts.open(path) as transcripts:
        said = Conversation(recorder=transcripts.begin("s-1"))
        said.add_user("weather?\n\x00\u2028🥪")
        await said.say("I ")
        await said.say("look.")
        said.add_answer(CALLING)
        said.add_result(CALL_2, "noon")
        said.add_result(CALL_1, "cold")
        await said.say("Cold")
        said.add_answer(assistant("Cold."))
    expected = [
        user("weather?\n\x00\u2028🥪"),
        CALLING,
        result("c1", "cold"),
        result("c2", "noon"),
        assistant("Cold."),
    ]
    assert said.messages == expected
    assert load(path, "s-1") == expected
    assert load(path, "s-2") == []


async def test_a_session_goes_on_and_is_recorded_in_the_same_place(path: Path) -> None:
    with Transcripts.open(path) as transcripts:
        Conversation(recorder=transcripts.begin("s-1", "main", "cli", "/project", "m-1")).add_user(
            "one"
        )
        transcripts.end("s-1", "exit")
    with Transcripts.open(path) as transcripts:
        [ended] = transcripts.sessions()
        again = Conversation(
            recorder=transcripts.begin("s-1", "main", "cli", "/project", "m-2"),
            messages=transcripts.load("s-1"),
        )
        again.add_user("two")
        again.add_answer(assistant("both"))
    assert ended.end_reason == "exit"
    assert ended.model == "m-1"
    assert ended.messages == 1
    assert again.messages == [user("one\n\ntwo"), assistant("both")]
    with Transcripts.open(path) as transcripts:
        assert transcripts.load("s-1") == again.messages
        [row] = transcripts.sessions()
    assert row.session_key == "main"
    assert row.platform == "cli"
    assert row.cwd == "/project"
    assert row.model == "m-2"
    assert row.prompt == "one"
    assert row.ended_at is None
    assert row.end_reason is None
    assert row.messages == 3
    assert row.began_at == ended.began_at


async def test_the_model_is_the_one_that_has_answered_last(path: Path) -> None:
    with Transcripts.open(path) as transcripts:
        said = Conversation(recorder=transcripts.begin("s-1", model="m-1"))
        for model in ("m-1", "local/m-2", "local/m-3"):
            said.add_user("hello")
            said.answered_by(model)
            said.add_answer(assistant("hi"))
        said = Conversation(recorder=transcripts.begin("s-2", model="m-1"))
        said.answered_by("local/m-2")  # before anything is in the file
        said.add_user("hello")
    with Transcripts.open(path) as transcripts:
        assert sorted((row.session_id, row.model) for row in transcripts.sessions()) == [
            ("s-1", "local/m-3"),
            ("s-2", "local/m-2"),
        ]


async def test_an_interrupted_answer_stays_and_an_abandoned_one_does_not(path: Path) -> None:
    with Transcripts.open(path) as transcripts:
        said = Conversation(recorder=transcripts.begin("s-1"))
        said.abandon_answer()
        said.add_user("hello")
        await said.say("I thi")
        said.abandon_answer()
        await said.say("I kn")
        await said.say("ow")
        said.abandon_answer()
        await said.say("Yes, ")
        said.add_answer(assistant("Yes, "), interrupted=True)
        said.add_user("go on")
        assert said.messages == [user("hello"), assistant("Yes, "), user("go on")]
    with Transcripts.open(path) as transcripts:
        assert transcripts.load("s-1") == said.messages
        assert [(line.state, line.message) for line in transcripts.lines("s-1")] == [
            ("whole", user("hello")),
            ("abandoned", assistant("I thi")),
            ("abandoned", assistant("I know")),
            ("interrupted", assistant("Yes, ")),
            ("whole", user("go on")),
        ]
        assert transcripts.sessions()[0].messages == 3


async def test_broken_off_in_a_tool_call(path: Path) -> None:
    with Transcripts.open(path) as transcripts:
        said = Conversation(recorder=transcripts.begin("s-1"))
        said.add_user("weather?")
        said.add_answer(CALLING)
        said.add_result(CALL_2, "noon")
    resumed = load(path, "s-1")
    assert resumed == [
        user("weather?"),
        CALLING,
        result("c1", "interrupted before it had finished"),
        result("c2", "noon"),
    ]
    said.close_calls(begun={"c1"})  # the same happens to the conversation that lives on
    assert said.messages == resumed


SPEAKER = """
import sys, trio
from pathlib import Path
from sliphook.agent.conversation import Conversation
from sliphook.agent.transcripts import writer_thread
from sliphook.agent.transcripts.store import SessionRow, TranscriptError, Transcripts
from sliphook_sdk.protocol import Message

writer_thread.PATIENCE_S = 120.0

async def main():
    said = Conversation(recorder=Transcripts.open(Path(sys.argv[1])).begin("s-1"))
    said.add_user("count")
    said.add_answer(Message(role="assistant", content="I count."))
    said.add_user("go on")
    number = 0
    while True:
        await said.say(f"{number} ")
        print(number, flush=True)
        number += 1

trio.run(main)
"""


def test_a_killed_agent_loses_nothing_that_was_shown(path: Path) -> None:
    speaker = subprocess.Popen([sys.executable, "-c", SPEAKER, str(path)], stdout=subprocess.PIPE)
    assert speaker.stdout is not None
    for _ in range(20):
        speaker.stdout.readline()
    speaker.send_signal(signal.SIGKILL)
    shown = [*range(20), *map(int, speaker.stdout.read().split())]
    assert speaker.wait(120) == -9
    speaker.stdout.close()
    messages = load(path, "s-1")
    assert messages[:-1] == [user("count"), assistant("I count."), user("go on")]
    assert messages[-1].role == "assistant"
    stored = [int(number) for number in (messages[-1].content or "").split()]
    assert stored[: len(shown)] == shown
    assert len(stored) <= len(shown) + 1
    [row] = sessions(path)
    assert (row.messages, row.ended_at) == (4, None)


async def test_the_files_are_for_the_user_alone(path: Path) -> None:
    mask = os.umask(0o022)
    try:
        with Transcripts.open(path) as transcripts:
            await transcripts.begin("s-1").text("a")
            files = sorted(path.parent.iterdir())
            assert [file.name for file in files] == [
                "transcripts.db",
                "transcripts.db-shm",
                "transcripts.db-wal",
            ]
            assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
            assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    finally:
        os.umask(mask)


async def test_a_session_in_which_nothing_is_said_leaves_nothing(path: Path) -> None:
    with Transcripts.open(path) as transcripts:
        transcripts.begin("s-1")
        transcripts.end("s-1", "exit")
    with Transcripts.open(path) as transcripts:
        assert transcripts.sessions() == []
        with pytest.raises(
            TranscriptError, match="there is no session; `sliphook sessions` lists them"
        ):
            transcripts.find(None)


async def test_the_session_that_is_meant(path: Path) -> None:
    with Transcripts.open(path) as transcripts:
        for session_id, platform, cwd in [
            ("ab1", "cli", "/one"),
            ("ab2", "api", "/one"),
            ("b", "cli", "/two"),
            ("b1", "cli", "/three"),
        ]:
            transcripts.begin(session_id, None, platform, cwd).message(user(session_id))
    with Transcripts.open(path) as transcripts:
        assert [row.session_id for row in transcripts.sessions()] == ["b1", "b", "ab2", "ab1"]
        assert transcripts.find(None).session_id == "b1"
        assert transcripts.find(None, cwd="/one").session_id == "ab2"
        assert transcripts.find(None, cwd="/one", platform="cli").session_id == "ab1"
        assert transcripts.find("ab2", cwd="/two").session_id == "ab2"
        assert transcripts.find("b").session_id == "b"
        wrong: list[tuple[str | None, str | None, str]] = [
            ("ab", None, "2 sessions begin with 'ab': ab2, ab1; give more of it"),
            (
                "c%",
                None,
                "there is no session that begins with 'c%'; `sliphook sessions` lists them",
            ),
            (None, "/four", "there is no session in /four; `sliphook sessions` lists them"),
        ]
        for prefix, folder, complaint in wrong:
            with pytest.raises(TranscriptError) as caught:
                transcripts.find(prefix, cwd=folder)
            assert str(caught.value) == complaint


async def test_a_removed_session_is_gone_though_its_agent_still_speaks(path: Path) -> None:
    problems: list[str] = []
    with Transcripts.open(path, problems.append) as transcripts:
        recorder, other = transcripts.begin("s-1"), transcripts.begin("s-2")
        recorder.message(user("one"))
        await recorder.text("a")
        transcripts.remove("s-1")
        await recorder.text("b")
        recorder.message(assistant("ab"))
        other.message(user("two"))
    assert problems == []
    assert [row.session_id for row in sessions(path)] == ["s-2"]
    assert load(path, "s-1") == []


async def test_nothing_of_a_removed_session_stays_on_the_disk(path: Path) -> None:
    with Transcripts.open(path) as transcripts:
        await transcripts.begin("s-1").text("the secret")
        assert any(b"the secret" in file.read_bytes() for file in path.parent.iterdir())
        transcripts.remove("s-1")
        assert not any(b"the secret" in file.read_bytes() for file in path.parent.iterdir())


async def test_several_agents_write_at_once(path: Path) -> None:
    problems: list[str] = []
    with trio.fail_after(120):
        agents = [Transcripts.open(path, problems.append) for _ in range(4)]

        async def speak(transcripts: Transcripts, session_id: str) -> None:
            said = Conversation(recorder=transcripts.begin(session_id))
            for number in range(25):
                await said.say("x")
                said.add_answer(assistant(str(number)))

        async with trio.open_nursery() as nursery:
            for number, transcripts in enumerate(agents):
                nursery.start_soon(speak, transcripts, f"s-{number}")
        for transcripts in agents:
            transcripts.close()
    assert problems == []
    for number in range(4):
        assert load(path, f"s-{number}") == [assistant(str(number)) for number in range(25)]


def test_several_agents_make_the_file_at_once(path: Path) -> None:
    failures: list[Exception] = []
    barrier = threading.Barrier(6)

    def begin() -> None:
        barrier.wait(120)
        try:
            connect(path).close()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=begin) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert failures == []
    assert sessions(path) == []


async def test_parts_of_results_come_back(path: Path) -> None:
    parts = [
        Part(type="text", text="before"),
        Part(type="image", mime_type="image/png", data="iVBORw0KGgo="),
        Part(type="resource", resource=Resource(uri="a:", blob="AA==")),
    ]
    with Transcripts.open(path) as transcripts:
        said = Conversation(recorder=transcripts.begin("s-1"))
        said.add_user("look")
        said.add_answer(CALLING)
        said.add_result(CALL_1, "a page", parts)
        said.add_result(CALL_2, "noon")
    assert load(path, "s-1") == said.messages
    assert said.messages[2].parts == parts
