"""Pure: values of the author to JSON, with the path of what JSON does not have.

msgspec writes NaN and the infinities as null, and names no path for what it refuses.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import msgspec

from sliphook_sdk.protocol import limits
from sliphook_sdk.protocol.names import doubled_in

from .encoding import to_json


def strict_json(value: Any) -> bytes:
    """Encode a value that the author has returned.

    Raises:
        ValueError: JSON does not have a part of it; the message has its path: `$.rows[2].mean`.
    """
    try:
        body = to_json(value)
    except Exception as exc:  # a value's own conversion may raise anything
        raise ValueError(fault_in(value) or f"$ cannot be encoded: {exc}") from None
    # a number that JSON does not have is a null in the body, so most values need no second look
    fault = fault_in(value) if b"null" in body or doubled_in(body) is not None else None
    if fault is not None:
        raise ValueError(fault)
    return body


def fault_in(value: object) -> str | None:
    """Path and kind of the first part that JSON does not have, or None."""
    return _fault(value, "$", ())


def _fault(value: Any, path: str, around: tuple[int, ...]) -> str | None:
    if value is None or isinstance(value, (str, bool, int)):
        return None
    if isinstance(value, float):
        return None if math.isfinite(value) else f"{path} is {_name(value)}"
    known = cast("object", value)
    if id(known) in around:
        return f"{path} contains itself"
    if len(around) > limits.MAX_DEPTH:
        return f"{path} is nested too deep"
    if isinstance(value, dict):
        fault = _fault_of_keys(list(cast("Iterable[object]", value)), path)
        if fault is not None:
            return fault
    try:
        parts = _parts(known)
        if parts is None:
            return None if _encodes(known) else f"{path} is of type {type(known).__name__}"
        for step, part in parts:
            fault = _fault(part, f"{path}{step}", (*around, id(known)))
            if fault is not None:
                return fault
    except Exception as exc:  # a property of the author's object may raise anything
        return f"{path} cannot be read: {type(exc).__name__}: {exc}"
    return None


def _fault_of_keys(keys: list[object], path: str) -> str | None:
    if all(isinstance(key, str) for key in keys):
        return None
    names: set[bytes] = set()
    for key in keys:
        if not _encodes({key: None}):
            return f"{path} has a key of type {type(key).__name__}"
        name = to_json({key: None})
        if name in names:  # 1 and "1"
            return f"{path} has the key {json.dumps(str(key))} twice"
        names.add(name)
    return None


def _parts(value: Any) -> Iterator[tuple[str, Any]] | None:
    """The parts of a container with their steps in the path; None for anything else."""
    if isinstance(value, dict):
        mapping = cast("Mapping[object, object]", value)
        return ((_step(key), item) for key, item in mapping.items())
    if isinstance(value, (list, tuple, set, frozenset)):
        return ((f"[{index}]", item) for index, item in enumerate(cast("Any", value)))
    if isinstance(value, msgspec.Struct):
        names = zip(value.__struct_fields__, value.__struct_encode_fields__)
        parts = ((_step(encoded), getattr(value, name)) for name, encoded in names)
        return (part for part in parts if part[1] is not msgspec.UNSET)  # which is not written
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return ((_step(field.name), getattr(value, field.name)) for field in fields)
    return None


def _step(key: Any) -> str:
    text = str(key)
    return f".{text}" if text.isidentifier() else f"[{json.dumps(text)}]"


def _name(number: float) -> str:
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def _encodes(value: Any) -> bool:
    try:
        to_json(value)
    except Exception:  # a value's own conversion may raise anything
        return False
    return True
