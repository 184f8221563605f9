"""An agent asks its person again and again, and tells no end of it: what is kept is bounded."""

from __future__ import annotations

import pytest

from sliphook.adapters.attached.prompts import MOST_OPEN
from sliphook.adapters.dialects.told import Elicited, Happening, PermissionAsked, Prompted
from sliphook.testing import FakePlugin

from .test_children_at_once import room

PERMISSION = PermissionAsked(
    event="PermissionRequest",
    session_id="s",
    tool_name="Bash",
    tool_kind="shell",
    origin="agent",
    arguments={},
    model_call_id=None,
)
ELICITED = Elicited(event="Elicitation", session_id="s", server="files", message="which?")


@pytest.mark.parametrize("asked", [PERMISSION, ELICITED], ids=["a permission", "a server"])
async def test_the_oldest_question_is_told_as_over(asked: Happening) -> None:
    ear = FakePlugin("ear", hears=["user_input_required", "user_input_received", "turn_end"])
    async with room(ear) as place:
        for _ in range(MOST_OPEN + 3):
            await place.take(asked)
        await place.take(Prompted(event="UserPromptSubmit", session_id="s", text="and now"))
        await ear.hears("turn_end")
        assert ear.names().count("user_input_required") == MOST_OPEN + 3
        assert [one.choice for one in ear.payloads("user_input_received")] == ["deny"] * 3
