"""Public modules that have moved keep their old import path for one release.

An old path gives a module that warns once and holds the public names of the new one.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec

TYPE_CHECKING = False  # as in the package itself: no import that can wait
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

MOVED = {
    "sliphook.agent.commands": "sliphook.agent",
    "sliphook.agent.gateway": "sliphook.agent",
    "sliphook.agent.scripted": "sliphook.agent",
    "sliphook.tomlfile": "sliphook.files.toml",
    "sliphook.trace.file": "sliphook.trace",
    "sliphook.trace.live": "sliphook.trace",
    "sliphook.trace.otel": "sliphook.otel",
}
"""Old path: where its public names are now. To be removed with the release after 0.2."""


class _MovedModules:
    """A finder and loader of `sys.meta_path`; it is asked only for what no folder holds."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name in MOVED else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        import warnings

        new = MOVED[module.__name__]
        warnings.warn(f"{module.__name__} is now {new}", DeprecationWarning, stacklevel=2)
        home = import_module(new)
        module.__dict__["__getattr__"] = home.__getattribute__


def install() -> None:
    """Let Python find the old paths."""
    sys.meta_path.append(_MovedModules())
