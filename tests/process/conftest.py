"""A place for plugins' programs, and nothing is left behind."""

from __future__ import annotations

from tests.leaks import nothing_is_left_behind
from tests.programs import patient_ends, patient_logs, shop

__all__ = ["nothing_is_left_behind", "patient_ends", "patient_logs", "shop"]
