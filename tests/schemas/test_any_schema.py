"""Any schema with any value: the same verdict as another library's, and bounded work."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from sliphook.schemas import SchemaError, check, check_schema, why_arguments_do_not_fit

NAMES = st.sampled_from(["a", "b", "c"])
REFERENCES = st.sampled_from(["#", "#/$defs/a", "#/$defs/b", "#/properties/a"])
values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.5, 1.0, 2.5])
    | st.sampled_from(["", "a", "ab", "abc", "é"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


def _schemas(inner: st.SearchStrategy[Any], references: bool) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=3)
    optional: dict[str, st.SearchStrategy[Any]] = {
        "anyOf": several,
        "oneOf": several,
        "allOf": several,
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
        "items": inner,
        "prefixItems": several,
        "contains": inner,
        "properties": st.dictionaries(NAMES, inner, max_size=3),
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "b"]), inner, max_size=2),
        "additionalProperties": inner,
        "propertyNames": inner,
        "dependentSchemas": st.dictionaries(NAMES, inner, max_size=2),
        "required": st.lists(NAMES, max_size=2, unique=True),
        "type": st.sampled_from(["string", "integer", "number", "object", "array", "null"]),
        "enum": st.lists(values, min_size=1, max_size=3),
        "const": values,
        "minimum": st.integers(-3, 3),
        "multipleOf": st.sampled_from([1, 2, 0.5]),
        "maxLength": st.integers(0, 3),
        "minItems": st.integers(0, 3),
        "maxProperties": st.integers(0, 3),
        "uniqueItems": st.booleans(),
        "pattern": st.sampled_from(["^a", "b$", "^(?!ab)a", "^(?=a)(?!b).*c$"]),
    }
    if references:
        optional["$ref"] = REFERENCES
    # few at a time: what has all keywords takes nothing
    return st.lists(st.sampled_from(sorted(optional)), max_size=3, unique=True).flatmap(
        lambda keys: st.fixed_dictionaries({key: optional[key] for key in keys})
    )


EMPTY: st.SearchStrategy[Any] = st.booleans() | st.builds(dict[str, Any])
plain: st.SearchStrategy[Any] = st.recursive(EMPTY, lambda i: _schemas(i, False), max_leaves=8)
referring: st.SearchStrategy[Any] = st.recursive(
    EMPTY | st.fixed_dictionaries({"$ref": REFERENCES}),
    lambda i: _schemas(i, True),
    max_leaves=8,
)


@settings(deadline=None)
@given(plain, values)
def test_the_verdict_is_that_of_another_library(schema: Any, value: Any) -> None:
    other: Any = Draft202012Validator(schema)
    expected: bool = other.is_valid(value)
    why = why_arguments_do_not_fit(value, schema)
    assert (why is None) == expected, why


@settings(deadline=None)
@given(referring, referring, referring, values)
def test_the_work_is_bounded_whatever_refers_to_whatever(
    root: Any, a: Any, b: Any, value: Any
) -> None:
    """A clock that goes on with each look: the library cannot look more often than it may."""
    schema: dict[str, Any] = {"$defs": {"a": a, "b": b}, "allOf": [root]}
    looks = 0

    def clock() -> int:
        nonlocal looks
        looks += 1
        return looks * 20_000  # 20 us

    try:
        check_schema(schema)
    except SchemaError:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(check, "thread_time_ns", clock)
        why_arguments_do_not_fit(value, schema)
    # 8 ms for the check and 3 ms for the explanation are 550 looks; then each part is false at once
    assert looks < 2_000
