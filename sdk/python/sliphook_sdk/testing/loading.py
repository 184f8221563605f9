"""The plugin in a file."""

from __future__ import annotations

import re
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

from sliphook_sdk.plugin import Plugin


def load_plugin(path: Path | str) -> Plugin[Any]:
    """The plugin in a file, imported anew, without running it.

    Args:
        path: a Python file that creates one `Plugin` at its top level and calls `run()` only under
            `if __name__ == "__main__":`.

    Raises:
        FileNotFoundError: there is no such file.
        LookupError: the file creates no `Plugin`, or several.
        RegistrationError: a handler is not allowed.
    """
    file = Path(path).resolve()
    name = f"plugin_{re.sub(r'[^a-zA-Z0-9]', '_', file.stem)}"
    loader = SourceFileLoader(name, str(file))
    spec = spec_from_loader(name, loader)
    assert spec is not None  # None only if the loader is none
    module = module_from_spec(spec)
    sys.modules[name] = module  # msgspec resolves the annotations of a Struct there
    sys.path.insert(0, str(file.parent))  # as Python does for a program
    try:
        loader.exec_module(module)
    finally:
        sys.path.remove(str(file.parent))
    found: set[Plugin[Any]] = {
        value for value in vars(module).values() if isinstance(value, Plugin)
    }
    if len(found) != 1:
        raise LookupError(f"{path} has {len(found)} plugins at its top level, not one")
    return found.pop()
