"""Checks of what the plugin does while one of its tools runs; the tool must surely run.

A tool call counts as under way if it has no reply `RUNS_S` after it was sent. If every tool is
quicker, the checks are skipped, and say how the author names arguments that take longer.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import islice
from typing import Any, Final

import trio

from sliphook.plugin.tools import PluginTool
from sliphook.process.child import describe_exit
from sliphook.quoting import quote
from sliphook.wire import envelope
from sliphook_sdk.protocol import ErrorCode
from sliphook_sdk.protocol.limits import EXIT_GRACE_S

from . import child as children
from . import settling
from .call_rules import NAME_SAMPLES, ToolRule, why_refused
from .child import Child
from .finding import CheckFailed, Lapse, Skip
from .hook_rules import HookRule
from .samples import MOST_EXAMPLES, all_arguments_for, message
from .session import Bench

RUNS_S: Final = 0.3
"""A tool call without a reply for so long is under way."""

CANCEL_S: Final = 1.0
"""How soon a cancelled request should be answered."""

STOPS_S: Final = 0.25
"""What answers later than this after its cancel, and as late as without one, did not stop."""

AFTER_S: Final = 1.0
"""How long a second reply is waited for."""

_TRIES: Final = 3
_MOST_TRIED: Final = 32
_SEARCH_S: Final = 20.0
_LONGEST_S: Final = 6.0
_TOO_QUICK: Final = f"too quick: no tool call ran for {RUNS_S:g} s"
_HOW: Final = (
    "to have it checked, give a tool arguments that take 3 s, as examples in its input_schema:"
    ' "examples": [{"seconds": 3}], or likewise in a property;'
    f" the first {MOST_EXAMPLES} are tried"
)


class WhileRunning:
    """The checks, with a tool that is looked for once.

    Args:
        tools: the plugin's tools, one or more.
    """

    def __init__(self, tools: Sequence[PluginTool]) -> None:
        self._left = islice(_samples([ToolRule(tool) for tool in tools]), _MOST_TRIED)
        self._found: tuple[ToolRule, dict[str, Any]] | None = None
        self._looked = False
        self._refused: str | None = None  # what the first tool answered, if all refuse all samples

    async def cancelled(self, bench: Bench) -> str:
        """Cancel the call while it runs: the plugin answers it at once, and not a second time."""
        for _ in range(_TRIES - 1):
            with suppress(Lapse):  # it may be the machine that is late
                return await self._cancelled(bench)
        return await self._cancelled(bench)

    async def _cancelled(self, bench: Bench) -> str:
        async with self._running(bench) as (child, call, sent):
            sent = f"{sent}, and {RUNS_S:g} s later its $/cancelRequest"
            code = int(ErrorCode.REQUEST_CANCELLED)
            advice = f"read while tools run; at a cancel stop the work and answer {code} at once"
            await child.tell("$/cancelRequest", {"id": call})
            reply = await self._late(child, call, sent, advice)
            after_s = child.took_s(call) - RUNS_S
            await child.ask("ping", {})
            if reply.error is not None and reply.error.code == code:
                if after_s > CANCEL_S:
                    raise Lapse(sent, f"the error {code} {after_s:.1f} s after the cancel", advice)
                await child.ended(AFTER_S)  # a second reply until then is another finding
                return f"{code} after {1000 * after_s:.1f} ms"
        if reply.error is not None and after_s <= STOPS_S:
            came = f"{_shown(reply)} {1000 * after_s:.0f} ms after the cancel"
            how = f"answer {code} for what was stopped: any other error means that it had failed"
            raise Lapse(sent, came, how)
        if after_s > STOPS_S and await self._takes_s(bench) <= after_s + RUNS_S + STOPS_S:
            came = f"{_shown(reply)} {after_s:.1f} s after the cancel, as late as without a cancel"
            raise Lapse(sent, came, advice)
        return f"settled {after_s:.1f} s after the cancel, with {_shown(reply)}"

    async def pinged(self, bench: Bench) -> str:
        """Send a ping while the tool runs: it is answered before the tool is done."""
        return await self._meanwhile(
            bench,
            "a ping",
            lambda id: message("ping", {}, id),
            "read while tools run, and answer ping from the reader: a plugin that does not answer"
            " it is taken for hung",
        )

    async def asked(self, bench: Bench) -> str:
        """Send another request while the tool runs: it is answered before the tool is done."""
        return await self._meanwhile(
            bench,
            "the unknown request of_tomorrow/do",
            lambda id: message("of_tomorrow/do", {}, id),
            "requests overlap; answer each when it is done, in any order",
        )

    async def hooked(self, bench: Bench, *, rule: HookRule) -> str:
        """Fire a hook while the tool runs: it is answered before the tool is done."""
        return await self._meanwhile(
            bench,
            f"a hook/{rule.route.entry.name}",
            rule.message,
            "answer hooks while a tool runs: until then the agent waits for your hook",
        )

    async def shut_down(self, bench: Bench) -> str:
        """Send `shutdown` while the tool runs: it is answered before the tool is done."""
        advice = "answer shutdown when the handlers of events are done; wait for no tool call"
        try:
            return await self._meanwhile(
                bench, "shutdown", lambda id: message("shutdown", {}, id), advice
            )
        except CheckFailed as fault:
            raise Lapse(fault.sent, fault.came, fault.advice) from None

    async def told_to_end(self, bench: Bench) -> str:
        """Send `exit` while the tool runs: the plugin ends without waiting for it."""
        return await self._ends(bench, "exit", lambda child: child.tell("exit", {}))

    async def told_nothing_more(self, bench: Bench) -> str:
        """End its input while the tool runs: the plugin ends without waiting for it."""
        return await self._ends(bench, "the end of its input", lambda child: child.close_input())

    async def _late(self, child: Child, call: int, sent: str, advice: str) -> envelope.Reply:
        """The reply to a cancelled call, which comes when the work has ended, however late.

        Raises:
            CheckFailed: it never comes.
            Lapse: the tool has more time than this suite waits.
        """
        assert self._found is not None
        timeout_s = self._found[0].tool.timeout_s
        try:
            patience_s = min(timeout_s, settling.LONGEST_S)
            return await child.reply(call, patience_s, sent=sent, advice=advice)
        except CheckFailed as fault:
            if timeout_s > settling.LONGEST_S and await child.ended(0) is None:
                raise Lapse(fault.sent, fault.came, fault.advice) from None
            raise

    async def _ends(
        self, bench: Bench, what: str, send: Callable[[Child], Awaitable[object]]
    ) -> str:
        async with self._running(bench) as (child, _, sent):
            await send(child)
            status = await child.ended(EXIT_GRACE_S)
            if status is None:
                raise CheckFailed(
                    f"{sent}, and {RUNS_S:g} s later {what}",
                    f"it lives on after {EXIT_GRACE_S:g} s",
                    f"read while tools run; at {what} end at once, whatever is under way",
                )
            return describe_exit(status)

    async def _meanwhile(
        self, bench: Bench, what: str, request: Callable[[int], bytes], advice: str
    ) -> str:
        # The tool may have ended by itself just before the answer.
        for tries_left in reversed(range(_TRIES)):
            async with self._running(bench) as (child, call, sent):
                sent = f"{sent}, and {RUNS_S:g} s later {what}"
                other = child.next_id()
                await child.write(request(other))
                await child.reply(other, children.ANSWER_S, sent=sent, advice=advice)
                if child.first_of(call, other) == other:
                    return f"answered after {1000 * child.took_s(other):.1f} ms"
                if not tries_left:
                    came = (
                        f"{what} was answered only after the tool call,"
                        f" {child.took_s(other):.1f} s after it was sent"
                    )
                    raise CheckFailed(sent, came, advice)
        raise AssertionError

    @asynccontextmanager
    async def _running(self, bench: Bench) -> AsyncGenerator[tuple[Child, int, str]]:
        """A process in which a tool call is under way, the call's id, and the call in words.

        Raises:
            Skip: no tool runs for long enough.
        """
        if not bench.answers_ping:
            raise Skip("it does not answer ping")
        if not self._looked:
            self._looked = True
            with trio.move_on_after(_SEARCH_S):
                self._found = await self._search(bench)
            if self._found is None and self._refused is not None:
                raise Skip(f"{self._refused}, to each sample; {NAME_SAMPLES}")
            if self._found is None:
                raise Skip(f"{_TOO_QUICK}; {_HOW}")
        if self._found is None and self._refused is not None:
            raise Skip("no tool takes its samples, as said above")
        if self._found is None:
            raise Skip(f"{_TOO_QUICK}, as said above")
        found: tuple[ToolRule, dict[str, Any]] | None = self._found
        while found is not None:
            self._found = rule, arguments = found
            async with bench.initialized() as child:
                call = await self._begin(child, rule, arguments)
                if isinstance(call, int):
                    yield child, call, f"tool/call {rule.tool.name} {_arguments(arguments)}"
                    return
            found = None  # it was late by chance: look for one that is slow
            with trio.move_on_after(_SEARCH_S):
                found = await self._search(bench)
        raise Skip(_TOO_QUICK)  # it does not take the same time each time

    async def _search(self, bench: Bench) -> tuple[ToolRule, dict[str, Any]] | None:
        refusals: list[str | None] = []
        first: ToolRule | None = None
        for rule, arguments in self._left:
            first = first or rule
            try:
                began = await self._begin(await bench.ready(), rule, arguments)
            except CheckFailed:
                return None  # it does not start any more, which is another finding
            runs = isinstance(began, int)
            if isinstance(began, envelope.Reply):
                refusals.append(why_refused(began))
            if runs or await (await bench.ready()).ended(0) is not None:
                await bench.drop()
            if runs:
                return rule, arguments
        if first and refusals and all(refusals):
            self._refused = f"the tool {first.tool.name} answers {refusals[0]}"
        return None

    async def _begin(
        self, child: Child, rule: ToolRule, arguments: dict[str, Any]
    ) -> int | envelope.Reply | None:
        """Call the tool; the call's id if it is under way after `RUNS_S`, or the reply."""
        call = child.next_id()
        await child.write(rule.message(call, arguments))
        try:
            return await child.reply(call, RUNS_S, sent="")
        except CheckFailed:
            return None if await child.ended(0) is not None else call

    async def _takes_s(self, bench: Bench) -> float:
        """How long the call takes without a cancel; `inf` if longer than `_LONGEST_S`."""
        async with self._running(bench) as (child, call, sent):
            try:
                await child.reply(call, _LONGEST_S, sent=sent)
            except CheckFailed:
                return float("inf")
            return child.took_s(call)


def _samples(rules: Sequence[ToolRule]) -> Iterator[tuple[ToolRule, dict[str, Any]]]:
    """What the tools are called with: first one sample of each, then the second of each."""
    samples = [(rule, all_arguments_for(rule.tool.input_schema)) for rule in rules]
    for number in range(MOST_EXAMPLES):
        for rule, arguments in samples:
            if number < len(arguments):
                yield rule, arguments[number]


def _arguments(arguments: dict[str, Any]) -> str:
    return quote(envelope.encode(arguments), 60)


def _shown(reply: envelope.Reply) -> str:
    if reply.error is not None:
        return f"the error {reply.error.code}"
    return f"the result {quote(bytes(reply.result or b'null'), 60)}"
