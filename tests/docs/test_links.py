"""Every link of a page leads to a file of the project, and to a heading in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .test_prose import PAGES, ROOT


def anchors_of(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^a-z0-9_ -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_heading_or_a_file(page: Path) -> None:
    text = re.sub(
        r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    dead: list[str] = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if "://" in path:
            continue
        if not target.exists() or (anchor and anchor not in anchors_of(target)):
            dead.append(link)
    assert dead == []


def test_the_protocol_has_links() -> None:
    """The patterns above find what they look for."""
    page = ROOT / "protocol.md"
    assert len(re.findall(r"\]\(#", page.read_text(encoding="utf-8"))) > 50
    assert {"limits", "cancelrequest", "the-process"} <= anchors_of(page)
