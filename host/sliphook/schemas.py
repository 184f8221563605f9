"""Whether a tool's arguments fit its JSON Schema, by the library `jsonschema`, which is only loaded when a tool is called.

The schema is the plugin's and must not hold the agent. So no regular expression of it is tried (`pattern` and what depends on
`patternProperties`: the plugin sees to these itself), nothing is fetched, and references are followed a bounded number of times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from typing import Any

from .quoting import quote

MAX_REFERENCES = 2_000
"""References that one check follows at most; a schema of a few lines could otherwise ask for billions."""

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_NOT_CHECKED = ("pattern", "patternProperties", "unevaluatedProperties")

_Keyword = Callable[[Any, Any, Any, Any], Any]
_left: ContextVar[Iterator[int]] = ContextVar("_left")


def why_arguments_do_not_fit(arguments: Any, schema: dict[str, Any]) -> str | None:
    """One line that the model can act on, or None where the arguments fit. A schema that is itself broken is said to be so."""
    if schema == {"type": "object"} and isinstance(arguments, dict):
        return None
    library: Any = import_module("jsonschema")
    referencing: Any = import_module("referencing")
    _left.set(iter(range(MAX_REFERENCES)))
    try:
        draft = library.validators.validator_for(schema, default=library.Draft202012Validator)
        draft.check_schema(schema)
        validator = _careful(draft)(schema, registry=referencing.Registry())
        error = library.exceptions.best_match(validator.iter_errors(arguments))
    except library.SchemaError as broken:
        return f"the tool's input_schema is broken: {quote(broken.message, 200)}"
    except Exception as broken:  # references that lead nowhere or too far: the schema is the plugin's
        return f"the tool's input_schema cannot be used: {quote(str(broken), 200)}"
    if error is None:
        return None
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path).lstrip(".")
    return quote(f"{where}: {error.message}" if where else error.message, 400)


@cache
def _careful(draft: Any) -> Any:
    """The validator of a draft of JSON Schema, without what could hold the agent."""
    validators: Any = import_module("jsonschema.validators")
    known: dict[str, _Keyword] = draft.VALIDATORS
    changed: dict[str, _Keyword] = {name: _counted(check) for name, check in known.items() if name in _REFERENCES}
    changed.update(dict.fromkeys(_NOT_CHECKED, _unchecked))
    changed["additionalProperties"] = _without_patterns(known["additionalProperties"])
    return validators.extend(draft, changed)


def _unchecked(validator: Any, value: Any, instance: Any, schema: Any) -> None:
    return None


def _counted(follow: _Keyword) -> _Keyword:
    def keyword(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        if next(_left.get(), None) is None:
            raise RecursionError(f"it follows more than {MAX_REFERENCES:,} references")
        return follow(validator, value, instance, schema)

    return keyword


def _without_patterns(check: _Keyword) -> _Keyword:
    def keyword(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        return None if "patternProperties" in schema else check(validator, value, instance, schema)

    return keyword
