"""The model calls of a turn: what the plugins are asked before each attempt, and told of it.

What a plugin has said before the first attempt counts in the later ones, unless it says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import trio

from sliphook.dispatch.audience import Audience, first_match
from sliphook.dispatch.outcome import Outcome
from sliphook.dispatch.streamed import StreamedText
from sliphook_sdk.protocol import LlmFailure, Message, ModelRoute, ModelTool, Usage

from .arguments.functions import check_plain
from .arguments.plain import check_flag, check_number, check_texts
from .arguments.structs import CheckedLists, check_struct
from .hooks import Hooks
from .results import LlmGate
from .state import TurnState
from .submission import Submission


class LlmCalls(TurnState):
    """The model calls of a turn, each with its attempts.

    Args:
        hooks: the session's.
        parent: the turn whose agent started this one's, or None.
        submission: the plugin's message that it answers, or None.
    """

    def __init__(
        self, hooks: Hooks, parent: TurnState | None, submission: Submission | None
    ) -> None:
        super().__init__(hooks.state.agent_id, parent, submission)
        self.hooks = hooks
        self._call_index = 0
        self._gate: LlmGate | None = None
        # a child talks about other things than the root agent, whose turns go on with one list
        self._lists = hooks.lists if parent is None else CheckedLists()

    async def pre_llm_call(
        self,
        *,
        provider: str | None,
        model: str | None,
        messages: list[Message],
        tools: list[ModelTool],
        route: ModelRoute | None = None,
        attempt: int = 1,
        failure: LlmFailure | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> LlmGate:
        """Put a model call to the plugins before it is made, and before each further attempt.

        If it is denied, `llm_call_failed` is told at once.

        Args:
            provider: who serves the model.
            model: the model, messages, tools, route: in a further attempt those of the gate before.
            messages: the conversation.
            tools: the tools on offer.
            route: where the agent would send the call.
            attempt: from 1; those above go to the plugins alone that want `attempts`.
            failure: why the attempt before has failed.
            on_text: shows a text that a plugin sends while it makes a substitute. If the gate has
                no substitute that begins with `shown`, what was shown is not the answer.

        Raises:
            TypeError, ValueError: an argument, or something in it, has a wrong type or value; no
                plugin was asked.
        """
        check_texts(none=True, provider=provider, model=model)
        check_struct("route", route, ModelRoute, none=True)
        check_struct("failure", failure, LlmFailure, none=True)
        check_number("attempt", attempt, low=1, whole=True)
        check_plain("on_text", on_text)
        for _ in self._lists.check_in_steps("tools", tools, ModelTool):
            await trio.lowlevel.checkpoint()
        for _ in self._lists.check_in_steps("messages", messages, Message):
            await trio.lowlevel.checkpoint()
        gate = await self._ask_plugins(
            {"provider": provider, "model": model, "messages": messages, "tools": tools},
            # a key is named in an answer, and nowhere else
            msgspec.structs.replace(route, key_env=None) if route is not None else None,
            attempt,
            failure,
            on_text,
        )
        self._gate = gate
        if gate.denied and not self.ended:
            self.llm_call_failed(
                attempt=attempt, kind="denied", status=None, message=gate.reason, will_retry=False
            )
        else:
            self.llm_goes_on(not self.ended)
        return gate

    @trio.lowlevel.enable_ki_protection
    def post_llm_call(
        self,
        *,
        provider: str | None,
        model: str | None,
        response: Message,
        finish_reason: str | None,
        usage: Usage,
        duration_ms: float | None,
        substituted_by: str | None = None,
        routed_by: str | None = None,
    ) -> None:
        """Tell that a model call succeeded; it is counted here and in the parents' turns.

        Raises:
            TypeError, ValueError: an argument, or something in it, has a wrong type or value;
                nothing was told or counted.
        """
        check_texts(none=True, provider=provider, model=model, finish_reason=finish_reason)
        check_texts(none=True, substituted_by=substituted_by, routed_by=routed_by)
        check_struct("response", response, Message)
        check_struct("usage", usage, Usage)
        check_number("duration_ms", duration_ms, none=True)
        if self.ended:
            return
        self.llm_answers(response.content, usage)
        self.hooks.state.count(model_calls=1, usage=usage)
        self.hooks.tell(
            "post_llm_call",
            self,
            call_index=self._call_index,
            provider=provider,
            model=model,
            finish_reason=finish_reason,
            usage=usage,
            duration_ms=duration_ms,
            substituted_by=substituted_by,
            routed_by=routed_by,
            response=response,
        )

    @trio.lowlevel.enable_ki_protection
    def llm_call_failed(
        self, *, attempt: int, kind: str, status: int | None, message: str, will_retry: bool
    ) -> None:
        """Tell that an attempt to call the model failed.

        Raises:
            TypeError, ValueError: as `post_llm_call`.
        """
        check_number("attempt", attempt, low=1, whole=True)
        check_texts(kind=kind, message=message)
        check_number("status", status, whole=True, none=True)
        check_flag("will_retry", will_retry)
        if self.ended:
            return
        self.llm_goes_on(will_retry)
        self.hooks.tell(
            "llm_call_failed",
            self,
            call_index=self._call_index,
            attempt=attempt,
            kind=kind,
            status=status,
            message=message,
            will_retry=will_retry,
        )

    async def _ask_plugins(
        self,
        call: dict[str, Any],
        route: ModelRoute | None,
        attempt: int,
        failure: LlmFailure | None,
        on_text: Callable[[str], None] | None,
    ) -> LlmGate:
        """What the plugins make of an attempt; `call` has `model`, `messages` and so on."""
        last = self._gate if attempt > 1 else None
        if last is None:
            self._call_index += 1
        subscribers = self.hooks.host.subscribers("pre_llm_call")
        again = subscribers.again if isinstance(subscribers, Audience) else Audience()
        if last is not None and not again:
            given = {name: call[name] for name in ("model", "messages", "tools")}
            return _on_route(msgspec.structs.replace(last, **given), route, last)
        streamed = StreamedText(on_text) if on_text is not None else None
        outcome = await self.hooks.ask(
            "pre_llm_call",
            self,
            subscribers=subscribers if last is None else again,
            streamed=streamed,
            call_index=self._call_index,
            attempt=attempt,
            failure=failure,
            route=route,
            **call,
        )
        gate = LlmGate.of(
            outcome,
            api_key=self._key(outcome),
            shown=streamed.shown if streamed is not None else "",
            asks_again=any(first_match(one, outcome.payload) is not None for one in again),
        )
        return gate if last is None else _after(last, gate)

    def _key(self, outcome: Outcome) -> str | None:
        """The key for the route of a plugin: the value of a variable that the user gave it."""
        if outcome.routed_by is None or outcome.key_env is None:
            return None
        plugin = self.hooks.host.plugins_by_name.get(outcome.routed_by)
        return plugin.spec.env.get(outcome.key_env) if plugin is not None else None


def _after(last: LlmGate, gate: LlmGate) -> LlmGate:
    """What counts in an attempt: what was said before it, and before those that failed."""
    anew = {context.plugin for context in gate.context}
    kept = [context for context in last.context if context.plugin not in anew]
    if not gate.denied:
        gate = msgspec.structs.replace(gate, context=[*kept, *gate.context])
    return gate if gate.routed_by is not None else _on_route(gate, gate.route, last)


def _on_route(gate: LlmGate, route: ModelRoute | None, last: LlmGate) -> LlmGate:
    """The gate with a route that no plugin has just given: a key is for the route it came with."""
    same = route == last.route
    return msgspec.structs.replace(
        gate,
        route=route,
        routed_by=last.routed_by if same else None,
        api_key=last.api_key if same else None,
    )
