"""What `run` and `chat` share: options and settings, the host, and messages about plugins."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import trio

from sliphook import PluginHost
from sliphook.agent.loop import MAX_MODEL_CALLS, RESERVED_TOOLS
from sliphook.agent.models.choice import Models
from sliphook.agent.shell import shell_tool
from sliphook.agent.turn import AgentTool
from sliphook.cli.chosen_plugins import Chosen, choose, model_of, user_settings
from sliphook.cli.common import Failed
from sliphook.cli.options.plugin import tried_files
from sliphook.cli.report import see_log
from sliphook.cli.running import before_plugins

if TYPE_CHECKING:
    from sliphook import Progress
    from sliphook.agent.chat.gateway import Gateway
    from sliphook.agent.ui.display import LineDisplay
    from sliphook.agent.ui.questions import Person
    from sliphook.cli.options.shell import ShellOption
    from sliphook.plugin.spec import PluginSpec
    from sliphook.session.submission import Submission
    from sliphook.settings import Settings
    from sliphook.trace.record import TraceSink
    from sliphook_sdk.protocol import AlertLevel

__all__ = ["PLATFORM", "Setup", "Told", "here", "set_up"]


PLATFORM: Final = "cli"
"""The platform of sessions and transcripts."""


class Told:
    """The host's callbacks: they write to a display."""

    def __init__(
        self,
        display: LineDisplay,
        progress: Callable[[str], None],
        *,
        progress_every_s: float = 0.0,
    ) -> None:
        """Show plugins' messages to the user.

        Args:
            display: shows the lines.
            progress: shows a plugin's progress, a few words.
            progress_every_s: the progress of a call is shown at most once in this time.
        """
        self._display = display
        self._progress = progress
        self._progress_every_s = progress_every_s
        self._progress_again_s: dict[tuple[str, str | None], float] = {}
        self._begun = False

    def from_now_on(self) -> None:
        """Show problems from now on; those of the start are told in another way."""
        self._begun = True

    def notify(self, plugin: str, level: str, message: str) -> None:
        """See `PluginHost`."""
        self._display.notice(cast("AlertLevel", level), f"{plugin}: {message}")

    def problem(self, plugin: str, message: str) -> None:
        """See `PluginHost`."""
        if self._begun:
            self._display.notice("warning", f"{plugin}: {message}")

    def missing(self, line: str) -> None:
        """Show a line about an installed plugin that does not run."""
        self._display.notice("warning", line)

    def progress(self, progress: Progress) -> None:
        """See `PluginHost`."""
        now_s, call = trio.current_time(), (progress.plugin, progress.call_id)
        if now_s < self._progress_again_s.get(call, now_s):
            return
        if self._progress_every_s:
            self._progress_again_s[call] = now_s + self._progress_every_s
        percent = f"{progress.fraction:.0%}" if progress.fraction is not None else ""
        words = " ".join(part for part in (percent, progress.message or "") if part)
        self._progress(f"{progress.plugin}: {words}")


@dataclass(frozen=True)
class Setup:
    """The user's choices, from the options and the settings.

    Attributes:
        model: see `Models.first`.
        base_url: the address of its server, or None.
        chosen: the plugins.
        settings: the settings.
        watched: files of plugins that are taken up again when they change, with their editions as
            they are started.
        tools: the agent's own tools.
    """

    model: str | None
    base_url: str | None
    chosen: Chosen
    settings: Settings
    watched: Mapping[Path, str | None] = field(default_factory=dict[Path, str | None])
    tools: tuple[AgentTool, ...] = ()

    @property
    def max_model_calls(self) -> int:
        """The limit of model calls in one turn."""
        return self.settings.max_model_calls or MAX_MODEL_CALLS

    def models(self) -> Models:
        """The models by their names; the caller closes them."""
        return Models(self.settings.providers, os.environ, self.base_url)

    def host(
        self,
        told: Told,
        *,
        person: Person | Gateway | None,
        commands: Iterable[str],
        trace: TraceSink | None,
        providers: Mapping[str, str | None],
        on_submit: Callable[[Submission], object] | None = None,
    ) -> PluginHost:
        """A host for the chosen plugins; it is not open yet.

        Args:
            told: shows plugins' messages.
            person: asks the user; None if the user cannot be asked.
            commands: the agent's own commands.
            trace: records the messages, or None.
            providers: where plugins may send model calls, if the user lets them.
            on_submit: takes the messages of plugins; None if there is one prompt alone.
        """

        def problem(plugin: str, message: str) -> None:
            logs = (see_log(one) for one in host.plugins if one.name == plugin)
            told.problem(plugin, message + next(logs, ""))

        host = PluginHost(
            self.chosen.specs,
            approver=person.approve if person is not None else None,
            asker=person.ask if person is not None else None,
            on_submit=on_submit,
            plugin_messages=self.settings.plugin_messages,
            on_notify=told.notify,
            on_progress=told.progress,
            on_problem=problem,
            reserved_tools=[*RESERVED_TOOLS, *(tool.name for tool in self.tools)],
            reserved_commands=commands,
            timeout_cap_s=self.settings.timeout_cap_s,
            providers=providers,
            trace=trace,
        )
        return host


def set_up(
    model: str | None,
    base_url: str | None,
    plugins: Sequence[PluginSpec],
    *,
    shell: ShellOption,
    watch: bool = False,
) -> Setup:
    """Combine the options and the settings.

    Raises:
        Failed: the settings break a rule.
    """
    before_plugins()
    settings = user_settings()
    name, address = model_of(model, base_url, settings)
    files = tried_files(plugins) if watch else ()
    watched = {spec.path: spec.edition for spec in plugins if spec.path in files}
    tools = (shell_tool(here(), os.environ, asks=shell.asks),) if shell.given else ()
    return Setup(name, address, choose(plugins, settings), settings, watched, tools)


def here() -> Path:
    """The current folder.

    Raises:
        Failed: it does not exist any more.
    """
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise Failed("the current folder does not exist any more; change to another one") from None
