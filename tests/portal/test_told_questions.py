"""Questions that the agent itself puts to its person, on each face: told, and over once."""

# An interrupt leaves a turn's block early; these tests know where it does.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

from typing import Any

import pytest
import trio

from sliphook import PluginHost
from sliphook.testing import FakePlugin
from tests.programs import WAIT_S

from .faces import FACES, Face
from .test_begun_tools import in_a_turn

faces = pytest.mark.parametrize("face", FACES, ids=[face.name for face in FACES])


def phone() -> FakePlugin:
    """It may answer questions, but none of these."""
    hears = ["user_input_required", "user_input_received", "turn_end"]
    return FakePlugin("phone", hears=hears, uses=["approve"])


@faces
def test_a_question_is_told_and_its_end_once(face: Face) -> None:
    plugin = phone()

    async def story(_: Any, turn: Any) -> None:
        call = await face.got(turn.begin_tool("shell", {}))
        first = turn.tell_question("approval", "Run shell?", call_id=call.call_id)
        second = turn.tell_question("question", "files: Really?")
        third = turn.tell_question("question", "Who?")
        assert turn.end_question(first, allowed=True)
        assert not turn.end_question(first, allowed=False)
        assert turn.end_question(third, allowed=None)
        assert turn.end_question(second, allowed=False)
        assert not turn.end_question("another", allowed=True)
        with pytest.raises(ValueError, match="kind is 'prompt'; it must be one of approval, "):
            turn.tell_question("prompt", "Run shell?")

    in_a_turn(face, story, plugin)
    asked = plugin.payloads("user_input_required")
    over = plugin.payloads("user_input_received")
    assert [(one.question_id, one.kind, one.prompt) for one in asked] == [
        (None, "approval", "Run shell?"),
        (None, "question", "files: Really?"),
        (None, "question", "Who?"),
    ]
    assert [(one.kind, one.choice, one.by) for one in over] == [
        ("approval", "allow", "user"),
        ("question", "deny", "none"),
        ("question", "deny", "user"),
    ]
    assert asked[0].call_id is not None
    assert over[0].call_id == asked[0].call_id
    assert asked[0].schema == {"type": "string", "enum": ["allow", "deny"]}


@faces
def test_a_question_is_over_with_its_turn(face: Face) -> None:
    plugin = phone()

    async def all_of_it() -> None:
        async with face.block(face.host([plugin])) as host, face.block(host.session()) as session:
            async with face.block(session.turn("x")) as turn:
                told = turn.tell_question("approval", "Run shell?")
            assert not turn.end_question(told, allowed=True)
            turn.tell_question("approval", "Run shell?")

    face.run(all_of_it)
    assert plugin.names() == ["user_input_required", "turn_end"]


async def test_no_plugin_can_answer_it() -> None:
    plugin = phone()
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([plugin]) as host,
            host.session() as session,
            session.turn("x") as turn,
        ):
            turn.tell_question("approval", "Run shell?")
            await plugin.hears("user_input_required")
            asked = {"session_id": session.session_id, "choice": "allow"}
            for question_id in ("", "None", "null"):
                answer = await plugin.ask("host/answer", **asked, question_id=question_id)
                assert answer == {"taken": False}
    assert "user_input_received" not in plugin.names()
