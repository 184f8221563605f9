"""The loggers of the host, whose handlers are the agent's and may raise.

`logging` itself raises if no handler is set and `sys.stderr` is closed. A line that is lost so must
not end what wrote it: the supervision of a plugin, a timeout.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any

__all__ = ["AgentLog", "agent_log"]


class AgentLog(logging.LoggerAdapter[logging.Logger]):
    """A logger that raises nothing."""

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        """As `Logger.log`; all the other methods come to it."""
        kwargs.setdefault("stacklevel", 2)  # the line of the code that logs, and not this one
        with suppress(Exception):  # there is no other place where it could be said
            self.logger.log(level, msg, *args, **kwargs)


def agent_log(name: str) -> AgentLog:
    """The logger of that name, for one module of the host."""
    return AgentLog(logging.getLogger(name), {})
