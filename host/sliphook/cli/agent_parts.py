"""What `run` and `chat` share: what the user is told of the plugins, and the folder where they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from .common import Failed
from .report import says, why_not_started

if TYPE_CHECKING:
    from sliphook import PluginHost, Progress
    from sliphook.agent.display import LineDisplay
    from sliphook_sdk.protocol import AlertLevel

__all__ = ["Told", "all_started", "here"]


class Told:
    """The host's callbacks, for a display."""

    def __init__(self, display: LineDisplay, progress: Callable[[str], None] | None = None) -> None:
        """Show on `display`, and how far plugins have come by `progress`, which takes a few words: where they can be taken back."""
        self._display = display
        self._progress = progress
        self._begun = False

    def from_now_on(self) -> None:
        """The plugins have started; one that had not is what ended the command, and told there."""
        self._begun = True

    def notify(self, plugin: str, level: str, message: str) -> None:
        """See `PluginHost`."""
        self._display.notice(cast("AlertLevel", level), f"{plugin}: {message}")

    def problem(self, plugin: str, message: str) -> None:
        """See `PluginHost`."""
        if self._begun:
            self._display.notice("warning", f"{plugin}: {message}")

    def progress(self, progress: Progress) -> None:
        """See `PluginHost`."""
        if self._progress is None:
            return
        how_far = f"{progress.fraction:.0%}" if progress.fraction is not None else ""
        self._progress(f"{progress.plugin}: {' '.join(part for part in (how_far, progress.message or '') if part)}")


def all_started(host: PluginHost) -> None:
    """Look whether every plugin is there.

    Raises:
        Failed: some are not; says which, and why.
    """
    missing = [f"plugin {says(plugin.name)} did not start: {says(why)}" for plugin in host.plugins if (why := why_not_started(plugin))]
    if missing:
        raise Failed("; ".join(missing))


def here() -> Path:
    """The current folder.

    Raises:
        Failed: it does not exist any more.
    """
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise Failed("the current folder does not exist any more; change to another one") from None
