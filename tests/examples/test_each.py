"""What all use cases have: a page of one screen, a row in the table of examples, a test."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
LINES_OF_A_SCREEN = 60


def test_each_use_case_has_a_page_a_row_and_a_test() -> None:
    table = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    pages = sorted(EXAMPLES.glob("*/README.md"))
    names = [page.parent.name for page in pages]
    assert [name for name in names if f"| [{name}]({name}) |" not in table] == []
    tests = {path.stem for path in (ROOT / "tests" / "examples").glob("test_*.py")}
    assert [name for name in names if f"test_{name.replace('-', '_')}" not in tests] == []
    lines = {page.parent.name: len(page.read_text(encoding="utf-8").splitlines()) for page in pages}
    assert {name: count for name, count in lines.items() if count > LINES_OF_A_SCREEN} == {}
