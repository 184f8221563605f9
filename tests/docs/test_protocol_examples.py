"""protocol.md shows every message once; each is decoded here as strictly as the host decodes it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import jsonschema
import msgspec
import pytest

from sliphook_sdk.protocol import CATALOGUE, METHOD_BY_NAME, METHODS, Answer, Entry, ErrorCode

ROOT: Final = Path(__file__).resolve().parents[2]
DOCUMENT: Final = (ROOT / "protocol.md").read_text(encoding="utf-8")
SCHEMA: Final[dict[str, Any]] = json.loads(
    (ROOT / "protocol.schema.json").read_text(encoding="utf-8")
)

_FENCE: Final = re.compile(
    r"^```json ?(?P<info>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
BLOCKS: Final = [(match["info"], match["text"]) for match in _FENCE.finditer(DOCUMENT)]
ERRORS: Final = dict(BLOCKS)["errors"].splitlines()
ANSWER_ROW: Final = re.compile(r"^\| `(null|\{.*?\})` \| .+ \|$", re.MULTILINE)
_COMMON: Final = dict(BLOCKS)["example: common"].strip()
HOOKS: Final = tuple(entry for entry in CATALOGUE.values() if entry.kind == "hook")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len({key for key, _ in pairs}) == len(pairs), f"a key twice: {pairs}"
    return dict(pairs)


def _messages(text: str) -> list[dict[str, Any]]:
    """The messages of a block as plain values, `…` filled in."""
    text = text.replace("{…,", _COMMON.removesuffix("}") + ",")
    decoder = json.JSONDecoder(object_pairs_hook=_once)
    found: list[dict[str, Any]] = []
    while text := text.strip():
        value, end = decoder.raw_decode(text)
        found.append(value)
        text = text[end:]
    return found


def _kind(value: dict[str, Any]) -> str:
    if "method" in value:
        return "request" if "id" in value else "notification"
    return "result" if "result" in value else "error"


EXAMPLES: Final = {
    f"{info.removeprefix('example: ').split()[0]} {' '.join([_kind(value), *info.split()[2:]])}": value
    for info, text in BLOCKS
    if info.startswith("example: ") and info != "example: common"
    for value in _messages(text)
}
"""By the method and the kind: `tool/call request`, `initialize error error`."""


def message(name: str) -> dict[str, Any]:
    value = EXAMPLES[name]
    assert value["jsonrpc"] == "2.0"
    return value


def decode(value: Any, struct: type[msgspec.Struct]) -> None:
    """Decode strictly and encode again: the same keys come out, in the same order."""
    decoded = msgspec.json.decode(json.dumps(value).encode(), type=struct, strict=True)
    assert msgspec.json.encode(decoded) == msgspec.json.encode(value)


def check_schema(value: Any, method: str, part: str) -> None:
    jsonschema.validate(
        value,
        {**SCHEMA["methods"][method][part], "$defs": SCHEMA["$defs"]},
        cls=jsonschema.Draft202012Validator,
    )


def test_no_example_is_missing_or_unmarked() -> None:
    parts = {"request": ("request", "result"), "notification": ("notification",)}
    wanted = {f"{method.name} {part}" for method in METHODS for part in parts[method.kind]}
    wanted |= {f"hook/{entry.name} {part}" for entry in HOOKS for part in ("request", "result")}
    wanted |= {
        f"event/{entry.name} notification" for entry in CATALOGUE.values() if entry.kind == "event"
    }
    more = {"initialize error error"}
    assert len(CATALOGUE) == 19
    assert len(METHODS) == 16
    assert sorted(EXAMPLES) == sorted(wanted | more)
    assert all(info in ("errors", "example: common") or "example: " in info for info, _ in BLOCKS)


@pytest.mark.parametrize(
    "name", [name for name in EXAMPLES if name.split()[1] in ("request", "notification")]
)
def test_message(name: str) -> None:
    method, kind = name.split()
    example = message(name)
    assert list(example) == (
        ["jsonrpc", "id", "method", "params"]
        if kind == "request"
        else ["jsonrpc", "method", "params"]
    )
    assert example["method"] == method
    family, _, entry = method.partition("/")
    if family in ("hook", "event") and entry in CATALOGUE:
        decode(example["params"], CATALOGUE[entry].payload)
        assert ("timeout_s" in example["params"]) == (family == "hook")
        for field in CATALOGUE[entry].heavy:
            assert example["params"][field] is not None, "an example shows what a heavy field holds"
    else:
        decode(example["params"], METHOD_BY_NAME[method].params)
        assert METHOD_BY_NAME[method].kind == kind
    check_schema(example["params"], method, "params")


@pytest.mark.parametrize(
    "name", [f"{method.name} result" for method in METHODS if method.kind == "request"]
)
def test_result(name: str) -> None:
    method = name.split()[0]
    example = message(name)
    assert list(example) == ["jsonrpc", "id", "result"]
    assert example["id"] == message(f"{method} request")["id"]
    struct = METHOD_BY_NAME[method].result
    if struct is not None:
        decode(example["result"], struct)
    check_schema(example["result"], method, "result")


@pytest.mark.parametrize("entry", HOOKS, ids=lambda entry: entry.name)
def test_answer_of_a_hook_uses_only_what_the_hook_takes(entry: Entry) -> None:
    example = message(f"hook/{entry.name} result")
    assert list(example) == ["jsonrpc", "id", "result"]
    assert example["id"] == message(f"hook/{entry.name} request")["id"]
    check_schema(example["result"], f"hook/{entry.name}", "result")
    if example["result"] is not None:
        decode(example["result"], Answer)
        assert set(example["result"]) <= set(entry.answer_fields)
        assert example["result"].get("decision") in (None, *entry.decisions)
        assert set(example["result"].get("replace", {})) <= set(entry.replace)


def test_kinds_of_answers() -> None:
    answers = [json.loads(text) for text in ANSWER_ROW.findall(DOCUMENT)]
    kinds: list[str] = []
    for value in answers:
        answer = msgspec.convert(value or {}, Answer, strict=True)
        assert answer.abstains is (value in (None, {}))
        if not answer.abstains:
            decode(value, Answer)
        fields = [name for name in value or () if name not in ("reason", "_meta")]
        kinds.append(answer.decision or (fields[0] if fields else repr(value)))
    words = ["None", "{}", "allow", "deny", "ask", "replace", "substitute", "context"]
    assert kinds == [*words, "continue_with"]


def test_errors() -> None:
    errors = [json.loads(line) for line in ERRORS]
    assert [one["error"]["code"] for one in errors] == [code.value for code in ErrorCode]
    for one in [*errors, message("initialize error error")]:
        assert list(one) == ["jsonrpc", "id", "error"]
        assert list(one["error"]) in (["code", "message"], ["code", "message", "data"])
        assert one["error"]["message"]
        jsonschema.validate(
            one,
            {"$ref": "#/$defs/EnvelopeError", "$defs": SCHEMA["$defs"]},
            cls=jsonschema.Draft202012Validator,
        )
    assert message("initialize error error")["error"]["code"] == -32602


def test_initialize_names_the_whole_catalogue() -> None:
    assert message("initialize request")["params"]["events"] == list(CATALOGUE)
