"""Public names of a package that are imported when they are first used.

The command line and `sliphook.wire` alone must start without trio, rich or a model client.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # without `typing`: the command line begins here, and Ctrl+C may come at once
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package.

    Args:
        package: its `__name__`.
        homes: the module of each public name, relative to the package.

    Raises:
        AttributeError: from the function returned, for a name that is not in `homes`.
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f".{homes[name]}", package), name)

    return find
