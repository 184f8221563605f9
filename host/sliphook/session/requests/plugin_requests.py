"""What a plugin may ask of the host: `host/*` and `$/progress`, checked and bounded.

Every request is answered at once, but for `host/ask`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final, TypeVar

import msgspec
import trio

from sliphook.dispatch.outcome import Context
from sliphook.plugin.approval import why_not_granted
from sliphook.plugin.checks import ManifestError
from sliphook.plugin.lifecycle import State
from sliphook.plugin.supervision import Plugin
from sliphook.plugin.tools import PluginTool, read_tools
from sliphook.quoting import quote
from sliphook.session.reports import Progress, Reports
from sliphook.session.session import Session
from sliphook.transport.call import Call
from sliphook.transport.rate_limit import RateLimit
from sliphook.wire.decoding import DECODE_ERRORS
from sliphook.wire.near_misses import LEVELS, meant_level
from sliphook.wire.rpc import Handler, Handlers, Refusal
from sliphook_sdk.protocol import (
    METHOD_BY_NAME,
    AnswerParams,
    AskParams,
    Empty,
    ErrorCode,
    InjectParams,
    InjectResult,
    InterruptParams,
    InterruptResult,
    NotifyParams,
    ProgressParams,
    SubmitParams,
    SubmitResult,
    ToolsParams,
)
from sliphook_sdk.protocol.limits import (
    MAX_ASKS_PER_MINUTE,
    MAX_INJECT_BYTES,
    MAX_LINE_CHARS,
    MAX_LOG_FIELDS,
    MAX_LOG_FIELDS_CHARS,
    MAX_LOG_LINES,
    MAX_LOG_PER_SECOND,
    MAX_NOTIFY_PER_MINUTE,
    MAX_PROGRESS_CHARS,
    MAX_STREAMED_BYTES,
)

from .questions import PluginQuestions

P = TypeVar("P", bound=msgspec.Struct)


class _LogLine(msgspec.Struct, frozen=True, kw_only=True):
    """`LogParams` with any level: a line is worth more than its level."""

    level: Any = None
    message: str
    fields: dict[str, Any] | None = None


# made once, at import: msgspec reads a type at its first use, and not safely in two threads
_PARAMS: Final[dict[Any, msgspec.json.Decoder[Any]]] = {
    shape: msgspec.json.Decoder(shape)
    for shape in (
        AnswerParams,
        AskParams,
        InjectParams,
        InterruptParams,
        NotifyParams,
        ProgressParams,
        SubmitParams,
        ToolsParams,
        _LogLine,
    )
}
_NOT_AT_THE_END: Final = frozenset({"host/tools", "host/submit", "host/ask", "host/answer"})
"""What a plugin that is ending may not begin, perhaps as the user has taken the grant away."""


def log_lines(message: str, fields: Mapping[str, Any]) -> list[str]:
    """The lines of one `host/log`, safe to print: the message with its short fields, then the rest.

    A field of several lines, such as a traceback, is shown line by line. There are never more than
    `MAX_LOG_LINES`, and nothing is split or quoted that is not shown.
    """
    shown = dict(islice(fields.items(), MAX_LOG_FIELDS))
    texts = {name: value for name, value in shown.items() if isinstance(value, str)}
    long = {name: text.removesuffix("\n") for name, text in texts.items() if "\n" in text}
    short = {
        name: texts[name][:MAX_LOG_FIELDS_CHARS] if name in texts else value
        for name, value in shown.items()
        if name not in long
    }
    lines = [quote(message, MAX_LINE_CHARS)]
    if short:
        lines[0] += f" {quote(msgspec.json.encode(short), MAX_LOG_FIELDS_CHARS)}"
    if len(fields) > len(shown):
        lines[0] += f" [cut: {len(fields) - len(shown):,} more fields]"
    for text in long.values():
        room = MAX_LOG_LINES - len(lines)
        found = text.split("\n", room)[:room]
        lines += ["  " + quote(line.removesuffix("\r"), MAX_LINE_CHARS) for line in found]
    cut = 1 + sum(text.count("\n") + 1 for text in long.values()) - len(lines)
    if cut:
        lines[-1] = f"  [cut: {cut + 1:,} more lines]"
    return lines


class Rates:
    """What counts for a plugin across its processes: one that starts again has had its share."""

    def __init__(self) -> None:
        self.notices = RateLimit(MAX_NOTIFY_PER_MINUTE, 60.0)
        self.questions = RateLimit(MAX_ASKS_PER_MINUTE, 60.0)


class PluginRequests:
    """The handlers for one process of a plugin.

    Args:
        plugin: whose requests and notifications are handled.
        sessions: the open sessions, by id.
        questions: the plugin's questions to people.
        reports: shows people what the plugin says.
        replace_tools: replaces the plugin's tools of a session, or of all (None); returns why it
            does not, or None.
        submit: gives a message of the plugin to the agent, or raises `Refusal`.
        rates: the plugin's.
    """

    def __init__(
        self,
        plugin: Plugin,
        sessions: Mapping[str, Session],
        questions: PluginQuestions,
        reports: Reports,
        replace_tools: Callable[[Plugin, str | None, Sequence[PluginTool]], str | None],
        submit: Callable[[Plugin, SubmitParams], SubmitResult],
        rates: Rates,
    ) -> None:
        self._plugin = plugin
        self._sessions = sessions
        self._reports = reports
        self._replace_tools = replace_tools
        self._submit = submit
        self._questions = questions
        # one bound for `host/log` and `$/progress` together (protocol.md, Limits)
        self._lines = RateLimit(MAX_LOG_PER_SECOND, 1.0)
        self._notices = rates.notices

    def handlers(self) -> Handlers:
        """By method; any other method is answered as unknown."""
        by_method: dict[str, Handler] = {
            # notifications need no grant: a plugin may log before its manifest was read
            "host/log": partial(self._take_line, "host/log", _LogLine, self._log),
            "$/progress": self._take_progress,
            "host/notify": partial(self._take, "host/notify", NotifyParams, self._notify),
            "host/tools": partial(self._take, "host/tools", ToolsParams, self._tools),
            "host/inject": partial(self._take, "host/inject", InjectParams, self._inject),
            "host/submit": partial(
                self._take, "host/submit", SubmitParams, partial(self._submit, self._plugin)
            ),
            "host/interrupt": partial(
                self._take, "host/interrupt", InterruptParams, self._interrupt
            ),
            "host/ask": partial(self._take, "host/ask", AskParams, self._ask),
            "host/answer": partial(self._take, "host/answer", AnswerParams, self._answer),
        }
        return Handlers(by_method, partial(self._reports.unknown, self._plugin))

    def _take(
        self, method: str, shape: type[P], handle: Callable[[P], Any], raw: bytes | msgspec.Raw
    ) -> Any:
        self._check_grant(method)
        try:
            params: P = _PARAMS[shape].decode(raw)
        except DECODE_ERRORS as error:
            raise Refusal(
                ErrorCode.INVALID_PARAMS, f"the params do not fit: {quote(str(error), 200)}"
            ) from None
        self._reports.ignored(self._plugin, method, raw)
        return handle(params)

    def _take_line(
        self, method: str, shape: type[P], handle: Callable[[P], None], raw: bytes | msgspec.Raw
    ) -> None:
        # before it is decoded: what is only counted must cost next to nothing
        is_behind = self._reports.lines_waiting(self._plugin) >= MAX_LOG_PER_SECOND
        if is_behind or not self._lines.room(trio.current_time()):
            self._lines.leave_out(1)
            return
        self._reports.ignored(self._plugin, method, raw)
        try:
            params: P = _PARAMS[shape].decode(raw)
        except DECODE_ERRORS as error:
            # it has no answer that could say so
            self._lines.allows(trio.current_time())
            text = f"a {method} does not fit and is left out: {quote(str(error), 200)}"
            self._reports.near_miss(self._plugin, f"{method} does not fit", text)
            return
        handle(params)

    def _ask(self, params: AskParams) -> Any:
        session_id = params.session_id
        if session_id in self._questions.outside and session_id not in self._sessions:
            return self._questions.ask_outside(params)
        return self._questions.ask(self._session(session_id), params)

    def _answer(self, params: AnswerParams) -> Any:
        return self._questions.answer(self._session(params.session_id), params)

    def _check_grant(self, method: str) -> None:
        plugin = self._plugin
        # while it ends, what it still has to say counts
        ends = plugin.state is State.STOPPING and plugin.has_worked
        if not (plugin.ready or ends) or plugin.manifest is None:
            raise Refusal(ErrorCode.NOT_READY, f"{method} before the manifest was read")
        if ends and method in _NOT_AT_THE_END:
            raise Refusal(ErrorCode.NOT_READY, f"{method} after shutdown: the plugin is ending")
        use = METHOD_BY_NAME[method].grant
        assert use is not None, "every request of a plugin needs a grant"
        why = why_not_granted(use, plugin.manifest, plugin.spec, method)
        if why is not None:
            raise Refusal(ErrorCode.NOT_GRANTED, why)

    def _log(self, params: _LogLine) -> None:
        level = params.level if isinstance(params.level, str) else "no level"
        if level not in LEVELS:
            shown, kind = quote(level, 40), f"level {level[:40]}"
            level = meant_level(level)
            known = f"it is logged as {level}; there are {', '.join(LEVELS)}"
            text = f"the level of a host/log, '{shown}', is unknown: {known}"
            self._reports.near_miss(self._plugin, kind, text)
        lines = log_lines(params.message, params.fields or {})
        # there is room (see `_take_if_room`), so the gap in the log is explained where it is
        left_out = self._lines.take_left_out("of its lines of log and progress")
        through = self._lines.let_through(len(lines), trio.current_time())
        self._reports.log_lines(self._plugin, level, lines[:through], left_out)

    def _take_progress(self, raw: bytes | msgspec.Raw) -> None:
        # a piece of an answer may not get lost; a search costs next to nothing
        if b'"text"' in bytes(raw):
            with contextlib.suppress(*DECODE_ERRORS):
                params: ProgressParams = _PARAMS[ProgressParams].decode(raw)
                if isinstance(params.text, str):
                    self._text(params.id, params.text)
                    if params.message is None and params.fraction is None:
                        return
        self._take_line("$/progress", ProgressParams, self._progress, raw)

    def _text(self, request: int, text: str) -> None:
        """Show a piece of the text that the plugin substitutes for the model's."""
        call = self._call(request)
        if call is None:
            return
        why = None
        if call.on_text is None:
            why = (
                "the text of a $/progress is left out: it is for a hook/pre_llm_call of a"
                " subscription with replaces, if no other plugin has substituted the response"
            )
        elif not call.on_text(text):
            why = (
                "the text of a $/progress is left out:"
                f" its request has sent over {MAX_STREAMED_BYTES:,} bytes"
            )
        if why is not None:
            self._reports.near_miss(self._plugin, why, why)

    def _call(self, request: int) -> Call | None:
        """The request under way of that id; it may end while its progress is on the way."""
        connection = self._plugin.connection
        return connection.under_way.get(request) if connection is not None else None

    def _progress(self, params: ProgressParams) -> None:
        call = self._call(params.id)
        if call is None or not self._lines.allows(trio.current_time()):
            return
        if params.message is None and params.fraction is None:
            return  # that it is worked on, which the hang watchdog has heard
        message = quote(params.message, MAX_PROGRESS_CHARS) if params.message is not None else None
        # a plugin's number is not trusted to be from 0 to 1
        fraction = min(1.0, max(0.0, params.fraction)) if params.fraction is not None else None
        self._reports.progress(
            Progress(
                plugin=self._plugin.name, call_id=call.call_id, message=message, fraction=fraction
            )
        )

    def _notify(self, params: NotifyParams) -> Empty:
        if not self._notices.allows(trio.current_time()):
            raise Refusal(ErrorCode.BUSY, f"more than {MAX_NOTIFY_PER_MINUTE} alerts in a minute")
        self._reports.notice(self._plugin, params.level, quote(params.message, MAX_LINE_CHARS))
        return Empty()

    def _tools(self, params: ToolsParams) -> Empty:
        if params.session_id is not None:
            # for its refusal alone: tools of an unknown session would never be removed
            self._session(params.session_id)
        try:
            tools = read_tools(params.tools)
        except ManifestError as error:
            raise Refusal(ErrorCode.INVALID_PARAMS, str(error)) from None
        why = self._replace_tools(self._plugin, params.session_id, tools)
        if why is not None:
            raise Refusal(ErrorCode.INVALID_PARAMS, why)
        return Empty()

    def _inject(self, params: InjectParams) -> InjectResult:
        session = self._session(params.session_id)
        # `surrogatepass`: to measure a text must not raise, whatever is in it
        if len(params.text.encode("utf-8", "surrogatepass")) > MAX_INJECT_BYTES:
            raise Refusal(ErrorCode.INVALID_PARAMS, f"the text is over {MAX_INJECT_BYTES:,} bytes")
        if not session.inject(Context(self._plugin.name, params.text)):
            raise Refusal(ErrorCode.BUSY, "too many texts wait for the next model call")
        return InjectResult()

    def _interrupt(self, params: InterruptParams) -> InterruptResult:
        session = self._session(params.session_id)
        turn = session.open_turn
        # a request that comes late must not stop the next turn
        if turn is None or params.turn_id not in (None, turn.turn_id):
            return InterruptResult(interrupted=False)
        self._reports.log_line(
            self._plugin, "info", f"interrupts the turn: {quote(params.reason, 300)}", by_host=True
        )
        return InterruptResult(interrupted=session.interrupt("plugin", "host_interrupt"))

    def _session(self, session_id: str) -> Session:
        session = self._sessions.get(session_id)
        if session is None:
            raise Refusal(
                ErrorCode.UNKNOWN_SESSION, f"no living session has the id {quote(session_id, 64)}"
            )
        return session
