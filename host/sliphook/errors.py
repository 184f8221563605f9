"""The exceptions of the host: all of them derive from `SliphookError`.

They tell of the agent's own mistakes and of wishes that cannot be met, never of a plugin's fault in
a hook.
"""

from __future__ import annotations

from typing import Final


class SliphookError(Exception):
    """The root of the host's exceptions."""


class HostError(SliphookError):
    """Something the agent or its user asked for cannot be done; str() is one line for people."""


class OtherProcess(HostError):
    """The host was opened in another process, of which this one is a fork."""


class TurnOpen(HostError):
    """A turn was opened while another one of the session is open. The agent is at fault."""


OPENED_TWICE: Final = (
    "this host was opened before, and a host is opened once;"
    " for another run make another PluginHost"
)
"""Said by every face."""
