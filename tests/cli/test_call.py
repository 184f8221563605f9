"""`sliphook call`: one tool, by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.programs import Workshop, case_of

from .conftest import WAIT_S, Sliphook

DEPLOY = {
    "name": "deploy",
    "input_schema": {
        "type": "object",
        "properties": {"service": {"type": "string"}},
        "required": ["service"],
    },
}
ARGS = ("--args", '{"service":"web"}')


def deploying(shop: Workshop, body: str) -> Path:
    """A plugin with the tool `deploy`, which is answered by `body`."""
    return shop.program("ops", tools=[DEPLOY], on=case_of("tool/call", body)).path


def test_an_answer_is_reported_whole(sliphook: Sliphook, shop: Workshop) -> None:
    body = """
    text = params["arguments"]["service"] + " is up"
    return {"content": text, "is_error": False, "data": {"port": 80}}
    """
    path = deploying(shop, body)
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
        "parts",
        "elapsed_ms",
        "error",
    ]
    assert 0 < report.pop("elapsed_ms") < WAIT_S * 1000
    assert report == {
        "tool": "deploy",
        "plugin": "ops",
        "status": "answered",
        "content": "web is up",
        "is_error": False,
        "data": {"port": 80},
        "parts": None,
        "error": None,
    }


def test_parts_are_named_and_their_bytes_are_for_programs(
    sliphook: Sliphook, shop: Workshop
) -> None:
    body = """
    image = {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="}
    return {"content": "up", "parts": [{"type": "text", "text": "up"}, image]}
    """
    path = deploying(shop, body)
    ran = sliphook("call", "deploy", *ARGS, "--plugin", path)
    assert ran.out.splitlines()[1:] == ["  up", "  [text, 2 bytes]", "  [image/png, 8 bytes]"]
    ran = sliphook("call", "deploy", *ARGS, "--plugin", path, "--json")
    assert ran.json()["parts"][1] == {
        "type": "image",
        "mimeType": "image/png",
        "data": "iVBORw0KGgo=",
    }


def test_arguments_may_come_from_a_file_and_people_read_the_text(
    sliphook: Sliphook, shop: Workshop, tmp_path: Path
) -> None:
    path = deploying(shop, r"return 'one\n\x1b[2Jtwo'")
    (tmp_path / "args.json").write_text('{"service":"web"}')
    ran = sliphook("call", "deploy", "--args", "@args.json", "--plugin", path)
    assert ran.status == 0
    head, *content = ran.out.splitlines()
    assert head.startswith("deploy of ops: answered after ")
    assert content == ["  one", "  \\x1b[2Jtwo"]


def test_an_error_of_the_tool_is_an_answer(sliphook: Sliphook, shop: Workshop) -> None:
    path = deploying(shop, "return {'content': 'no such service', 'is_error': True}")
    ran = sliphook("call", "deploy", *ARGS, "--plugin", path, "--json")
    assert ran.status == 0
    assert ran.json()["status"] == "answered"
    assert ran.json()["is_error"] is True


@pytest.mark.parametrize(
    ("body", "timeout_s", "status", "error"),
    [
        ("time.sleep(600)", "0.3", "timed_out", "0.3 s"),
        ("os._exit(3)", "120", "crashed", "3"),
        ("return {'contents': 'x'}", "120", "refused_answer", "content"),
        (
            "send(id=id, error={'code': -32603, 'message': 'out of paper'})\nreturn NOTHING",
            "120",
            "error",
            "out of paper",
        ),
    ],
)
def test_every_failure_has_its_status(
    sliphook: Sliphook, shop: Workshop, body: str, timeout_s: str, status: str, error: str
) -> None:
    path = deploying(shop, body)
    ran = sliphook("call", "deploy", *ARGS, "--plugin", path, "--timeout", timeout_s, "--json")
    assert ran.status == 3
    report = ran.json()
    assert report["status"] == status
    assert error in report["error"]


def test_arguments_that_do_not_fit_never_reach_the_tool(sliphook: Sliphook, shop: Workshop) -> None:
    path = deploying(shop, "os._exit(3)")
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


def test_a_tool_that_no_plugin_offers_is_told_with_the_nearest(
    sliphook: Sliphook, shop: Workshop
) -> None:
    path = deploying(shop, "pass")
    ran = sliphook("call", "deplyo", "--plugin", path, "--json")
    assert ran.status == 1
    assert ran.json()["status"] == "no_such_tool"
    assert ran.json()["error"] == "no plugin here offers a tool 'deplyo'; did you mean 'deploy'?"
