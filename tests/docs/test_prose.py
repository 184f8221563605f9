"""Plain technical English: words that make persons of things, and lines that are too long.

CONTRIBUTING.md, Style, says the rule. Code is held to 100 columns by ruff; this holds the prose.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.test_layers import folder_of

ROOT: Final = Path(__file__).resolve().parents[2]
SOURCES: Final = (folder_of("sliphook"), folder_of("sliphook_sdk"), ROOT / "tools")
PAGES: Final = [
    path
    for pattern in ("*.md", "docs/*.md", "examples/**/*.md", "sdk/*/*.md")
    for path in sorted(ROOT.glob(pattern))
    if "node_modules" not in path.parts
]
UNWANTED: Final = re.compile(
    r"\b(whoever|whomever|nobody|somebody|be it|sees to it)\b",
    re.IGNORECASE,
)
COLUMNS: Final = 100


def prose_of(page: str) -> Iterator[tuple[int, str]]:
    """The lines of a page with their numbers, without code, tables, comments, generated lists."""
    fence = ""
    in_list = False
    for number, line in enumerate(page.splitlines(), 1):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if fence:
            fence = "" if mark and line.strip() == fence else fence
        elif mark:
            fence = mark[1]
        elif in_list or line.startswith("<!-- generated list: "):
            in_list = line.startswith(("<", "- "))
        elif not re.match(r"\s*(\||<|\[[^\]]+\]: )", line):
            yield number, line


def unwanted_in(text: str) -> bool:
    """Whether it has such a word; a word of the protocol may stand in backticks."""
    return UNWANTED.search(re.sub(r"`[^`\n]*`", "", text)) is not None


def words_of(python: str) -> Iterator[tuple[int, str]]:
    """Comments and docstrings with their lines."""
    for token in tokenize.generate_tokens(io.StringIO(python).readline):
        is_docstring = token.type == tokenize.STRING and token.string.startswith('"""')
        if token.type == tokenize.COMMENT or is_docstring:
            yield token.start[0], token.string


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_is_in_plain_english_of_100_columns(page: Path) -> None:
    lines = list(prose_of(page.read_text(encoding="utf-8")))
    unwanted = [(number, line) for number, line in lines if unwanted_in(line)]
    too_long = [
        (number, line)
        for number, line in lines
        if len(line) > COLUMNS and "](" not in line  # a link is not broken
    ]
    assert unwanted == []
    assert too_long == []


@pytest.mark.parametrize("folder", SOURCES, ids=lambda folder: folder.name)
def test_docstrings_and_comments_are_in_plain_english(folder: Path) -> None:
    found = [
        f"{path.relative_to(folder)}:{number}: {UNWANTED.findall(text)}"
        for path in sorted(folder.rglob("*.py"))
        if path != Path(__file__)
        for number, text in words_of(path.read_text(encoding="utf-8"))
        if unwanted_in(text)
    ]
    assert found == []
