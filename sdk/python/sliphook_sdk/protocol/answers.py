"""A plugin's answer to a hook: one strict shape, the same on both sides.

Type checkers know what an answer says: `deny()` makes an `Answer[Literal["deny"]]`, and a handler
of `stop` may return a `StopAnswer` alone. `Answer` without more may say anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, Optional, Union

import msgspec

from .describe import doc

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    SaysT = TypeVar("SaysT", covariant=True, bound=str, default=str)
    MoreT = TypeVar("MoreT", bound=str)
else:
    from typing import TypeVar

    SaysT = TypeVar("SaysT", covariant=True)

Decision = Literal["allow", "deny", "ask"]
"""The strongest counts: deny > ask > allow > no decision."""


class Answer(
    msgspec.Struct,
    Generic[SaysT],
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """One plugin's reply to a hook.

    An unknown field is an error: a misspelt `decision` would open a guard.

    Every field may be absent or null; an answer of null or `{}` abstains. The catalogue says which
    fields a hook takes.
    """

    decision: Annotated[
        Optional[Decision],
        doc("`deny` ends it, `ask` puts it to a person, `allow` is an opinion", "deny"),
    ] = None
    reason: Annotated[Optional[str], doc("why, for people and for the model", "not for agents")] = (
        None
    )
    replace: Annotated[
        Optional[dict[str, Any]],
        doc("payload fields to put in the place of the old ones, whole; needs `replaces`"),
    ] = None
    substitute: Annotated[
        Optional[dict[str, Any]],
        doc("what stands in for the call that now does not happen; needs `replaces`"),
    ] = None
    context: Annotated[
        Optional[list[str]], doc("texts for the model, labelled with the plugin's name")
    ] = None
    continue_with: Annotated[
        Optional[str], doc("in `stop`: go on, with this as the next message")
    ] = None
    meta_: Annotated[Any, doc("free, for the plugin's own use; kept in the trace")] = msgspec.field(
        default=None, name="_meta"
    )

    @property
    def abstains(self) -> bool:
        """True if the answer changes nothing."""
        return (
            self.decision is None
            and not self.replace
            and not self.substitute
            and not self.context
            and self.continue_with is None
        )

    def __or__(self, other: Answer[MoreT]) -> Answer[Union[SaysT, MoreT]]:
        """Both answers in one: `allow() | context("...")`.

        The lists of `context` are joined, and so are the fields of `replace` and `substitute`.

        Raises:
            ValueError: both answers have the same field, so one of the values would be lost.
        """
        said = {name: getattr(self, name) for name in self.__struct_fields__}
        for name in other.__struct_fields__:
            theirs, ours = getattr(other, name), said[name]
            if theirs is None:
                continue
            if ours is None:
                said[name] = theirs
            elif name == "context":
                said[name] = [*ours, *theirs]
            elif name in ("replace", "substitute") and not set(ours) & set(theirs):
                said[name] = {**ours, **theirs}
            else:
                raise ValueError(f"both answers have `{name}`")
        return Answer(**said)


# generated: answers
SessionStartAnswer = Answer[Literal["context"]]
"""What a handler of `session_start` may answer."""
UserPromptSubmitAnswer = Answer[Literal["deny", "context"]]
"""What a handler of `user_prompt_submit` may answer."""
UserPromptSubmitReplacement = Answer[Literal["deny", "replace(text)", "context"]]
"""What a handler of `user_prompt_submit` with `replaces=True` may answer."""
PreLlmCallAnswer = Answer[Literal["deny", "context"]]
"""What a handler of `pre_llm_call` may answer."""
PreLlmCallReplacement = Answer[
    Literal[
        "deny",
        "replace(model, route, messages, tools)",
        "substitute(response, usage, finish_reason)",
        "context",
    ]
]
"""What a handler of `pre_llm_call` with `replaces=True` may answer."""
PreToolCallAnswer = Answer[Literal["allow", "deny", "ask", "context"]]
"""What a handler of `pre_tool_call` may answer."""
PreToolCallReplacement = Answer[
    Literal[
        "allow",
        "deny",
        "ask",
        "replace(arguments)",
        "substitute(result)",
        "context",
    ]
]
"""What a handler of `pre_tool_call` with `replaces=True` may answer."""
PostToolCallAnswer = Answer[Literal["context"]]
"""What a handler of `post_tool_call` may answer."""
PostToolCallReplacement = Answer[Literal["replace(result)", "context"]]
"""What a handler of `post_tool_call` with `replaces=True` may answer."""
StopAnswer = Answer[Literal["continue_with"]]
"""What a handler of `stop` may answer."""
SubagentStartAnswer = Answer[Literal["context"]]
"""What a handler of `subagent_start` may answer."""
# end
