"""Model calls, in Hermes's middleware `llm_execution`: asked before, told afterwards."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, Final, cast

from sliphook import LlmGate
from sliphook.blocking import Interrupted, PluginHost
from sliphook_sdk.protocol import Message

from .guarding import why_failed
from .messages import (
    Json,
    completion,
    message_of,
    put_back,
    reply_of,
    tool_of,
    tools_put_back,
    with_notes,
    with_system,
)
from .run import CURRENT, FailedCall, Run

KNOWN_MODE: Final = "chat_completions"
"""The one `api_mode` whose messages and answers the bridge reads and writes."""
_log = logging.getLogger(__name__)


class ModelCalls:
    """The model calls of all runs.

    Args:
        host: gives the host, open.
    """

    def __init__(self, host: Callable[[], PluginHost]) -> None:
        self._host = host
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
        if run.turn.ended:
            _stop(run)
        if api_mode != KNOWN_MODE:
            self._say_once(api_mode)
            return next_call(request)
        if run.turn.ended:
            return _instead(request, "The turn was interrupted.")
        try:
            run.tell_failed(will_retry=True)
            wanted, gate = self._ask(run, request, provider, model)
        except Interrupted:
            _stop(run)
            return _instead(request, "The turn was interrupted.")
        except Exception as error:
            _log.exception("a model call is denied, as the bridge failed")
            run.refused = True
            return _instead(request, f"The model call was denied: {why_failed(error)}")
        if gate.denied:
            run.refused = True
            run.turn.finish("denied")
            return _instead(request, f"The model call was denied: {gate.reason}")
        if gate.substitute is not None:
            _told(run, provider, gate)
            return completion(wanted.get("model"), gate.substitute, gate.finish_reason)
        return self._made(run, wanted, next_call, provider)

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
            will_retry=bool(retryable) and (retry_count or 0) < (max_retries or 0),
        )

    def _ask(self, run: Run, request: Json, provider: str, model: str) -> tuple[Json, LlmGate]:
        raw: list[Json] = request.get("messages") or []
        raw_tools: list[Json] = request.get("tools") or []
        host = self._host()
        # a long conversation is not converted in vain
        heard = host.hears("pre_llm_call", include="messages")
        before = [message_of(one) for one in raw] if heard else []
        heard_tools = host.hears("pre_llm_call", include="tools")
        tools = [tool_of(one) for one in raw_tools] if heard_tools else []
        run.injected += [one.labelled() for one in run.session.take_injected()]
        asked = str(request.get("model") or model)
        gate = run.turn.pre_llm_call(
            provider=provider or None, model=asked, messages=before, tools=tools
        )
        messages = put_back(raw, before, gate.messages) if gate.messages != before else raw
        notes = [*run.injected, *(one.labelled() for one in gate.context)]
        wanted = {**request, "messages": with_notes(with_system(messages, run.system), notes)}
        if gate.tools != tools:
            wanted["tools"] = tools_put_back(raw_tools, tools, gate.tools)
        if gate.model is not None and gate.model != asked:
            wanted["model"] = gate.model
        return wanted, gate

    def _made(self, run: Run, wanted: Json, next_call: Callable[[Json], Any], provider: str) -> Any:
        began = time.monotonic()
        try:
            response = next_call(wanted)
        except Exception as error:
            original = getattr(error, "original", error)
            if not run.turn.ended:
                run.failed = FailedCall(kind=type(original).__name__, message=str(original)[:500])
            raise
        try:
            reply = reply_of(response)
            if reply is None:
                run.failed = FailedCall(
                    kind="invalid_response", message="the answer has no message"
                )
                return response
            run.turn.post_llm_call(
                provider=provider or None,
                model=reply.model or wanted.get("model"),
                response=reply.message,
                finish_reason=reply.finish_reason,
                usage=reply.usage,
                duration_ms=round((time.monotonic() - began) * 1000, 3),
            )
        # no guard is asked any more: the answer counts
        except (Interrupted, Exception):
            _log.exception("a model call could not be told")
        return response

    def _say_once(self, api_mode: str) -> None:
        if api_mode in self._said:
            return
        self._said.add(api_mode)
        if self._host().hears("pre_llm_call") or self._host().hears("post_llm_call"):
            _log.warning(
                "sliphook: model calls by %s are not put to plugins: only %s is",
                api_mode or "an unknown API",
                KNOWN_MODE,
            )


def _stop(run: Run) -> None:
    try:
        run.stop_agent()
    except Exception:
        _log.exception("Hermes could not be told to stop")


def _instead(request: Json, text: str) -> Any:
    return completion(request.get("model"), Message(role="assistant", content=text))


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
