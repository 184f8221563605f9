"""Pure: whether the Structs that an agent hands over hold what their fields say.

A Struct that is made in Python checks nothing. Its fields say what the protocol sends; they are
read once for each combination of Python types, and after that a check is a look-up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain, compress
from operator import attrgetter, is_, is_not
from types import NoneType
from typing import Any, Final, TypeAlias, cast

import msgspec
from msgspec import inspect

from sliphook.wire import envelope
from sliphook_sdk.protocol.limits import MAX_HOST_DIGITS

from .plain import MAX_INT, shown, type_of

__all__ = ["CheckedLists", "check_struct"]

Allowed: TypeAlias = tuple[inspect.Type, ...]
"""What a field may be, one of these."""

_STEP_BYTES: Final = 500_000
"""Of JSON, checked in one stretch: 5 ms at most."""
_FEW_BYTES: Final = 50_000
"""So many may be checked in the stretch that encodes the hook."""
_STRUCT_BYTES: Final = 150
"""A Struct takes as long to check as so many bytes take to encode."""
_PYTHON: Final[dict[type[inspect.Type], tuple[tuple[type, ...], str]]] = {
    inspect.NoneType: ((NoneType,), "None"),
    inspect.BoolType: ((bool,), "a bool"),
    inspect.IntType: ((int,), "an int"),
    inspect.FloatType: ((int, float), "a number"),
    inspect.StrType: ((str,), "a str"),
    inspect.LiteralType: ((str,), "a str"),
    inspect.ListType: ((list, tuple), "a list"),
    inspect.DictType: ((dict,), "a dict"),
    inspect.AnyType: ((object,), "any value"),
}
"""Each type of the protocol: the Python types that are sent as it, and its name for people."""
_SIMPLE: Final = (inspect.NoneType, inspect.BoolType, inspect.FloatType, inspect.StrType)
"""A value is right if its Python type is."""


class _Unfit(Exception):
    """Something in a value does not fit.

    Args:
        place: where, behind the argument's name.
        why: a verb and what should be there.
        error: what the agent is raised.
    """

    def __init__(self, place: str, why: str, error: type[Exception] = TypeError) -> None:
        super().__init__()
        self.place, self.why, self.error = place, why, error

    def inside(self, place: str) -> _Unfit:
        return _Unfit(place + self.place, self.why, self.error)

    def of(self, what: str) -> Exception:
        return self.error(f"{what}{self.place} {self.why}")


def check_struct(
    what: str, given: object, kind: type[msgspec.Struct], *, none: bool = False
) -> None:
    """Check that it is such a Struct, or None if `none` allows that, with all that it holds.

    Raises:
        TypeError: it is neither, or something in it has a wrong type or no form in JSON.
        ValueError: a word in it is none of its set, or a number is too large.
    """
    if none and given is None:
        return
    try:
        _look_at(given, kind, none=none)
    except _Unfit as unfit:
        raise unfit.of(what) from None


class CheckedLists:
    """The lists that one agent hands over again at each model call: a Struct is checked once.

    Structs are frozen, so one that stands where it stood before is right, and so is a new one of
    the same objects. The last list is held until the next one comes, or `forget`.
    """

    def __init__(self) -> None:
        self._before: dict[str, list[object]] = {}

    def forget(self) -> None:
        """The conversation is over."""
        self._before.clear()

    def check_in_steps(
        self, what: str, given: object, kind: type[msgspec.Struct]
    ) -> Iterator[None]:
        """Check a list of such Structs; a pause at each step keeps the loop alive.

        Raises:
            TypeError, ValueError: as `check_struct`, or it is no list.
        """
        if not isinstance(given, (list, tuple)):
            raise TypeError(f"{what} must be a list of {kind.__name__}, not {type_of(given)}")
        rows = list(cast("Sequence[object]", given))
        before = self._before.get(what, [])
        # in C, as it goes through the whole conversation; in most calls there is only more of it
        same = all(map(is_, rows, before))
        changed = () if same else compress(range(len(rows)), map(is_not, rows, before))
        size = 0
        for index in chain(changed, range(len(before), len(rows))):
            try:
                if index < len(before) and _is_made_of(rows[index], before[index], kind):
                    size += _STRUCT_BYTES
                else:
                    size += _look_at(rows[index], kind)
            except _Unfit as unfit:
                raise unfit.inside(f"[{index}]").of(what) from None
            if size > _STEP_BYTES:
                size = 0
                yield
        self._before[what] = rows
        if size > _FEW_BYTES:
            yield


def _is_made_of(given: object, known: object, kind: type[msgspec.Struct]) -> bool:
    """Whether a Struct has the very objects of another one, as an agent makes its tools anew."""
    getter = _reader(kind)[1]
    return type(given) is type(known) and all(map(is_, getter(given), getter(known)))


def _look_at(given: object, kind: type[msgspec.Struct], *, none: bool = False) -> int:
    """Look at a Struct and what it holds; returns about how many bytes of JSON that took."""
    if not isinstance(given, kind):
        name = f"a {kind.__name__}{' or None' if none else ''}"
        raise _Unfit("", f"must be {name}, not {type_of(given)}")
    names, getter = _reader(kind)
    values = getter(given)
    size = _STRUCT_BYTES
    for index, found in _inner(kind, *map(type, values)):
        try:
            size += _look_into(values[index], found)
        except _Unfit as unfit:
            raise unfit.inside(f".{names[index]}") from None
    return size


def _look_into(value: Any, found: inspect.Type | Allowed) -> int:
    """The same for a value of the right Python type; a tuple says what another one should be."""
    if isinstance(found, tuple):
        raise _Unfit("", f"must be {' or '.join(map(_in_words, found))}, not {type_of(value)}")
    size = 0
    if isinstance(found, inspect.StructType):
        return _look_at(value, found.cls)
    if isinstance(found, inspect.ListType):
        allowed = _allowed(found.item_type)
        for index, item in enumerate(cast("Sequence[object]", value)):
            try:
                size += _look_into(item, _fitting(allowed, type(item)) or allowed)
            except _Unfit as unfit:
                raise unfit.inside(f"[{index}]") from None
    elif isinstance(found, inspect.LiteralType):
        if value not in found.values:
            words = ", ".join(map(str, found.values))
            raise _Unfit("", f"is {shown(value)}; it must be one of {words}", ValueError)
    elif isinstance(found, inspect.IntType):
        if abs(value) > MAX_INT:
            raise _Unfit("", f"has more than {MAX_HOST_DIGITS} digits", ValueError)
    elif not isinstance(found, _SIMPLE):
        # free-form: anything that JSON holds; what is too much for a message is cut there
        try:
            size = len(envelope.encode(value)) + _STRUCT_BYTES
        except envelope.TooManySurrogates:
            pass
        except TypeError as error:
            raise _Unfit("", f"cannot be sent: {error}") from None
    return size


@cache
def _reader(
    kind: type[msgspec.Struct],
) -> tuple[tuple[str, ...], Callable[[object], tuple[Any, ...]]]:
    """The fields of such Structs, and what gets their values; a subclass may have more."""
    names = kind.__struct_fields__
    return names, attrgetter(*names)


@lru_cache(maxsize=1024)
def _inner(
    kind: type[msgspec.Struct], *types: type
) -> tuple[tuple[int, inspect.Type | Allowed], ...]:
    """Which fields of such a Struct are to be looked into if their values have these types."""
    inner: list[tuple[int, inspect.Type | Allowed]] = []
    for index, ((allowed, may_be_absent), given) in enumerate(
        zip(_declared(kind), types, strict=True)
    ):
        if given is msgspec.UnsetType and may_be_absent:
            continue
        found = _fitting(allowed, given)
        if found is None or not isinstance(found, _SIMPLE):
            inner.append((index, found or allowed))
    return tuple(inner)


@cache
def _declared(kind: type[msgspec.Struct]) -> list[tuple[Allowed, bool]]:
    """What each field may be, and whether it may be absent, which its type does not say."""
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    defaults = [field.default for field in msgspec.structs.fields(kind)]
    return [
        (_allowed(field.type), default is msgspec.UNSET)
        for field, default in zip(info.fields, defaults, strict=True)
    ]


def _allowed(kind: inspect.Type) -> Allowed:
    if isinstance(kind, inspect.Metadata):
        return _allowed(kind.type)
    return kind.types if isinstance(kind, inspect.UnionType) else (kind,)


def _fitting(allowed: Allowed, given: type) -> inspect.Type | None:
    """The one as which values of this Python type are sent, or None."""
    for kind in allowed:
        types = (kind.cls,) if isinstance(kind, inspect.StructType) else _PYTHON[type(kind)][0]
        # True is an int for Python, and for no plugin in another language
        is_bool = issubclass(given, bool) and type(kind) in (inspect.IntType, inspect.FloatType)
        if issubclass(given, types) and not is_bool:
            return kind
    return None


def _in_words(kind: inspect.Type) -> str:
    if isinstance(kind, inspect.StructType):
        return f"a {kind.cls.__name__}"
    return _PYTHON[type(kind)][1]
