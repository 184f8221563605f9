"""What went wrong with the installed plugins."""

from __future__ import annotations

from sliphook.errors import SliphookError


class RegistryError(SliphookError):
    """The operation failed. str() is one line: what failed, for which plugin, and what to do."""
