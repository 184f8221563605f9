from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from .conftest import MakePlugin, Sliphook

ANSWERS = """
if method.startswith("hook/"):
    say(id=m["id"], result={"decision": "deny"})
elif method == "ping":
    say(id=m["id"], result=None)
elif "id" in m:
    say(id=m["id"], error={"code": -32601, "message": "unknown"})
"""
SUBSCRIBES = "'subscriptions': [{'event': 'pre_tool_call'}]"


def test_a_plugin_that_keeps_to_the_protocol(sliphook: Sliphook, make_plugin: MakePlugin) -> None:
    ran = sliphook("check", make_plugin("good", SUBSCRIBES, ANSWERS))
    assert (ran.status, ran.err) == (0, ""), ran.out
    assert "\n  ok       hook pre_tool_call " in ran.out
    assert ran.out.endswith("good: 21 passed\n")


def test_one_that_does_not_is_told_what_to_do(
    sliphook: Sliphook, make_plugin: MakePlugin, tmp_path: Path
) -> None:
    path = make_plugin(
        "bad",
        SUBSCRIBES,
        ANSWERS.replace("'decision'", "decison").replace('{"decision"', '{"decison"'),
    )
    ran = sliphook("check", path, "--junit", tmp_path / "out.xml")
    assert ran.status == 3
    assert 'came: {"decison":' in ran.out.replace(": ", ":").replace("came:", "came: ")
    assert (
        "do:   the answer has an unknown field 'decison'; did you mean decision?  [protocol.md, Answers and how they merge]"
        in ran.out
    )
    assert ran.out.endswith("bad: 20 passed, 1 failed\n")
    xml = ElementTree.parse(tmp_path / "out.xml").getroot()
    assert (xml.get("tests"), xml.get("failures"), xml.get("errors")) == ("21", "1", "0")
    (failed,) = [case for case in xml if case.find("failure") is not None]
    assert failed.get("name") == "hook pre_tool_call"


def test_json(sliphook: Sliphook, make_plugin: MakePlugin) -> None:
    ran = sliphook("check", make_plugin("good", SUBSCRIBES, ANSWERS), "--json")
    report = ran.json()
    assert (report["name"], report["counts"]["passed"], report["counts"]["failed"]) == (
        "good",
        21,
        0,
    )
    first = report["findings"][0]
    assert (first["name"], first["section"], first["verdict"]) == ("handshake", "Start", "passed")


def test_what_is_no_program(sliphook: Sliphook, tmp_path: Path) -> None:
    ran = sliphook("check", tmp_path / "nothing")
    assert ran.status == 3
    assert "does not exist" in ran.out
