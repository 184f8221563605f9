from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.docs.protocol_sentences.says import says
from tests.programs import Workshop, case_of

from .conftest import Sliphook

ANSWERS = """
if method.startswith("hook/"):
    return {"decision": "deny"}
if method in ("ping", "shutdown"):
    return None
send(id=id, error={"code": -32601, "message": "unknown " + method})
return NOTHING
"""


def test_a_plugin_that_keeps_to_the_protocol(sliphook: Sliphook, shop: Workshop) -> None:
    good = shop.program("good", hears=["pre_tool_call"], on=ANSWERS)
    ran = sliphook("check", good.path)
    assert (ran.status, ran.err) == (0, ""), ran.out
    assert "\n  ok       hook pre_tool_call " in ran.out
    assert ran.out.endswith("good: 32 passed\n")


def test_one_that_does_not_is_told_what_to_do(
    sliphook: Sliphook, shop: Workshop, tmp_path: Path
) -> None:
    misspelt = ANSWERS.replace("decision", "decison")
    path = shop.program("bad", hears=["pre_tool_call"], on=misspelt).path
    ran = sliphook("check", path, "--junit", tmp_path / "out.xml")
    assert ran.status == 3
    assert 'came: {"decison":' in ran.out.replace(": ", ":").replace("came:", "came: ")
    assert (
        "do:   the answer has an unknown field 'decison'; did you mean decision?  "
        "[protocol.md, Answers and how they merge]"
    ) in ran.out
    assert ran.out.endswith("bad: 31 passed, 1 failed\n")
    xml = ElementTree.parse(tmp_path / "out.xml").getroot()
    assert xml.get("tests") == "32"
    assert xml.get("failures") == "1"
    assert xml.get("errors") == "0"
    (failed,) = [case for case in xml if case.find("failure") is not None]
    assert failed.get("name") == "hook pre_tool_call"


def test_a_plugin_is_checked_with_settings_and_variables(
    sliphook: Sliphook, shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    works = 'if (params["name"], os.environ.get("TOKEN")) == ("work", "t-1"): return "done"'
    plugin = shop.program(
        on=case_of("tool/call", works) + ANSWERS,
        tools=["work"],
        env=[{"name": "TOKEN"}],
        config_schema={"type": "object", "properties": {"port": {"type": "integer"}}},
    )
    monkeypatch.setenv("TOKEN", "t-1")
    alone = sliphook("check", plugin.path)
    assert (alone.status, "\n  ok       tool work " in alone.out) == (3, False), alone.out
    assert plugin.params("initialize")[0]["plugin"]["config"] == {}
    given = sliphook("check", plugin.path, "--env", "TOKEN", "--config", "port=7")
    assert (given.status, "\n  ok       tool work " in given.out) == (0, True), given.out
    assert plugin.params("initialize")[-1]["plugin"]["config"] == {"port": 7}
    wrong = sliphook("check", plugin.path, "--config", "port=seven")
    assert (wrong.status, wrong.out) == (1, "")
    assert "port" in wrong.err


@says(
    "`--json` and `--junit FILE` are for programs.",
)
def test_json(sliphook: Sliphook, shop: Workshop) -> None:
    good = shop.program("good", hears=["pre_tool_call"], on=ANSWERS)
    ran = sliphook("check", good.path, "--json")
    report = ran.json()
    assert report["name"] == "good"
    assert report["counts"]["passed"] == 32
    assert report["counts"]["failed"] == 0
    first = report["findings"][0]
    assert first["name"] == "handshake"
    assert first["section"] == "Start"
    assert first["verdict"] == "passed"


def test_what_is_no_program(sliphook: Sliphook, tmp_path: Path) -> None:
    ran = sliphook("check", tmp_path / "nothing")
    assert ran.status == 3
    assert "does not exist" in ran.out
