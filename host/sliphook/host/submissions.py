"""Takes the messages that plugins submit for the model: which conversation, how many, when."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Final, Literal
from weakref import WeakKeyDictionary

import trio

from sliphook.agent_log import agent_log
from sliphook.errors import HostError
from sliphook.forks import call_ending_forks
from sliphook.ids import new_id
from sliphook.plugin.supervision import Plugin
from sliphook.quoting import quote
from sliphook.session.session import Session
from sliphook.session.submission import Submission
from sliphook.transport.rate_limit import RateLimit
from sliphook.wire.rpc import Refusal
from sliphook_sdk.protocol import ErrorCode, SubmitParams, SubmitResult
from sliphook_sdk.protocol.limits import (
    MAX_SUBMIT_BYTES,
    MAX_SUBMIT_PER_MINUTE,
    MAX_SUBMITS_WAITING,
)

_log = agent_log("sliphook")

_SHOWN_KEYS: Final = 8

PluginMessages = Literal["queue", "interrupt", "refuse"]
"""What a message of a plugin does to an open turn: it waits, interrupts it, or is refused."""


class Submissions:
    """Gives the messages to the agent.

    Args:
        sessions: the open ones, by id.
        on_submit: the agent's; None if it takes no messages of plugins.
        while_open: what they do while a turn is open.
    """

    def __init__(
        self,
        sessions: Mapping[str, Session],
        on_submit: Callable[[Submission], object] | None,
        while_open: PluginMessages,
    ) -> None:
        self._sessions = sessions
        self._on_submit = on_submit
        self._while_open: PluginMessages = while_open
        # by plugin and not by process: a plugin that is started again has had its share
        self._rates: WeakKeyDictionary[Plugin, RateLimit] = WeakKeyDictionary()

    def submit(self, plugin: Plugin, params: SubmitParams) -> SubmitResult:
        """Take one message.

        Raises:
            Refusal: it is not taken.
        """
        # `surrogatepass`: to measure a text must not raise, whatever is in it
        if len(params.text.encode("utf-8", "surrogatepass")) > MAX_SUBMIT_BYTES:
            raise Refusal(ErrorCode.INVALID_PARAMS, f"the text is over {MAX_SUBMIT_BYTES:,} bytes")
        if not params.text.strip():
            raise Refusal(ErrorCode.INVALID_PARAMS, "the text is empty")
        if self._on_submit is None:
            raise Refusal(ErrorCode.UNKNOWN_SESSION, "this agent takes no messages of plugins")
        session = self._session_for(params)
        turn = session.open_turn
        if turn is not None and self._while_open == "refuse":
            raise Refusal(
                ErrorCode.BUSY, "a turn is open, and the user's settings refuse messages meanwhile"
            )
        self._check_room(plugin)
        submission = Submission(
            message_id=new_id(),
            plugin=plugin.name,
            session_id=session.session_id,
            session_key=params.session_key,
            platform=session.platform,
            user_id=session.user_id,
            text=params.text,
        )
        queued = turn is not None or bool(session.waiting)
        session.waiting.add(submission)
        try:
            call_ending_forks(self._on_submit, submission)
        except Exception as error:
            session.waiting.remove(submission)
            if not isinstance(error, HostError):
                _log.exception("the agent failed to take a message of %s", plugin.name)
            why = str(error) if isinstance(error, HostError) else "the agent failed to take it"
            raise Refusal(ErrorCode.BUSY, quote(why, 300)) from None
        if turn is not None and self._while_open == "interrupt":
            session.interrupt("new_message", "plugin_message")
            return SubmitResult(message_id=submission.message_id, status="interrupting")
        status: Literal["queued", "started"] = "queued" if queued else "started"
        return SubmitResult(message_id=submission.message_id, status=status)

    def _check_room(self, plugin: Plugin) -> None:
        waiting = sum(
            one.plugin == plugin.name for each in self._sessions.values() for one in each.waiting
        )
        if waiting >= MAX_SUBMITS_WAITING:
            raise Refusal(ErrorCode.BUSY, f"{waiting} messages of {plugin.name} wait already")
        rate = self._rates.setdefault(plugin, RateLimit(MAX_SUBMIT_PER_MINUTE, 60.0))
        if not rate.allows(trio.current_time()):
            raise Refusal(ErrorCode.BUSY, f"more than {MAX_SUBMIT_PER_MINUTE} messages in a minute")

    def _open_keys(self) -> str:
        keys = dict.fromkeys(
            one.session_key for one in self._sessions.values() if one.session_key is not None
        )
        if not keys:
            return "none is open"
        shown = ", ".join(quote(key, 64) for key in islice(keys, _SHOWN_KEYS))
        more = f" and {len(keys) - _SHOWN_KEYS:,} more" if len(keys) > _SHOWN_KEYS else ""
        return f"open are {shown}{more}"

    def _session_for(self, params: SubmitParams) -> Session:
        found = [
            session
            for session in self._sessions.values()
            if session.session_key == params.session_key
            and params.platform in (None, session.platform)
            and params.user_id in (None, session.user_id)
        ]
        if len(found) > 1:
            raise Refusal(
                ErrorCode.INVALID_PARAMS,
                f"{len(found)} conversations have this session_key; name the platform or user_id",
            )
        if not found:
            shown = quote(params.session_key, 64)
            raise Refusal(
                ErrorCode.UNKNOWN_SESSION,
                f"no open conversation has the key {shown}; {self._open_keys()}",
            )
        return found[0]
