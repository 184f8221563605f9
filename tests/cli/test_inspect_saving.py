"""What `sliphook inspect` saves of an exchange."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

import pytest

from sliphook.cli.inspector.saving import NoTest, as_test, file_name

GUARD = PurePath("guard.py")
NODE = PurePath("guard.mjs")


def test_a_hook_of_a_python_plugin() -> None:
    params = {"session_id": "s-9", "tool_name": "bash", "arguments": {"command": "rm"}}
    text = as_test(GUARD, "hook/pre_tool_call", params, {"decision": "deny"})
    assert text == (
        "from __future__ import annotations\n\nimport msgspec\n\n\n"
        "def test_hook_pre_tool_call(plugin_harness):\n"
        "    plugin = plugin_harness('guard.py')\n"
        "    answer = plugin.fire('pre_tool_call', tool_name='bash', arguments={'command': 'rm'})\n"
        "    assert msgspec.to_builtins(answer) == {'decision': 'deny'}\n"
    )


def test_no_opinion_an_event_and_odd_names() -> None:
    assert "assert plugin.fire('stop') is None" in as_test(GUARD, "hook/stop", {}, None)
    assert "plugin.tell('turn_end')" in as_test(GUARD, "event/turn_end", {}, None)
    params = {"name": "look", "arguments": {"a-b": 1, "ok": 2}}
    text = as_test(GUARD, "tool/call", params, "seen")
    assert "plugin.call_tool('look', ok=2, **{'a-b': 1})" in text


def test_a_plugin_in_javascript() -> None:
    params = {"arguments": {"command": "rm"}}
    text = as_test(NODE, "hook/pre_tool_call", params, {"decision": "deny"})
    assert (
        'assert.deepEqual(await plugin.fire("pre_tool_call", {"arguments":{"command":"rm"}}),'
        ' {"decision":"deny"});'
    ) in text
    result = {"content": "no", "is_error": True}
    text = as_test(NODE, "tool/call", {"name": "look", "arguments": {}}, result)
    assert 'assert.equal(result.content, "no");' in text
    assert "assert.equal(Boolean(result.is_error), true);" in text
    text = as_test(NODE, "command/run", {"name": "hi", "arguments": "x"}, {"text": "y"})
    assert 'assert.equal(await plugin.runCommand("hi", "x"), "y");' in text


def test_what_no_harness_can_do_is_refused() -> None:
    for plugin, method in ((PurePath("guard.sh"), "hook/stop"), (GUARD, "ping"), (NODE, "ping")):
        with pytest.raises(NoTest):
            as_test(plugin, method, {}, None)
    with pytest.raises(NoTest):
        as_test(GUARD, "hook/no_such", {}, None)


@pytest.mark.parametrize("plugin", [GUARD, NODE])
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tool/call", {}),
        ("tool/call", {"name": 5}),
        ("tool/call", {"name": "look", "arguments": [1]}),
        ("command/run", {}),
        ("command/run", {"name": "hi", "arguments": {}}),
    ],
)
def test_what_was_written_by_hand_and_is_no_call(
    plugin: PurePath, method: str, params: dict[str, Any]
) -> None:
    with pytest.raises(NoTest, match="its name or its arguments are none"):
        as_test(plugin, method, params, "x")


def test_an_argument_with_the_name_of_a_keyword() -> None:
    params = {"name": "look", "arguments": {"class": 1, "None": 2, "x": 3}}
    text = as_test(GUARD, "tool/call", params, "seen")
    assert "plugin.call_tool('look', x=3, **{'class': 1, 'None': 2})" in text
    compile(text, "test", "exec")


def test_the_names_of_files() -> None:
    assert file_name(GUARD, "hook/pre_tool_call") == "test_guard_hook_pre_tool_call.py"
    assert file_name(PurePath("my-guard.mjs"), "tool/call") == "my_guard_tool_call.test.mjs"


def test_a_text_with_odd_line_breaks_stays_in_one_line() -> None:
    text = as_test(NODE, "command/run", {"name": "hi", "arguments": "a\u2028b\x85c"}, {"text": "y"})
    assert 'runCommand("hi", "a\u2028b\x85c")' in text
