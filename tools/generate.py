"""Writes the generated files: the schema, tables in documents, the Node SDK's modules, vectors.

`--check` writes nothing, and fails if a file is stale.

In a document, a table is between `<!-- generated: NAME -->` and `<!-- end -->`; a list is the items
that follow `<!-- generated list: NAME -->`. In a Python module, what is generated is between
`# generated: NAME` and `# end`. All else is written by hand.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from tools import (
    agents,
    foreign,
    framing_vectors,
    hermes,
    hook_types,
    keys,
    node,
    schema,
    tables,
    vectors,
)

ROOT: Final = Path(__file__).resolve().parent.parent

_MARKED: Final = re.compile(
    r"(?P<start><!-- generated(?P<list> list)?: (?P<name>[^>]+?) -->\n)"
    r"(?(list)(?:- [^\n]*\n)*(?=\n|#|\Z)|.*?(?P<end><!-- end -->))",
    re.DOTALL,
)
"""The items of a list end at an empty line or a heading, so that no line of prose continues one."""

_MARKED_CODE: Final = re.compile(
    r"(?P<start>^ *# generated: (?P<name>\w+)\n).*?(?P<end>^ *# end$)", re.DOTALL | re.MULTILINE
)


def rewrite_code(text: str, parts_by_name: Mapping[str, Callable[[], str]], module: str) -> str:
    """A Python module with every generated part replaced.

    Args:
        text: the whole module.
        parts_by_name: a function for each part.
        module: the module's name, for errors.

    Raises:
        ValueError: the module does not have just these parts.
    """
    found = [match["name"] for match in _MARKED_CODE.finditer(text)]
    if sorted(found) != sorted(parts_by_name):
        raise ValueError(
            f"{module} has the generated parts {', '.join(found) or 'none'}, and not"
            f" {', '.join(parts_by_name)}, each between `# generated: NAME` and `# end`"
        )
    return _MARKED_CODE.sub(
        lambda match: f"{match['start']}{parts_by_name[match['name']]()}\n{match['end']}", text
    )


def rewrite(
    text: str, tables_by_name: Mapping[str, Callable[[], str]], document: str = "protocol.md"
) -> str:
    """The text with every generated part replaced.

    Args:
        text: the whole document.
        tables_by_name: a function for each part; the document must have each marker once.
        document: the document's name, for errors.

    Raises:
        ValueError: a marker names no table, a table has no marker or two, or a marker has no end.
    """
    found = list(_MARKED.finditer(text))
    names = [match["name"] for match in found]
    problems = [
        f"{document} asks for a table {name!r} that nothing makes"
        for name in names
        if name not in tables_by_name
    ]
    counts = {name: names.count(name) for name in tables_by_name}
    problems += [
        f"{document} has the table {name!r} {count} times, not once"
        for name, count in counts.items()
        if count != 1
    ]
    ends = [match for match in found if match["end"]]
    if text.count("<!-- generated") != len(found) or text.count("<!-- end -->") != len(ends):
        problems.append(
            f"{document} has a marker `<!-- generated: NAME -->` without its `<!-- end -->`, or a"
            " `<!-- generated list: NAME -->` whose items do not end at an empty line or a heading"
        )
    if problems:
        raise ValueError("\n".join(problems))
    return _MARKED.sub(
        lambda match: f"{match['start']}{tables_by_name[match['name']]()}\n{match['end'] or ''}",
        text,
    )


def fresh(root: Path = ROOT) -> dict[Path, str]:
    """The right content of every generated file, by its path."""
    document = root / "protocol.md"
    settings = root / "docs" / "settings.md"
    installing = root / "docs" / "installing.md"
    in_hermes = root / "docs" / "hermes.md"
    processes, shell, trace = (
        root / "docs" / f"{name}.md" for name in ("processes", "sh", "trace")
    )
    scripts = {
        f"file examples/{name}": partial(_fenced, root / "examples" / name)
        for name in ("guard.sh", "gate.sh")
    }
    agents_page = root / "docs" / "agents.md"
    hooks_page = root / "docs" / "foreign-hooks.md"
    return {
        hooks_page: rewrite(
            hooks_page.read_text(encoding="utf-8"),
            foreign.foreign_tables(),
            "docs/foreign-hooks.md",
        ),
        agents_page: rewrite(
            agents_page.read_text(encoding="utf-8"), agents.agent_tables(), "docs/agents.md"
        ),
        root / "protocol.schema.json": json.dumps(schema.build(), indent=2, ensure_ascii=False)
        + "\n",
        document: rewrite(document.read_text(encoding="utf-8"), tables.all_tables()),
        processes: rewrite(
            processes.read_text(encoding="utf-8"), tables.process_tables(), "docs/processes.md"
        ),
        shell: rewrite(shell.read_text(encoding="utf-8"), scripts, "docs/sh.md"),
        trace: rewrite(trace.read_text(encoding="utf-8"), tables.trace_tables(), "docs/trace.md"),
        installing: rewrite(
            installing.read_text(encoding="utf-8"), keys.installing_tables(), "docs/installing.md"
        ),
        in_hermes: rewrite(
            in_hermes.read_text(encoding="utf-8"), hermes.hermes_tables(), "docs/hermes.md"
        ),
        settings: rewrite(
            settings.read_text(encoding="utf-8"), keys.settings_tables(), "docs/settings.md"
        ),
        **{
            path: rewrite_code(path.read_text(encoding="utf-8"), parts, path.name)
            for path, parts in hook_types.modules().items()
        },
        root / "sdk" / "node" / "src" / "protocol.js": node.code(),
        root / "sdk" / "node" / "src" / "samples.js": node.samples(),
        root / "sdk" / "node" / "types" / "protocol.d.ts": node.declarations(),
        root / "tests" / "vectors" / "framing.json": framing_vectors.framing(),
        root / "tests" / "vectors" / "params.json": vectors.params(),
        root / "tests" / "vectors" / "results.json": vectors.results(),
    }


def _fenced(script: Path) -> str:
    return f"```sh\n{script.read_text(encoding='utf-8')}```"


def main(arguments: list[str]) -> int:
    """Write the files, or only compare them with `--check`. Returns the exit status."""
    if arguments not in ([], ["--check"]):
        print("usage: python -m tools.generate [--check]", file=sys.stderr)
        return 2
    try:
        wanted = fresh()
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    stale = [
        path
        for path, text in wanted.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    if arguments == ["--check"]:
        for path in stale:
            print(
                f"{path.name} is not what the definition says: run `make generate`", file=sys.stderr
            )
        return 1 if stale else 0
    for path in stale:
        path.write_text(wanted[path], encoding="utf-8")
        print(f"wrote {path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
