"""The SDK's oldest Python is 3.9. Ruff and pyright look at it as that; here is what neither sees.

msgspec evaluates the annotations of Structs, so `from __future__ import annotations` does not make
`X | None` harmless in one.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import sliphook
import sliphook_sdk

FOLDER = Path(sliphook_sdk.__file__).parent
ROOT = Path(__file__).resolve().parents[2]


def unions(text: str) -> list[int]:
    """The lines of the annotations in classes that Python 3.9 could not evaluate."""
    annotations = [
        statement.annotation
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef) and node.bases
        for statement in node.body
        if isinstance(statement, ast.AnnAssign)
    ]
    parts = (part for annotation in annotations for part in ast.walk(annotation))
    return [
        part.lineno
        for part in parts
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.BitOr)
    ]


def test_no_struct_has_a_union_that_39_cannot_evaluate() -> None:
    modules = sorted(FOLDER.rglob("*.py"))
    assert len(modules) > 20
    assert {
        path.name: unions(path.read_text(encoding="utf-8"))
        for path in modules
        if unions(path.read_text(encoding="utf-8"))
    } == {}


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("class A(Struct):\n    a: int | None", [2]),
        ("class A(Struct):\n    a: dict[str, Annotated[int | str, 1]] = 3", [2]),
        ("class A(Struct):\n    a: Optional[int]\n    def f(self) -> int | None: ...", []),
    ],
)
def test_the_check_itself(text: str, lines: list[int]) -> None:
    assert unions(text) == lines


HOST = Path(sliphook.__file__).parent  # installed or in the source tree
PLUGINS = [
    *sorted((ROOT / "examples").rglob("*.py")),
    *sorted((HOST / "cli").rglob("plugins/*.py")),
    *sorted((HOST / "cli").rglob("templates/python*.txt")),
]


def evaluated(text: str) -> list[int]:
    """The lines of unions in signatures that Python 3.9 evaluates, and cannot."""
    tree = ast.parse(text, feature_version=(3, 9))
    later = any(
        isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body
    )
    functions = [
        node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    return [
        part.lineno
        for function in functions
        # the SDK evaluates the annotations of a tool itself
        if not later or re.search(r"\.tool\b", " ".join(map(ast.unparse, function.decorator_list)))
        for annotation in (
            *(arg.annotation for arg in ast.walk(function.args) if isinstance(arg, ast.arg)),
            function.returns,
        )
        if annotation is not None
        for part in ast.walk(annotation)
        if isinstance(part, ast.BinOp)
    ]


@pytest.mark.parametrize("path", PLUGINS, ids=lambda path: path.name)
def test_examples_and_templates_start_on_39(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert evaluated(text) == []
    assert unions(text) == []


def test_there_are_examples_and_templates() -> None:
    assert len(PLUGINS) >= 8


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("def f(a: int | None) -> str | None: ...", [1, 1]),
        ("from __future__ import annotations\ndef f(a: int | None): ...", []),
        ("from __future__ import annotations\n@plugin.tool\ndef f(a: int | None): ...", [3]),
        ("from __future__ import annotations\n@p.tool(name='a')\ndef f(a: Optional[int]): ...", []),
    ],
)
def test_that_check_itself(text: str, lines: list[int]) -> None:
    assert evaluated(text) == lines


def test_the_distribution_says_the_same() -> None:
    project = ROOT / "sdk" / "python" / "pyproject.toml"
    assert 'requires-python = ">=3.9"' in project.read_text(encoding="utf-8")
    root = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert '"sdk/python/**" = "py39"' in root
    assert '{ root = "sdk/python", pythonVersion = "3.9" }' in root
