"""The site has every page, and pages are laid out so that MkDocs reads them as GitHub does."""

from __future__ import annotations

from pathlib import Path

from tools import site

from .test_prose import PAGES, ROOT


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [path for path in PAGES if path.parent.parts[-2:-1] != ("examples",)]
    pages += sorted(ROOT.glob("docs/reference/*.md"))
    assert [
        str(path.relative_to(ROOT))
        for path in pages
        if str(path.relative_to(ROOT)) not in navigation
    ] == []


def test_pages_and_what_they_link_to_are_laid_out(tmp_path: Path) -> None:
    root, out = tmp_path / "project", tmp_path / "out"
    (root / "docs").mkdir(parents=True)
    (root / "examples" / "greeter").mkdir(parents=True)
    (root / "examples" / "guard.py").write_text("guard\n")
    (root / "examples" / "greeter" / "greeter.py").write_text("greeter\n")
    (root / "examples" / "reviewer").mkdir()
    (root / "examples" / "reviewer" / "Cargo.lock").write_text("lock\n")
    (root / "examples" / "reviewer" / "README.md").write_text("# reviewer\n")
    (root / "README.md").write_text(
        "Some text:\n- an item, `a][b` or a][b\n\n# A heading\nSee [one](examples/guard.py),\n"
        "[two](docs/page.md#there), [three](examples/greeter), [four](https://sliphook.example).\n"
        "[five](examples/reviewer)\n\n"
        "```json example: stop\n# no heading\n```\n"
    )
    (root / "docs" / "page.md").write_text("# There\n")
    (out / "old").mkdir(parents=True)
    site.lay_out(out, root)
    assert (out / "README.md").read_text() == (
        "Some text:\n\n- an item, `a][b` or a]&#91;b\n\n\n# A heading\n\nSee [one](examples/guard.py),\n"
        "[two](docs/page.md#there), [three](examples/greeter/greeter.py),"
        " [four](https://sliphook.example).\n[five](examples/reviewer/README.md)\n\n"
        "```json\n# no heading\n```\n"
    )
    assert sorted(str(path.relative_to(out)) for path in out.rglob("*.*")) == [
        "README.md",
        "docs/page.md",
        "examples/greeter/greeter.py",
        "examples/guard.py",
        "examples/reviewer/README.md",
    ]
