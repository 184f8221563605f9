"""From signatures to schemas, and from a model's arguments to the function's."""

from __future__ import annotations

import enum
import gc
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Optional

import jsonschema
import msgspec
import pytest

from sliphook_sdk import Plugin, RegistrationError, Tool
from sliphook_sdk.testing import Harness


class Unit(enum.Enum):
    CELSIUS = "celsius"
    KELVIN = "kelvin"


class Place(msgspec.Struct):
    city: str
    country: Optional[str] = None


@dataclass
class Window:
    days: int = 1
    parts: list[str] = field(default_factory=list[str])


def forecast(
    place: Place,
    unit: Unit = Unit.CELSIUS,
    window: Optional[Window] = None,
    detail: Literal["low", "high"] = "low",
    limit: Annotated[int, msgspec.Meta(ge=1, le=9)] = 3,
    tags: list[str] = ["a"],  # noqa: B006 - an author may write so, and it must not leak from call to call
    *,
    ctx: Any,
) -> str:
    """The weather
    in a place.

    Also tomorrow's.

    Args:
        place: where,
            and in which country.
        limit (int): how many.
        unknown: no parameter at all.

    Returns:
        The text.
    """
    tags.append("b")
    return f"{place.city} {unit.name} {window} {detail} {limit} {tags}"


def test_the_schema_is_an_object_with_all_that_it_refers_to() -> None:
    spec = Tool(forecast).spec
    assert (spec.name, spec.description) == (
        "forecast",
        "The weather\nin a place.\n\nAlso tomorrow's.",
    )
    schema = spec.input_schema
    assert schema is not None
    assert schema == {
        "type": "object",
        "properties": {
            "place": {"$ref": "#/$defs/Place", "description": "where, and in which country."},
            "unit": {"$ref": "#/$defs/Unit", "default": "celsius"},
            "window": {"anyOf": [{"$ref": "#/$defs/Window"}, {"type": "null"}], "default": None},
            "detail": {"enum": ["high", "low"], "default": "low"},
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": 9,
                "description": "how many.",
                "default": 3,
            },
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["place"],
        "additionalProperties": False,
        "$defs": {
            "Place": {
                "title": "Place",
                "type": "object",
                "properties": {
                    "city": {"type": "string"},
                    "country": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
                },
                "required": ["city"],
            },
            "Unit": {"title": "Unit", "enum": ["celsius", "kelvin"]},
            "Window": {
                "title": "Window",
                "type": "object",
                "properties": {
                    "days": {"type": "integer", "default": 1},
                    "parts": {"type": "array", "items": {"type": "string"}},
                },
                "required": [],
            },
        },
    }
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate({"place": {"city": "Oslo"}, "limit": 9}, schema)


def test_the_types_of_a_tool_are_read_when_it_is_registered() -> None:
    """At a type's first use msgspec reads it, and two calls at once would crash the process."""

    class Corner(msgspec.Struct):
        x: int

    def draw(corners: list[Corner]) -> str: ...  # type: ignore[empty-body]

    draw.__annotations__["corners"] = list[Corner]
    Tool(draw)
    assert "StructInfo" in [type(one).__name__ for one in gc.get_referents(Corner)]


def test_arguments_arrive_typed_and_defaults_are_fresh() -> None:
    plugin = Plugin("p")
    plugin.tool(forecast)
    harness = Harness(plugin)
    for _ in range(2):
        result = harness.call_tool(
            "forecast", place={"city": "Oslo"}, unit="kelvin", window={"days": 2}
        )
        assert result.content == "Oslo KELVIN Window(days=2, parts=[]) low 3 ['a', 'b']"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "the arguments do not fit: Object missing required field `place`"),
        (
            {"place": {"city": 1}},
            "the arguments do not fit: Expected `str`, got `int` - at `$.place.city`, which is 1",
        ),
        (
            {"place": {"city": "x"}, "limit": "3"},
            'the arguments do not fit: Expected `int`, got `str` - at `$.limit`, which is "3"',
        ),
        (
            {"place": {"city": "x"}, "limit": 10},
            "the arguments do not fit: Expected `int` <= 9 - at `$.limit`, which is 10",
        ),
        (
            {"place": {"city": "x"}, "days": 1},
            "the arguments do not fit: Object contains unknown field `days`",
        ),
        (
            {"place": {"city": "x"}, "detail": "mid"},
            "the arguments do not fit: Invalid enum value 'mid' - at `$.detail`, which is \"mid\"",
        ),
    ],
)
def test_arguments_that_do_not_fit_say_where(arguments: dict[str, Any], message: str) -> None:
    plugin = Plugin("p")
    plugin.tool(forecast)
    result = Harness(plugin).call_tool("forecast", **arguments)
    assert (result.content, result.is_error) == (message, True)


def untyped(city): ...  # type: ignore[no-untyped-def] # pyright: ignore[reportMissingParameterType,reportUnknownParameterType]


def stars(*cities: str) -> None: ...


def double_stars(**cities: str) -> None: ...


def positional(city: str, /) -> None: ...


def of_a_type(city: type[int]) -> None: ...


def of_a_name(city: Nowhere) -> None: ...  # type: ignore[name-defined] # pyright: ignore[reportUndefinedVariable,reportUnknownParameterType] # noqa: F821


NO_TOOLS: list[tuple[Any, str]] = [
    (untyped, "untyped() does not say what type `city` is, as in `city: str`"),
    (
        stars,
        "stars() takes cities by position or in any number; a tool's arguments come one by "
        "one, by name",
    ),
    (
        double_stars,
        "double_stars() takes cities by position or in any number; a tool's arguments come "
        "one by one, by name",
    ),
    (
        positional,
        "positional() takes city by position or in any number; a tool's arguments come one "
        "by one, by name",
    ),
    (of_a_type, "of_a_type() takes something that JSON cannot hold: "),
    (
        of_a_name,
        "of_a_name() has annotations that could not be read: name 'Nowhere' is not defined",
    ),
]


@pytest.mark.parametrize(("function", "message"), NO_TOOLS)
def test_what_cannot_be_a_tool(function: Any, message: str) -> None:
    with pytest.raises(RegistrationError) as caught:
        Tool(function)
    assert f": {message}" in str(caught.value)
    assert str(caught.value).startswith(f"{__file__}:")


def test_a_schema_of_the_authors_own() -> None:
    schema = {"type": "object", "properties": {"x-y": {"type": "string"}}}
    plugin = Plugin("p")

    @plugin.tool(name="raw", description="As it comes.", schema=schema)
    def raw(arguments: dict[str, Any]) -> str:
        return str(arguments["x-y"])

    assert plugin.tools["raw"].spec.input_schema == schema
    arguments: dict[str, Any] = {"x-y": "z"}
    assert Harness(plugin).call_tool("raw", **arguments).content == "z"
    with pytest.raises(RegistrationError, match="cannot be called with the arguments as one dict"):
        Tool(stars_free, name="x", schema=schema)


def test_a_tool_without_a_docstring_has_no_description() -> None:
    assert Tool(stars_free).spec.description is None


def stars_free(*, ctx: Any) -> None: ...
