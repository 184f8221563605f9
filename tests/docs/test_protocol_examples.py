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

_BLOCK: Final = re.compile(
    r"(?:^<!-- example: (?P<name>.+?) -->\n)?^```json\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
BLOCKS: Final = [(match["name"], match["text"]) for match in _BLOCK.finditer(DOCUMENT)]
EXAMPLES: Final = {name: text for name, text in BLOCKS if name}

ANSWERS: Final = (
    "null",
    "empty",
    "allow",
    "deny",
    "ask",
    "replace",
    "substitute",
    "context",
    "continue_with",
)
HOOKS: Final = tuple(entry for entry in CATALOGUE.values() if entry.kind == "hook")


def message(name: str) -> dict[str, Any]:
    """The example as plain values. A key that is written twice is no JSON of ours."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len({key for key, _ in pairs}) == len(pairs), f"{name} has a key twice"
        return dict(pairs)

    value: dict[str, Any] = json.loads(EXAMPLES[name], object_pairs_hook=once)
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
    wanted |= {f"event/{name} notification" for name in CATALOGUE}
    wanted |= {f"hook/{entry.name} {part}" for entry in HOOKS for part in ("request", "result")}
    wanted |= {f"answer {kind}" for kind in ANSWERS}
    wanted |= {f"error {code.value}" for code in ErrorCode}
    more = {"initialize error", "initialize result disabled", "tool/call result bare"}
    assert len(CATALOGUE) == 18
    assert len(METHODS) == 13
    assert sorted(name or text for name, text in BLOCKS) == sorted(wanted | more)


@pytest.mark.parametrize(
    "name", [name for name in EXAMPLES if name.endswith((" request", " notification"))]
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


@pytest.mark.parametrize("kind", ANSWERS)
def test_kind_of_answer(kind: str) -> None:
    example = message(f"answer {kind}")
    assert list(example) == ["jsonrpc", "id", "result"]
    answer = msgspec.convert(example["result"] or {}, Answer, strict=True)
    if kind in ("null", "empty"):
        assert example["result"] == (None if kind == "null" else {})
        assert answer.abstains
    else:
        decode(example["result"], Answer)
        assert not answer.abstains
        assert kind in (answer.decision, *example["result"])


@pytest.mark.parametrize(
    "name", [*(f"error {code.value}" for code in ErrorCode), "initialize error"]
)
def test_error(name: str) -> None:
    example = message(name)
    assert list(example) == ["jsonrpc", "id", "error"]
    assert list(example["error"]) in (["code", "message"], ["code", "message", "data"])
    code = -32602 if name == "initialize error" else int(name.split()[1])
    assert example["error"]["code"] == code
    assert example["error"]["message"]
    jsonschema.validate(
        example,
        {"$ref": "#/$defs/EnvelopeError", "$defs": SCHEMA["$defs"]},
        cls=jsonschema.Draft202012Validator,
    )


def test_short_forms() -> None:
    assert message("tool/call result bare")["result"] == "web is deployed"
    check_schema("web is deployed", "tool/call", "result")
    decode(
        message("initialize result disabled")["result"],
        METHOD_BY_NAME["initialize"].result or Answer,
    )


def test_initialize_names_the_whole_catalogue() -> None:
    assert message("initialize request")["params"]["events"] == list(CATALOGUE)


def test_every_link_leads_to_a_heading_or_a_file() -> None:
    headings = re.findall(r"^#+ (.+)$", DOCUMENT, re.MULTILINE)
    anchors = {
        re.sub(r"[^a-z0-9_ -]", "", heading.lower()).replace(" ", "-") for heading in headings
    }
    links = re.findall(r"\]\(([^)]+)\)", DOCUMENT)
    assert len(links) > 50
    assert [
        link
        for link in links
        if (link[1:] not in anchors if link.startswith("#") else not (ROOT / link).is_file())
    ] == []
