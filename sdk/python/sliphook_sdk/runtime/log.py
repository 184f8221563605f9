"""The author's `logging` becomes lines of the plugin's log, and so does what is not caught."""

from __future__ import annotations

import _thread
import logging
import sys
import threading
import traceback
from typing import TYPE_CHECKING

from sliphook_sdk.errors import describe
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
                    level=_level(record.levelno),
                    message=record.getMessage().rstrip(),
                    fields=fields or None,
                ),
            )
        except Exception:  # as every handler of `logging` does
            self.handleError(record)


def send_logging(link: HostLink) -> None:
    """Send `logging` to the plugin's log, unless the author has configured it already.

    Warnings go there too, such as that of a coroutine that was never awaited, and what ends a
    thread of the author.
    """
    root = logging.getLogger()
    if not root.handlers:
        logging.captureWarnings(True)
        if threading.excepthook is getattr(_thread, "_excepthook", None):  # Python's own
            threading.excepthook = _log_end_of_thread
        root.addHandler(HostHandler(link))
        # WARNING is Python's default; any other level is the author's choice
        if root.level == logging.WARNING:
            root.setLevel(logging.INFO)


def note_origins() -> None:
    """Note where coroutines are made, for the warning about one that was never awaited.

    Python keeps this for each thread.
    """
    sys.set_coroutine_origin_tracking_depth(max(1, sys.get_coroutine_origin_tracking_depth()))


def _log_end_of_thread(args: threading.ExceptHookArgs) -> None:
    raised = args.exc_value
    if raised is None or isinstance(raised, SystemExit):
        return
    frames = traceback.extract_tb(args.exc_traceback)
    where = f"{frames[-1].filename}:{frames[-1].lineno}: " if frames else ""
    name = "a thread" if args.thread is None else args.thread.name
    logging.getLogger("threading").error(
        "%s%s ended: %s",
        where,
        name,
        describe(raised),
        exc_info=(args.exc_type, raised, args.exc_traceback),
    )


def _level(number: int) -> Level:
    if number >= logging.ERROR:
        return "error"
    if number >= logging.WARNING:
        return "warning"
    return "info" if number >= logging.INFO else "debug"
