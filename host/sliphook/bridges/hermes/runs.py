"""The runs of Hermes's agents: each is a turn, and ends as the run ends."""

from __future__ import annotations

from typing import Any, Final, cast

from sliphook import Interruption, TurnOpen
from sliphook.agent_log import agent_log
from sliphook.blocking import Interrupted

from .apis.api import text_of
from .guarding import Guards, tools_run_elsewhere, why_failed
from .reasons import why_interrupted
from .run import CURRENT, Run
from .seams import RunCall
from .sessions import Sessions, session_id_of
from .subagents import Subagents

_GUARDED: Final = ("user_prompt_submit", "pre_llm_call", "pre_tool_call")
"""The hooks of a run that may deny."""
_log = agent_log(__name__)


class Runs:
    """The runs that are under way.

    Args:
        sessions: the sessions that they are of.
        children: those of subagents, before they begin.
        guards: who denies if the bridge fails.
    """

    def __init__(self, sessions: Sessions, children: Subagents, guards: Guards) -> None:
        self._sessions = sessions
        self._children = children
        self._guards = guards
        self._by_agent: dict[int, Run] = {}  # by id(): the run keeps its agent
        self._by_turn: dict[str, Run] = {}

    def run(self, call: RunCall) -> Any:
        """Hermes's `run_conversation`, as a turn."""
        elsewhere = tools_run_elsewhere(call.agent)
        if elsewhere is not None and self._guards.any("pre_tool_call"):
            return _not_run(call, f"Sliphook cannot guard this run: {elsewhere}")
        try:
            run = self._begin(call)
        except (Interrupted, Exception) as error:
            if not any(self._guards.any(hook) for hook in _GUARDED):
                _log.exception("a run of Hermes could not be told to the plugins")
                return call.go()
            _log.exception("a run of Hermes cannot be guarded, so it does not begin")
            return _not_run(call, f"Sliphook cannot guard this run: {why_failed(error)}")
        token = CURRENT.set(run)
        raised: BaseException | None = None
        try:
            return self._go(run, call)
        except BaseException as error:
            raised = error
            raise
        finally:
            CURRENT.reset(token)
            self._end(run, raised)

    def interrupting(self, agent: Any, message: object) -> None:
        """Hermes is being told to stop an agent."""
        run = self._by_agent.get(id(agent))
        if run is not None:
            run.why = why_interrupted(message)

    def interrupted(self, agent: Any) -> None:
        """Hermes has been told."""
        run = self._by_agent.get(id(agent))
        if run is not None and run.why is not None:
            run.turn.interrupt(*run.why)

    def on_interrupt(self, interruption: Interruption) -> None:
        """A turn was interrupted, perhaps by a plugin or by the end of its session."""
        run = self._by_turn.get(interruption.turn_id)
        if run is not None and run.why is None:
            run.stop_agent()

    def _begin(self, call: RunCall) -> Run:
        agent = call.agent
        run = self._children.take(agent)
        if run is None:
            run = self._root(call)
        self._by_agent[id(agent)] = self._by_turn[run.turn.turn_id] = run
        # it may have come while Hermes was on its way here
        if getattr(agent, "_interrupt_requested", False):
            run.why = run.why or why_interrupted(getattr(agent, "_interrupt_message", None))
            run.turn.interrupt(*run.why)
        return run

    def _root(self, call: RunCall) -> Run:
        agent, text = call.agent, text_of(call["user_message"])
        session = self._sessions.find(agent, resumed=bool(call["conversation_history"]))
        review = session_id_of(agent).endswith("/review")
        try:
            return Run(agent, session, session.turn(text).enter(), ends_session=review)
        except TurnOpen:
            # two runs of one session of Hermes at the same time
            session = self._sessions.beside(agent)
            return Run(agent, session, session.turn(text).enter(), ends_session=True)

    def _go(self, run: Run, call: RunCall) -> Any:
        if not run.is_child:
            denied = self._submit(run, call)
            if denied is not None:
                return _not_run(call, denied)
        while True:
            result = call.go()
            go_on = self._returned(run, result)
            if go_on is None:
                return result
            run.context = []
            call["user_message"] = go_on
            call["conversation_history"] = result.get("messages")
            call["persist_user_message"] = None

    def _submit(self, run: Run, call: RunCall) -> str | None:
        """Put the user's text to the plugins; why it must not be sent, or None."""
        given = call["user_message"]
        try:
            run.system = [context.labelled() for context in run.session.ready()]
            prompt = run.turn.submit()
        except Interrupted:
            # Hermes has the flag too, and ends its run itself
            run.stop_agent()
            return None
        except Exception as error:
            _log.exception("the user's text could not be put to the plugins")
            if not self._guards.any("user_prompt_submit"):
                return None
            run.turn.finish("denied")
            return f"Not sent: {why_failed(error)}"
        if prompt.denied and not run.turn.interrupted:
            return f"Not sent: {prompt.reason}"
        run.context = [context.labelled() for context in prompt.context]
        if prompt.text != text_of(given):
            call["user_message"] = _with_text(given, prompt.text)
        return None

    def _returned(self, run: Run, result: Any) -> str | None:
        """What a run came to; a text to go on with, or None."""
        try:
            if not isinstance(result, dict):
                return None
            return self._over(run, cast("dict[str, Any]", result))
        except Interrupted:
            return None
        except Exception:
            _log.exception("the end of a run could not be told")
            return None
        finally:
            run.returned()

    def _over(self, run: Run, result: dict[str, Any]) -> str | None:
        turn = run.turn
        run.tell_failed(will_retry=False)
        if run.is_child:
            said = result.get("final_response")
            turn.summary = said if isinstance(said, str) else None
        if turn.interrupted:
            return None
        # before `completed`, which may be true of an interrupted run
        if result.get("interrupted"):
            turn.interrupt(*(run.why or why_interrupted(None)))
            return None
        if result.get("failed") or not result.get("completed"):
            limit = "max_iter" in str(result.get("turn_exit_reason"))
            turn.finish("max_iterations" if limit else "failed")
            return None
        # a child fires no `stop`
        return None if run.is_child or run.refused else turn.stop()

    def _end(self, run: Run, raised: BaseException | None) -> None:
        self._by_agent.pop(id(run.agent), None)
        self._by_turn.pop(run.turn.turn_id, None)
        run.returned(for_good=True)
        try:
            run.tell_failed(will_retry=False)
            run.turn.leave(raised)
            if run.ends_session:
                self._sessions.leave(run.session)
            elif not run.is_child:
                self._sessions.also_known(run.agent, run.session)
        except (Interrupted, Exception):
            _log.exception("the end of a turn could not be told")


def _with_text(given: Any, text: str) -> Any:
    """The user's message with another text; pictures in it stay."""
    if not isinstance(given, list):
        return text
    parts = cast("list[dict[str, Any]]", given)
    rest = [part for part in parts if part.get("type") not in ("text", "input_text")]
    return [{"type": "text", "text": text}, *rest]


def _not_run(call: RunCall, said: str) -> dict[str, Any]:
    """The result of a run that was not begun."""
    return {
        "final_response": said,
        "messages": list(call["conversation_history"] or []),
        "api_calls": 0,
        "completed": True,
        "failed": False,
        "interrupted": False,
        "partial": False,
        "turn_exit_reason": "sliphook_denied",
        "session_id": getattr(call.agent, "session_id", None),
        "model": getattr(call.agent, "model", None),
    }
