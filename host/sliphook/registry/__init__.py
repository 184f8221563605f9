"""Installed plugins: one file each, with what the user has approved and granted.

Only `handshake` starts a plugin.
"""

from .record import Broken, Registered, RegistryError
from .store import Registry

__all__ = ["Broken", "Registered", "Registry", "RegistryError"]
