"""What a text at the chat's prompt is for, as questions come and go."""

from __future__ import annotations

from sliphook.agent.ui.filling import Question
from sliphook.cli.chat.typed import Typed

ONE, TWO = Question(prompt="Run ls?"), Question(prompt="Run rm?")


def test_a_begun_answer_goes_with_its_question() -> None:
    typed = Typed()
    assert typed.turn_to(ONE, "") == ""
    assert typed.turn_to(TWO, "y") == ""
    assert typed.question is TWO
    assert typed.turn_to(None, "ye") == ""


def test_a_begun_message_waits_for_the_end_of_the_questions() -> None:
    typed = Typed()
    assert typed.turn_to(ONE, "and then ") == ""
    assert typed.turn_to(TWO, "y") == ""
    assert typed.turn_to(None, "") == "and then "
    assert typed.turn_to(ONE, "and then test") == ""
    assert typed.turn_to(None, "") == "and then test"


def test_what_follows_an_answer_is_no_answer() -> None:
    typed = Typed()
    typed.turn_to(ONE, "")
    typed.accepted("yes")
    assert typed.turn_to(TWO, "y") == ""
    assert typed.turn_to(None, "no") == "y"


def test_what_follows_a_refused_answer_is_for_the_same_question() -> None:
    typed = Typed()
    typed.turn_to(ONE, "")
    typed.accepted("maybe")
    typed.refused()
    assert typed.turn_to(None, "y") == ""


def test_what_follows_a_command_is_for_the_same_question() -> None:
    typed = Typed()
    typed.turn_to(ONE, "")
    typed.accepted("/help")
    assert typed.turn_to(None, "y") == ""
