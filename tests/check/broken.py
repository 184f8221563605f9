"""A small plugin that keeps to the protocol, and ways to break it."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

_KEEPS_TO_IT = Path(__file__).parent / "programs" / "torture.py"


def write(folder: Path, broken: str = "") -> Path:
    """The plugin as an executable; `broken` is code that may replace its functions."""
    path = folder / "torture"
    sound = _KEEPS_TO_IT.read_text(encoding="utf-8")
    parts = (f"#!{sys.executable} -S", sound, textwrap.dedent(broken), "serve()")
    path.write_text("\n".join(parts) + "\n", encoding="utf-8")
    path.chmod(0o700)
    return path
