"""Lays the pages of the site out in `build/pages`, as they lie in the project; `make docs` does.

Links work there as they do in a clone: beside the pages lies each file that a page links to, and a
link to a folder leads to its README.md, or else to what the folder has first.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
_PAGES: Final = ("*.md", "docs/*.md", "docs/*.svg", "docs/*.png", "docs/reference/*.md")
_MORE: Final = ("sdk/*/README.md", "examples/README.md", "examples/*/README.md")
_LINK: Final = re.compile(r"(?<=\]\()(?![a-z]+:)([^)\s#]+)(?=[)#])")
_FENCE: Final = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def lay_out(folder: Path, root: Path = ROOT) -> None:
    """Write all pages and what they link to into an empty folder.

    Raises:
        FileNotFoundError: a page links to what is not there.
    """
    shutil.rmtree(folder, ignore_errors=True)
    for pattern in (*_PAGES, *_MORE):
        for page in sorted(root.glob(pattern)):
            target = folder / page.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            if page.suffix == ".md":
                target.write_text(_with_files(page, folder, root), encoding="utf-8")
            else:
                shutil.copyfile(page, target)


def _with_files(page: Path, folder: Path, root: Path) -> str:
    """The page's text; the files that it links to are copied."""

    def put(match: re.Match[str]) -> str:
        link = match[1]
        linked = (page.parent / link).resolve()
        if linked.is_dir():
            files = (path for path in linked.iterdir() if path.is_file())
            first = min(files, key=lambda path: (path.name != "README.md", path.name))
            link, linked = f"{link.rstrip('/')}/{first.name}", first
        if linked.suffix != ".md":
            target = folder / linked.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(linked, target)
        return link

    parts = _FENCE.split(page.read_text(encoding="utf-8"))
    return "".join(
        # the site knows one word behind the fence
        re.sub(r"^```(\w*).*", r"```\1", part)
        if part.startswith("```")
        else _LINK.sub(put, _set_apart(part))
        for part in parts
    )


def _set_apart(prose: str) -> str:
    """Empty lines around headings and before lists, `][` as text: MkDocs needs that."""
    prose = re.sub(r"`[^`\n]*`|\]\[", _as_text, prose)
    prose = re.sub(r"\n(#+ .*)\n", r"\n\n\1\n\n", prose)
    return re.sub(r"^((?![-#| ]|\d+\. )\S.*)\n(?=- |1\. )", r"\1\n\n", prose, flags=re.MULTILINE)


def _as_text(match: re.Match[str]) -> str:
    return "]&#91;" if match[0] == "][" else match[0]


if __name__ == "__main__":
    lay_out(Path(sys.argv[1]))
