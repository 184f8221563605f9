"""Checks a tool's arguments against its JSON Schema, by the library `jsonschema`.

The schema comes from the plugin and must not block the agent's loop. So:

- its regular expressions are not tried: `pattern`, and what depends on `patternProperties`. The
  plugin has to check these itself;
- nothing is fetched from the network;
- a part of the schema cannot choose another draft with other rules;
- the number of followed references and the time of the processor are bounded.

The library is loaded when the first tool is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from time import thread_time
from typing import Any, NamedTuple

from sliphook.quoting import quote

MAX_REFERENCES = 2_000
"""The most references that one check follows; a schema of a few lines can have billions."""
MAX_CPU_S = 0.5
"""Seconds of the processor that one check may take; usual schemas take a few milliseconds."""

_REFERENCES = ("$ref", "$recursiveRef")
# the last three follow references that are not counted, or search the whole schema each time
_NOT_CHECKED = (
    "pattern",
    "patternProperties",
    "unevaluatedProperties",
    "unevaluatedItems",
    "$dynamicRef",
)

_Keyword = Callable[[Any, Any, Any, Any], Any]


class _Budget(NamedTuple):
    references: Iterator[int]
    ends_s: float


# a context variable, since the library passes no argument of ours to a keyword
_budget: ContextVar[_Budget] = ContextVar("_budget")


def why_arguments_do_not_fit(
    arguments: Any, schema: dict[str, Any], what: str = "the tool's input_schema"
) -> str | None:
    """One line that the model can act on, or None if the arguments fit.

    If the schema itself is broken, the line says so.

    Args:
        arguments: the values to check.
        schema: the plugin's schema.
        what: the name of the schema in errors.
    """
    # what `read_tools` makes of a missing schema: no need to load the library
    if schema == {"type": "object"} and isinstance(arguments, dict):
        return None
    library: Any = import_module("jsonschema")
    registry: Any = import_module("jsonschema_specifications").REGISTRY
    # the time of this thread alone: on a busy machine a usual schema must not fail
    _budget.set(_Budget(iter(range(MAX_REFERENCES)), thread_time() + MAX_CPU_S))
    try:
        draft = library.validators.validator_for(schema, default=library.Draft202012Validator)
        broken = next(
            _careful(draft)(draft.META_SCHEMA, registry=registry).iter_errors(schema), None
        )
        if broken is not None:
            return f"{what} is broken: {quote(broken.message, 200)}"
        error = library.exceptions.best_match(
            _careful(draft)(schema, registry=registry).iter_errors(arguments)
        )
    except Exception as broken:  # the plugin's schema has references that lead nowhere or too far
        return f"{what} cannot be used: {quote(str(broken), 200)}"
    if error is None:
        return None
    where = "".join(
        f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path
    ).lstrip(".")
    return quote(f"{where}: {error.message}" if where else error.message, 400)


@cache
def _careful(draft: Any) -> Any:
    """The validator class of a draft of JSON Schema, without what could block the agent's loop."""
    validators: Any = import_module("jsonschema.validators")
    known: dict[str, _Keyword] = draft.VALIDATORS
    changed = {
        **known,
        **{name: _counted(check) for name, check in known.items() if name in _REFERENCES},
    }
    changed.update(dict.fromkeys(_NOT_CHECKED, _unchecked))
    changed["additionalProperties"] = _without_patterns(known["additionalProperties"])
    careful = validators.extend(draft, {name: _timed(check) for name, check in changed.items()})

    def evolve(self: Any, **changes: Any) -> Any:
        """Make the validator of a part of the schema.

        The library's `evolve` follows the part's `$schema` and takes its unbounded validator.
        """
        same = {
            "schema": self.schema,
            "format_checker": self.format_checker,
            "registry": self._registry,
            "_resolver": self._resolver,
        }
        return careful(**{**same, **changes})

    careful.evolve = evolve
    return careful


def _unchecked(validator: Any, value: Any, instance: Any, schema: Any) -> None:
    """Accept any value."""
    return None


def _counted(follow: _Keyword) -> _Keyword:
    def keyword(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        if next(_budget.get().references, None) is None:
            raise RecursionError(f"it follows more than {MAX_REFERENCES:,} references")
        return follow(validator, value, instance, schema)

    return keyword


def _timed(check: _Keyword) -> _Keyword:
    def keyword(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        if thread_time() > _budget.get().ends_s:
            raise TimeoutError(f"it takes more than {MAX_CPU_S:g} s to check")
        return check(validator, value, instance, schema)

    return keyword


def _without_patterns(check: _Keyword) -> _Keyword:
    def keyword(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        return None if "patternProperties" in schema else check(validator, value, instance, schema)

    return keyword
