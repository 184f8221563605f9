"""Granted environment values and secret settings stay out of traces and logs, wherever a plugin repeats them."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest
import trio

from sliphook import PluginHost
from sliphook.plugin.secrets import secret_values
from sliphook.plugin.spec import PluginSpec
from sliphook.testing import FakePlugin
from sliphook.trace.file_sink import FileTrace
from sliphook_sdk.protocol import EnvWant, Manifest


def manifest(**fields: Any) -> Manifest:
    return Manifest(protocol_version=1, name="guard", **fields)


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "token": {"type": "string", "secret": True},
        "key": {"type": "string", "writeOnly": True},
        "password": {"type": "string", "format": "password"},
        "url": {"type": "string"},
        "accounts": {"type": "array", "items": {"$ref": "#/$defs/account"}},
        "maybe": {
            "anyOf": [
                {"type": "null"},
                {"type": "object", "additionalProperties": {"secret": True}},
            ]
        },
        "loop": {"$ref": "#/properties/loop"},
        "child": {"$ref": "#"},
        "pair": {"prefixItems": [{}, {"secret": True}, {}]},
        "old pair": {"items": [{}, {"secret": True}]},
        "spaced": {"$ref": "#/$defs/the%20secret"},
        "numbered": {"$ref": "#/allOf/0/not"},
    },
    "patternProperties": {"^x-": {"secret": True}},
    "allOf": [{"not": {"secret": True}}],
    "dependentSchemas": {"other": {"properties": {"other": {"secret": True}}}},
    "$defs": {
        "account": {"properties": {"name": {}, "pin": {"secret": True}}},
        "the secret": {"secret": True},
    },
}


@pytest.mark.parametrize(
    ("config", "secrets"),
    [
        ({"token": "t-1", "key": "k-1", "password": "p-1", "url": "u-1"}, ["t-1", "k-1", "p-1"]),
        (
            {"accounts": [{"name": "ada", "pin": 1234}, {"name": "bob", "pin": "5678"}]},
            ["1234", "5678"],
        ),
        ({"maybe": {"a": "s-1", "b": {"c": ["s-2", True, None]}}}, ["s-1", "s-2"]),
        ({"x-api": "s-3", "y-api": "open"}, ["s-3"]),
        ({"loop": "round"}, []),
        ({"child": {"child": {"key": "s-4"}, "url": "u-1"}}, ["s-4"]),
        ({"pair": ["open", "s-5", "open"], "old pair": ["open", "s-6"]}, ["s-5", "s-6"]),
        ({"spaced": "s-7", "numbered": "s-8"}, ["s-7", "s-8"]),
        ({"other": "s-9"}, ["s-9"]),
    ],
)
def test_what_a_schema_marks_is_secret(config: dict[str, Any], secrets: list[str]) -> None:
    assert (
        secret_values(PluginSpec(Path("guard"), config=config), manifest(config_schema=SCHEMA))
        == secrets
    )


@pytest.mark.parametrize("number", [1e-7, 1e20])
def test_a_number_is_hidden_in_every_way_that_it_is_written(number: float) -> None:
    found = secret_values(
        PluginSpec(Path("guard"), config={"token": number}), manifest(config_schema=SCHEMA)
    )
    assert sorted(found) == {1e-7: ["1e-07", "1e-7"], 1e20: ["1e+20", "1e20"]}[number]


def test_a_schema_that_would_take_for_ever_hides_all_settings_at_once() -> None:
    whole = {
        "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"} for _ in range(10)]}},
        "$ref": "#/$defs/a",
    }
    assert (
        secret_values(PluginSpec(Path("guard"), config={"a": "b"}), manifest(config_schema=whole))
        == []
    )
    wide = {"allOf": [{"additionalProperties": {"title": str(index)}} for index in range(20_001)]}
    assert secret_values(
        PluginSpec(Path("guard"), config={"a": "b"}), manifest(config_schema=wide)
    ) == ["b"]
    slow = {"patternProperties": {"^(a|a)+$": {"secret": True}}}
    assert secret_values(
        PluginSpec(Path("guard"), config={"a" * 40 + "!": "b"}), manifest(config_schema=slow)
    ) == ["b"]


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"properties": []},
        {"$ref": "#/nowhere/at/all"},
        {"patternProperties": {"(": 1}},
        {"allOf": 1},
    ],
)
def test_a_schema_that_is_none_marks_nothing(schema: dict[str, Any]) -> None:
    assert (
        secret_values(PluginSpec(Path("guard"), config={"a": "b"}), manifest(config_schema=schema))
        == []
    )


def test_a_granted_variable_is_secret_unless_the_manifest_says_that_it_is_not() -> None:
    spec = PluginSpec(Path("guard"), env={"TOKEN": "t-1", "REGION": "north", "OTHER": "o-1"})
    wants = [
        EnvWant(name="TOKEN", secret=True),
        EnvWant(name="REGION", secret=False),
        EnvWant(name="OTHER"),
    ]
    assert secret_values(spec, None) == ["t-1", "north", "o-1"]
    assert secret_values(spec, manifest(env=wants)) == ["t-1", "o-1"]


TELLTALE = """\
#!/usr/bin/env python3
import json, os, sys
token = os.environ["TOKEN"]
print("starting with", token, file=sys.stderr, flush=True)
def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    if not line.startswith("{"):
        continue
    m = json.loads(line)
    if m["method"] == "initialize":
        say(method="host/log", params={"level": "info", "message": "the token is " + token})
        say(id=m["id"], result={"protocol_version": 1, "name": "telltale", "env": [{"name": "TOKEN", "required": True}],
            "subscriptions": [{"event": "user_prompt_submit"}],
            "config_schema": {"properties": {"key": {"type": "string", "secret": True}}}})
    elif m["method"] == "hook/user_prompt_submit":
        print("stray", token, flush=True)
        say(id=m["id"], result={"decision": "deny", "reason": json.dumps({"token": token, "key": key})})
    elif m["method"] == "shutdown":
        say(id=m["id"], result=None)
    elif m["method"] == "exit":
        break
    key = m["params"].get("plugin", {}).get("config", {}).get("key") or globals().get("key")
"""


async def test_nothing_that_a_plugin_repeats_reaches_trace_or_log(tmp_path: Path) -> None:
    path = tmp_path / "telltale"
    path.write_text(textwrap.dedent(TELLTALE))
    path.chmod(0o700)
    logged: list[str] = []
    reasons: list[str] = []
    trace = FileTrace(tmp_path / "trace")
    spec = PluginSpec(path, env={"TOKEN": 'tok"en-123'}, config={"key": "key-456"})
    with trio.fail_after(20):
        async with PluginHost(
            [spec],
            trace=trace,
            on_log=lambda _plugin, _level, message: logged.append(message),
            log_dir=tmp_path / "logs",
        ) as host:
            async with host.session() as session, session.turn("hi") as turn:
                reasons.append((await turn.submit()).reason)
            tail = host.plugins[0].stderr_tail
    assert trace.close() is None
    assert 'tok\\"en-123' in reasons[0]  # the agent itself gets what the plugin said
    assert tail == ("starting with [redacted]",)
    assert "starting with [redacted]" in logged
    assert "the token is [redacted]" in logged
    written = (
        (tmp_path / "trace").read_text()
        + (tmp_path / "logs" / "telltale.log").read_text()
        + "\n".join(logged)
    )
    assert "en-123" not in written
    assert "key-456" not in written
    assert written.count("[redacted]") >= 7


async def test_settings_of_which_nothing_is_known_yet_are_not_traced_at_all(tmp_path: Path) -> None:
    trace = FileTrace(tmp_path / "trace")
    schema = {"properties": {"key": {"secret": True}, "colour": {}}}
    with trio.fail_after(10):
        for recorded in (False, True):
            fake = FakePlugin(
                "fake",
                config={"key": "key-456", "colour": "blue"},
                config_schema=schema,
                recorded=recorded,
            )
            async with PluginHost([fake], trace=trace):
                assert fake.received[0].params["plugin"]["config"] == {
                    "key": "key-456",
                    "colour": "blue",
                }
    assert trace.close() is None
    shown = [
        line.partition('"config":')[2].split("}")[0]
        for line in (tmp_path / "trace").read_text().splitlines()
        if '"config":' in line
    ]
    assert shown == ['"[redacted]"', '{"key":"[redacted]","colour":"blue"']


async def test_the_user_is_not_shown_a_secret_either() -> None:
    shown: list[str] = []
    fake = FakePlugin(
        "fake",
        config={"key": "key-456"},
        config_schema={"properties": {"key": {"secret": True}}},
        uses=["notify"],
    )
    with trio.fail_after(10):
        async with PluginHost(
            [fake], on_notify=lambda _plugin, _level, message: shown.append(message)
        ):
            await fake.ask("host/notify", level="info", message="no answer to key-456")
    assert shown == ["no answer to [redacted]"]
