"""Installed plugins: one file each, in which stands what the user has approved and granted.

`interview` alone starts a plugin.
"""

from .record import Broken, Registered, RegistryError
from .store import Registry

__all__ = ["Broken", "Registered", "Registry", "RegistryError"]
