"""From a function's signature and docstring to a Struct of its arguments and their JSON Schema."""

from __future__ import annotations

import inspect
import re
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import msgspec

from .arguments import unreadable_key

if TYPE_CHECKING:
    from collections.abc import Callable


class SchemaError(Exception):
    """The function cannot be a tool. The message says why; the function's name goes before it."""


def arguments_struct(
    function: Callable[..., Any], signature: inspect.Signature
) -> type[msgspec.Struct]:
    """The Struct for a call's arguments: a field for each parameter but `ctx`, no other fields.

    Raises:
        SchemaError: a parameter cannot be given by name, or has no type that JSON can hold.
    """
    try:
        hints = get_type_hints(function, include_extras=True)
    except Exception as exc:  # evaluating the author's annotations may raise anything
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
                f"takes {name} by position or in any number; "
                "a tool's arguments come one by one, by name"
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
        struct = msgspec.defstruct(
            getattr(function, "__name__", "arguments"),
            fields,
            kw_only=True,
            forbid_unknown_fields=True,
        )
        key = unreadable_key(struct)
    except (TypeError, ValueError) as exc:
        raise SchemaError(f"cannot be called from JSON: {exc}") from None
    if key is not None:
        raise SchemaError(
            f"takes a dict with keys of type {key}: JSON's keys are texts, "
            "which can be read as str, int, float and the like"
        )
    return struct


def input_schema(arguments: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON Schema of an `arguments_struct`: an object, as model APIs require.

    Types that it refers to are under `$defs`.

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
    """A tool's description: the docstring without its sections (`Args:`, `Returns:`, ...)."""
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
    """The description of each parameter in a docstring's section `Args:`, as one line each."""
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
    # msgspec takes these as defaults only if they are empty
    mutable = type(value) in (list, dict, set, bytearray)
    return msgspec.field(default_factory=partial(deepcopy, value)) if mutable else value
