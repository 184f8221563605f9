"""A plugin's answer to a hook: one strict shape, the same on both sides."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Optional

import msgspec

from .describe import doc

Decision = Literal["allow", "deny", "ask"]
"""The strongest counts: deny > ask > allow > no decision."""


class Answer(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
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

    def __or__(self, other: Answer) -> Answer:
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
