"""The author has replaced `sys.stdout` before the SDK sees it: what is printed is no message."""

from __future__ import annotations

import pytest

from tests.sdk.conftest import Start
from tests.sdk.driver import tool_call

PLUGIN = """
    import codecs, io, os, sys
    {before}
    from sliphook_sdk import *

    plugin = Plugin("torture")

    @plugin.tool
    def hi() -> str:
        print("héllo")
        return "hi"
"""


@pytest.mark.parametrize(
    ("before", "log"),
    [
        ("", "héllo\n"),
        ("sys.stdout = codecs.getwriter('utf-8')(sys.stdout.buffer)", "héllo\n"),
        ("sys.stdout = io.TextIOWrapper(sys.stdout.detach(), 'utf-8')", "héllo\n"),
        ("sys.stdout = open('/dev/stdout', 'w', encoding='utf-8')", "héllo\n"),
        ("sys.stdout = os.fdopen(os.dup(1), 'w', encoding='utf-8')", "héllo\n"),
        ("sys.stdout = type('Writer', (), {'write': lambda self, text: None})()", ""),
        ("sys.stdout = io.StringIO()", ""),
        ("sys.stdout = io.StringIO(); sys.stdout.close()", "ValueError"),
        ("sys.stdout = None", ""),
        ("sys.stderr = None", "héllo\n"),
        ("sys.stdin = None", "héllo\n"),
        ("os.close(2)", None),
    ],
)
def test_a_print_goes_to_the_log_or_where_the_author_says(
    start_each: Start, before: str, log: str | None
) -> None:
    child = start_each(PLUGIN.replace("{before}", before))
    child.initialize()
    answer = child.ask("tool/call", tool_call("hi"))
    if log != "ValueError":
        assert answer["content"] == "hi"
    assert child.ask("shutdown", {}) == {}
    child.notify("exit", {})
    assert child.ended() == 0
    assert child.stray() == b""
    if log is not None:
        assert child.stderr() == ("" if log == "ValueError" else log)


def test_the_way_to_the_host_stays_whole_if_standard_error_leads_there_too(start: Start) -> None:
    child = start(PLUGIN.replace("{before}", "os.dup2(1, 2)"))
    child.initialize()
    request = child.request("tool/call", tool_call("hi"))
    child.notify("exit", {})
    child.ended()
    assert request in child.replies or "héllo".encode() in child.stray()
