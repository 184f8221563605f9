"""Test vectors for SDKs in other languages: valid and invalid forms of every message.

They are made from `sliphook_sdk.protocol`.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from sliphook_sdk import protocol
from sliphook_sdk.protocol.describe import example_of

_ID: Final = 7
_COMMON: Final = frozenset(info.encode_name for info in msgspec.structs.fields(protocol.Payload))
_OTHERS: Final[tuple[Any, ...]] = ("text", 1.5, [1], {"a": 1}, True)
"""The first of these values that does not fit a field is its example of a wrong type."""


def params() -> str:
    """Every message but replies: `tests/vectors/params.json`."""
    rows: dict[str, Any] = {}
    for method in protocol.METHODS:
        rows[method.name] = _row(method.by, method.name, method.kind, method.params)
    for entry in protocol.CATALOGUE.values():
        rows[f"event/{entry.name}"] = _row(
            "host", f"event/{entry.name}", "notification", entry.payload
        )
        if entry.kind == "hook":
            rows[f"hook/{entry.name}"] = _row(
                "host", f"hook/{entry.name}", "request", entry.payload
            )
    return _text(rows)


def results() -> str:
    """The result of every request that has a shape: `tests/vectors/results.json`."""
    rows: dict[str, Any] = {}
    for method in protocol.METHODS:
        if method.result is not None and method.result is not protocol.Empty:
            valid = [example_of(method.result), _with_nulls(method.result)]
            if method.result is protocol.ToolResult:
                valid.append("a bare string")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
            rows[method.name] = {
                "by": "plugin" if method.by == "host" else "host",
                "valid": valid,
                "invalid": list(_invalid(method.result)),
            }
    subscription = {
        "name": "a subscription with an unknown field",
        "value": _manifest({"event": "stop", "on_failur": "open"}),
    }
    rows["initialize"]["invalid"].append(subscription)
    answers: list[Any] = [
        None,
        {},
        {"decision": "deny", "reason": "no"},
        {"context": ["text"]},
        {"continue_with": "text"},
        {"_meta": 1},
        _with_nulls(protocol.Answer),
    ]
    misspelt = {"name": "an unknown field", "value": {"decison": "deny"}}
    rows["hook/NAME"] = {
        "by": "plugin",
        "valid": answers,
        "invalid": [*_invalid(protocol.Answer), misspelt],
    }
    return _text(rows)


def _with_nulls(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """An example in which null stands for everything that may be absent."""
    example = example_of(struct)
    return {
        info.encode_name: example[info.encode_name] if info.required else None
        for info in msgspec.structs.fields(struct)
    }


def _row(by: str, method: str, kind: str, struct: type[msgspec.Struct]) -> dict[str, Any]:
    def message(value: Any) -> dict[str, Any]:
        return {
            "jsonrpc": "2.0",
            **({"id": _ID} if kind == "request" else {}),
            "method": method,
            "params": value,
        }

    absent = {
        info.encode_name for info in msgspec.structs.fields(struct) if info.default is msgspec.UNSET
    }
    if kind == "request":
        absent.discard("timeout_s")
    example = {name: value for name, value in example_of(struct).items() if name not in absent}
    with_unknown = {**example, "of_tomorrow": {"a": [1]}}
    # mistakes in the common fields are in one payload only, the shortest
    known = (
        _COMMON
        if issubclass(struct, protocol.Payload) and method != "event/turn_start"
        else frozenset[str]()
    )
    invalid = [
        {"name": case["name"], "value": message(case["value"])} for case in _invalid(struct, known)
    ]
    return {
        "by": by,
        "kind": kind,
        "valid": [message(example), message(with_unknown)],
        "invalid": invalid,
    }


def _invalid(
    struct: type[msgspec.Struct], without: frozenset[str] = frozenset()
) -> Iterator[dict[str, Any]]:
    """Invalid examples: a required field left out, or a value of a wrong type."""
    example = example_of(struct)
    for info in msgspec.structs.fields(struct):
        name = info.encode_name
        if name in without:
            continue
        if info.required:
            yield {
                "name": f"without {name}",
                "value": {key: value for key, value in example.items() if key != name},
            }
        for other in _OTHERS:
            changed = {**copy.deepcopy(example), name: other}
            if not _fits(changed, struct):
                yield {"name": f"{name} of the wrong type", "value": changed}
                break


def _fits(value: Any, struct: type[msgspec.Struct]) -> bool:
    try:
        msgspec.convert(value, struct)
    except msgspec.ValidationError:
        return False
    return True


def _manifest(subscription: dict[str, Any]) -> dict[str, Any]:
    return {"protocol_version": 1, "name": "guard", "subscriptions": [subscription]}


def _text(rows: dict[str, Any]) -> str:
    """JSON with one line for each case, so that a diff can be read."""
    parts: list[str] = []
    for name, row in rows.items():
        cases = {
            key: ",\n".join(f"      {json.dumps(case, ensure_ascii=False)}" for case in row[key])
            for key in ("valid", "invalid")
        }
        head = "".join(
            f"    {json.dumps(key)}: {json.dumps(row[key])},\n" for key in row if key not in cases
        )
        body = ",\n".join(
            f"    {json.dumps(key)}: [\n{lines}\n    ]" if lines else f"    {json.dumps(key)}: []"
            for key, lines in cases.items()
        )
        parts.append(f"  {json.dumps(name)}: {{\n{head}{body}\n  }}")
    return "{\n" + ",\n".join(parts) + "\n}\n"
