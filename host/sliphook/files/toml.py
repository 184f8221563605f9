"""TOML files that users edit: read strictly, by a Struct that is the table of their keys.

The fields of the Struct are described by `doc(...)`, and the page that lists the keys is made from
the same Struct. It must have `forbid_unknown_fields`.
"""

from __future__ import annotations

import codecs
import math
import re
import tomllib
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, NoReturn, TypeVar, Union, cast, get_args, get_origin

import msgspec

from sliphook.errors import SliphookError
from sliphook.quoting import quote
from sliphook_sdk.protocol import nearest

from .regular import open_regular

T = TypeVar("T", bound=msgspec.Struct)

MAX_FILE_BYTES: Final = 1024 * 1024
MAX_KEY_PARTS: Final = 100
"""`a.b.c` has three. tomllib takes time by the square of them."""
_SEARCHED_CHARS: Final = 64 * 1024
"""Of a longer file no line is told: tomlkit takes up to 1 s for so much, and more by the square."""
_PART: Final = re.compile(r"""[\w-]++|"(?:[^"\\\n]|\\.)*+"?|'[^'\n]*+'?""")
_MAX_INTEGER: Final = 2**63  # TOML promises 64 bits, with a sign
_WORDS: Final[Mapping[str, str]] = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "str": "text in quotes",
    "array": "a list, in [ ]",
    "object": "a table",
    "datetime": "a date and time",
}
"""msgspec's words for types in those of TOML."""


class TomlError(SliphookError):
    """The file cannot be used. The user is at fault.

    str() is one line: the file, the line in it, the key, and what would be right.
    """


class BadKey(SliphookError):
    """The value of a key is refused. `read_toml` makes a `TomlError` of it.

    Args:
        keys: the keys that lead to the value, from the outermost table.
        why: what is wrong and what would be right.
    """

    def __init__(self, keys: tuple[str, ...], why: str) -> None:
        super().__init__(why)
        self.keys = keys
        self.why = why


def no_check(_: object) -> None:
    """Check nothing beyond keys and types."""


def read_toml(path: Path, shape: type[T], check: Callable[[T], None] = no_check) -> T:
    """Read and check one file.

    Args:
        path: the file.
        shape: its keys; any other key is an error.
        check: checks what types cannot say, and raises `BadKey`.

    Raises:
        FileNotFoundError: there is no such file.
        TomlError: the file cannot be read, or breaks a rule.
    """
    return parse_toml(text_of(path), shape, path, check)


def parse_toml(text: str, shape: type[T], path: Path, check: Callable[[T], None] = no_check) -> T:
    """`read_toml` for a text that has been read already.

    Args:
        text: the file's text.
        shape: its keys; any other key is an error.
        path: the file, for errors.
        check: checks what types cannot say, and raises `BadKey`.

    Raises:
        TomlError: the text breaks a rule.
    """
    shown = quote(str(path), 200)
    if (line := _line_of_long_key(text)) is not None:
        raise TomlError(
            f"{shown}, line {line}: a key has more than {MAX_KEY_PARTS} parts with dots between"
            " them; shorten it"
        )
    try:
        data = tomllib.loads(text)
        try:
            read = msgspec.convert(data, shape)
        except msgspec.ValidationError:
            # not msgspec's own words: they have neither the line nor the key of a dict
            _refuse(data, shape, ())
        check(read)
    except tomllib.TOMLDecodeError as error:
        raise TomlError(f"{shown}, {_where_it_breaks(str(error))}") from None
    except RecursionError:
        raise TomlError(f"{shown} is nested too deeply") from None
    except BadKey as error:
        line = line_of(text, error.keys)
        where = f", line {line}" if line is not None else ""
        key = quote(".".join(error.keys), 80)
        raise TomlError(f"{shown}{where}: {f'{key}: ' if key else ''}{error.why}") from None
    except ValueError:  # of `int`, which tomllib lets through
        raise TomlError(f"{shown} has a number of more digits than can be read") from None
    return read


def _line_of_long_key(text: str) -> int | None:
    if text.count(".") < MAX_KEY_PARTS:
        return None
    bare = re.sub(r"[ \t]+", "", _PART.sub("k", text))
    before, long, _ = bare.partition("k." * MAX_KEY_PARTS)
    return before.count("\n") + 1 if long else None


def text_of(path: Path) -> str:
    """The text of the file.

    Raises:
        FileNotFoundError: there is no such file.
        TomlError: the file cannot be read.
    """
    shown = quote(str(path), 200)
    try:
        with open(path, "rb", opener=open_regular) as file:
            # one byte more tells a file that is too large, also one that grows meanwhile
            data = file.read(MAX_FILE_BYTES + 1)
    # for the caller to judge: that there is no file is often no mistake
    except FileNotFoundError:
        raise
    except NotADirectoryError as error:  # below HOME=/dev/null, for example
        raise FileNotFoundError(*error.args) from None
    except OSError as error:
        raise TomlError(f"{shown} cannot be read: {error.strerror or error}") from None
    if len(data) > MAX_FILE_BYTES:
        raise TomlError(
            f"{shown} is over {MAX_FILE_BYTES // (1024 * 1024)} MiB;"
            " keep what is long in a file of its own, and write that file's path here"
        )
    try:
        # some editors write a byte order mark, which TOML does not have
        return data.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise TomlError(f"{shown}, line {line}: it is no UTF-8") from None


def _where_it_breaks(error: str) -> str:
    found = re.fullmatch(r"(.*) \(at line (\d+), column \d+\)", error, re.DOTALL)
    if found is None:
        error = error.removesuffix(" (at end of document)")
        return f"at its end: it is no TOML: {quote(error[:1].lower() + error[1:], 200)}"
    return f"line {found[2]}: it is no TOML: {quote(found[1][:1].lower() + found[1][1:], 200)}"


def line_of(text: str, keys: tuple[str, ...]) -> int | None:
    """The line of the innermost of `keys`, from 1; None if it is not in the text, or that is long.

    tomlkit keeps no positions, but it writes every byte as it was. So a mark before the item, in
    what tomlkit writes, shows the item's line.
    """
    if len(text) > _SEARCHED_CHARS:
        return None
    # only a mistake needs it: reading a file without one does not wait for the import
    import tomlkit

    try:
        document = tomlkit.parse(text)
        item = _find(document.body, keys)
        while hasattr(item, "is_super_table") and item.is_super_table():
            item = item.value.body[0][1]  # the table has no line, but its first entry has one
        if item is None:
            return None
        item.trivia.indent += "\0"
        before, mark, _ = document.as_string().partition("\0")
    except Exception:  # without the line, the error still says what is wrong
        return None
    return before.count("\n") + 1 if mark else None


def _find(body: Iterable[tuple[Any, Any]], keys: tuple[str, ...]) -> Any:
    """The item under `keys`, or None. TOML may have a table in several pieces."""
    for key, item in body:
        if keys and key is not None and key.key == keys[0]:
            if len(keys) == 1:
                return item
            found = _find(getattr(item.value, "body", ()), keys[1:])
            if found is not None:
                return found
    return None


def check_plain_data(value: object, keys: tuple[str, ...]) -> None:
    """Refuse a value that TOML and JSON cannot both hold: a plugin's settings stand in both.

    Raises:
        BadKey: the value, or one in it, is null, a date, no finite number, too large a number, or
            text that is no UTF-8.
    """
    if isinstance(value, dict):
        for key, inner in cast("dict[str, object]", value).items():
            check_plain_data(inner, (*keys, key))
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            check_plain_data(inner, keys)
    elif isinstance(value, str):
        if any("\ud800" <= char <= "\udfff" for char in value):
            raise BadKey(keys, "it is no UTF-8")
    elif value is None:
        raise BadKey(keys, "null cannot be kept")
    elif isinstance(value, float) and not math.isfinite(value):
        raise BadKey(keys, f"{value} is no number that JSON has")
    elif isinstance(value, int) and not -_MAX_INTEGER <= value < _MAX_INTEGER:
        raise BadKey(keys, "the number is too large")
    elif not isinstance(value, int | float):
        raise BadKey(keys, f"JSON has no dates; write it in quotes: '{quote(str(value), 40)}'")


# -- msgspec's errors in the words of TOML


def _refuse(value: object, kind: Any, keys: tuple[str, ...]) -> NoReturn:
    """Name the innermost key whose value msgspec refuses.

    msgspec's own path has `[...]` in place of the key of a dict, so the parts are tried one by one.

    Raises:
        BadKey: always.
    """
    kind = _plain(kind)
    for where, inner, inner_kind in _parts(value, kind, keys):
        if _refusal(inner, inner_kind) is not None:
            _refuse(inner, inner_kind, where)
    if get_origin(kind) is Literal:
        raise BadKey(keys, f"{_shown(value)} does not go there; {_hint(value, get_args(kind))}")
    why = _refusal(value, kind) or "it does not go there"
    if expected := re.match(r"Expected `(bool|int|float|str|array|object|datetime)", why):
        raise BadKey(keys, f"it must be {_WORDS[expected[1]]}, and is {_shown(value)}")
    if missing := re.fullmatch(r"Object missing required field `(.*)`", why):
        raise BadKey(keys, f"the key {missing[1]} is missing")
    raise BadKey(keys, quote(why, 200))


def _parts(
    value: object, kind: Any, keys: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], object, Any]]:
    """The values in a table or a list: the keys that lead to each, the value, and its type.

    Raises:
        BadKey: a key of the table is unknown.
    """
    if isinstance(value, dict):
        table = cast("dict[str, object]", value)
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            known = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
            for key, inner in table.items():
                if key not in known:
                    raise BadKey((*keys, key), f"there is no such key; {_hint(key, [*known])}")
                yield (*keys, key), inner, known[key]
        elif get_origin(kind) is dict:
            for key, inner in table.items():
                yield (*keys, key), inner, get_args(kind)[1]
    elif isinstance(value, list) and get_origin(kind) in (list, tuple, frozenset):
        for inner in cast("list[object]", value):
            yield keys, inner, get_args(kind)[0]


def _refusal(value: object, kind: Any) -> str | None:
    """Why msgspec refuses the value for this type; None if it does not."""
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        return str(error)
    return None


def _plain(kind: Any) -> Any:
    """The type without its description, and without None, which TOML does not have."""
    while True:
        if hasattr(kind, "__metadata__"):
            kind = get_args(kind)[0]
        elif get_origin(kind) in (Union, types.UnionType):
            (kind,) = (one for one in get_args(kind) if one is not types.NoneType)
        else:
            return kind


def _hint(given: object, right: list[str] | tuple[str, ...]) -> str:
    close = nearest(given, right) if isinstance(given, str) else None
    return f"did you mean {close}?" if close else f"there are {', '.join(right)}"


def _shown(value: object) -> str:
    # before the rest: Python would write True
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "a list"
    return f"the text '{quote(value, 40)}'" if isinstance(value, str) else quote(str(value), 40)
