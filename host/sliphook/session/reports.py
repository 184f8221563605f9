"""What people are told of plugins: by log files, and by the agent's callbacks or `logging`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from weakref import WeakKeyDictionary

import msgspec

from sliphook.agent_log import agent_log
from sliphook.forks import call_ending_forks
from sliphook.plugin.supervision import Plugin
from sliphook.process.log_files import PluginLogs
from sliphook.quoting import quote
from sliphook.trace.redact import Redactor
from sliphook.wire.near_misses import NearMisses
from sliphook_sdk.protocol import AlertLevel

from .in_turns import InTurns

HOST: Final = "host"
STDERR: Final = "stderr"
"""Levels that no plugin can give a line: the host's own lines, and lines of stderr."""

_PROMPT_CHARS: Final = 200
_log = agent_log("sliphook")
_LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a request to a plugin has come.

    Attributes:
        plugin: the plugin's name.
        call_id: the tool call; None for a hook or a command.
        message: what is being done, escaped.
        fraction: 0 to 1, or None.
    """

    plugin: str
    call_id: str | None
    message: str | None
    fraction: float | None


@dataclass(frozen=True)
class Callbacks:
    """The agent's callbacks (see `PluginHost`). One that raises is logged."""

    on_notify: Callable[[str, str, str], None] | None
    on_progress: Callable[[Progress], None] | None
    on_log: Callable[[str, str, str], None] | None
    on_problem: Callable[[str, str], None] | None
    on_offers: Callable[[], None] | None = None

    def call(self, callback: Callable[..., None] | None, *args: Any) -> bool:
        """Call one of them; False if the agent gave none."""
        if callback is None:
            return False
        try:
            call_ending_forks(callback, *args)
        # called from the tasks that run the plugins: a fault of the agent must not end those
        except Exception:
            _log.exception("a callback of the agent failed")
        return True


class Reports:
    """Reports what plugins say and what goes wrong with them; secrets are hidden in all of it.

    Args:
        callbacks: the agent's.
        redactor: knows the secrets.
        logs: the plugins' log files.
        file_name: gives the name of a plugin's log file, without `.log`.
        others: tells the other plugins; takes the plugin, the level, the message, who says so, and
            the session, or None.
    """

    def __init__(
        self,
        callbacks: Callbacks,
        redactor: Redactor,
        logs: PluginLogs,
        file_name: Callable[[Plugin], str],
        others: Callable[[Plugin, AlertLevel, str, str, str | None], None],
    ) -> None:
        self.logs = logs
        self._tell_others = others
        self._file_name = file_name
        self._callbacks = callbacks
        self._redactor = redactor
        # not by name, as one that is only tried may have another at each start
        self._near_misses: WeakKeyDictionary[Plugin, NearMisses] = WeakKeyDictionary()
        self._lines = InTurns()

    def problem(self, plugin: Plugin, message: str, *, session_id: str | None = None) -> None:
        """Report a problem to the user, in one line, and to the other plugins.

        The log gets the last lines of stderr too, even those that the rate limit had left out.
        """
        # before the log and the callback: an agent may show the text, or send it on
        message = self._redactor.text(message)
        self._write_log(plugin, "error", message, by_host=True)
        for line in plugin.status().stderr_tail:
            self._write_log(plugin, "error", f"  its stderr before: {line}", by_host=True)
        if not self._callbacks.call(self._callbacks.on_problem, plugin.name, message):
            _log.warning("%s", message)
        self._tell_others(plugin, "warning", message, HOST, session_id)

    def log_line(self, plugin: Plugin, level: str, message: str, *, by_host: bool = False) -> None:
        """Write a line of the plugin's log or stderr, or one that the host says of the plugin.

        A plugin writes what it likes; so whose line it is stands beside the line, not in it.
        """
        if level != STDERR:  # that was cleaned as it came
            message = self._redactor.text(message)
        self._write_log(plugin, level, message, by_host=by_host)
        shown = HOST if by_host else level
        if not self._callbacks.call(self._callbacks.on_log, plugin.name, shown, message):
            whose = shown if shown in (HOST, STDERR) else "plugin"
            number = _LEVELS.get(level, logging.DEBUG)
            _log.log(number, "%s [%s]: %s", plugin.name, whose, message)

    def log_lines(
        self, plugin: Plugin, level: str, lines: Sequence[str], left_out: str | None
    ) -> None:
        """Write the lines of one message of the plugin.

        To search one for secrets takes up to 1 ms; so they may be written over several passes of
        the loop, in their order.

        Args:
            plugin: whose they are.
            level: how serious.
            lines: safe to print.
            left_out: what the host says first.
        """
        if left_out is not None:
            says = partial(self.log_line, plugin, "warning", left_out, by_host=True)
            self._lines.add(plugin, [says])
        self._lines.add(plugin, [partial(self.log_line, plugin, level, line) for line in lines])

    def lines_waiting(self, plugin: Plugin) -> int:
        """How many lines of the plugin's messages are not written yet."""
        return self._lines.waiting(plugin)

    async def finish(self) -> None:
        """Write the lines that wait, for about a second: the host closes."""
        for plugin, lines in (await self._lines.finish()).items():
            text = f"{lines:,} of its lines of log were left out, as the host closes"
            self.log_line(plugin, "warning", text, by_host=True)

    def ignored(self, plugin: Plugin, method: str, raw: bytes | msgspec.Raw) -> None:
        """Say in the plugin's log what a message has that is ignored, each kind once.

        Args:
            plugin: whose message it is.
            method: as in `NearMisses.found_in`.
            raw: the params, or the result.
        """
        for text in self._near_misses_of(plugin).found_in(method, raw):
            self.log_line(plugin, "warning", text, by_host=True)

    def unknown(self, plugin: Plugin, method: str) -> None:
        """Say in the plugin's log that a notification is ignored, each once."""
        text = self._near_misses_of(plugin).unknown(method)
        if text is not None:
            self.log_line(plugin, "warning", text, by_host=True)

    def near_miss(self, plugin: Plugin, kind: str, text: str) -> None:
        """Say one near miss in the plugin's log, unless its kind was said before."""
        if self._near_misses_of(plugin).is_new(kind):
            self.log_line(plugin, "warning", text, by_host=True)

    def _near_misses_of(self, plugin: Plugin) -> NearMisses:
        return self._near_misses.setdefault(plugin, NearMisses())

    def notice(self, plugin: Plugin, level: AlertLevel, message: str) -> None:
        """Show the user an alert of the plugin, and tell the other plugins."""
        message = self._redactor.text(message)
        if not self._callbacks.call(self._callbacks.on_notify, plugin.name, level, message):
            self.log_line(plugin, level, message)
        self._tell_others(plugin, level, message, plugin.name, None)

    def answered(self, plugin: Plugin, prompt: str, choice: str) -> None:
        """Tell the user that a plugin has answered a question in their place."""
        shown = quote(prompt, _PROMPT_CHARS), quote(choice, _PROMPT_CHARS)
        message = self._redactor.text("answered {}: {}".format(*shown))
        if not self._callbacks.call(self._callbacks.on_notify, plugin.name, "info", message):
            self.log_line(plugin, "info", message, by_host=True)

    def asked_nobody(self, plugin: Plugin, prompt: str) -> None:
        """Tell the user that a plugin has asked, and that its question was answered `nobody`."""
        shown = quote(prompt, _PROMPT_CHARS)
        message = self._redactor.text(f"asked {shown}: answered nobody, as no one can be asked")
        if not self._callbacks.call(self._callbacks.on_notify, plugin.name, "info", message):
            self.log_line(plugin, "info", message, by_host=True)

    def denied(self, plugin: Plugin, message: str, session_id: str) -> None:
        """Tell the other plugins of a failure that the user sees as a deny."""
        self._tell_others(plugin, "warning", self._redactor.text(message), HOST, session_id)

    def offers_changed(self) -> None:
        """Say that the plugins' tools or commands may be others now."""
        self._callbacks.call(self._callbacks.on_offers)

    def progress(self, progress: Progress) -> None:
        """Show how far a request has come."""
        if progress.message is not None:
            message = self._redactor.text(progress.message)
            progress = msgspec.structs.replace(progress, message=message)
        self._callbacks.call(self._callbacks.on_progress, progress)

    def _write_log(
        self, plugin: Plugin, level: str, message: str, *, by_host: bool = False
    ) -> None:
        if plugin.spec.start is None:  # a plugin in memory leaves nothing on the disk
            self.logs.write(self._file_name(plugin), level, message, by_host=by_host)
