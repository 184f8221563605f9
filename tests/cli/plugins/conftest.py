"""The registry's fixtures: commands run inside of this process, in a home of their own."""

from __future__ import annotations

from tests.registry.conftest import make, own_home, run

__all__ = ["make", "own_home", "run"]
