"""Model calls, in Hermes's middleware `llm_execution`: asked before, told afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final, cast

from sliphook import LlmGate
from sliphook.agent_log import agent_log
from sliphook.blocking import Interrupted, PluginHost
from sliphook_sdk.protocol import Message

from .apis import APIS
from .apis.api import Json, ModelApi
from .guarding import Guards, tools_run_elsewhere, why_failed
from .run import CURRENT, FailedCall, Run

_STOPPED: Final = Message(role="assistant", content="The turn was interrupted.")
_log = agent_log(__name__)


class ModelCalls:
    """The model calls of all runs.

    Args:
        host: gives the host, open.
        guards: who denies if the bridge fails.
    """

    def __init__(self, host: Callable[[], PluginHost], guards: Guards) -> None:
        self._host = host
        self._guards = guards
        self._said: set[str] = set()

    def context(self, **_: Any) -> dict[str, str] | None:
        """Hermes's hook `pre_llm_call`, once a run: texts for the user's message."""
        run = CURRENT.get()
        if run is None or not run.context:
            return None
        return {"context": "\n\n".join(run.context)}

    def execution(
        self,
        request: Json,
        next_call: Callable[[Json], Any],
        api_mode: str = "",
        provider: str = "",
        model: str = "",
        **_: Any,
    ) -> Any:
        """Hermes's middleware `llm_execution`, once an attempt.

        What raises in here before `next_call` would fall through to the model.
        """
        run = CURRENT.get()
        if run is None:
            return next_call(request)
        api = APIS.get(api_mode)
        # Hermes may have changed to another provider in the middle of the run
        elsewhere = tools_run_elsewhere(run.agent)
        if elsewhere is not None and self._guards.any("pre_tool_call"):
            why = f"sliphook cannot guard it: {elsewhere}"
            return _denied(run, api or APIS["chat_completions"], request, why)
        if run.turn.ended:
            _stop(run)
            if api is not None:
                return api.completion(request.get(api.model_key), _STOPPED)
        if api is None:
            return self._unread(run, request, next_call, api_mode)
        try:
            run.tell_failed(will_retry=True)
            wanted, gate = self._ask(run, api, request, provider, model)
        except Interrupted:
            _stop(run)
            return api.completion(request.get(api.model_key), _STOPPED)
        except Exception as error:
            if not self._guards.any("pre_llm_call"):
                _log.exception("a model call could not be put to the plugins")
                return next_call(request)
            _log.exception("a model call is denied, as the bridge failed")
            return _denied(run, api, request, why_failed(error))
        if gate.denied:
            run.turn.finish("denied")
            return _denied(run, api, request, gate.reason)
        if gate.substitute is not None:
            _told(run, provider, gate)
            asked = wanted.get(api.model_key)
            return api.completion(asked, gate.substitute, gate.finish_reason)
        return self._made(run, api, wanted, next_call, provider)

    def failed(
        self,
        error: Any = None,
        status_code: Any = None,
        reason: Any = None,
        retryable: Any = None,
        retry_count: Any = None,
        max_retries: Any = None,
        **_: Any,
    ) -> None:
        """Hermes's hook `api_request_error`: more of a failed call than its exception says."""
        run = CURRENT.get()
        if run is None or run.failed is None:
            return
        known, run.failed = run.failed, None
        said: object = cast("Json", error).get("message") if isinstance(error, dict) else None
        run.turn.llm_call_failed(
            attempt=1,
            kind=str(reason or known.kind),
            status=status_code if isinstance(status_code, int) else None,
            message=str(said or known.message)[:500],
            # Hermes counts the tries before this one
            will_retry=bool(retryable) and (retry_count or 0) + 1 < (max_retries or 0),
        )

    def _ask(
        self, run: Run, api: ModelApi, request: Json, provider: str, model: str
    ) -> tuple[Json, LlmGate]:
        host = self._host()
        # a long conversation is not converted in vain
        heard = host.hears("pre_llm_call", include="messages")
        before = api.read(request) if heard else []
        heard_tools = host.hears("pre_llm_call", include="tools")
        tools = [api.tool_of(one) for one in api.tools(request)] if heard_tools else []
        run.injected += [one.labelled() for one in run.session.take_injected()]
        asked = str(request.get(api.model_key) or model)
        gate = run.turn.pre_llm_call(
            provider=provider or None,
            model=asked,
            messages=[part.message for part in before],
            tools=tools,
        )
        wanted = api.exchanged(request, before, gate.messages)
        wanted = api.tools_exchanged(wanted, tools, gate.tools)
        if run.system:
            wanted = api.with_system(wanted, run.system)
        notes = [*run.injected, *(one.labelled() for one in gate.context)]
        if notes:
            wanted = api.with_notes(wanted, notes)
        if gate.model is not None and gate.model != asked:
            wanted = {**wanted, api.model_key: gate.model}
        return wanted, gate

    def _made(
        self,
        run: Run,
        api: ModelApi,
        wanted: Json,
        next_call: Callable[[Json], Any],
        provider: str,
    ) -> Any:
        began = time.monotonic()
        try:
            response = next_call(wanted)
        except Exception as error:
            original = getattr(error, "original", error)
            if not run.turn.ended:
                run.failed = FailedCall(kind=type(original).__name__, message=str(original)[:500])
            raise
        try:
            reply = api.reply_of(response)
            if reply is None:
                run.failed = FailedCall(
                    kind="invalid_response", message="the answer has no message"
                )
                return response
            run.turn.post_llm_call(
                provider=provider or None,
                model=reply.model or wanted.get(api.model_key),
                response=reply.message,
                finish_reason=reply.finish_reason,
                usage=reply.usage,
                duration_ms=round((time.monotonic() - began) * 1000, 3),
            )
        # no guard is asked any more: the answer counts
        except (Interrupted, Exception):
            _log.exception("a model call could not be told")
        return response

    def _unread(
        self, run: Run, request: Json, next_call: Callable[[Json], Any], api_mode: str
    ) -> Any:
        """A model call by an API that the bridge cannot read."""
        known = f"model calls by {api_mode or 'an unknown API'} cannot be put to plugins"
        if self._guards.any("pre_llm_call"):
            # whether Hermes can read this answer or not: the call is not made
            return _denied(run, APIS["chat_completions"], request, known)
        if known not in self._said:
            self._said.add(known)
            if self._host().hears("pre_llm_call") or self._host().hears("post_llm_call"):
                _log.warning("sliphook: %s: only %s can", known, ", ".join(APIS))
        return next_call(request)


def _stop(run: Run) -> None:
    try:
        run.stop_agent()
    except Exception:
        _log.exception("Hermes could not be told to stop")


def _denied(run: Run, api: ModelApi, request: Json, why: str) -> Any:
    run.refused = True
    said = Message(role="assistant", content=f"The model call was denied: {why}")
    return api.completion(request.get(api.model_key), said)


def _told(run: Run, provider: str, gate: LlmGate) -> None:
    assert gate.substitute is not None
    try:
        run.turn.post_llm_call(
            provider=provider or None,
            model=gate.model,
            response=gate.substitute,
            finish_reason=gate.finish_reason,
            usage=gate.usage,
            duration_ms=None,
            substituted_by=gate.substituted_by,
        )
    except (Interrupted, Exception):
        _log.exception("a substitute could not be told")
