"""Pure: a question to the user, put line after line, and what the user's lines mean."""

from __future__ import annotations

from typing import Any, Final, Protocol

import msgspec

from sliphook.quoting import quote
from sliphook.session.host import ApprovalRequest, AskRequest
from sliphook.session.questions.form import FormField
from sliphook.wire.decoding import DECODE_ERRORS

HOW_TO_ANSWER: Final = "please answer y or n"
_SAID: Final = {"y": True, "yes": True, "n": False, "no": False, "": False}
_LINE_CHARS: Final = 1_000
_NAME_CHARS: Final = 64
_NO_DEFAULT: Final = object()


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One line that the user is asked for; every text is one line and safe for a terminal.

    Attributes:
        prompt: the question itself.
        answers: what may be answered, in a few words; "" if that is any text.
        call: the tool and its arguments as it would run, if the question is about a tool call.
        reasons: why the user is asked, each with the plugin's name; or what a plugin asks.
    """

    prompt: str
    answers: str = "y/N"
    call: str | None = None
    reasons: tuple[str, ...] = ()

    def about(self) -> tuple[str, ...]:
        """What the user has to know, as lines.

        The call is among them although the user has seen it when the model made it: other lines
        may have followed since, and a plugin may have changed it.
        """
        return (*([self.call] if self.call is not None else ()), *self.reasons)

    def line(self) -> str:
        """The prompt with what may be answered."""
        return f"{self.prompt} [{self.answers}]" if self.answers else self.prompt

    def text(self) -> str:
        """The whole question as a message."""
        return "\n".join((*self.about(), self.line()))


class Filling(Protocol):
    """What a user is asked until it is answered.

    Attributes:
        question: the line that the user is asked for now.
        over: all is answered, or the user has declined.
        answer: then, what was answered.
    """

    question: Question
    over: bool
    answer: Any

    def take(self, text: str) -> str | None:
        """Take the user's words for the open line; returns why they are not taken, or None."""
        ...

    def decline(self) -> None:
        """The user answers no more."""
        ...


class YesOrNo:
    """A question with yes and no as answers; an empty one is no."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.over = False
        self.answer = False

    def take(self, text: str) -> str | None:
        """See `Filling`."""
        said = _SAID.get(text.strip().lower())
        if said is None:
            return HOW_TO_ANSWER
        self.answer, self.over = said, True
        return None

    def decline(self) -> None:
        """See `Filling`."""
        self.over = True


def approval(request: ApprovalRequest) -> YesOrNo:
    """The question whether a tool call may run."""
    arguments = msgspec.json.encode(request.arguments).decode()
    return YesOrNo(
        Question(
            prompt=f"Run {quote(request.tool_name, _NAME_CHARS)}?",
            call=quote(f"{request.tool_name} {arguments}", _LINE_CHARS),
            reasons=tuple(
                quote(f"{reason.plugin}: {reason.text}", _LINE_CHARS) for reason in request.reasons
            ),
        )
    )


def going_on(prompt: str) -> YesOrNo:
    """The question whether a turn may go on."""
    return YesOrNo(Question(prompt=quote(prompt, _LINE_CHARS)))


class FilledForm:
    """What a plugin asks: one value, or the fields of an object one after the other.

    An empty line takes the default; without one it leaves an optional field out, and declines the
    whole question if the field is required.
    """

    def __init__(self, request: AskRequest) -> None:
        self.over = False
        self.answer: Any = None
        self._is_object = request.form.is_object
        self._left = list(request.form.fields)
        self._values: dict[str, Any] = {}
        asked = quote(f"{request.plugin} asks: {request.prompt}", _LINE_CHARS)
        self.question = _question(self._left[0], (asked,))

    def take(self, text: str) -> str | None:
        """See `Filling`."""
        field, text = self._left[0], text.strip()
        if text:
            value = _read(field, text)
            why = _how_to(field) if value is None else field.why_not(value)
            if why is not None:
                return quote(why, _LINE_CHARS)
        else:
            value = _default(field)
            if value is _NO_DEFAULT and field.required:
                self.decline()
                return None
        if value is not _NO_DEFAULT:
            self._values[field.name or ""] = value
        del self._left[0]
        if self._left:
            self.question = _question(self._left[0], ())
        else:
            self.answer = self._values if self._is_object else self._values[""]
            self.over = True
        return None

    def decline(self) -> None:
        """See `Filling`."""
        self.answer, self.over = None, True


def _question(field: FormField, about: tuple[str, ...]) -> Question:
    described = field.schema.get("description")
    lines = [described] if isinstance(described, str) and field.name is not None else []
    for number, (choice, name) in enumerate(zip(field.choices, field.choice_names, strict=True), 1):
        lines.append(f"  {number}  {choice}" + (f": {name}" if name != choice else ""))
    title = field.schema.get("title")
    shown = title if isinstance(title, str) else field.name or "answer"
    return Question(
        prompt=f"{quote(shown, _NAME_CHARS)}:",
        answers=quote(_answers(field), _LINE_CHARS),
        reasons=(*about, *(quote(line, _LINE_CHARS) for line in lines)),
    )


def _answers(field: FormField) -> str:
    """What may be answered, in a few words."""
    kinds = {"string": "", "number": "a number", "integer": "a whole number", "boolean": "y/n"}
    words = [f"1 to {len(field.choices)}" if field.choices else kinds[field.kind]]
    named = field.schema.get("format")
    if isinstance(named, str):
        words.append(named)
    default = _default(field)
    if default is not _NO_DEFAULT:
        shown = {True: "y", False: "n"}[default] if isinstance(default, bool) else default
        words.append(f"empty: {shown}")
    elif not field.required:
        words.append("may be empty")
    return ", ".join(filter(None, words))


def _default(field: FormField) -> Any:
    default = field.schema.get("default", _NO_DEFAULT)
    # a plugin's default is looked at as an answer is
    fits = default is not _NO_DEFAULT and field.why_not(default) is None
    return default if fits else _NO_DEFAULT


def _how_to(field: FormField) -> str:
    kinds = {"number": "a number", "integer": "a whole number", "boolean": "y or n"}
    return f"please answer {kinds.get(field.kind, 'a text')}"


def _read(field: FormField, text: str) -> Any:
    """The value of the user's words; None if they can be none of this kind."""
    if field.kind == "string":
        return _choice(field, text)
    if field.kind == "boolean":
        return _SAID.get(text.lower())
    try:
        value = msgspec.json.decode(text.encode("utf-8", "replace"))
    except DECODE_ERRORS:
        return None
    return value if type(value) in (int, float) else None


def _choice(field: FormField, text: str) -> str:
    """The choice that is meant by its value, its name or its number; else the text."""
    if text in field.choices:
        return text
    folded = [name.lower() for name in field.choice_names]
    if folded and text.lower() in folded:
        return field.choices[folded.index(text.lower())]
    if text.isascii() and text.isdigit() and len(text) < 4 and 1 <= int(text) <= len(field.choices):
        return field.choices[int(text) - 1]
    return text
