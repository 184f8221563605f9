"""The READMEs of both SDKs have every public signature, as the code has it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import sliphook_sdk
from sliphook_sdk import (
    AsyncContext,
    AsyncHost,
    CommandResult,
    Context,
    EnvWant,
    Host,
    Image,
    ModelRoute,
    Plugin,
    Tool,
    ToolResult,
    testing,
)
from sliphook_sdk.protocol import AskResult, SubmitResult

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / "sdk" / "python" / "README.md"
NODE = ROOT / "sdk" / "node" / "README.md"
TYPES = ROOT / "sdk" / "node" / "types"
COLUMNS = 98
ANSWERS = ("allow", "deny", "ask", "replace", "substitute", "context", "continue_with", "disabled")
INTERNAL = ("attach", "declare_tool", "declared", "is_async", "read_config")
"""Of `Plugin`: what other modules of the SDK call."""
ERRORS = (
    "AnswerError",
    "Cancelled",
    "HostRefused",
    "NotConnected",
    "RegistrationError",
    "ToolError",
)


def signature(shown: str, function: Callable[..., Any]) -> str:
    """One signature, in as many lines as it takes."""
    given = inspect.signature(function)
    parameters = [p for p in given.parameters.values() if p.name not in ("self", "cls")]
    parts: list[str] = []
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY and not any(p.startswith("*") for p in parts):
            parts.append("*")
        parts.append(_plain(str(parameter.replace(annotation=_text(parameter.annotation)))))
        if parameter.kind is parameter.POSITIONAL_ONLY:
            parts.append("/")
    empty = given.return_annotation in (given.empty, None, "None")
    tail = "" if empty else f" -> {_text(given.return_annotation)}"
    line = f"{shown}({', '.join(parts)}){tail}"
    if len(line) <= COLUMNS:
        return line
    return "\n".join([f"{shown}(", *(f"    {part}," for part in parts), f"){tail}"])


def _text(annotation: Any) -> Any:
    if get_origin(annotation) is Annotated:  # of a Struct: with a description for the schema
        annotation = get_args(annotation)[0]
    return getattr(annotation, "__name__", annotation) if annotation in (str, bool) else annotation


def _plain(parameter: str) -> str:
    """Annotations are texts in quotes, and defaults are too."""
    return re.sub(r"(: )\'([^\']*)\'", r"\1\2", parameter).replace("typing.", "")


def members(shown: str, kind: type, *, leave_out: tuple[str, ...] = ()) -> Iterator[str]:
    for name, member in inspect.getmembers_static(kind):
        if name.startswith("_") or name in leave_out:
            continue
        if isinstance(member, property):
            returns = inspect.signature(member.fget).return_annotation  # type: ignore[arg-type]
            yield f"{shown}.{name}: {returns}"
        elif inspect.isfunction(member):
            awaited = "await " if inspect.iscoroutinefunction(member) else ""
            yield f"{awaited}{signature(f'{shown}.{name}', member)}"
        elif inspect.ismemberdescriptor(member):
            yield f"{shown}.{name}"


def of_python() -> str:
    """The block of the README."""
    rows = [
        signature("Plugin", Plugin.__init__),
        *members("plugin", Plugin, leave_out=INTERNAL),
        "",
        *members("ctx", Context),
        *(line for line in members("ctx", AsyncContext) if line.startswith("await ")),
        "",
        *members("plugin.host", Host, leave_out=("attach",)),
        *(
            line
            for line in members("plugin.async_host", AsyncHost, leave_out=("attach",))
            if line.startswith("await ")
        ),
        "",
        *(signature(name, getattr(sliphook_sdk, name)) for name in ANSWERS),
        "",
        signature("Tool", Tool.__init__),
        signature("ToolResult", ToolResult),
        signature("Image", Image),
        signature("EnvWant", EnvWant),
        *(signature(one.__name__, one) for one in (ModelRoute, AskResult, SubmitResult)),
        signature("CommandResult", CommandResult),
        "",
        signature("Harness", testing.Harness.__init__),
        *members("harness", testing.Harness),
    ]
    return "\n".join(rows)


def block_after(page: Path, heading: str) -> str:
    text = page.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2]
    return text.partition("```")[2].partition("\n")[2].partition("```")[0].rstrip("\n")


def test_the_python_readme_has_every_signature() -> None:
    assert block_after(PYTHON, "All signatures") == of_python()


def test_every_public_name_of_the_python_sdk_is_in_its_readme() -> None:
    text = PYTHON.read_text(encoding="utf-8")
    assert [name for name in sliphook_sdk.__all__ if name not in text] == []
    assert set(ERRORS) < set(sliphook_sdk.__all__)


def bare(text: str) -> str:
    """TypeScript without comments and layout."""
    return re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)).strip()


def test_the_node_readme_has_every_signature() -> None:
    block = block_after(NODE, "All signatures")
    types = "\n".join(
        (TYPES / name).read_text(encoding="utf-8") for name in ("index.d.ts", "testing.d.ts")
    )
    kinds = re.findall(r"^export (?:interface|class|function|const) (\w+)", types, re.MULTILINE)
    assert len(kinds) > 15
    assert [name for name in kinds if not re.search(rf"\b{name}\b", block)] == []
    shown = bare(types + (TYPES / "protocol.d.ts").read_text(encoding="utf-8"))
    for part in block.split("\n\n"):
        assert bare(part) in shown, part
    for name in ("ModelRoute", "SubmitResult", "AskResult"):
        assert f"export interface {name} {{" in block
