"""From a function's signature and docstring to a Struct of its arguments and their JSON Schema."""

from __future__ import annotations

import inspect
import re
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable


class SchemaError(Exception):
    """The function cannot be a tool. The message says why, and goes behind the function's name."""


def arguments_struct(
    function: Callable[..., Any], signature: inspect.Signature
) -> type[msgspec.Struct]:
    """The Struct that a call's arguments are decoded to, strictly: one field a parameter but `ctx`.

    Raises:
        SchemaError: a parameter has no name or no type that JSON could fill.
    """
    try:
        hints = get_type_hints(function, include_extras=True)
    except Exception as exc:  # whatever evaluating the author's annotations raises
        raise SchemaError(f"has annotations that could not be read: {exc}") from None
    told = parameter_docs(inspect.getdoc(function) or "")
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for name, parameter in signature.parameters.items():
        if name == "ctx":
            continue
        if parameter.kind in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
            parameter.POSITIONAL_ONLY,
        ):
            raise SchemaError(
                f"takes {name} by position or in any number; a tool's arguments come one by one, by name"
            )
        if name not in hints:
            raise SchemaError(f"does not say what type `{name}` is, as in `{name}: str`")
        annotation = (
            Annotated[hints[name], msgspec.Meta(description=told[name])]
            if name in told
            else hints[name]
        )
        if parameter.default is parameter.empty:
            fields.append((name, annotation))
        else:
            fields.append((name, annotation, _default(parameter.default)))
    try:
        return msgspec.defstruct(
            getattr(function, "__name__", "arguments"),
            fields,
            kw_only=True,
            forbid_unknown_fields=True,
        )
    except (TypeError, ValueError) as exc:
        raise SchemaError(f"cannot be called from JSON: {exc}") from None


def input_schema(arguments: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON Schema of an `arguments_struct`: an object at the top, as model APIs want it, what it refers to under `$defs`.

    Raises:
        SchemaError: a type has no JSON Schema.
    """
    try:
        (top,), components = msgspec.json.schema_components(
            [arguments], ref_template="#/$defs/{name}"
        )
    except TypeError as exc:
        raise SchemaError(f"takes something that JSON cannot hold: {exc}") from None
    schema: dict[str, Any] = components.pop(top["$ref"].removeprefix("#/$defs/"))
    schema.pop("title", None)
    if components:
        schema["$defs"] = components
    return schema


def description_of(function: Callable[..., Any]) -> str | None:
    """What a model reads about a tool: the docstring without its sections (`Args:` and the like)."""
    doc = inspect.getdoc(function)
    if not doc:
        return None
    return (
        re.split(
            r"^(?:Args|Arguments|Returns|Raises|Yields|Examples?):\s*$",
            doc,
            maxsplit=1,
            flags=re.MULTILINE,
        )[0].strip()
        or None
    )


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


def _default(value: Any) -> Any:
    mutable = type(value) in (
        list,
        dict,
        set,
        bytearray,
    )  # msgspec takes these only if they are empty
    return msgspec.field(default_factory=partial(deepcopy, value)) if mutable else value
