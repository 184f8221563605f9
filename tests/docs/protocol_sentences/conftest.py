"""Nothing is left behind; a place for programs."""

from __future__ import annotations

from tests.leaks import nothing_is_left_behind
from tests.programs import shop

__all__ = ["nothing_is_left_behind", "shop"]
