"""Granted variables and secret settings stay out of traces and logs, if a plugin repeats them."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest
import trio

from sliphook import PluginHost
from sliphook.plugin.checks import ManifestError
from sliphook.plugin.secrets import own_keys, secret_values
from sliphook.plugin.spec import PluginSpec
from sliphook.testing import FakePlugin
from sliphook.trace.file_sink import FileTrace
from sliphook_sdk.protocol import EnvWant, Manifest
from tests.programs import WAIT_S, until


def manifest(**fields: Any) -> Manifest:
    return Manifest(protocol_version=1, name="guard", **fields)


MARKED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "token": {"type": "string", "secret": True},
        "key": {"type": "string", "writeOnly": True},
        "password": {"type": "string", "format": "password"},
        "object": {"type": "object", "secret": True},
        "url": {"type": "string"},
        "secret": True,
    },
}
CONFIG = {"token": "t-1", "url": "u-1", "list": ["l-1", {"deep": "l-2"}]}


def hidden(config: dict[str, Any], schema: dict[str, Any]) -> list[str]:
    spec = PluginSpec(Path("guard"), config=config)
    return secret_values(spec, manifest(config_schema=schema))


@pytest.mark.parametrize(
    ("config", "secrets"),
    [
        ({"token": "t-1", "key": "k-1", "password": "p-1"}, ["t-1", "k-1", "p-1"]),
        ({"url": "u-1", "secret": "no mark", "unknown": "x"}, []),
        ({"token": 1234}, ["1234"]),
        ({"object": {"a": "s-1", "b": {"c": ["s-2", True, None]}}}, ["s-1", "s-2"]),
    ],
)
def test_what_a_schema_marks_is_secret(config: dict[str, Any], secrets: list[str]) -> None:
    assert hidden(config, MARKED) == secrets


@pytest.mark.parametrize(
    "deeper",
    [
        {"items": {"properties": {"pin": {"secret": True}}}},
        {"anyOf": [{"type": "null"}, {"additionalProperties": {"format": "password"}}]},
        {"prefixItems": [{}, {"writeOnly": True}]},
        {"items": [{}, {"secret": True}]},
        {"$ref": "#/$defs/account"},
        {"items": {"$ref": "#/$defs/list"}},
        {"$ref": "#/%24defs/account"},
        {"$ref": "#/properties/token"},
        {"$ref": "#"},
    ],
)
def test_a_mark_below_the_first_level_hides_the_whole_setting(deeper: dict[str, Any]) -> None:
    schema = {
        "properties": {"list": deeper, "url": {}, "token": {"secret": True}},
        "$defs": {
            "account": {"properties": {"pin": {"secret": True}}},
            "list": {"items": {"$ref": "#/$defs/account"}},
        },
    }
    assert hidden(CONFIG, schema) == ["t-1", "l-1", "l-2"]


def test_a_reference_to_definitions_without_a_mark_hides_nothing() -> None:
    schema = {
        "properties": {
            "url": {"$ref": "#/$defs/url"},
            "list": {"$ref": "#/properties/list"},
            "loop": {"$ref": "#/$defs/loop"},
        },
        "$defs": {"url": {"type": "string"}, "loop": {"$ref": "#/$defs/loop"}},
    }
    assert hidden({**CONFIG, "loop": "round"}, schema) == []


@pytest.mark.parametrize(
    "outside",
    [
        {"secret": True},
        {"additionalProperties": {"secret": True}},
        {"patternProperties": {"^x-": {"secret": True}}},
        {"patternProperties": {"^(a|a)+$": {"secret": True}}},
        {"allOf": [{"properties": {"url": {"secret": True}}}]},
        {"dependentSchemas": {"url": {"properties": {"url": {"secret": True}}}}},
        {"$ref": "#/$defs/whole", "$defs": {"whole": {"properties": {"url": {"secret": True}}}}},
    ],
)
def test_a_mark_outside_of_properties_hides_all_settings(outside: dict[str, Any]) -> None:
    assert hidden(CONFIG, outside) == ["t-1", "u-1", "l-1", "l-2"]


@pytest.mark.parametrize("number", [1e-7, 1e20])
def test_a_number_is_hidden_in_every_way_that_it_is_written(number: float) -> None:
    found = hidden({"token": number}, MARKED)
    assert sorted(found) == {1e-7: ["1e-07", "1e-7"], 1e20: ["1e+20", "1e20"]}[number]


def test_a_schema_that_is_too_large_hides_all_settings() -> None:
    many = [{"title": str(index)} for index in range(10_000)]
    assert hidden(CONFIG, {"allOf": many}) == ["t-1", "u-1", "l-1", "l-2"]
    assert hidden(CONFIG, {"properties": {"list": {"anyOf": many}}}) == ["l-1", "l-2"]


def test_a_schema_that_refers_to_itself_many_times_is_looked_at_once() -> None:
    whole = {
        "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"} for _ in range(10)]}},
        "$ref": "#/$defs/a",
    }
    assert hidden(CONFIG, whole) == []


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
    assert hidden(CONFIG, schema) == []


def test_a_granted_variable_is_secret_unless_the_manifest_says_that_it_is_not() -> None:
    spec = PluginSpec(Path("guard"), env={"TOKEN": "t-1", "REGION": "north", "OTHER": "o-1"})
    wants = [
        EnvWant(name="TOKEN", secret=True),
        EnvWant(name="REGION", secret=False),
        EnvWant(name="OTHER"),
    ]
    assert secret_values(spec, None) == ["t-1", "north", "o-1"]
    assert secret_values(spec, manifest(env=wants)) == ["t-1", "o-1"]


@pytest.mark.parametrize(
    ("key", "fits"),
    [
        (["word"] * 512, True),
        (["word"] * 513, False),
        ({str(number): number for number in range(513)}, False),
        (["\n".join(["a line of it"] * 128)] * 2, True),
        # its lines alone are 128 each, at most, and its length counts besides
        (["\n".join(["a line of it"] * 128)] * 4, False),
        (["\n" * 4_000] * 2, True),
        ("x" * 32_767, True),
        ("x" * 32_768, False),
    ],
)
def test_secret_settings_have_a_bound_of_values_and_lines(key: object, fits: bool) -> None:
    config = {"token": "t-1", "keys": key} if not fits else {"keys": key}
    schema = {"properties": {"token": {"secret": True}, "keys": {"secret": True}}}
    if fits:
        assert hidden(config, schema) != []
        return
    with pytest.raises(ManifestError) as refused:
        hidden(config, schema)
    assert str(refused.value) == (
        "the user's settings: keys: the secret settings have over 512 values and lines, too many"
        " to keep out of traces and logs"
    )


@pytest.mark.parametrize("recorded", [False, True])
async def test_a_plugin_with_too_many_secrets_cannot_start(recorded: bool) -> None:
    problems: list[str] = []
    fake = FakePlugin(
        "fake",
        hooks={"stop": None},
        config={"keys": [f"word {number}" for number in range(4_000)]},
        config_schema={"properties": {"keys": {"secret": True}}},
        recorded=recorded,
    )
    with trio.fail_after(120):
        async with PluginHost(
            [fake], on_problem=lambda _, message: problems.append(message)
        ) as host:
            assert host.plugins[0].state == "failed"
    # of a recorded one it is known before
    assert fake.starts == (0 if recorded else 1)
    assert problems == [
        "fake is left out: the user's settings: keys: the secret settings have over 512 values and"
        " lines, too many to keep out of traces and logs"
    ]


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
        say(id=m["id"], result={"protocol_version": 1, "name": "telltale",
            "env": [{"name": "TOKEN", "required": True}],
            "subscriptions": [{"event": "user_prompt_submit"}],
            "config_schema": {"properties": {"key": {"type": "string", "secret": True}}}})
    elif m["method"] == "hook/user_prompt_submit":
        print("stray", token, flush=True)
        reason = json.dumps({"token": token, "key": key})
        say(id=m["id"], result={"decision": "deny", "reason": reason})
    elif m["method"] == "shutdown":
        say(id=m["id"], result=None)
    elif m["method"] == "exit":
        break
    key = m["params"].get("plugin", {}).get("config", {}).get("key") or globals().get("key")
"""


@pytest.mark.usefixtures("patient_logs")
async def test_nothing_that_a_plugin_repeats_reaches_trace_or_log(tmp_path: Path) -> None:
    path = tmp_path / "telltale"
    path.write_text(textwrap.dedent(TELLTALE))
    path.chmod(0o700)
    logged: list[str] = []
    reasons: list[str] = []
    trace = FileTrace(tmp_path / "trace")
    spec = PluginSpec(path, env={"TOKEN": 'tok"en-123'}, config={"key": "key-456"})
    with trio.fail_after(120):
        async with PluginHost(
            [spec],
            trace=trace,
            on_log=lambda _plugin, _level, message: logged.append(message),
            log_dir=tmp_path / "logs",
        ) as host:
            async with host.session() as session, session.turn("hi") as turn:
                reasons.append((await turn.submit()).reason)
            await until(lambda: bool(host.plugins[0].stderr_tail))
            tail = host.plugins[0].stderr_tail
    assert trace.close(WAIT_S) is None
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
    with trio.fail_after(120):
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
    assert trace.close(WAIT_S) is None
    shown = [
        line.partition('"config":')[2].split("}")[0]
        for line in (tmp_path / "trace").read_text().splitlines()
        if '"config":' in line
    ]
    assert shown == ['"[redacted]"', '{"key":"[redacted]","colour":"blue"']


ECHO = """\
#!/bin/sh
exec cat
"""
ASKS_INITIALIZE = """\
#!/usr/bin/env python3
import json, sys
def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    if not line.startswith("{"):
        continue
    m = json.loads(line)
    method = m.get("method")
    if method == "initialize":
        for params in ([], {}, {"plugin": 1}, {"plugin": {"config": {"key": "key-456"}}}):
            say(id=1, method="initialize", params=params)
        say(method="initialize", params={"plugin": {}})
        say(id=m["id"], result={"protocol_version": 1, "name": "asks"})
    elif method == "shutdown":
        say(id=m["id"], result=None)
    elif method == "exit":
        break
"""


@pytest.mark.parametrize(
    ("name", "text", "state", "concealed"),
    [("cat", ECHO, "failed", 2), ("asks", ASKS_INITIALIZE, "ready", 5)],
)
async def test_a_request_of_a_plugin_that_is_called_initialize_is_only_recorded(
    tmp_path: Path, name: str, text: str, state: str, concealed: int
) -> None:
    path = tmp_path / name
    path.write_text(textwrap.dedent(text))
    path.chmod(0o700)
    trace = FileTrace(tmp_path / "trace")
    problems: list[str] = []
    with trio.fail_after(120):
        async with PluginHost(
            [PluginSpec(path, config={"key": "key-456"})],
            trace=trace,
            on_problem=lambda _plugin, message: problems.append(message),
        ) as host:
            assert host.plugins[0].state == state
    assert trace.close(WAIT_S) is None
    assert "fault of the host" not in "".join(problems)
    written = (tmp_path / "trace").read_text()
    assert "key-456" not in written
    assert written.count("[redacted]") == concealed


async def test_the_user_is_not_shown_a_secret_either() -> None:
    shown: list[str] = []
    fake = FakePlugin(
        "fake",
        config={"key": "key-456"},
        config_schema={"properties": {"key": {"secret": True}}},
        uses=["notify"],
    )
    with trio.fail_after(120):
        async with PluginHost(
            [fake], on_notify=lambda _plugin, _level, message: shown.append(message)
        ):
            await fake.ask("host/notify", level="info", message="no answer to key-456")
    assert shown == ["no answer to [redacted]"]


SPY = """\
#!/usr/bin/env python3
import json, os, sys
def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    if not line.startswith("{"):
        continue
    m = json.loads(line)
    if m["method"] == "initialize":
        print("found: @KEY@ and @MORE@", file=sys.stderr, flush=True)
        say(method="host/log", params={"level": "info", "message": "found: @KEY@, @MORE@"})
        say(id=m["id"], result={"protocol_version": 1, "name": "spy",
            "subscriptions": [{"event": "user_prompt_submit"}]})
    elif m["method"] == "hook/user_prompt_submit":
        say(id=m["id"], result={"decision": "deny", "reason": json.dumps(["@KEY@", "@MORE@"])})
    elif m["method"] == "shutdown":
        say(id=m["id"], result=None)
    elif m["method"] == "exit":
        break
"""


@pytest.mark.usefixtures("patient_logs")
async def test_the_agents_own_keys_are_hidden_whoever_repeats_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-model-key")
    path = tmp_path / "spy"
    path.write_text(SPY.replace("@KEY@", "sk-model-key").replace("@MORE@", "from-a-vault"))
    path.chmod(0o700)
    logged: list[str] = []
    trace = FileTrace(tmp_path / "trace")
    host = PluginHost(
        [path],
        trace=trace,
        on_log=lambda _plugin, _level, message: logged.append(message),
        log_dir=tmp_path / "logs",
    )
    host.hide(["from-a-vault"])
    with trio.fail_after(120):
        async with host, host.session() as session, session.turn("hi") as turn:
            await turn.submit()
    assert trace.close(WAIT_S) is None
    written = (
        (tmp_path / "trace").read_text()
        + (tmp_path / "logs" / "spy.log").read_text()
        + "\n".join(logged)
    )
    assert "sk-model-key" not in written
    assert "from-a-vault" not in written
    assert written.count("[redacted]") >= 8


def test_what_of_the_environment_is_a_key() -> None:
    environ = {
        "SLIPHOOK_API_KEY": "k-1",
        "AWS_SECRET_ACCESS_KEY": "aws-secret",
        "GITHUB_TOKEN": "gh-token-1",
        "db_password": "pass-word-1",
        "PGPASSWORD": "pg-pass-1",
        "OPENAI_KEY": "another-name",
        "GH_PAT": "ghp-12345",
        "MYSQL_PWD": "my-sql-pwd",
        "DB_PASS": "data-base",
        "REDIS_AUTH": "redis-auth",
        "DATABASE_URL": "postgres://ada:url-pass-1@db:5432/x",
        "HTTPS_PROXY": "http://:p%40ssword@proxy:8080",
        "CI_TOKEN": "short",
        "PWD": "/home/ada/project",
        "OLDPWD": "/home/ada/other",
        "PATH": "/usr/bin:/opt/x@y",
        "REDIS_URL": "redis://:1234567@host",
        "LOCAL_URL": "postgres://postgres:postgres@host/db",
        "DOCS": "https://ada@example.org/a:b@c",
        "TOKEN_LIMIT": "100000000",
        "KEYBOARD": "a-long-value",
        "HOME": "/home/ada",
    }
    assert own_keys(environ) == [
        "k-1",
        "aws-secret",
        "gh-token-1",
        "pass-word-1",
        "pg-pass-1",
        "another-name",
        "ghp-12345",
        "my-sql-pwd",
        "data-base",
        "redis-auth",
        "url-pass-1",
        "p%40ssword",
    ]
