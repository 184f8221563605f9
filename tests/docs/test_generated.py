"""What is generated is fresh, and the generator notices what is not."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from tests.docs.protocol_sentences.says import says
from tools import generate, tables


@says(
    "[protocol.schema.json](protocol.schema.json) has the same definitions as JSON Schema.",
    "The vectors are made from the same definition as the tables and lists here.",
)
def test_generated_files_are_fresh() -> None:
    assert [
        path.name
        for path, text in generate.fresh().items()
        if path.read_text(encoding="utf-8") != text
    ] == []
    assert generate.main(["--check"]) == 0


def test_drift_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    vectors = [f"tests/vectors/{name}.json" for name in ("params", "results", "framing")]
    node = [
        f"sdk/node/{name}" for name in ("src/protocol.js", "src/samples.js", "types/protocol.d.ts")
    ]
    for name in (
        "protocol.schema.json",
        "examples/guard.sh",
        "examples/gate.sh",
        "docs/agents.md",
        "docs/foreign-hooks.md",
        "docs/hermes.md",
        "docs/installing.md",
        "docs/processes.md",
        "docs/settings.md",
        "docs/sh.md",
        "docs/trace.md",
        *node,
        *vectors,
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((generate.ROOT / name).read_bytes())
    document = (generate.ROOT / "protocol.md").read_text(encoding="utf-8")
    (tmp_path / "protocol.md").write_text(
        document.replace("- `event_id` (string)", "- `event_id` (integer)"), encoding="utf-8"
    )
    fresh = generate.fresh
    monkeypatch.setattr(generate, "fresh", lambda: fresh(tmp_path))

    assert generate.main(["--check"]) == 1
    assert (
        capsys.readouterr().err
        == "protocol.md is not what the definition says: run `make generate`\n"
    )
    assert generate.main([]) == 0
    assert capsys.readouterr().out == "wrote protocol.md\n"
    assert (tmp_path / "protocol.md").read_text(encoding="utf-8") == document
    assert generate.main(["--check"]) == 0


def test_only_what_stands_between_markers_is_rewritten() -> None:
    text = "by hand\n<!-- generated: colours -->\nold\n<!-- end -->\nby hand too\n"
    assert generate.rewrite(text, {"colours": lambda: "red\\g<0>"}) == (
        "by hand\n<!-- generated: colours -->\nred\\g<0>\n<!-- end -->\nby hand too\n"
    )


@pytest.mark.parametrize("old", ["", "- old\n", "- old: `-`\n- older\n"])
@pytest.mark.parametrize("after", ["", "\n- by hand\n", "### Head\n<!-- no marker -->\n"])
def test_a_list_ends_where_its_items_end(old: str, after: str) -> None:
    mark = "by hand\n<!-- generated list: colours -->\n"
    assert generate.rewrite(f"{mark}{old}{after}", {"colours": lambda: "- red\n- \\g<0>"}) == (
        f"{mark}- red\n- \\g<0>\n{after}"
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "has the table 'colours' 0 times"),
        ("<!-- generated: colours -->\n<!-- end -->\n" * 2, "has the table 'colours' 2 times"),
        (
            "<!-- generated: colors -->\n<!-- end -->\n",
            "asks for a table 'colors' that nothing makes",
        ),
        ("<!-- generated: colours -->\n", "without its `<!-- end -->`"),
        ("<!-- generated list: colours -->\n- red\ngoes on\n", "items do not end at"),
        ("<!-- generated list: colours -->\n- red\n<!-- end -->\n", "items do not end at"),
        ("<!-- generated list: colours -->\n| red |\n", "items do not end at"),
        ("<!-- generated list: colours -->\n- red\n\n<!-- end -->\n", "without its `<!-- end"),
    ],
)
def test_markers_that_do_not_fit(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        generate.rewrite(text, {"colours": lambda: "red"})


def test_words_for_types() -> None:
    assert tables.plain_type(str | None) == "string or null"
    assert tables.plain_type(dict[str, str | list[str]]) == "object of (string or list of string)"
    with pytest.raises(TypeError, match="no words for the type"):
        tables.plain_type(complex)


def test_schema_is_a_schema() -> None:
    schema = json.loads((generate.ROOT / "protocol.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    assert list(schema["$defs"]) == sorted(schema["$defs"])
    jsonschema.validate({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {}}, schema)
    both = {"jsonrpc": "2.0", "id": 1, "result": None, "error": {"code": 1, "message": ""}}
    for broken in (
        both,
        {"jsonrpc": "2.0", "id": 1.5, "method": "ping"},
        {"id": 1, "method": "ping"},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, schema)
    answer = {"$ref": "#/$defs/Answer", "$defs": schema["$defs"]}
    jsonschema.validate({"decision": "deny"}, answer)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"decison": "deny"}, answer)
