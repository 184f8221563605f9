"""One tool call that the agent tells in two hooks, or in one and a half."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from typing import Final

import msgspec
import trio

from sliphook import ApprovalRequest, BegunTool, HostError, ToolOutcome, Turn
from sliphook.adapters.dialects.answer import HookAnswer
from sliphook.adapters.dialects.told import CallEnd, Happening, OfTool, ToolAsked, ToolDone
from sliphook.adapters.fingerprint import fingerprint
from sliphook.agent_log import agent_log
from sliphook.dispatch.outcome import joined_reasons
from sliphook.quoting import quote
from sliphook_sdk.protocol import ToolResult

_log = agent_log(__name__)

MOST_OPEN: Final = 256
"""Calls that are open at once; the oldest is given up for a new one."""
MOST_OPEN_BYTES: Final = 32 * 1024 * 1024
"""What the arguments of all open calls take in memory, about; more are given up beyond it."""


class OpenCall:
    """A call from its first hook on.

    Attributes:
        told: the first hook; without its arguments once they are answered.
        turn: the turn that it belongs to.
        answered: the first hook is answered, once.
        digests: of the arguments, as the agent has told them and as plugins have left them.
        size: about how many bytes of memory they take.
        served: our name of the tool, if our MCP server has it: a plugin's; None: the agent's own.
        taken: the call has come to our MCP server.
    """

    def __init__(self, told: ToolAsked, turn: Turn, served: str | None = None) -> None:
        self.told = told
        self.turn = turn
        self.served = served
        self.taken = False
        self.answer: HookAnswer | None = None
        self.answered = trio.Event()
        self.begun: BegunTool | None = None
        self.has_begun = trio.Event()
        self._allowed: bool | None = None
        self._decided = trio.Event()
        self._question: str | None = None
        first = fingerprint(told.arguments)
        self.digests = {first.digest}
        self.size = first.size

    def settle(self, answer: HookAnswer) -> None:
        """Answer the first hook."""
        if not self.answered.is_set():
            self.answer = answer
            self.answered.set()

    def left_with(self, arguments: dict[str, object]) -> dict[str, object] | None:
        """What plugins have changed the arguments to; None: nothing.

        From here on the session alone keeps them: they may be large.
        """
        changed = arguments if arguments != self.told.arguments else None
        self.told = msgspec.structs.replace(self.told, arguments={})
        if changed is not None:
            left = fingerprint(changed)
            self.digests.add(left.digest)
            self.size = left.size
        return changed

    async def approved(self, request: ApprovalRequest, *, asks_person: bool) -> bool:
        """Have the agent ask its person; whether the call runs is seen by what comes next.

        Raises:
            HostError: the agent cannot ask, so its hook is a deny with the reasons.
        """
        reasons = joined_reasons(request.reasons)
        self.settle(HookAnswer(ask=reasons, arguments=self.left_with(request.arguments)))
        if not asks_person:
            raise HostError("no hook of this agent has it ask its person")
        await self._decided.wait()
        return self._allowed is True

    def ask_person(self, prompt: str) -> None:
        """The agent asks its person on its own, once; not if it does so for a plugin."""
        if self._question is None and self.begun is not None:
            self._question = self.turn.tell_question("approval", prompt, call_id=self.begun.call_id)

    @property
    def is_asked(self) -> bool:
        """The agent asks its person on its own."""
        return self._question is not None

    def decide(self, *, allowed: bool, known: bool = True) -> None:
        """The person's decision is known now; `known` false: that there was one is a guess."""
        if self._question is not None:
            self.turn.end_question(self._question, allowed=allowed if known else None)
        if self._allowed is None:
            self._allowed = allowed
            self._decided.set()


_current: ContextVar[OpenCall] = ContextVar("call")


async def ask_agent(request: ApprovalRequest, *, asks_person: bool) -> bool:
    """The host's approver: the agent asks, in the answer to its own hook.

    Raises:
        HostError: no hook has told of the call, or the agent cannot ask.
    """
    call = _current.get(None)
    if call is None:
        raise HostError("no hook has told of this call")
    return await call.approved(request, asks_person=asks_person)


class Calls:
    """The open calls of one agent session.

    Args:
        nursery: runs what is between the two hooks.

    Attributes:
        served: gives our name of a tool of our MCP server, None for any other tool.
    """

    def __init__(self, nursery: trio.Nursery) -> None:
        self.served: Callable[[OfTool], str | None] = lambda _: None
        self._nursery = nursery
        self._open: list[OpenCall] = []

    async def begin(self, told: ToolAsked, turn: Turn) -> HookAnswer:
        """The first hook of a call."""
        call = OpenCall(told, turn, self.served(told))
        too_many = self._too_many(call.size)
        self._open.append(call)
        await self._give_up(too_many)
        self._nursery.start_soon(self._begin, call)
        await call.answered.wait()
        answer, call.answer = call.answer, None
        assert answer is not None
        return answer

    def _too_many(self, size: int) -> list[OpenCall]:
        """The oldest calls, for which there is no room beside a new one of that size."""
        calls, bytes_ = len(self._open) + 1, sum(call.size for call in self._open) + size
        for at, call in enumerate(self._open):
            if calls - at <= MOST_OPEN and bytes_ <= MOST_OPEN_BYTES:
                return self._open[:at]
            bytes_ -= call.size
        return list(self._open)

    async def end(self, told: ToolDone) -> HookAnswer | None:
        """The second hook of a call; None: plugins are not told of the result.

        There was no first hook, as after a daemon that was killed, or the call is over for them,
        as after an interrupt.
        """
        call = self._find(told, self._open)
        if call is None:
            _log.info("%s of %s came without its beginning", told.event, quote(told.tool_name))
            return None
        self._open.remove(call)
        call.decide(allowed=True)
        await call.has_begun.wait()
        if call.begun is None or call.begun.outcome is not None:
            return None
        result = ToolResult(
            content=told.content, is_error=told.status == "error", data=_small(told.data)
        )
        outcome = await call.begun.end(result)
        return _after(outcome, told.content)

    def that_waits(self, told: OfTool | None) -> OpenCall | None:
        """The open call about which the agent asks; without `told`: the oldest."""
        waiting = [call for call in self._open if not call.is_asked]
        return self._find(told, waiting) if told is not None else next(iter(waiting), None)

    def has(self, told: OfTool) -> bool:
        """Whether the call is open."""
        return self._find(told, self._open) is not None

    async def end_batch(self, ends: Iterable[CallEnd]) -> None:
        """Calls of which no second hook came, although all of them are over: denied ones."""
        ids = {end.model_call_id for end in ends}
        calls = [call for call in self._open if call.told.model_call_id in ids]
        await self._give_up(calls, known=True)

    async def give_up(self, belongs: Callable[[OpenCall], bool] = lambda _: True) -> None:
        """End the open calls: their end was not told, or there is none."""
        await self._give_up([call for call in self._open if belongs(call)])

    async def _give_up(self, calls: list[OpenCall], *, known: bool = False) -> None:
        # before anything is awaited: another hook may end some of them meanwhile
        gone = set(calls)
        self._open = [call for call in self._open if call not in gone]
        for call in calls:
            call.decide(allowed=False, known=known)
            call.settle(HookAnswer(denied="sliphook: the turn has ended"))
            await call.has_begun.wait()
            if call.begun is not None and call.begun.outcome is None:
                await call.begun.end(cancelled=True)

    async def _begin(self, call: OpenCall) -> None:
        told = call.told
        _current.set(call)
        try:
            call.begun = begun = await call.turn.begin_tool(
                call.served or told.tool_name,
                told.arguments,
                model_call_id=told.model_call_id,
                own=call.served is None,
                tool_kind=told.tool_kind if call.served is None else None,
                origin=told.origin if call.served is None else "agent",
            )
        except Exception:
            _log.exception("a tool call could not be begun")
            call.settle(HookAnswer(denied="sliphook: the plugins could not be asked"))
        else:
            if call.served is not None and begun.outcome is not None and not denied(begun.outcome):
                call.settle(HookAnswer())  # our MCP server gives what it came to
            elif begun.outcome is not None:
                if call in self._open:
                    self._open.remove(call)
                call.settle(_refused(begun.outcome))
            else:
                call.settle(HookAnswer(arguments=call.left_with(begun.arguments)))
        finally:
            call.settle(HookAnswer(denied="sliphook: the session has ended"))  # it was cancelled
            call.has_begun.set()

    async def serve(
        self,
        told: ToolAsked,
        turn_of: Callable[[Happening], Awaitable[Turn]],
        begins: Callable[[str], None],
    ) -> ToolOutcome:
        """A plugin's tool, called at our MCP server.

        Plugins are asked about it unless the first hook has had them asked about the same call.

        Args:
            told: the call, under our name of the tool.
            turn_of: finds the turn of a call of which no hook has told.
            begins: told the call's id before the tool runs.

        Raises:
            HostError: plugins could not be asked.
        """
        begun = await self._begun_by_hook(told)
        if begun is None:
            begun = await (await turn_of(told)).begin_tool(
                told.tool_name, told.arguments, model_call_id=told.model_call_id, own=False
            )
        begins(begun.call_id)
        return begun.outcome if begun.outcome is not None else await begun.run()

    async def _begun_by_hook(self, told: ToolAsked) -> BegunTool | None:
        same = [call for call in self._open if call.served == told.tool_name and not call.taken]
        if told.model_call_id is not None:
            same = [call for call in same if call.told.model_call_id == told.model_call_id]
        if not same:
            return None
        digest = fingerprint(told.arguments).digest
        if told.model_call_id is None:
            same = [call for call in same if digest in call.digests]
        call = next(iter(same), None)
        if call is None:
            return None
        call.taken = True
        call.decide(allowed=True)
        await call.has_begun.wait()
        if call.begun is None:
            raise HostError("the plugins could not be asked")
        if digest in call.digests:
            return call.begun
        # what the plugins were asked about is not what is to be done
        self._open = [one for one in self._open if one is not call]
        await call.begun.end(cancelled=True)
        return None

    def _find(self, told: OfTool, among: list[OpenCall]) -> OpenCall | None:
        """The call of that id; without ids, the first of that tool with those arguments."""
        same = [
            call
            for call in among
            if call.told.agent_id == told.agent_id and call.told.tool_name == told.tool_name
        ]
        if told.model_call_id is not None:
            same = [call for call in same if call.told.model_call_id == told.model_call_id]
        elif len(same) > 1:
            digest = fingerprint(told.arguments).digest
            same = [call for call in same if digest in call.digests] or same
        return next(iter(same), None)


def denied(outcome: ToolOutcome) -> bool:
    """Whether plugins or the person have said no."""
    return outcome.status in ("denied", "cancelled")


def _refused(outcome: ToolOutcome) -> HookAnswer:
    """The call is over before the tool has run."""
    if outcome.denied_by:
        return HookAnswer(denied=joined_reasons(outcome.denied_by))
    if outcome.substituted_by is not None:
        # no agent takes a result in place of the call: the model reads it as the reason
        return HookAnswer(denied=f"{outcome.substituted_by}: {outcome.result.content}")
    return HookAnswer(denied=f"sliphook: {outcome.result.content}")


def _after(outcome: ToolOutcome, content: str) -> HookAnswer:
    new = outcome.result.content
    return HookAnswer(
        result=new if new != content else None,
        context=tuple(one.labelled() for one in outcome.context),
    )


def _small(data: object) -> object:
    """The agent's own value, if plugins can be told of it; the text is told anyway."""
    try:
        return data if len(msgspec.json.encode(data)) <= 1024 * 1024 else None
    except (TypeError, RecursionError, ValueError):
        return None
