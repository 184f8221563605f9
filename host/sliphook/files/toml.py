"""TOML files that people edit too: read strictly by a typed table of their keys, and changed without losing a comment.

The table of keys is a Struct whose fields are described by `doc(...)`; the page that lists them is
made from the same Struct.
"""

from __future__ import annotations

import codecs
import math
import os
import re
import stat
import tomllib
import types
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeVar, Union, cast, get_args, get_origin

import msgspec

from sliphook.errors import SliphookError
from sliphook.quoting import quote
from sliphook_sdk.protocol import nearest

from .atomic import write_atomically

T = TypeVar("T", bound=msgspec.Struct)

MAX_FILE_BYTES: Final = 32 * 1024 * 1024
_MAX_INTEGER: Final = 2**63
_SCALARS: Final[Mapping[object, str]] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text in quotes",
}


class TomlError(SliphookError):
    """The file cannot be used as it is. str() is one line: the file, the line, the key, and what would be right."""


class BadKey(SliphookError):
    """What stands under some key cannot be.

    Raised by the checks that are given to `read_toml`, which adds the file and the line.

    Args:
        keys: where, from the outermost table.
        why: what is wrong and what would be right.
    """

    def __init__(self, keys: tuple[str, ...], why: str) -> None:
        super().__init__(why)
        self.keys = keys
        self.why = why


def no_check(_: object) -> None:
    """Nothing more is asked of the file than that its keys and types are right."""


def read_toml(path: Path, shape: type[T], check: Callable[[T], None] = no_check) -> T:
    """Read and check one file.

    Args:
        path: the file.
        shape: its keys; all others are an error.
        check: looks at what types cannot say, and raises `BadKey`.

    Raises:
        FileNotFoundError: there is none.
        TomlError: it cannot be read, or breaks a rule; the user is at fault.
    """
    return parse_toml(text_of(path), shape, path, check)


def parse_toml(text: str, shape: type[T], path: Path, check: Callable[[T], None] = no_check) -> T:
    """`read_toml` for a text that has been read already.

    Args:
        text: the file's text.
        shape: its keys; all others are an error.
        path: the file, only to name it in errors.
        check: looks at what types cannot say, and raises `BadKey`.

    Raises:
        TomlError: it breaks a rule; the user is at fault.
    """
    shown = quote(str(path), 200)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TomlError(f"{shown}, {_where_it_breaks(str(error))}") from None
    except RecursionError:
        raise TomlError(f"{shown} is nested too deeply") from None
    try:
        _check_table(data, shape, ())
        read = msgspec.convert(data, shape)
        check(read)
    except BadKey as error:
        line = line_of(text, error.keys)
        where = f", line {line}" if line is not None else ""
        key = quote(".".join(error.keys), 80)
        raise TomlError(f"{shown}{where}: {f'{key}: ' if key else ''}{error.why}") from None
    except msgspec.ValidationError as error:
        raise TomlError(f"{shown}: {quote(str(error), 200)}") from None
    return read


def change_toml(
    path: Path, old: str | None, wanted: Mapping[str, Any], *, heading: str = ""
) -> None:
    """Write `wanted` to the file.

    What was there already and stays keeps its place, its looks and its comments.

    Args:
        path: the file.
        old: its text until now; None where it is new.
        wanted: all of its keys.
        heading: comment lines at the top of a new file.

    Raises:
        OSError: it cannot be written; the old one is as it was.
        TomlError: the old text is no TOML, or laid out so that it cannot be changed by a program.
    """
    import tomlkit
    import tomlkit.exceptions

    try:
        document = tomlkit.parse(heading if old is None else old)
        _merge(document, wanted)
        text = document.as_string()
        same = tomllib.loads(text) == wanted
    except (tomlkit.exceptions.TOMLKitError, tomllib.TOMLDecodeError):
        same, text = False, ""
    if not same:
        raise TomlError(
            f"{quote(str(path), 200)} is laid out so that a program cannot change it; change it by hand"
        )
    write_atomically(path, text)


def text_of(path: Path) -> str:
    """The text of the file.

    Raises:
        FileNotFoundError: there is none.
        TomlError: it cannot be read.
    """
    shown = quote(str(path), 200)
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise TomlError(f"{shown} is no regular file")
            data = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise TomlError(f"{shown} cannot be read: {error.strerror or error}") from None
    if len(data) > MAX_FILE_BYTES:
        raise TomlError(f"{shown} is over {MAX_FILE_BYTES // (1024 * 1024)} MiB")
    try:
        return data.removeprefix(
            codecs.BOM_UTF8
        ).decode()  # some editors put a mark there, which TOML does not have
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise TomlError(f"{shown}, line {line}: it is no UTF-8") from None


def _open_at_once(path: str, flags: int) -> int:
    """A pipe with that name must not hold anybody."""
    return os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK)


def _where_it_breaks(error: str) -> str:
    found = re.fullmatch(r"(.*) \(at line (\d+), column \d+\)", error, re.DOTALL)
    if found is None:
        error = error.removesuffix(" (at end of document)")
        return f"at its end: it is no TOML: {quote(error[:1].lower() + error[1:], 200)}"
    return f"line {found[2]}: it is no TOML: {quote(found[1][:1].lower() + found[1][1:], 200)}"


def line_of(text: str, keys: tuple[str, ...]) -> int | None:
    """The line on which the innermost of `keys` stands, from 1; None where it does not.

    tomlkit keeps no positions but writes every byte as it was, so a mark before the item shows
    where it is.
    """
    import tomlkit

    try:
        document = tomlkit.parse(text)
        item = _find(document.body, keys)
        while hasattr(item, "is_super_table") and item.is_super_table():
            item = item.value.body[0][1]  # it has no line of its own, its first entry has
        if item is None:
            return None
        item.trivia.indent += "\0"
        before, mark, _ = document.as_string().partition("\0")
    except Exception:  # whatever is odd about the file, what is wrong with it is told all the same
        return None
    return before.count("\n") + 1 if mark else None


def _find(body: Iterable[tuple[Any, Any]], keys: tuple[str, ...]) -> Any:
    """The item under `keys`, or None; a table may stand there in several pieces."""
    for key, item in body:
        if keys and key is not None and key.key == keys[0]:
            if len(keys) == 1:
                return item
            found = _find(getattr(item.value, "body", ()), keys[1:])
            if found is not None:
                return found
    return None


# -- what may stand where
# ------------------------------------------------------------------------------------------


def _check_table(
    table: Mapping[str, Any], shape: type[msgspec.Struct], above: tuple[str, ...]
) -> None:
    fields = {field.encode_name: field for field in msgspec.structs.fields(shape)}
    for key, value in table.items():
        field = fields.get(key)
        if field is None:
            raise BadKey((*above, key), f"there is no such key; {_hint(key, list(fields))}")
        _check_value(value, field.type, (*above, key))
    for name, field in fields.items():
        if field.required and name not in table:
            raise BadKey(above, f"the key {name} is missing")


def _check_value(value: Any, kind: Any, keys: tuple[str, ...]) -> None:
    kind = _plain(kind)
    if kind is Any:
        _check_free(value, keys)
    elif isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        _check_table(_table(value, keys), kind, keys)
    elif get_origin(kind) is dict:
        for key, inner in _table(value, keys).items():
            _check_value(inner, get_args(kind)[1], (*keys, key))
    elif get_origin(kind) is list:
        if not isinstance(value, list):
            raise BadKey(keys, f"it must be a list, in [ ], and is {_words(value)}")
        for inner in cast("list[object]", value):
            _check_value(inner, get_args(kind)[0], keys)
    elif get_origin(kind) is Literal:
        allowed = list(get_args(kind))
        if value not in allowed:
            raise BadKey(keys, f"{_words(value)} does not go there; {_hint(value, allowed)}")
    else:
        _check_scalar(value, kind, keys)


def _check_scalar(value: Any, kind: Any, keys: tuple[str, ...]) -> None:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        wanted = _SCALARS.get(kind)
        raise BadKey(
            keys,
            f"it must be {wanted}, and is {_words(value)}" if wanted else quote(str(error), 200),
        ) from None


def _hint(given: Any, right: list[str]) -> str:
    close = nearest(given, right) if isinstance(given, str) else None
    return f"did you mean {close}?" if close else f"there are {', '.join(right)}"


def _plain(kind: Any) -> Any:
    """The type without its description, and without None, which TOML does not have."""
    while True:
        if hasattr(kind, "__metadata__"):
            kind = get_args(kind)[0]
        elif get_origin(kind) in (Union, types.UnionType):
            (kind,) = (one for one in get_args(kind) if one is not types.NoneType)
        else:
            return kind


def _table(value: Any, keys: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise BadKey(keys, f"it must be a table, and is {_words(value)}")
    return cast("Mapping[str, Any]", value)


def _check_free(value: Any, keys: tuple[str, ...]) -> None:
    """A value of any kind; what JSON does not have could not be sent."""
    if isinstance(value, dict):
        for key, inner in cast("dict[str, Any]", value).items():
            _check_free(inner, (*keys, key))
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            _check_free(inner, keys)
    elif isinstance(value, float) and not math.isfinite(value):
        raise BadKey(keys, f"{value} is no number that JSON has")
    elif isinstance(value, int) and not -_MAX_INTEGER <= value < _MAX_INTEGER:
        raise BadKey(keys, "the number is too large")
    elif not isinstance(value, str | int | float):
        raise BadKey(keys, f"JSON has no dates; write it in quotes: '{quote(str(value), 40)}'")


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "a list"
    return f"the text '{quote(value, 40)}'" if isinstance(value, str) else quote(str(value), 40)


def _merge(table: Any, wanted: Mapping[str, Any]) -> None:
    for key in [key for key in table if key not in wanted]:
        del table[key]
    for key, value in wanted.items():
        old: Any = table.get(key)
        if _is_table(value) and _is_table(old):
            _merge(old, value)
        elif not same_json(_bare(old), value):
            table[key] = _item(value)


def _item(value: Any) -> Any:
    """A text with quotes in it, as JSON is, stands without escapes where it can."""
    import tomlkit

    if _is_table(value):
        return {key: _item(inner) for key, inner in value.items()}
    if (
        isinstance(value, str)
        and '"' in value
        and value.isprintable()
        and "'''" not in value
        and not value.endswith("'")
    ):
        return tomlkit.string(value, literal=True, multiline="'" in value)
    return value


def same_json(one: object, other: object) -> bool:
    """Both are the same in JSON too, where 1, 1.0 and true are not."""
    return one == other and msgspec.json.encode(one) == msgspec.json.encode(other)


def _is_table(value: object) -> bool:
    return isinstance(value, Mapping)


def _bare(item: Any) -> Any:
    return item.unwrap() if hasattr(item, "unwrap") else item
