"""What the library raises for the agent's own mistakes and wishes that cannot be met; never for a plugin's faults in a hook."""

from __future__ import annotations


class HostError(Exception):
    """Something the agent or its user asked for cannot be done; str() is one line for people."""


class TurnOpen(HostError):
    """A turn was opened while another one of the session is open. The agent is at fault."""
