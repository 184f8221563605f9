"""Pure: one exchange as a test for the harness of the plugin's SDK."""

from __future__ import annotations

import re
from keyword import iskeyword
from pathlib import PurePath
from pprint import pformat
from typing import Any, Final

import msgspec

from sliphook.errors import SliphookError
from sliphook_sdk.protocol import CATALOGUE, CommandResult, Payload, ToolResult
from sliphook_sdk.protocol.describe import example_of

_PYTHON: Final = """\
from __future__ import annotations

import msgspec


def test_{name}(plugin_harness):
    plugin = plugin_harness({file!r})
{body}
"""
_NODE: Final = """\
import assert from "node:assert/strict";
import {{ test }} from "node:test";

import {{ harness }} from "sliphook-sdk/testing";

test({name}, async () => {{
  const plugin = await harness(new URL({file}, import.meta.url));
{body}
}});
"""
_NODE_SUFFIXES: Final = frozenset({".js", ".mjs", ".cjs", ".ts", ".mts"})
_COMMON: Final = frozenset(Payload.__struct_fields__) | {"timeout_s"}


class NoTest(SliphookError):
    """There is no such test; str() says why and what to do."""


def file_name(plugin: PurePath, method: str) -> str:
    """What the test's file is called."""
    what = re.sub(r"[^a-z0-9]+", "_", method.lower()).strip("_")
    stem = re.sub(r"[^A-Za-z0-9_]+", "_", plugin.stem)
    is_python = plugin.suffix == ".py"
    return f"test_{stem}_{what}.py" if is_python else f"{stem}_{what}.test.mjs"


def as_test(plugin: PurePath, method: str, params: dict[str, Any], result: Any) -> str:
    """The text of a test that asks the same, and expects the same answer.

    Args:
        plugin: the plugin's file; the test is to lie beside it.
        method: the method of the request or the event.
        params: its params.
        result: the plugin's answer; None for an event, and for an answer without an opinion.

    Raises:
        NoTest: the plugin has no harness, or the message is none that a harness sends.
        msgspec.ValidationError: the answer is none that the host takes.
    """
    _check(method, params)
    if plugin.suffix == ".py":
        body = "\n".join(f"    {line}" for line in _python(method, params, result).split("\n"))
        name = re.sub(r"\W+", "_", method)
        return _PYTHON.format(name=name, file=plugin.name, body=body)
    if plugin.suffix in _NODE_SUFFIXES:
        body = "\n".join(f"  {line}" for line in _node(method, params, result).split("\n"))
        return _NODE.format(name=_json(method), file=_json(plugin.name), body=body)
    raise NoTest(
        f"{plugin.name} is no Python and no JavaScript file, so there is no harness for it;"
        " save the trace, and replay that: sliphook trace replay"
    )


def _check(method: str, params: dict[str, Any]) -> None:
    """What was written by hand may be no call at all."""
    kind = method.partition("/")[0]
    takes = {"tool": dict, "command": str}.get(kind)
    if takes is None:
        return
    name, arguments = params.get("name"), params.get("arguments")
    if not isinstance(name, str) or not isinstance(arguments, takes | None):
        raise NoTest(f"no harness sends such a {method}: its name or its arguments are none")


def _python(method: str, params: dict[str, Any], result: Any) -> str:
    kind, _, name = method.partition("/")
    match kind:
        case "hook":
            call = _call("fire", name, _fields(name, params))
            if result is None:
                return f"assert plugin.{call} is None"
            return f"answer = plugin.{call}\nassert msgspec.to_builtins(answer) == {_value(result)}"
        case "event":
            return f"plugin.{_call('tell', name, _fields(name, params))}"
        case "tool":
            text, is_error = _tool_text(result)
            call = _call("call_tool", params["name"], params.get("arguments") or {})
            return (
                f"result = plugin.{call}\nassert result.content == {text!r}\n"
                f"assert result.is_error is {is_error}"
            )
        case "command":
            call = f"run_command({params['name']!r}, {params.get('arguments') or ''!r})"
            return f"assert plugin.{call} == {_command_text(result)!r}"
        case _:
            raise NoTest(f"no harness sends {method}")


def _call(function: str, name: str, fields: dict[str, Any]) -> str:
    plain = {key for key in fields if key.isidentifier() and not iskeyword(key)}
    given = "".join(f", {key}={fields[key]!r}" for key in fields if key in plain)
    others = {key: value for key, value in fields.items() if key not in plain}
    return f"{function}({name!r}{given}{f', **{others!r}' if others else ''})"


def _value(value: Any) -> str:
    return pformat(value, width=88, sort_dicts=False)


def _node(method: str, params: dict[str, Any], result: Any) -> str:
    kind, _, name = method.partition("/")
    match kind:
        case "hook":
            call = f"await plugin.fire({_json(name)}, {_json(_fields(name, params))})"
            return f"assert.deepEqual({call}, {_json(result)});"
        case "event":
            return f"await plugin.tell({_json(name)}, {_json(_fields(name, params))});"
        case "tool":
            text, is_error = _tool_text(result)
            given = f"{_json(params['name'])}, {_json(params.get('arguments') or {})}"
            return (
                f"const result = await plugin.callTool({given});\n"
                f"assert.equal(result.content, {_json(text)});\n"
                f"assert.equal(Boolean(result.is_error), {_json(is_error)});"
            )
        case "command":
            given = f"{_json(params['name'])}, {_json(params.get('arguments') or '')}"
            text = _json(_command_text(result))
            return f"assert.equal(await plugin.runCommand({given}), {text});"
        case _:
            raise NoTest(f"no harness sends {method}")


def _fields(name: str, params: dict[str, Any]) -> dict[str, Any]:
    """The fields that make this message another one than the harness sends by itself."""
    if name not in CATALOGUE:
        raise NoTest(f"there is no hook or event {name}")
    samples = example_of(CATALOGUE[name].payload)
    return {
        key: value
        for key, value in params.items()
        if key in samples and key not in _COMMON and value != samples[key]
    }


def _tool_text(result: Any) -> tuple[str, bool]:
    read: ToolResult | str = msgspec.convert(result, ToolResult | str)
    return (read, False) if isinstance(read, str) else (read.content, bool(read.is_error))


def _command_text(result: Any) -> str:
    return msgspec.convert(result, CommandResult).text or ""


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
