"""Which sentences of protocol.md a test tries: the test carries them as they stand there.

`@says` and `@limit` do nothing when the test runs. `test_quotes.py` reads them from the sources of
all tests, and fails if a quote is not on the page, or if a sentence of the page is quoted nowhere.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

ROOT: Final = Path(__file__).resolve().parents[3]
PAGE: Final = (ROOT / "protocol.md").read_text(encoding="utf-8")
Test = TypeVar("Test", bound=Callable[..., object])


def says(*sentences: str) -> Callable[[Test], Test]:
    """The decorated test tries these sentences of the page, or the parts of them that are quoted.

    White space does not count. A row of a table is quoted with its bars.
    """
    return lambda test: test


def limit(*rows: str) -> Callable[[Test], Test]:
    """The test goes to these limits and one beyond: the first cells of rows under Limits."""
    return lambda test: test


class Quote(NamedTuple):
    """One literal argument of `says` or `limit`, and the file and line where it stands."""

    kind: str
    text: str
    where: str


def flat(text: str) -> str:
    """With single spaces."""
    return " ".join(text.split())


@cache
def quotes() -> tuple[Quote, ...]:
    """All quotes in the tests of the project."""
    return tuple(_quotes())


def _quotes() -> Iterator[Quote]:
    for path in sorted((ROOT / "tests").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if "protocol_sentences.says import" not in source and "from .says import" not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in ("says", "limit")
            ):
                for argument in node.args:
                    where = f"{path.relative_to(ROOT)}:{node.lineno}"
                    assert isinstance(argument, ast.Constant), f"{where}: quote it literally"
                    yield Quote(node.func.id, flat(str(argument.value)), where)


def statements(page: str) -> Iterator[str]:
    """The sentences of a page, and the rows of its tables that are written by hand.

    A sentence begins a line (CONTRIBUTING.md, Style), so one ends where a line ends with a mark.
    """
    page = re.sub(r"^<!-- generated: .*?^<!-- end -->$", "", page, flags=re.MULTILINE | re.DOTALL)
    page = re.sub(r"^<!-- generated list: .*\n(?:- .*\n)*", "\n", page, flags=re.MULTILINE)
    page = re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)
    for paragraph in re.split(r"\n\n+|\n(?= *(?:- |[0-9]+\. |\||#))", page):
        text = re.sub(r"^(?:#+ .*\n?|- |[0-9]+\. )", "", paragraph.strip())
        if not text or text.startswith(("| ---", "Contents: ")):
            continue
        yield from map(flat, re.split(r"(?<=[.:;])\n", text))


def rows_of_limits(page: str) -> list[str]:
    """The first cells of the table under Limits."""
    table = page.partition("<!-- generated: limits -->")[2].partition("<!-- end -->")[0]
    return [flat(row.split(" | ")[0].removeprefix("| ")) for row in table.strip().splitlines()[2:]]
