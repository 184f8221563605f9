"""CONTRIBUTING.md tells of the house as it is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from tests.test_layers import ORDER, folder_of

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
NOT_TOLD: Final = {"sliphook", "__main__", "lazy_names", "moved_paths"}
"""Rows of the order that are no floors: the package itself and what imports its names."""


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_the_floors_stand_in_the_order_that_is_tested() -> None:
    """A package above another one in the table stands in the same or a higher row of the order."""
    rows = {name: row for row, names in enumerate(ORDER["sliphook"]) for name in names}
    cells = re.findall(r"^\| (`[^|]+`)[^|]* \|", section("The floors of the host"), re.MULTILINE)
    told = [re.findall(r"`(\w+)`", cell) for cell in cells]
    assert {name for names in told for name in names} == rows.keys() - NOT_TOLD
    heights = [max(rows[name] for name in names) for names in told]
    assert heights == sorted(heights, reverse=True)


def test_a_word_of_the_glossary_has_one_line() -> None:
    words = re.findall(r"^\| ([a-z][^|]*) \|", section("Glossary"), re.MULTILINE)
    terms = [term.strip() for cell in words for term in cell.split(",")]
    assert len(terms) > 25
    assert len(terms) == len(set(terms))


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/fast-path.md"])
def test_the_paths_that_a_page_names_exist(name: str) -> None:
    """Paths are written from the root, from `host/sliphook/`, or from the SDK's folder."""
    homes = (ROOT, folder_of("sliphook"), folder_of("sliphook_sdk"))
    page = (ROOT / name).read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z_.]+/[\w./]*\w(?:\.py|\.md|/))`", page))
    short = {re.sub(r"^(host/sliphook|sdk/python/sliphook_sdk)/", "", name) for name in named}
    assert len(short) > 10
    assert {name for name in short if not any((home / name).exists() for home in homes)} == set()
