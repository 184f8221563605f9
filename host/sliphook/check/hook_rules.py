"""Checks of the plugin's hooks and events, with sample payloads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from sliphook.dispatch.answers import AnswerError, check_answer, read_answer
from sliphook.plugin.route import Route
from sliphook.quoting import quote
from sliphook_sdk.protocol import Answer

from .child import Child
from .finding import CheckFailed
from .samples import message, sample_for
from .session import Bench
from .settling import answer_to, settled_after_cancel

_RISKY: Final = "rm -rf"
_NOWHERE: Final = "/of-tomorrow/nothing-is-here"
"""A plugin may run a call itself (`substitute`): it must find nothing to delete."""


class HookRule:
    """A subscription in hook mode: its answer is read as the host reads it."""

    def __init__(self, route: Route) -> None:
        self.route = route

    async def __call__(self, bench: Bench) -> str:
        """Fire it with a sample payload that has an unknown field."""
        method = f"hook/{self.route.entry.name}"
        child = await bench.ready()
        id = child.next_id()
        await child.write(message(method, {**self._params(), "of_tomorrow": {"a": 1}}, id))
        answer = await self._answer(bench, child, id, method)
        if "arguments" in self._params():
            # what most guards deny, so that it is seen how they do
            risky = child.next_id()
            await child.write(self.message_with(_NOWHERE)(risky))
            await self._answer(bench, child, risky, f"{method} about {_RISKY}")
        how = answer.decision or ("abstains" if answer.abstains else "answers")
        return f"{how} in {1000 * child.took_s(id):.1f} ms{self._guarded()}"

    async def _answer(self, bench: Bench, child: Child, id: int, sent: str) -> Answer[Any]:
        entry, route = self.route.entry, self.route
        reply = await answer_to(child, id, route.timeout_s, sent, "answer in time; null abstains")
        if reply.error is not None:
            came = f"the error {reply.error.code}: {quote(reply.error.message)}"
            raise CheckFailed(
                sent,
                came,
                "an error is a failed answer (on_failure decides);"
                " ignore unknown fields; null abstains",
            )
        assert reply.result is not None
        try:
            answer = read_answer(reply.result)
            asked = sample_for(route)
            replaced, _ = check_answer(entry, answer, asked, replacing=route.replaces)
            if "route" in replaced and "route" not in bench.declared.uses:
                raise AnswerError("replace.route needs 'route' in the manifest's uses")
        except AnswerError as error:
            raise CheckFailed(sent, quote(bytes(reply.result)), str(error)) from None
        return answer

    def _guarded(self) -> str:
        """Which tools a guard is asked about: whether an agent has them is unknown here."""
        names = {
            text
            for pattern in self.route.patterns
            if self.route.guards and pattern.field == "tool_name"
            for text in pattern.texts
        }
        return f"; guards nothing but {', '.join(sorted(names))}" if names else ""

    def message(self, id: int) -> bytes:
        """The request, which the check of a cancel sends."""
        return message(f"hook/{self.route.entry.name}", self._params(), id)

    def message_with(self, text: str) -> Callable[[int], bytes]:
        """The request with a text where users and models write; by its id."""
        params = self._params()
        for field in ("arguments", "text", "last_assistant_message", "goal"):
            if isinstance(params.get(field), str):
                params[field] = text
            elif field == "arguments" and "arguments" in params:
                # for guards, which may quote in their reason what they deny
                params[field] = {"command": f"{_RISKY} {text}", "path": text}
        return lambda id: message(f"hook/{self.route.entry.name}", params, id)

    def _params(self) -> dict[str, object]:
        payload = msgspec.to_builtins(sample_for(self.route))
        return {**payload, "timeout_s": self.route.timeout_s}


class EventRule:
    """A subscription that gets `event/NAME`: subscribers of a hook must take its event too."""

    def __init__(self, route: Route) -> None:
        self.route = route

    async def __call__(self, bench: Bench) -> str:
        """Send the event; the plugin lives on and sends nothing."""
        child = await bench.pinged()
        method = f"event/{self.route.entry.name}"
        await child.tell(method, sample_for(self.route))
        id = child.next_id()
        await child.write(message("ping", {}, id))
        await child.reply(
            id,
            sent=f"{method}, and a ping behind it",
            advice="take event/NAME for all that you subscribe to",
        )
        return "told, and it lives on"


async def cancelled_hook(bench: Bench, rule: HookRule) -> str:
    """Fire a hook and cancel it: the plugin settles the request."""
    what = f"hook/{rule.route.entry.name}"
    return await settled_after_cancel(bench, rule.message, what, rule.route.timeout_s)
