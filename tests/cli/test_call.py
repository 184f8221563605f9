"""`sliphook call`: one tool, by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import MakePlugin, Sliphook

SCHEMA = (
    "{'type': 'object', 'properties': {'service': {'type': 'string'}}, 'required': ['service']}"
)
DEPLOY = f"'tools': [{{'name': 'deploy', 'input_schema': {SCHEMA}}}]"
ARGS = ("--args", '{"service":"web"}')


def test_an_answer_is_reported_whole(sliphook: Sliphook, make_plugin: MakePlugin) -> None:
    body = "say(id=m['id'], result={'content': p['arguments']['service'] + ' is up', 'is_error': False, 'data': {'port': 80}})"
    path = make_plugin("ops", DEPLOY, body)
    ran = sliphook("call", "deploy", *ARGS, "--plugin", path, "--json")
    assert (ran.status, ran.err) == (0, "")
    report = ran.json()
    assert list(report) == [
        "tool",
        "plugin",
        "status",
        "content",
        "is_error",
        "data",
        "elapsed_ms",
        "error",
    ]
    assert 0 < report.pop("elapsed_ms") < 5000
    assert report == {
        "tool": "deploy",
        "plugin": "ops",
        "status": "answered",
        "content": "web is up",
        "is_error": False,
        "data": {"port": 80},
        "error": None,
    }


def test_arguments_may_come_from_a_file_and_people_read_the_text(
    sliphook: Sliphook, make_plugin: MakePlugin, tmp_path: Path
) -> None:
    path = make_plugin("ops", DEPLOY, "say(id=m['id'], result='one\\n\\x1b[2Jtwo')")
    (tmp_path / "args.json").write_text('{"service":"web"}')
    ran = sliphook("call", "deploy", "--args", "@args.json", "--plugin", path)
    assert ran.status == 0
    head, *content = ran.out.splitlines()
    assert head.startswith("deploy of ops: answered after ")
    assert content == ["  one", "  \\x1b[2Jtwo"]


def test_an_error_of_the_tool_is_an_answer(sliphook: Sliphook, make_plugin: MakePlugin) -> None:
    path = make_plugin(
        "ops", DEPLOY, "say(id=m['id'], result={'content': 'no such service', 'is_error': True})"
    )
    ran = sliphook("call", "deploy", *ARGS, "--plugin", path, "--json")
    assert ran.status == 0
    assert ran.json()["status"] == "answered"
    assert ran.json()["is_error"] is True


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        ("time.sleep(60)", "timed_out", "0.3 s"),
        ("os._exit(3)", "crashed", "3"),
        ("say(id=m['id'], result={'contents': 'x'})", "refused_answer", "content"),
        (
            "say(id=m['id'], error={'code': -32603, 'message': 'out of paper'})",
            "refused_answer",
            "out of paper",
        ),
    ],
)
def test_every_failure_has_its_status(
    sliphook: Sliphook, make_plugin: MakePlugin, body: str, status: str, error: str
) -> None:
    path = make_plugin("ops", DEPLOY, body)
    ran = sliphook("call", "deploy", *ARGS, "--plugin", path, "--timeout", "0.3", "--json")
    assert ran.status == 3
    report = ran.json()
    assert report["status"] == status
    assert error in report["error"]


def test_arguments_that_do_not_fit_never_reach_the_tool(
    sliphook: Sliphook, make_plugin: MakePlugin
) -> None:
    path = make_plugin("ops", DEPLOY, "os._exit(3)")
    ran = sliphook("call", "deploy", "--args", '{"service":7}', "--plugin", path, "--json")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("sliphook: --args: ")
    assert "service" in ran.err
    assert ran.err.count("\n") == 1


def test_a_plugin_that_does_not_start_is_a_failed_call(sliphook: Sliphook, tmp_path: Path) -> None:
    ran = sliphook("call", "deploy", "--plugin", tmp_path / "nonesuch", "--json")
    assert ran.status == 3
    report = ran.json()
    assert report["status"] == "failed_to_start"
    assert "nonesuch" in report["error"]


def test_a_tool_that_nobody_offers_is_told_with_the_nearest(
    sliphook: Sliphook, make_plugin: MakePlugin
) -> None:
    path = make_plugin("ops", DEPLOY)
    ran = sliphook("call", "deplyo", "--plugin", path, "--json")
    assert ran.status == 1
    assert ran.json()["status"] == "no_such_tool"
    assert ran.json()["error"] == "no plugin here offers a tool 'deplyo'; did you mean 'deploy'?"
