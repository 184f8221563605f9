"""What a host uses of the agent's process is what docs/embedding.md says, and is given back."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from tests.programs import WAIT_S, Workshop, shop

__all__ = ["shop"]

PROGRAM: Final = Path(__file__).with_name("own_process.py")
PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "embedding.md"
USED: Final = {"descriptors", "threads", "children"}
"""What differs inside the blocks; of all else the host uses nothing."""
OF_A_HOST: Final = {"trio": 1, "blocking": 6, "aio": 6}
OF_A_PLUGIN: Final = 5
THREADS: Final = {"trio": [], "blocking": ["sliphook", "sliphook callbacks"], "aio": ["sliphook"]}
"""Beside those of trio's pool, which end by themselves."""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists a process's descriptors")
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("face", ["trio", "blocking", "aio"])
def test_what_is_used_is_given_back(face: str, count: int, shop: Workshop) -> None:
    plugins = [shop.program(f"p{n}", tools=[f"ping{n}"]).path for n in range(count)]
    done = subprocess.run(
        [sys.executable, PROGRAM, face, *plugins],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=2 * WAIT_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    before, inside, after = json.loads(done.stdout)
    assert after == before
    used = USED if THREADS[face] else USED - {"threads"}
    assert {key for key in before if before[key] != inside[key]} == used

    opened = inside["descriptors"].keys() - before["descriptors"].keys()
    assert len(opened) == OF_A_HOST[face] + OF_A_PLUGIN * count
    assert not any(inside["descriptors"][name] for name in opened)  # none is inherited
    assert len(inside["children"]) == 1 + count
    named = [name for name in inside["threads"] if name != "MainThread"]
    assert named == THREADS[face]


def test_the_page_has_a_row_for_each() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("\n## What the host uses")[2]
    rows = dict(
        re.findall(
            r"^\| (?!of the)([a-z ]+) \| (.+) \|$", section.partition("\n## ")[0], re.MULTILINE
        )
    )
    program = PROGRAM.read_text(encoding="utf-8")
    looked_at = re.findall(r'^            "([a-z ]+)": ', program, re.MULTILINE)
    assert list(rows) == looked_at
    assert {name for name, used in rows.items() if not used.startswith("nothing")} == USED
    numbers: Any = [int(word) for word in re.findall(r"\d+", rows["descriptors"])]
    assert numbers == [OF_A_PLUGIN, OF_A_HOST["trio"], OF_A_HOST["aio"]]
