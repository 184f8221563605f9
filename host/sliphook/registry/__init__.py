"""Installed plugins: one file each, in which stands what the user has approved and granted. Nothing here starts a plugin."""

from .record import Broken, Registered, RegistryError
from .store import Registry

__all__ = ["Broken", "Registered", "Registry", "RegistryError"]
