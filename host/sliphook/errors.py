"""The exceptions of the host: all of them derive from `SliphookError`.

They tell of the agent's own mistakes and of wishes that cannot be met, never of a plugin's fault in
a hook.
"""

from __future__ import annotations


class SliphookError(Exception):
    """The root of the host's exceptions."""


class HostError(SliphookError):
    """Something the agent or its user asked for cannot be done; str() is one line for people."""


class TurnOpen(HostError):
    """A turn was opened while another one of the session is open. The agent is at fault."""
