"""What `sliphook.blocking` and `sliphook.aio` have in common: all that returns at once.

Both are faces of the same objects in a trio loop (see `portal`). Each method of a face is named
once here; signature and docstring are those of the trio method.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial, wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypedDict, TypeVar, cast

from sliphook.dispatch.hook_recorder import Spans
from sliphook.forks import call_ending_forks
from sliphook.host.submissions import PluginMessages
from sliphook.session.arguments.functions import check_plain
from sliphook.session.host import CanAsk
from sliphook.session.reports import Progress
from sliphook.session.submission import Submission
from sliphook.trace.record import TraceSink

from .blocks import OpenBlock
from .portal import Portal

T = TypeVar("T")
R = TypeVar("R")
M = TypeVar("M")
F = TypeVar("F")
P = ParamSpec("P")


class HostSettings(TypedDict, total=False):
    """The settings of `PluginHost` that are the same in every face; it documents them."""

    name: str
    approver_queues: bool
    can_ask: CanAsk | None
    on_notify: Callable[[str, str, str], None] | None
    on_progress: Callable[[Progress], None] | None
    on_log: Callable[[str, str, str], None] | None
    on_problem: Callable[[str, str], None] | None
    on_offers: Callable[[], None] | None
    on_submit: Callable[[Submission], object] | None
    plugin_messages: PluginMessages
    providers: Mapping[str, str | None] | None
    reserved_tools: Iterable[str]
    reserved_commands: Iterable[str]
    timeout_cap_s: float | None
    trace: TraceSink | None
    spans: Spans | None
    data_home: str | os.PathLike[str] | None
    log_dir: str | os.PathLike[str] | None
    open_wait_s: float


def delivered(
    settings: HostSettings, deliver: Callable[[Callable[[], None]], None]
) -> HostSettings:
    """The same settings, with callbacks that hand each call to `deliver`.

    Raises:
        TypeError: one is no plain function, which would be noticed at its first call only.
    """
    changed = cast("dict[str, Any]", settings.copy())
    for name in ("on_notify", "on_progress", "on_log", "on_problem", "on_offers", "on_submit"):
        check_plain(name, changed.get(name))
        if changed.get(name) is not None:
            changed[name] = partial(hand_over, deliver, changed[name])
    return cast("HostSettings", changed)


def hand_over(
    deliver: Callable[[Callable[[], None]], None], callback: Callable[..., None], *args: Any
) -> None:
    """Have a callback called where the agent wants it."""
    deliver(partial(call_ending_forks, callback, *args))


class Face(Generic[T]):
    """The outside of one object in the loop.

    Attributes:
        inner: the object of the trio face; for a child's turn only after it is entered.
        block: its block in the loop.
    """

    inner: T
    block: OpenBlock[T]

    @property
    def portal(self) -> Portal:
        """The loop."""
        return self.block.portal


class AtOnce(Generic[T, P, R]):
    """A plain method of the trio face: returns when the loop has run it; waits for no plugin.

    Args:
        method: the method.
        early: it may be called before there is a loop.
    """

    def __init__(self, method: Callable[Concatenate[T, P], R], *, early: bool = False) -> None:
        self._method = method
        self._early = early
        self.__doc__ = method.__doc__

    def __get__(self, face: Face[Any], owner: type[Face[Any]]) -> Callable[P, R]:
        method, early = self._method, self._early

        @wraps(method)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if early and not face.portal.started:
                return method(face.inner, *args, **kwargs)
            return face.portal.at_once(partial(method, face.inner, *args, **kwargs))

        return call


class Opens(Generic[T, P, M, F]):
    """A method of the trio face that makes something to be entered: returns the face of that."""

    def __init__(
        self, method: Callable[Concatenate[T, P], M], face: Callable[[Face[Any], M], F]
    ) -> None:
        self._method = method
        self._face = face
        self.__doc__ = method.__doc__

    def __get__(self, face: Face[Any], owner: type[Face[Any]]) -> Callable[P, F]:
        method, inside = self._method, self._face

        @wraps(method)
        def make(*args: P.args, **kwargs: P.kwargs) -> F:
            return inside(face, method(face.inner, *args, **kwargs))

        return make
