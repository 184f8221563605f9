"""The author's `logging` becomes lines of the plugin's log."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from sliphook_sdk.protocol import Level, LogParams

if TYPE_CHECKING:
    from .state import HostLink


class HostHandler(logging.Handler):
    """Sends records to the host."""

    def __init__(self, link: HostLink) -> None:
        super().__init__()
        self._link = link

    def emit(self, record: logging.LogRecord) -> None:
        """Send the record's message, with the name of its logger and its traceback as fields."""
        try:
            fields: dict[str, object] = {} if record.name == "root" else {"logger": record.name}
            if record.exc_info:
                fields["traceback"] = (self.formatter or logging.Formatter()).formatException(
                    record.exc_info
                )
            self._link.notify(
                "host/log",
                LogParams(
                    level=_level(record.levelno), message=record.getMessage(), fields=fields or None
                ),
            )
        except Exception:  # as every handler of `logging` does
            self.handleError(record)


def send_logging(link: HostLink) -> None:
    """Send `logging` to the plugin's log, unless the author has configured it already."""
    root = logging.getLogger()
    if not root.handlers:
        root.addHandler(HostHandler(link))
        # WARNING is Python's default; any other level is the author's choice
        if root.level == logging.WARNING:
            root.setLevel(logging.INFO)


def _level(number: int) -> Level:
    if number >= logging.ERROR:
        return "error"
    if number >= logging.WARNING:
        return "warning"
    return "info" if number >= logging.INFO else "debug"
