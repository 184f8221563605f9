"""What a line of a trace is about: the tool, told apart from a parallel call of the same."""

from __future__ import annotations

from msgspec.structs import replace

from sliphook.trace.subjects import Subjects

from .made import asked, record


def test_answers_are_about_what_was_asked() -> None:
    subjects = Subjects()
    calls = [
        asked(number, 0.0, tool_name="weather", arguments={"city": city}, seq=number)
        for number, city in ((1, "Oslo"), (2, "Rom"))
    ]
    assert [subjects.of(call) for call in calls] == [
        'weather {"city":"Oslo"}',
        'weather {"city":"Rom"}',
    ]
    answer = record(direction="from_plugin", method="hook/pre_tool_call", id=2)
    assert subjects.of(answer) == 'weather {"city":"Rom"}'
    assert subjects.of(record("settled", method="hook/pre_tool_call", id=1)) == (
        'weather {"city":"Oslo"}'
    )
    assert subjects.of(record("settled", method="hook/pre_tool_call", id=3)) is None


def test_an_outcome_is_about_its_fire() -> None:
    subjects = Subjects()
    call = asked(1, 0.0, tool_name="shell")
    assert subjects.of(replace(call, session_id="s-1", seq=7)) == "shell"
    outcome = record("outcome", plugin="", method="hook/pre_tool_call", session_id="s-1", seq=7)
    assert subjects.of(outcome) == "shell"


def test_what_is_about_none_or_cannot_be_read() -> None:
    subjects = Subjects()
    for body in (None, b"", b"[]", b'{"params":{"name":3}}', b'{"params":{}}', b"\xff"):
        assert (
            subjects.of(record(direction="to_plugin", method="tool/call", id=1, body=body)) is None
        )
    assert subjects.of(record(direction="to_plugin", method="ping", id=1)) is None


def test_long_arguments_are_cut_and_old_requests_forgotten() -> None:
    subjects = Subjects()
    subject = subjects.of(asked(1, 0.0, tool_name="shell", arguments={"command": "x" * 10_000}))
    assert subject is not None
    assert len(subject) == 66
    for number in range(2, 1_100):
        subjects.of(asked(number, 0.0, tool_name="shell"))
    answer = record(direction="from_plugin", method="hook/pre_tool_call", id=1)
    assert subjects.of(answer) is None
