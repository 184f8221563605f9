"""Checks values against their JSON Schema, by the library `jsonschema-rs`, in bounded time.

Schemas and values come from plugins, models and MCP servers. So:

- a schema is read by our own code, and refused if it cannot be used or checked in bounded time;
- the library gets it with all references made local, so nothing is fetched;
- on its way it asks, by a keyword of ours, whether there is time left (`work.py`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import lru_cache
from time import thread_time_ns
from typing import Any, Final, NamedTuple, Protocol, cast

import jsonschema_rs as library
import msgspec

from sliphook.errors import SliphookError
from sliphook.quoting import quote

from .errors import SchemaError
from .patterns import Expression
from .reading import MAX_PARTS, ReadSchema, read_schema
from .size import Size, TooLarge, all_differ, measure
from .work import Stretch
from .writing import ASK, DIFFER, NONE_FITS, WrittenSchema, write

CHECK_US: Final = 8_000.0
"""Microseconds of the processor for one check."""
WIDE: Final = 200.0
"""How much longer it takes to compare numbers of hundreds of digits."""
COMPARE: Final = 0.4
"""Microseconds for one value, as `measure` counts, of a list whose items must differ."""
SURE_US: Final = 1_000.0
"""So much, as counted beforehand, is always done: on a virtual machine, the thread's clock goes on
while another machine has the processor, for 50 ms at once."""
EXPLAIN_US: Final = 3_000.0
"""The same for finding out what does not fit."""
MAX_FRAMES: Final = 1_000
"""The most nested calls in the library, for the C stack of a thread may be small."""
_REGEX_BYTES: Final = 128 * 1024
"""The engine's size for one expression; to refuse a larger one takes 3 ms."""
_BACKTRACKS: Final = 1_000
_ENGINE: Final = library.FancyRegexOptions(
    backtrack_limit=_BACKTRACKS, size_limit=_REGEX_BYTES, dfa_size_limit=_REGEX_BYTES
)
_MAX_BYTES: Final = 512 * 1024
"""Of a schema of the agent's own, from an MCP server perhaps; a plugin's has a smaller limit. To
decode so much takes 10 ms."""
_KEPT: Final = 64
_SMALL_BYTES: Final = 2_000
"""A smaller schema is compiled within 5 ms."""

_TOO_MUCH: Final = "they take too long to check against this schema; send fewer or shorter values"


class _Clock:
    """The time that is left for one check; one for each compiled schema.

    Attributes:
        ends_ns: when it is over, on the thread's own clock, so that other threads take nothing
            away.
        counted_us: what was begun until now, as counted beforehand.
        chars: characters of all texts in the value.
        values: the values in the value.
        wide: there are numbers in it that take long to compare.
        over: a part was not tried for lack of time.
    """

    __slots__ = ("chars", "counted_us", "ends_ns", "over", "values", "wide")

    def __init__(self) -> None:
        self.ends_ns = 0
        self.counted_us = 0.0
        self.chars = 0
        self.values = 0
        self.wide = False
        self.over = False

    def start(self, us: float, size: Size) -> None:
        self.ends_ns = thread_time_ns() + int(us * 1000)
        self.counted_us = 0.0
        self.chars, self.values, self.wide = size.chars, size.values, size.wide
        self.over = False

    def asked(self, step: Stretch, value: Any) -> None:
        """Raise if there is no time for this part and this value."""
        us = step.once + step.text * self.chars + step.members * self.values
        kind = cast("type[object]", type(value))
        if kind is dict or kind is list or kind is tuple:
            us += step.entry * len(value)
            if step.key_char and kind is dict:
                us += step.key_char * sum(map(len, value))
            if step.compares:
                us += self._to_compare(value, us)
        elif kind is str:
            us += step.char * len(value) + step.short
        if self.wide:
            us *= WIDE
        self.counted_us += us
        if self.counted_us > SURE_US and thread_time_ns() + us * 1000 > self.ends_ns:
            self.over = True
            raise _NoTime

    def _to_compare(self, items: Any, more: float) -> float:
        """The time for comparing all items with each other, in microseconds."""
        left = (self.ends_ns - thread_time_ns()) / 1000
        left = max(left, SURE_US - self.counted_us) - more
        try:
            size = measure(items, max(int(left / COMPARE), 0))
        except TooLarge:
            return max(left, 0.0) + 1.0
        return size.values * COMPARE + size.chars * 0.002


class Unfit(NamedTuple):
    """Why values are refused.

    Attributes:
        why: one line that the model can act on.
        is_known: they do not fit. Else that cannot be told: it would take too long, or the schema
            cannot be used.
    """

    why: str
    is_known: bool


class _NoTime(SliphookError):
    """A part is not tried; the library takes it for false."""


class _Differ:
    """`uniqueItems`: the library takes time in the square of numbers that it hashes alike."""

    def __init__(self, parent: Any, value: Any, path: Any) -> None:
        pass

    def validate(self, instance: Any) -> None:
        if type(instance) in (list, tuple) and not all_differ(instance):
            raise ValueError("has equal items")


class _NoneFits:
    """What is said where alternatives fail."""

    def __init__(self, parent: Any, value: str, path: Any) -> None:
        self._why = value

    def validate(self, instance: Any) -> None:
        raise ValueError(self._why)


class _Validator(Protocol):
    def is_valid(self, instance: Any) -> bool: ...
    def validate(self, instance: Any) -> None: ...


class _Compiled(NamedTuple):
    clock: _Clock
    validator: _Validator
    height: int


def check_schema(schema: Any, at_most: int = MAX_PARTS) -> int:
    """How many schemas a schema counts as, which can be used; each takes 10 us to read at most.

    Args:
        schema: as decoded from JSON.
        at_most: how many there may be; it is read no further.

    Raises:
        TooManySchemas: there are more than `at_most`, but not more than one may have.
        SchemaError: it cannot be used; its author is at fault.
    """
    read = read_schema(schema, at_most)
    for part in read.parts:
        if part.pattern is not None:
            _try(part.pattern, part.path("pattern"))
        for text, (pattern, _) in part.patterns.items():
            _try(pattern, part.path("patternProperties", text))
    return read.size


def _try(pattern: Expression, path: str) -> None:
    """Refuse an expression that the engine does not take."""
    for text in (pattern.text, *(text for text, _ in pattern.also)):
        if (why := _why_not_taken(text)) is not None:
            raise SchemaError(f"{quote(text, 80)} is not taken: {why}", path)


@lru_cache(maxsize=1_000)
def _why_not_taken(text: str) -> str | None:
    try:
        library.validator_for({"pattern": text}, pattern_options=_ENGINE)
    except (library.ValidationError, ValueError):
        return "it is no regular expression of JSON Schema, or would be too large"
    return None


def why_arguments_do_not_fit(
    arguments: Any, schema: Any, what: str = "the tool's input_schema"
) -> str | None:
    """One line that the model can act on, or None if the arguments fit.

    If the schema itself cannot be used, the line says so.

    Args:
        arguments: the values to check.
        schema: the schema, as decoded from JSON.
        what: the name of the schema in errors.
    """
    found = find_unfit(arguments, schema, what)
    return None if found is None else found.why


def find_unfit(values: Any, schema: Any, what: str) -> Unfit | None:
    """The same, for one who takes what cannot be checked."""
    # what a tool without a schema takes
    if schema == {"type": "object"} and isinstance(values, dict):
        return None
    try:
        size = measure(values)
    except TooLarge as large:
        return Unfit(str(large), False)
    try:
        encoded = msgspec.json.encode(schema)
        if len(encoded) > _MAX_BYTES:
            raise SchemaError(f"has {len(encoded):,} bytes, over {_MAX_BYTES:,}")
        compiled = _compiled(encoded)
    except SchemaError as wrong:
        return Unfit(quote(f"{what} is broken: {wrong}", 400), False)
    except Exception as wrong:  # a schema of the agent's own may hold anything
        return Unfit(quote(f"{what} cannot be used: {wrong}", 400), False)
    if (1 + size.depth) * compiled.height > MAX_FRAMES:
        return Unfit("they are nested too deep for this schema; send flatter values", False)
    return _check(values, size, compiled)


def _check(values: Any, size: Size, compiled: _Compiled) -> Unfit | None:
    clock, validator, _ = compiled
    clock.start(CHECK_US, size)
    try:
        fits = validator.is_valid(values)
        if clock.over:
            return Unfit(_TOO_MUCH, False)
        if fits:
            return None
        clock.start(EXPLAIN_US, size)
        if size.values > 2_000 or size.chars > 100_000:
            return Unfit("they do not fit; they are too large to say where", True)
        validator.validate(values)
    except library.ValidationError as error:
        return Unfit("they do not fit" if clock.over else _line(error), True)
    except Exception as error:  # a value that JSON does not have, as the agent may hand over
        return Unfit(quote(f"they cannot be checked: {error}", 400), False)
    return Unfit("they do not fit", True)


def _line(error: Any) -> str:
    where = "".join(
        f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.instance_path
    ).lstrip(".")
    message = "nothing is allowed here" if error.kind.name == "falseSchema" else error.message
    return quote(f"{where}: {message}" if where else message, 400)


class _Kept(threading.local):
    """Compiled schemas, the oldest first; each thread has its own, for the clock's sake."""

    def __init__(self) -> None:
        self.by_text: dict[bytes, _Compiled] = {}


_kept = _Kept()


def compile_in_steps(schema: Any) -> Iterator[None]:
    """Compile a large schema for the check that follows; a pause at each step keeps all alive.

    Nothing is raised: the check tells what is wrong with the schema.
    """
    try:
        encoded = msgspec.json.encode(schema)
        if not _SMALL_BYTES <= len(encoded) <= _MAX_BYTES or encoded in _kept.by_text:
            return
        read = read_schema(msgspec.json.decode(encoded))
        yield
        written = write(read)
        yield
        _keep(encoded, _compile(read, written))
        yield
    except Exception:
        return


def _compiled(encoded: bytes) -> _Compiled:
    found = _kept.by_text.get(encoded)
    if found is None:
        read = read_schema(msgspec.json.decode(encoded))
        found = _compile(read, write(read))
        _keep(encoded, found)
    return found


def _keep(encoded: bytes, compiled: _Compiled) -> None:
    by_text = _kept.by_text
    while len(by_text) >= _KEPT:
        del by_text[next(iter(by_text))]
    by_text[encoded] = compiled


def _compile(read: ReadSchema, written: WrittenSchema) -> _Compiled:
    clock = _Clock()
    steps = written.stretches

    class Ask:
        def __init__(self, parent: Any, value: int, path: Any) -> None:
            self._step = steps[value]

        def validate(self, instance: Any) -> None:
            clock.asked(self._step, instance)

    keywords: dict[str, Any] = {ASK: Ask, DIFFER: _Differ, NONE_FITS: _NoneFits}
    try:
        validator = library.validator_for(
            written.schema,
            retriever=_refuse,
            keywords=keywords,
            validate_formats=False,
            pattern_options=_ENGINE,
        )
    except (library.ValidationError, library.ReferencingError, ValueError) as error:
        raise SchemaError(
            f"is not taken: {quote(getattr(error, 'message', str(error)), 200)}"
        ) from None
    return _Compiled(clock, cast(_Validator, validator), max(part.height for part in read.parts))


def _refuse(uri: str) -> Any:
    raise SchemaError(f"refers to {quote(uri, 80)}, and nothing is fetched")
