"""What of Hermes is wrapped, as no hook says when a run begins, ends or is interrupted.

Each wrap looks at the signature first. If it is not the one that the bridge was written for, the
bridge refuses: half of it would be a guard that does not guard.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol

from sliphook.agent_log import agent_log
from sliphook.errors import SliphookError

HERMES: Final = "0.19.0"
"""The release that the seams were written for."""

MIDDLEWARE_PARAMETERS: Final = {
    "run_llm_execution_middleware": ("request", "next_call", "context"),
    "run_tool_execution_middleware": ("tool_name", "args", "next_call", "context"),
}
"""What calls the middleware, and by which names: another name would pass it by."""
RUN_PARAMETERS: Final = ("agent", "user_message", "conversation_history", "persist_user_message")
HOOKS: Final = (
    "pre_llm_call",
    "pre_tool_call",
    "post_tool_call",
    "api_request_error",
    "on_session_finalize",
    "on_session_reset",
    "subagent_start",
    "subagent_stop",
    "pre_approval_request",
    "post_approval_response",
)
MIDDLEWARE: Final = ("llm_execution", "tool_execution")
_MARK: Final = "_sliphook_wrapped"
_log = agent_log(__name__)


class DoesNotFit(SliphookError):
    """Hermes is not the one that the bridge knows; str() says where."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"sliphook does not fit this Hermes, as it was written for {HERMES}: {what}."
            " Update sliphook, or switch the bridge off: hermes plugins disable sliphook"
        )


class RunCall:
    """A call of `run_conversation`, whose arguments can be exchanged."""

    def __init__(
        self,
        function: Callable[..., Any],
        signature: inspect.Signature,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        self._function = function
        self._bound = signature.bind(*args, **kwargs)
        self._bound.apply_defaults()

    @property
    def agent(self) -> Any:
        """The agent that is to run."""
        return self["agent"]

    def __getitem__(self, name: str) -> Any:
        return self._bound.arguments[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._bound.arguments[name] = value

    def go(self) -> Any:
        """Have Hermes run."""
        return self._function(*self._bound.args, **self._bound.kwargs)


class Seams(Protocol):
    """What the wraps call."""

    def run(self, call: RunCall) -> Any:
        """In place of a run."""
        ...

    def interrupting(self, agent: Any, message: object) -> None:
        """Before `AIAgent.interrupt`."""
        ...

    def interrupted(self, agent: Any) -> None:
        """After it."""
        ...

    def closed(self, agent: Any) -> None:
        """After `AIAgent.close`."""
        ...


def check_names(known: Iterable[str], wanted: Iterable[str], what: str) -> None:
    """Raise `DoesNotFit` if Hermes does not know a hook or middleware."""
    missing = sorted(set(wanted) - set(known))
    if missing:
        raise DoesNotFit(f"there is no {what} {', '.join(missing)}")


def check_parameters(
    function: object, wanted: tuple[str, ...], where: str, *, exact: bool = False
) -> inspect.Signature:
    """Raise `DoesNotFit` if a function does not take these; returns its signature."""
    if not callable(function):
        raise DoesNotFit(f"there is no {where}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise DoesNotFit(f"{where} has no signature: {error}") from None
    found = tuple(signature.parameters)
    if (found != wanted) if exact else (found[:2] != wanted[:2] or not set(wanted) <= set(found)):
        raise DoesNotFit(f"{where} takes {', '.join(found) or 'nothing'}")
    return signature


def check_middleware(module: Any) -> None:
    """Raise `DoesNotFit` if middleware is called in another way than the bridge knows."""
    for name, wanted in MIDDLEWARE_PARAMETERS.items():
        check_parameters(getattr(module, name, None), wanted, name, exact=True)


def wrap_runs(module: Any, seams: Seams) -> None:
    """Wrap `run_conversation` of the module, which Hermes looks up at each call.

    `register` may run while `run_agent` is being imported, so the class is wrapped at the first
    run, when there is one.

    Raises:
        DoesNotFit: its signature is another.
    """
    original = getattr(module, "run_conversation", None)
    if getattr(original, _MARK, False):
        return
    signature = check_parameters(original, RUN_PARAMETERS, "run_conversation")
    assert callable(original)

    @functools.wraps(original)
    def run_conversation(*args: Any, **kwargs: Any) -> Any:
        call = RunCall(original, signature, args, kwargs)
        wrap_agent(type(call.agent), seams)
        return seams.run(call)

    setattr(run_conversation, _MARK, True)
    module.run_conversation = run_conversation


def wrap_agent(cls: Any, seams: Seams) -> None:
    """Wrap `interrupt` and `close` of the class, once.

    Raises:
        DoesNotFit: their signatures are others.
    """
    if getattr(cls, _MARK, False):
        return
    interrupt, close = getattr(cls, "interrupt", None), getattr(cls, "close", None)
    check_parameters(interrupt, ("self", "message"), f"{cls.__name__}.interrupt", exact=True)
    check_parameters(close, ("self",), f"{cls.__name__}.close", exact=True)
    check_parameters(
        getattr(cls, "clear_interrupt", None),
        ("self",),
        f"{cls.__name__}.clear_interrupt",
        exact=True,
    )
    assert callable(interrupt)
    assert callable(close)

    @functools.wraps(interrupt)
    def interrupt_too(self: Any, message: Any = None) -> Any:
        _tried(seams.interrupting, self, message)
        try:
            # Hermes first: nothing of ours may hold it
            return interrupt(self, message)
        finally:
            _tried(seams.interrupted, self)

    @functools.wraps(close)
    def close_too(self: Any) -> Any:
        try:
            return close(self)
        finally:
            _tried(seams.closed, self)

    cls.interrupt, cls.close = interrupt_too, close_too
    setattr(cls, _MARK, True)


def _tried(function: Callable[..., None], *args: Any) -> None:
    try:
        function(*args)
    except Exception:
        _log.exception("the bridge failed in %s", function.__name__)
