"""Questions to a person: how plugins are told of them, ask them, and answer them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Optional

import msgspec

from .describe import doc
from .shapes import Payload, ToolKind

QuestionKind = Literal["approval", "max_iterations", "question"]
"""What a question is for: a tool call, a turn at its limit of model calls, anything else."""

AskOutcome = Literal["answered", "declined", "timed_out", "nobody", "interrupted"]
"""What came of a `host/ask`."""

_YES_OR_NO = {"type": "string", "enum": ["allow", "deny"]}


class UserInputRequired(Payload, frozen=True, kw_only=True):
    """The loop pauses for a person, or a plugin asks the person."""

    kind: Annotated[QuestionKind, doc("what for", "approval")]
    question_id: Annotated[
        Optional[str],
        doc("unique; null if `host/answer` cannot answer it", "q-1", match=False),
    ] = None
    call_id: Annotated[
        Optional[str], doc("the tool call that waits, if one does", "c-1", match=False)
    ]
    tool_name: Annotated[Optional[str], doc("the tool of that call, else null", "shell")] = None
    tool_kind: Annotated[
        Optional[ToolKind],
        # null would fit, and a plugin that answers must not take it for the kind that it names
        doc("what the tool does, as in `pre_tool_call`; null: not said", "shell", match=False),
    ] = None
    origin: Annotated[Optional[str], doc("whose the tool is, as in `pre_tool_call`", "agent")] = (
        None
    )
    asked_by: Annotated[Optional[str], doc("the plugin whose `host/ask` it is, else null")] = None
    prompt: Annotated[str, doc("what the person is asked", "Run shell?", match=False)]
    schema: Annotated[
        Optional[dict[str, Any]],
        doc(
            "JSON Schema of the answer: `allow` or `deny`, or what the plugin asks for", _YES_OR_NO
        ),
    ] = None
    arguments: Annotated[
        Optional[dict[str, Any]],
        doc("what the tool gets if it is allowed", {"command": "ls"}),
    ] = None


class UserInputReceived(Payload, frozen=True, kw_only=True):
    """The question is over, and what waited for it goes on."""

    kind: Annotated[QuestionKind, doc("what for", "approval")]
    question_id: Annotated[
        Optional[str], doc("the same as in `user_input_required`", "q-1", match=False)
    ] = None
    call_id: Annotated[Optional[str], doc("the tool call that waited", "c-1", match=False)]
    choice: Annotated[
        str,
        doc(
            "what was chosen: `allow`, `deny`, or the answer; what is no text is JSON",
            "allow",
            match=False,
        ),
    ]
    by: Annotated[
        str, doc("who chose: `user`, a plugin's name, or `none` if nobody answered", "user")
    ]


class AskParams(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin asks the person in front of the agent; answered when that is over."""

    session_id: Annotated[str, doc("the session", "s-1")]
    turn_id: Annotated[Optional[str], doc("only while this turn is open", "t-1")] = None
    call_id: Annotated[Optional[str], doc("the tool call that it is about", "c-1")] = None
    prompt: Annotated[str, doc("the question", "Which server?")]
    schema: Annotated[
        Optional[dict[str, Any]],
        doc("JSON Schema of the answer; null is a text", {"type": "string", "enum": ["a", "b"]}),
    ] = None
    timeout_s: Annotated[
        Optional[float], doc("seconds to answer, 0.05 to 600; null is 60", 60.0)
    ] = None


class AskResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of the question."""

    outcome: Annotated[
        AskOutcome,
        doc(
            "`nobody`: no one can be asked; `interrupted`: the turn has ended, or none was open",
            "answered",
        ),
    ]
    answer: Annotated[Any, doc("what they answered, which fits `schema`", "a")] = None


class AnswerParams(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin answers an open question in the person's place."""

    session_id: Annotated[str, doc("the session", "s-1")]
    question_id: Annotated[str, doc("from `user_input_required`", "q-1")]
    choice: Annotated[
        Optional[str],
        doc("the answer: a text as it is, any other value as JSON; null: it gives none", "allow"),
    ] = None


class AnswerResult(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the answer counts."""

    taken: Annotated[bool, doc("false: it was answered before, or is over", True)]
