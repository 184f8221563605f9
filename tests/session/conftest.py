"""A place for plugins' programs, a plugin that hears everything; nothing is left behind."""

from __future__ import annotations

from tests.leaks import nothing_is_left_behind
from tests.programs import patient_ends, shop

from .scopes import probe

__all__ = ["nothing_is_left_behind", "patient_ends", "probe", "shop"]
