"""Installed plugins: one file each, with what the user has approved and granted.

Only `handshake` starts a plugin.
"""

from .errors import RegistryError
from .record import Broken, Registered
from .store import Registry

__all__ = ["Broken", "Registered", "Registry", "RegistryError"]
