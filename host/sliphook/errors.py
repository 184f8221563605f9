"""The exceptions of the host: all of them derive from `SliphookError`.

They tell of the agent's own mistakes and of wishes that cannot be met, never of a plugin's fault in
a hook.
"""

from __future__ import annotations


class SliphookError(Exception):
    """The root of the host's exceptions."""


class HostError(SliphookError):
    """Something the agent or its user asked for cannot be done; str() is one line for people."""


class OtherProcess(HostError):
    """The host was opened in another process, of which this one is a fork."""


class TurnOpen(HostError):
    """A turn was opened while another one of the session is open. The agent is at fault."""


def opened_twice(what: str, another: str) -> HostError:
    """The error of a block that is entered a second time.

    Args:
        what: a host, a session, a turn.
        another: what makes another one.
    """
    return HostError(
        f"this {what} was opened before, and a {what} is opened once; make another by {another}"
    )
