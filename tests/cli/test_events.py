"""`sliphook events`: the catalogue on paper."""

from __future__ import annotations

from sliphook.adapters.dialects.known import DIALECTS

from .conftest import Sliphook


def test_the_list_has_every_entry_once(sliphook: Sliphook) -> None:
    ran = sliphook("events")
    assert (ran.status, ran.err) == (0, "")
    rows = [
        line.split()[:2]
        for line in ran.out.partition("\n\n")[0].splitlines()
        if not line.startswith(" ")
    ]
    assert len(rows) == 19
    assert rows[0] == ["session_start", "hook"]
    assert ["agent_loop_stopped", "event"] in rows
    assert rows[-1] == ["subagent_stop", "event"]


def test_one_entry_says_what_its_payload_and_its_answer_hold(sliphook: Sliphook) -> None:
    ran = sliphook("events", "Pre-Tool-Call")
    assert (ran.status, ran.err) == (0, "")
    assert "pre_tool_call: a hook" in ran.out
    assert "  arguments              the arguments, by the names of that tool; like " in ran.out
    assert "  decision               allow, deny, ask\n" in ran.out
    assert "a failed answer counts as a deny" in ran.out


def test_an_event_says_nothing_of_answers(sliphook: Sliphook) -> None:
    ran = sliphook("events", "turn_end")
    assert "turn_end: an event" in ran.out
    assert "answer" not in ran.out.replace("last_assistant_message", "")


def test_json_is_for_programs(sliphook: Sliphook) -> None:
    entries = sliphook("events", "--json").json()
    assert [entry["name"] for entry in entries][:3] == [
        "session_start",
        "session_reset",
        "session_end",
    ]
    stop = sliphook("events", "stop", "--json").json()
    assert stop["kind"] == "hook"
    assert stop["answer"] == ["continue_with"]
    assert stop["on_failure"] == "open"
    assert stop["payload"]["stop_count"] == {
        "description": "from 0: how often this turn has stopped before",
        "example": 0,
    }


def test_an_agent_says_what_there_is_in_it(sliphook: Sliphook) -> None:
    ran = sliphook("events", "--for", "claude-code")
    assert (ran.status, ran.err) == (0, "")
    rows = [line.split()[:2] for line in ran.out.splitlines() if not line.startswith(" ")]
    assert len(rows) == 19
    assert ["pre_tool_call", "exact"] in rows
    assert ["pre_llm_call", "impossible"] in rows


def test_one_entry_of_an_agent_says_what_each_answer_does(sliphook: Sliphook) -> None:
    ran = sliphook("events", "pre_tool_call", "--for", "codex")
    assert ran.out.startswith("pre_tool_call        approximate from PreToolUse\n")
    assert "ask: approximate. A deny that says that a person's approval is needed." in ran.out
    assert sliphook("events", "stop", "--for", "gemini", "--json").json() == {
        "ours": "stop",
        "how": "exact",
        "theirs": ["AfterAgent"],
        "limits": "",
        "answers": {"continue_with": {"how": "exact", "limits": ""}},
    }


def test_every_agent_can_be_named(sliphook: Sliphook) -> None:
    assert list(DIALECTS) == ["claude-code", "codex", "gemini", "copilot", "cursor"]
    assert "[claude-code|codex|gemini|copilot|cursor]" in sliphook("events", "--help").out
