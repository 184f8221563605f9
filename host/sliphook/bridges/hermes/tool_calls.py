"""Tool calls: asked at Hermes's `pre_tool_call`, run and told in its middleware `tool_execution`.

A denial at the first is `blocked` for Hermes and its observers. A call that comes to the second
without the first is asked there, so none runs unasked.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, cast

from sliphook import SliphookError, ToolOutcome
from sliphook.adapters.dialects.toolnames import HERMES
from sliphook.agent_log import agent_log
from sliphook.blocking import BegunTool, Interrupted, PluginHost, Session
from sliphook_sdk.protocol import ToolKind

from .guarding import Guards, why_failed
from .run import CURRENT, AllowedCall, Run
from .tool_results import error_text, failed, result_of

Key = tuple[str, str]
Next = Callable[[dict[str, Any]], Any]

_log = agent_log(__name__)


class _Running:
    """A call that runs. It may pass the middleware once more, as tools side by side do.

    Another one of its name and id may come while it runs: a tool calls tools, and some models count
    their ids anew.

    Args:
        key: its id and name.
        given: what it runs with.
    """

    def __init__(self, key: Key, given: dict[str, Any]) -> None:
        self._key = key
        self._given = given
        self._run = CURRENT.get()
        self._left = threading.Semaphore(1)

    def passes_again(self, key: Key, args: dict[str, Any]) -> bool:
        """Whether this is the call itself; True once."""
        run = CURRENT.get()
        if (
            key != self._key
            or run is not self._run
            # Hermes's hook comes before the first pass alone
            or (run is not None and key in run.asked)
        ):
            return False
        try:
            return args == self._given and self._left.acquire(blocking=False)
        except RecursionError:  # nested too deep: it is asked about
            return False


_RUNNING: Final[ContextVar[_Running | None]] = ContextVar("sliphook_hermes_tool", default=None)
"""The innermost call that runs."""


class ToolCalls:
    """The tool calls of all runs.

    Args:
        host: gives the host, open.
        guards: who denies if the bridge fails.
        offered: the names of the plugins' tools.
    """

    def __init__(self, host: Callable[[], PluginHost], guards: Guards, offered: set[str]) -> None:
        self._host = host
        self._guards = guards
        self._offered = offered

    def asked(
        self, tool_name: str = "", args: Any = None, tool_call_id: str = "", **_: Any
    ) -> dict[str, str] | None:
        """Hermes's hook `pre_tool_call`."""
        try:
            run = CURRENT.get()
            # outside of a run it is asked when it is executed, in a turn of its own
            if run is None or tool_name == "":
                return None
            why = self._ask(run, tool_name, _arguments(args), tool_call_id)
        # no Exception: it would pass all of Hermes's handlers
        except Interrupted as error:
            why = _cannot(tool_name, error)
        except Exception as error:
            # else it is asked about once more when it is executed
            why = _cannot(tool_name, error) if self._is_guarded(tool_name) else None
        return {"action": "block", "message": why} if why is not None else None

    def blocked(
        self,
        tool_name: str = "",
        tool_call_id: str = "",
        status: str = "",
        result: Any = None,
        **_: Any,
    ) -> None:
        """Hermes's hook `post_tool_call`: a call that we allowed and Hermes has blocked."""
        run = CURRENT.get()
        if run is None or status != "blocked":
            return
        asked = _take(run, _key(tool_name, tool_call_id))
        if asked is not None:
            asked.call.end(error=PermissionError(str(result)))

    def execution(
        self,
        tool_name: str = "",
        args: Any = None,
        next_call: Next | None = None,
        tool_call_id: str = "",
        **_: Any,
    ) -> Any:
        """Hermes's middleware `tool_execution`.

        What raises in here before `next_call` would fall through to the tool.
        """
        key, arguments = _key(tool_name, tool_call_id), _arguments(args)
        running = _RUNNING.get() if tool_call_id else None
        if next_call is not None and running is not None and running.passes_again(key, arguments):
            return next_call(arguments)
        ran: list[Any] = []
        try:
            with self._turn() as run:
                return self._execute(run, key, arguments, tool_call_id, next_call, ran)
        except _OfTheTool as error:
            raise error.raised from None
        except Interrupted as error:
            return error_text(_cannot(tool_name, error, ran=bool(ran)))
        except Exception as error:
            if ran:
                # no failed answer to `post_tool_call` keeps a result back
                _log.exception("the end of a call of %s could not be told", tool_name)
                if isinstance(ran[0], _OfTheTool):
                    raise ran[0].raised from None
                return ran[0]
            if next_call is None or self._is_guarded(tool_name):
                return error_text(_cannot(tool_name, error))
            _log.exception("a call of %s could not be put to the plugins", tool_name)
            return next_call(arguments)

    def _is_guarded(self, name: str) -> bool:
        try:
            known = {"tool_name": name, "tool_kind": self._kind(name)}
            return self._guards.any("pre_tool_call", **known)
        # this is asked when something has failed already
        except Exception:
            return True

    def _kind(self, name: str) -> ToolKind | None:
        return None if name in self._offered else HERMES.kind(name)

    def _ask(self, run: Run, name: str, args: dict[str, Any], model_id: str) -> str | None:
        """Ask the plugins; why the call must not run, or None."""
        if run.turn.interrupted:
            run.stop_agent()
        call = run.turn.begin_tool(
            name,
            args,
            model_call_id=model_id or None,
            own=name not in self._offered,
            tool_kind=self._kind(name),
            origin=HERMES.origin(name),
        )
        if call.outcome is not None and call.outcome.status in ("denied", "cancelled"):
            return call.outcome.text()
        with run.lock:
            run.asked[_key(name, model_id)] = AllowedCall(call=call, given=args)
        return None

    def _execute(
        self,
        run: Run,
        key: Key,
        args: dict[str, Any],
        model_id: str,
        next_call: Next | None,
        ran: list[Any],
    ) -> Any:
        name = key[1]
        asked = _take(run, key)
        if asked is not None and asked.given != args:
            # what was asked is what is done: another plugin of Hermes has exchanged them since
            asked.call.end(cancelled=True)
            asked = None
        if asked is None:
            why = self._ask(run, name, args, model_id)
            asked = _take(run, key)
            if why is not None or asked is None:
                return error_text(why or f"the call of {name} could not be asked about")
        call = asked.call
        if call.outcome is not None:
            return _shown(call.outcome)
        if run.turn.ended:
            return error_text(f"the call of {name} was cancelled: the turn has ended")
        if name in self._offered:
            return _shown(call.run())
        if next_call is None:
            return error_text(f"{name} is no tool of a plugin")
        return self._run_own(call, key, next_call, ran)

    def _run_own(self, call: BegunTool, key: Key, next_call: Next, ran: list[Any]) -> Any:
        """Have Hermes run its own tool, and tell what came of it."""
        token = _RUNNING.set(_Running(key, call.arguments))
        raised: Exception | None = None
        raw: Any = None
        try:
            raw = next_call(call.arguments)
            ran.append(raw)
        except Exception as error:
            raised = error
            ran.append(_OfTheTool(error))
        except BaseException:
            call.end(cancelled=True)
            raise
        finally:
            _RUNNING.reset(token)
        result = (
            failed(getattr(raised, "original", raised)) if raised is not None else result_of(raw)
        )
        outcome = call.end(result)
        if outcome.status == "cancelled":
            _stop_agent()
            # what plugins would have taken out of it is still in it
            if self._host().hears("post_tool_call"):
                return error_text(f"{call.name} has run; its result is lost, as the turn has ended")
        elif outcome.text() != result.content:
            return outcome.text()
        if raised is not None:
            raise _OfTheTool(raised)
        return raw

    @contextmanager
    def _turn(self) -> Generator[Run]:
        run = CURRENT.get()
        if run is not None:
            yield run
            return
        session: Session = self._host().session(
            session_key="outside", meta={"agent": "hermes", "outside_of_a_run": True}
        )
        with session, session.turn("") as turn:
            yield Run(None, session, turn)


class _OfTheTool(SliphookError):
    """What a tool of Hermes raised, on its way through what would make a denial of it."""

    def __init__(self, raised: Exception) -> None:
        super().__init__()
        self.raised = raised


def _stop_agent() -> None:
    """The turn has ended: Hermes must see it before its next model call, also if a plugin did."""
    run = CURRENT.get()
    try:
        if run is not None and run.turn.interrupted:
            run.stop_agent()
    except Exception:
        _log.exception("Hermes could not be told to stop")


def _key(name: str, model_id: str) -> Key:
    # calls from `execute_code` have no id: hook and middleware run in one thread
    return (model_id or f"thread {threading.get_ident()}", name)


def _take(run: Run, key: Key) -> AllowedCall | None:
    with run.lock:
        return run.asked.pop(key, None)


def _arguments(args: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", args) if isinstance(args, dict) else {}


def _shown(outcome: ToolOutcome) -> str:
    """A result that did not come from a tool of Hermes's."""
    failed = outcome.status != "ok" or outcome.result.is_error
    return error_text(outcome.text()) if failed else outcome.text()


def _cannot(name: str, error: BaseException, *, ran: bool = False) -> str:
    if isinstance(error, Interrupted):
        _stop_agent()
    else:
        _log.error("the call of %s is denied, as the bridge failed", name, exc_info=error)
    what = "has run, but its result cannot be shown" if ran else "was denied"
    return f"the call of {name} {what}: {why_failed(error)}"
