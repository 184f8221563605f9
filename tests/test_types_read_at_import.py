"""Every type that is decoded is read by msgspec at import, by one thread.

At its first use of a Struct msgspec evaluates the annotations, and two threads that do so at once
crash the process. A host may run in any number of threads, and a plugin's handlers do.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

import pytest

from tests.test_layers import folder_of, modules_of

PLAIN: Final = {"str", "int", "float", "bool", "bytes", "dict", "list", "Any", "None", "Raw"}
"""Of these msgspec keeps nothing."""

ONE_COMMAND: Final = "a command of the command line, whose loop is its only thread"
REASONS: Final = {
    "sliphook.adapters.relayed.messages:read_asked": "a Decoder has read them at import",
    "sliphook.check.samples:sample": ONE_COMMAND,
    "sliphook.cli.authoring.by_hand:payload_with": ONE_COMMAND,
    **{
        f"sliphook.cli.inspector.{name}": ONE_COMMAND
        for name in ("saving:_command_text", "saving:_tool_text", "server:_decoded", "server:_read")
    },
    "sliphook.dispatch.answers:_typed": "read_types(_REPLACED, SUBSTITUTES)",
    "sliphook.files.toml:_refusal": "parts of the types of parse_toml",
    "sliphook.files.toml:parse_toml": "read_types(Settings), read_types(PluginKeys)",
    "sliphook.testing.fake:__init__": "read_types(Manifest)",
    "sliphook.testing.fake:_reply_to": "read_types(every payload)",
    "sliphook.testing.fake:payloads": "read_types(every payload)",
    "sliphook.trace.line_format:decode_line": "read_types(TraceRecord)",
    "sliphook.wire.decoding:read_types": "called at import",
    "sliphook_sdk.registration.arguments:fit": "a tool's Struct is read by unreadable_key; the "
    "settings' when the plugin starts, before any handler",
    "sliphook_sdk.registration.entry_handlers:__init__": "before the plugin serves, when it has "
    "one thread",
    "sliphook_sdk.runtime.host:read": "read above, at import",
    "sliphook_sdk.testing.harness:_call": "the service has read them",
}


def type_of(call: ast.Call) -> ast.expr | None:
    """The type that a call has msgspec read, or None."""
    if not isinstance(call.func, ast.Attribute):
        return None
    named = next((word.value for word in call.keywords if word.arg == "type"), None)
    if named is not None and call.func.attr in ("decode", "convert", "Decoder"):
        return named
    at = {"Decoder": 0, "convert": 1}.get(call.func.attr)
    return None if at is None or len(call.args) <= at else call.args[at]


def is_plain(kind: ast.expr) -> bool:
    names = {node.id for node in ast.walk(kind) if isinstance(node, ast.Name)}
    names |= {node.attr for node in ast.walk(kind) if isinstance(node, ast.Attribute)}
    return names - {"msgspec"} <= PLAIN


def late(text: str) -> Iterator[str]:
    """The functions in which a type is read."""
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            calls = (node for node in ast.walk(function) if isinstance(node, ast.Call))
            kinds = [kind for kind in map(type_of, calls) if kind is not None]
            if any(not is_plain(kind) for kind in kinds):
                yield function.name


def test_no_type_is_read_in_a_function() -> None:
    found = {
        f"{module}:{name}"
        for package in ("sliphook", "sliphook_sdk")
        for module, path in modules_of(package, folder_of(package)).items()
        for name in late(path.read_text(encoding="utf-8"))
    }
    assert found == set(REASONS)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def f(x): return msgspec.json.decode(x, type=Manifest)", ["f"]),
        ("def f(x): return msgspec.json.decode(x, type=A | None)", ["f"]),
        ("async def f(x): return msgspec.convert(x, list[A])", ["f"]),
        ("class C:\n    def g(self): self.d = json.Decoder(self.kind)", ["g"]),
        ("D = msgspec.json.Decoder(A)\ndef f(x): return D.decode(x)", []),
        ("def f(x): return msgspec.json.decode(x, type=dict[str, msgspec.Raw])", []),
        ("def f(x): return msgspec.json.decode(x)", []),
    ],
)
def test_the_check_itself(text: str, found: list[str]) -> None:
    assert list(late(text)) == found
