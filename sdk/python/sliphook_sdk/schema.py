"""From a function's signature and docstring to a Struct of its arguments and their JSON Schema."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable


class Unfit(Exception):
    """The function cannot be a tool. The message says why, and goes behind the function's name."""


def arguments_struct(function: Callable[..., Any], signature: inspect.Signature) -> type[msgspec.Struct]:
    """The Struct that a call's arguments are decoded to, strictly: one field a parameter but `ctx`.

    Raises:
        Unfit: a parameter has no name or no type that JSON could fill.
    """
    try:
        hints = get_type_hints(function, include_extras=True)
    except Exception as exc:  # whatever evaluating the author's annotations raises
        raise Unfit(f"has annotations that could not be read: {exc}") from None
    told = parameter_docs(inspect.getdoc(function) or "")
    required: list[tuple[str, Any]] = []
    optional: list[tuple[str, Any, Any]] = []
    for name, parameter in signature.parameters.items():
        if name == "ctx":
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise Unfit(f"takes {parameter}; a tool's arguments come by name")
        if name not in hints:
            raise Unfit(f"does not say what type `{name}` is, as in `{name}: str`")
        annotation = Annotated[hints[name], msgspec.Meta(description=told[name])] if name in told else hints[name]
        if parameter.default is parameter.empty:
            required.append((name, annotation))
        elif isinstance(parameter.default, (list, dict, set, bytearray)):
            optional.append((name, annotation, msgspec.field(default_factory=_copier(parameter.default))))
        else:
            optional.append((name, annotation, parameter.default))
    try:
        return msgspec.defstruct(getattr(function, "__name__", "arguments"), [*required, *optional], kw_only=True, forbid_unknown_fields=True)
    except (TypeError, ValueError) as exc:
        raise Unfit(f"cannot be called from JSON: {exc}") from None


def input_schema(arguments: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON Schema of an `arguments_struct`: an object at the top, as model APIs want it, what it refers to under `$defs`.

    Raises:
        Unfit: a type has no JSON Schema.
    """
    try:
        (top,), components = msgspec.json.schema_components([arguments], ref_template="#/$defs/{name}")
    except TypeError as exc:
        raise Unfit(f"takes something that JSON cannot hold: {exc}") from None
    schema = components.pop(top["$ref"].removeprefix("#/$defs/"))
    schema.pop("title", None)
    if components:
        schema["$defs"] = components
    return schema


def description_of(function: Callable[..., Any]) -> str | None:
    """What a model reads about a tool: the docstring without its sections (`Args:` and the like)."""
    doc = inspect.getdoc(function)
    if not doc:
        return None
    return re.split(r"^(?:Args|Arguments|Returns|Raises|Yields|Examples?):\s*$", doc, maxsplit=1, flags=re.MULTILINE)[0].strip() or None


def parameter_docs(doc: str) -> dict[str, str]:
    """What the section `Args:` of a docstring says of each parameter, each in one line."""
    section = re.search(r"^(?:Args|Arguments):[ ]*\n((?:[ \t]+.*\n?|\n)+)", doc, flags=re.MULTILINE)
    if not section:
        return {}
    lines = inspect.cleandoc("\n" + section[1]).splitlines()
    docs: dict[str, str] = {}
    name = None
    for line in lines:
        begun = re.match(r"(\w+)(?:\s*\([^)]*\))?:\s*(.*)", line)
        if begun:
            name = begun[1]
            docs[name] = begun[2].strip()
        elif name and line.strip():
            docs[name] = f"{docs[name]} {line.strip()}".strip()
    return {name: text for name, text in docs.items() if text}


def _copier(value: Any) -> Callable[[], Any]:
    import copy

    return lambda: copy.deepcopy(value)
