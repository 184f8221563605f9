"""The published vectors fit the published schema; the judge is a library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from sliphook_sdk.protocol import CATALOGUE, METHOD_BY_NAME
from tests.docs.protocol_sentences.says import says

HERE = Path(__file__).resolve().parent
SCHEMA: dict[str, Any] = json.loads(
    (HERE.parents[1] / "protocol.schema.json").read_text(encoding="utf-8")
)
PARAMS: dict[str, Any] = json.loads((HERE / "params.json").read_text(encoding="utf-8"))
RESULTS: dict[str, Any] = json.loads((HERE / "results.json").read_text(encoding="utf-8"))
ENVELOPE: Any = jsonschema.Draft202012Validator(SCHEMA)


def validator(part: dict[str, Any]) -> Any:
    return jsonschema.Draft202012Validator({**part, "$defs": SCHEMA["$defs"]})


def test_there_are_vectors_for_every_message() -> None:
    assert sorted(PARAMS) == sorted(SCHEMA["methods"])
    assert sum(len(row["invalid"]) for row in PARAMS.values()) > 200
    assert set(RESULTS) == {
        "initialize",
        "tool/call",
        "command/run",
        "host/answer",
        "host/ask",
        "host/inject",
        "host/interrupt",
        "host/submit",
        "hook/NAME",
    }


@pytest.mark.parametrize("method", PARAMS)
def test_messages(method: str) -> None:
    fits, row = validator(SCHEMA["methods"][method]["params"]), PARAMS[method]
    assert len(row["valid"]) == 2
    for message in row["valid"]:
        assert ENVELOPE.is_valid(message)
        assert message["method"] == method
        assert ("id" in message) == (row["kind"] == "request")
        assert list(fits.iter_errors(message["params"])) == []
    for case in row["invalid"]:
        assert not fits.is_valid(case["value"]["params"]), case["name"]


@pytest.mark.parametrize("method", RESULTS)
def test_results(method: str) -> None:
    wanted = SCHEMA["methods"]["hook/stop" if method == "hook/NAME" else method]["result"]
    fits = validator(wanted)
    for value in RESULTS[method]["valid"]:
        assert list(fits.iter_errors(value)) == []
    assert RESULTS[method]["invalid"]
    for case in RESULTS[method]["invalid"]:
        assert not fits.is_valid(case["value"]), case["name"]


def type_of(method: str) -> Any:
    """What the host writes such params from, and the SDK reads them into; None for a plugin's."""
    kind, _, name = method.partition("/")
    if kind in ("hook", "event"):
        return CATALOGUE[name].payload
    return METHOD_BY_NAME[method].params if METHOD_BY_NAME[method].by == "host" else None


@says(
    "Put each valid message of `params.json` that the host sends (`hook/…`, `event/…`,"
    " `tool/call` and so on) through your decoder.",
    "The host never sends the invalid messages of `params.json` that are its own.",
)
@pytest.mark.parametrize("method", [method for method in PARAMS if type_of(method) is not None])
def test_the_params_that_the_host_writes(method: str) -> None:
    for message in PARAMS[method]["valid"]:
        assert msgspec.convert(message["params"], type_of(method)) is not None
    for case in PARAMS[method]["invalid"]:
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(case["value"]["params"], type_of(method))
