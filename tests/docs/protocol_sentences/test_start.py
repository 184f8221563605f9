"""Start: `initialize`, the manifest, subscriptions, schemas, secrets, names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import trio
from trio.testing import MockClock

from sliphook.trace import FileTrace
from sliphook_sdk.protocol import RESERVED_PLUGINS, Manifest, Message, ModelTool, ToolKind
from tests.docs.test_protocol_examples import message
from tools import manifest_faults

from .says import PAGE, limit, says
from .wire import BY_HAND, Fields, Refuses, Wire, host_of, own, turn_of


def guard(**fields: Any) -> Fields:
    return {"event": "pre_tool_call", "on_failure": "closed", **fields}


async def why(wire: Wire, state: str = "failed") -> str:
    """Why the host does not take this plugin."""
    async with host_of(wire) as (host, seen):
        status = host.plugins[0]
        assert status.state == state, status.why
        assert any((status.why or "") in line for line in seen.problems), "and the user reads it"
        return status.why or ""


async def whose_arguments(schema: Fields, *arguments: Fields) -> list[str]:
    """The statuses of calls of a tool with this schema."""
    wire = Wire(tools=[{"name": "mine", "input_schema": schema}], answers={"tool/call": "fine"})
    async with turn_of(wire) as (turn, _):
        return [(await turn.call_tool("mine", one)).status for one in arguments]


# -- initialize


@says(
    "The host starts the plugin, sends `initialize`, and reads the answer, the **manifest**: the"
    " plugin's name and what it wants.",
    "The answer to `initialize`.",
    "Only `protocol_version` and `name` are required.",
    "`protocol_version` MUST be one of `protocol_versions`.",
)
async def test_the_least_manifest() -> None:
    wire = Wire(answers={"initialize": {"protocol_version": 1, "name": "least"}})
    async with host_of(wire) as (host, _):
        assert host.plugins[0].state == "ready"
        (params,) = wire.params("initialize")
        assert params["protocol_versions"] == [1]
    for field, error in (
        ("protocol_version", "Object missing required field `protocol_version`"),
        ("name", "Object missing required field `name`"),
    ):
        wire = Wire()
        del wire.manifest[field]
        assert error in await why(wire)
    wire = Wire()
    wire.manifest["protocol_version"] = 2
    assert await why(wire) == "it speaks version 2 of the protocol, this host speaks 1"


@says("A plugin MUST answer it within 10 s.")
@limit("answer to `initialize`")
async def test_the_time_for_the_manifest(autojump_clock: MockClock) -> None:
    for late_s, state in ((9.9, "ready"), (10.1, "failed")):
        wire = Wire(answers={"initialize": BY_HAND})

        async def answer(of: Wire = wire, after_s: float = late_s) -> None:
            request = await of.hears("initialize")
            await trio.sleep(after_s)
            if not of.process.dead():
                of.send(id=request["id"], result=of.manifest)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(answer)
            async with host_of(wire) as (host, _):
                assert host.plugins[0].state == state
                if state == "failed":
                    assert "did not answer initialize within 10 s" in (host.plugins[0].why or "")


@says(
    "`sessions` is not empty if the plugin is started again while sessions are open.",
    "A plugin that is started again while sessions are open is told `event/session_start` with the"
    " source `reload` for each of them, with the `turn_id` of its open turn.",
    "What it keeps in memory is gone: `sessions` of `initialize` and `event/session_start` with the"
    " source `reload` tell it of the open sessions.",
)
async def test_it_is_told_of_open_sessions() -> None:
    wire = Wire(hears=["session_start"])
    async with host_of(wire) as (host, _), host.session(session_key="a") as session:
        await session.ready()
        wire.process.end(1)
        first, again = await wire.until(
            lambda: len(found := wire.params("initialize")) == 2 and found
        )
        told = await wire.hears("event/session_start")
        assert first["sessions"] == []
        info = {"session_id": session.session_id, "session_key": "a", "platform": "cli"}
        assert again["sessions"] == [info]
        assert (told["params"]["source"], told["params"]["session_id"]) == (
            "reload",
            session.session_id,
        )
        assert told["params"]["turn_id"] is None
        async with session.turn("x") as turn:
            wire.process.end(1)
            told = await wire.hears("event/session_start", times=2)
            assert told["params"]["turn_id"] == turn.turn_id


@says(
    "A plugin that speaks none of `protocol_versions` MUST answer -32602, with a message that names"
    " its own versions (`data` MAY list them for programs).",
    "The user is shown the message of this and of any other error:",
)
async def test_a_plugin_of_another_version() -> None:
    error = message("initialize error error")["error"]
    wire = Wire()
    reply = {"jsonrpc": "2.0", "id": "@ID@", "error": error}
    wire.answers["initialize"] = json.dumps(reply).replace('"@ID@"', "@ID@").encode() + b"\n"
    assert await why(wire) == f"refused to start: {error['message']}"
    wire.answers["initialize"] = Refuses("no common version", -32602)
    assert await why(wire) == "refused to start: no common version"


@says(
    "`disabled` is for a plugin that finds that it cannot work: it does not take part, and the user"
    " is told why.",
    "A guard that disables itself still guards, see [failure](#failure-and-timeouts).",
)
async def test_a_plugin_that_disables_itself() -> None:
    result = {"protocol_version": 1, "name": "guard", "disabled": "git is not installed"}
    wire = Wire("guard", answers={"initialize": result})
    async with host_of(wire) as (host, seen):
        assert (host.plugins[0].state, host.plugins[0].why) == (
            "self_disabled",
            "git is not installed",
        )
        assert seen.problems == ["guard leaves itself out: git is not installed"]
    approved = msgspec.convert(
        {"protocol_version": 1, "name": "guard", "subscriptions": [guard()]}, Manifest
    )
    wire = Wire("guard", answers={"initialize": result}, recorded=approved)
    async with turn_of(wire) as (turn, _):
        assert (await turn.call_tool("shell", {}, run=own)).status == "denied"


@says(
    "A plugin whose manifest fails does not start, and the user reads why.",
    'It is tried with a manifest that has nothing but `"protocol_version":1,"name":"guard"`'
    " and what the left column shows.",
    "A field of another type than its list says fails as those of the second and the fifth line"
    " do, and",
)
async def test_a_manifest_that_fails() -> None:
    """The table is made by the host's own reader (tools/manifest_faults.py)."""
    wire = Wire("guard", tools={})
    said = "the manifest does not fit: Expected `array | null`, got `object` - at `$.tools`"
    assert await why(wire) == said
    assert f"| {said} |".replace("array |", "array \\|") in PAGE
    lines = [words for _, words in manifest_faults.rows()]
    wrong = [number for number, words in enumerate(lines, 1) if ": Expected `" in words]
    assert wrong == [2, 5]
    wire = Wire("guard", uses="notify")
    assert "at `$.uses`" in await why(wire)


# -- subscriptions


@says(
    '`mode`: with `"event"` on a hook the plugin is *told* of it: it gets a notification'
    " `event/NAME` with the final payload, after all who were asked have answered, and before the"
    " agent goes on.",
    "A hook is also sent as `event/NAME`, with the same params but `timeout_s`, to a subscription"
    " with the mode `event`, and after an interrupt, when plugins are told of hooks and not asked:",
    "A hook is sent as the request `hook/NAME`, an event as the notification `event/NAME`.",
    "Every hook's request has it; the notification of the same name has not.",
)
async def test_to_be_told_of_a_hook() -> None:
    changes = Wire(
        "changes",
        subscriptions=[{"event": "pre_tool_call", "replaces": True}],
        answers={"hook/pre_tool_call": {"replace": {"arguments": {"n": 2}}}},
    )
    told = Wire(
        "told",
        subscriptions=[
            {"event": "pre_tool_call", "mode": "event"},
            {"event": "post_tool_call", "mode": "event"},
            {"event": "stop"},
        ],
    )
    async with turn_of(told, changes) as (turn, _):
        await turn.call_tool("shell", {"n": 1}, run=own)
        await turn.stop()
        heard_of = ["event/pre_tool_call", "event/post_tool_call", "hook/stop"]
        assert [one for one in told.methods() if one in heard_of] == heard_of
    (asked,), (heard,) = changes.params("hook/pre_tool_call"), told.params("event/pre_tool_call")
    assert asked.pop("timeout_s") <= 5
    assert heard.pop("arguments") == {"n": 2}
    assert asked.pop("arguments") == {"n": 1}
    assert heard == asked


@pytest.mark.parametrize(
    ("match", "asked"),
    [
        ({"tool_name": "shell"}, True),
        ({"tool_name": "Shell"}, False),
        ({"tool_name": ["x", "sh*"]}, True),
        ({"tool_name": "sh?ll*"}, True),
        ({"tool_name": "sh?ll?"}, False),
        ({"tool_name": "shell", "origin": "agent"}, True),
        ({"tool_name": "shell", "origin": "other"}, False),
        ({"tool_name": "shell", "cwd": "/a*c"}, True),
        ({"tool_name": None}, True),
        ({"user_id": "*"}, False),
        ({"tool_kind": "shell"}, True),
        ({"tool_kind": "read"}, False),
        ({"tool_kind": ["read", "s*"]}, True),
        ({"tool_kind": "shell", "user_id": "*"}, False),
    ],
)
@says(
    "`match`: the fields are strings of the payload's top level that hold a name or a word, for"
    " example `tool_name`, `tool_kind` or `origin`.",
    "Each field has one pattern, or a list of patterns of which any may match; every field must"
    " match.",
    "A pattern of null is absent.",
    "`*` is any text, also across `/`, and also none; `?` is one character; upper and lower case"
    " differ.",
    "A payload's value of null never matches, except as `tool_kind`:",
)
async def test_match(match: Fields, asked: bool) -> None:
    wire = Wire(subscriptions=[{"event": "pre_tool_call", "match": match}])
    async with (
        host_of(wire) as (host, _),
        host.session(cwd="/a/b/c") as session,
        session.turn("x") as turn,
    ):
        await turn.call_tool("shell", {}, run=own, tool_kind="shell")
    assert bool(wire.sent("hook/pre_tool_call")) is asked


@says(
    "Free text and ids are looked at in the plugin's handler.",
    "`post_tool_call`, `agent_loop_stopped`, `submission_end`, `turn_end` and `subagent_stop` are"
    " told inside an interrupt, which may not take long: there `match` may name no common field either.",
)
async def test_fields_that_match_may_not_name() -> None:
    for event, field in (
        ("user_prompt_submit", "text"),
        ("pre_tool_call", "call_id"),
        ("post_tool_call", "platform"),
        ("agent_loop_stopped", "platform"),
        ("submission_end", "session_key"),
        ("turn_end", "cwd"),
        ("subagent_stop", "user_id"),
    ):
        wire = Wire(subscriptions=[{"event": event, "match": {field: "*"}}])
        assert f"match names '{field}', which cannot be matched" in await why(wire)


@says(
    "In a pattern of `tool_name`, `?` stands for a space, for ``|^$()[]{},+\\`` and for the dot of"
    " `.*`.",
)
async def test_a_guard_can_name_each_tool_of_the_agent() -> None:
    for name, pattern in (
        ("fs.read", "fs.read"),
        ("fs.read", "fs.?*"),
        ("MCP:search", "MCP:*"),
        ("my tool", "my?tool"),
        ("x" * 65, "x" * 65),
    ):
        wire = Wire(subscriptions=[guard(match={"tool_name": pattern})])
        async with turn_of(wire) as (turn, _):
            await turn.call_tool(name, {}, run=own)
            await turn.call_tool("other", {}, run=own)
            assert (await turn.call_tool("", {}, run=own)).status == "error"
        assert [one["tool_name"] for one in wire.params("hook/pre_tool_call")] == [name]
    for foreign in (*"|^$()[]{},+\\ ", ".*"):
        wire = Wire(subscriptions=[guard(match={"tool_name": f"a{foreign}b"})])
        assert f"has {foreign!r}, but patterns know" in await why(wire)


@says(
    "that, and a value of more than 1,024 characters, fits every pattern, so that a guard is asked"
    " rather than passed by.",
)
@limit("a value that patterns are compared with")
async def test_a_long_value_is_asked_about() -> None:
    wire = Wire(subscriptions=[{"event": "pre_tool_call", "match": {"platform": "y"}}])
    async with host_of(wire) as (host, _):
        for size, asked in ((1_024, 0), (1_025, 1)):
            async with host.session(platform="x" * size) as session, session.turn("x") as turn:
                await turn.call_tool("shell", {}, run=own)
            assert len(wire.sent("hook/pre_tool_call")) == asked


@says(
    "A payload's value of null never matches, except as `tool_kind`: that, and a value of more than"
    " 1,024 characters, fits every pattern, so that a guard is asked rather than passed by.",
    "null: the agent does not say",
)
async def test_a_guard_of_a_kind_is_asked_if_the_kind_is_unknown() -> None:
    deny = {"decision": "deny", "reason": "no shells tonight"}
    guard = Wire(
        subscriptions=[{"event": "pre_tool_call", "match": {"tool_kind": "shell"}}],
        answers={"hook/pre_tool_call": deny},
    )
    async with turn_of(guard) as (turn, _):
        cases: tuple[tuple[ToolKind | None, str], ...] = (
            (None, "denied"),
            ("read", "ok"),
            ("other", "ok"),
            ("shell", "denied"),
        )
        for kind, status in cases:
            outcome = await turn.call_tool("any", {}, run=own, tool_kind=kind)
            assert outcome.status == status, kind
    assert [one["tool_kind"] for one in guard.params("hook/pre_tool_call")] == [None, "shell"]


@says(
    "The match is against the payload as it would be sent, after other plugins have replaced"
    " values.",
)
async def test_a_match_is_against_what_would_be_sent() -> None:
    changes = Wire(
        "changes",
        subscriptions=[{"event": "pre_llm_call", "replaces": True}],
        answers={"hook/pre_llm_call": {"replace": {"model": "small"}}},
    )
    wires = [
        Wire(name, subscriptions=[{"event": "pre_llm_call", "match": {"model": name}}])
        for name in ("large", "small")
    ]
    async with turn_of(changes, *wires) as (turn, _):
        await turn.pre_llm_call(provider=None, model="large", messages=[], tools=[])
    assert [len(wire.sent("hook/pre_llm_call")) for wire in wires] == [0, 1]


@says(
    "`include`: heavy fields (`tools`, `messages`, `response`) are null for a plugin that does not"
    " include them.",
)
async def test_heavy_fields() -> None:
    without = Wire("without", hears=["pre_llm_call"])
    included = Wire("included", subscriptions=[{"event": "pre_llm_call", "include": ["messages"]}])
    async with turn_of(without, included) as (turn, _):
        said = [Message(role="user", content="x")]
        tool = ModelTool(name="t", description="", input_schema={})
        await turn.pre_llm_call(provider=None, model=None, messages=said, tools=[tool])
    (one,), (two,) = without.params("hook/pre_llm_call"), included.params("hook/pre_llm_call")
    assert (one["tools"], one["messages"]) == (None, None)
    assert (two["tools"], two["messages"][0]["content"]) == (None, "x")


@says(
    "`subagents`: by default a plugin hears child agents where it guards, so that to start a child"
    " is no way around a guard.",
)
async def test_child_agents_are_heard_by_guards() -> None:
    silent = [{"event": "pre_tool_call", "subagents": False}]
    default, never = Wire("default", hears=["pre_tool_call", "turn_start"]), Wire("never")
    never.manifest["subscriptions"] = silent
    async with turn_of(default, never) as (turn, _), turn.subagent("go") as child:
        await child.call_tool("shell", {}, run=own)
    assert len(default.sent("hook/pre_tool_call")) == 1
    assert len(default.sent("event/turn_start")) == 1, "the root's alone"
    assert never.sent("hook/pre_tool_call") == []


@says("`optional`: a host that does not know the `event` leaves such a subscription out.")
async def test_an_optional_subscription() -> None:
    wire = Wire(subscriptions=[{"event": "of_tomorrow", "optional": True}, {"event": "stop"}])
    async with turn_of(wire) as (turn, _):
        await turn.stop()
    assert len(wire.sent("hook/stop")) == 1
    assert "did you mean" in await why(Wire(subscriptions=[{"event": "stpo", "optional": False}]))


@says(
    "Several subscriptions to one name make at most one message for each fire: that of the first"
    " that matches, in the order of the manifest.",
    "Subscriptions that are asked come before those that are told: to be told never takes the place"
    " of being asked.",
    "So the narrow ones go first: a subscription that fails closed and stands behind others that"
    " take all that it matches makes the manifest fail; so do wildcards that overlap in too many"
    " ways.",
)
async def test_several_subscriptions_to_one_name() -> None:
    wire = Wire(
        subscriptions=[
            {"event": "pre_tool_call", "mode": "event"},
            guard(match={"tool_name": "shell"}, timeout_s=1),
            guard(match={"tool_name": "s*"}, timeout_s=2),
        ]
    )
    async with turn_of(wire) as (turn, _):
        for name in ("shell", "sed", "cat"):
            await turn.call_tool(name, {}, run=own)
        told = await wire.hears("event/pre_tool_call")
    asked = wire.params("hook/pre_tool_call")
    assert [(one["tool_name"], round(one["timeout_s"])) for one in asked] == [
        ("shell", 1),
        ("sed", 2),
    ]
    assert told["params"]["tool_name"] == "cat"
    assert len(wire.sent("event/pre_tool_call")) == 1
    behind = Wire(subscriptions=[{"event": "pre_tool_call"}, guard(match={"tool_name": "shell"})])
    assert "fails closed and would never be asked" in await why(behind)
    wild = [f"*{a}{b}*{c}" for a in "abcdef" for b in "abcdef" for c in "xyz"]
    covers = {"event": "pre_tool_call", "match": {"cwd": wild}}
    overlaps = guard(match={"cwd": [f"?{glob}" for glob in wild]})
    assert "overlap in too many ways" in await why(Wire(subscriptions=[covers, overlaps]))


# -- schemas


@pytest.mark.parametrize(
    "draft",
    [
        "https://json-schema.org/draft/2020-12/schema",
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/draft-07/schema#",
        "http://json-schema.org/draft-06/schema#",
        "http://json-schema.org/draft-04/schema#",
    ],
)
@says(
    "`input_schema` and `config_schema` are JSON Schema, draft 2020-12; `$schema` at the top may"
    " name 2019-09, draft-07, draft-06 or draft-04 instead.",
)
async def test_the_drafts(draft: str) -> None:
    schema = {"$schema": draft, "properties": {"n": {"type": "integer"}}}
    assert await whose_arguments(schema, {"n": 1}, {"n": "x"}) == ["ok", "error"]
    async with host_of(Wire(config_schema=schema)) as (host, _):
        assert host.plugins[0].state == "ready"


@says("draft 2020-12;")
async def test_the_draft_without_a_name() -> None:
    schema = {"properties": {"n": {"prefixItems": [{"type": "integer"}], "items": False}}}
    assert await whose_arguments(schema, {"n": [1]}, {"n": [1, 2]}) == ["ok", "error"]


@says(
    "The host reads them when they are declared, and refuses, with its place, what is wrong in them"
    " or cannot be checked in bounded time.",
    "Nothing is fetched.",
    "`$dynamicRef` and `$recursiveRef` are refused.",
)
async def test_schemas_that_are_refused() -> None:
    for schema, place in (
        ({"properties": {"n": {"type": "int"}}}, "properties.n.type"),
        ({"properties": {"n": {"$ref": "https://example.org/x"}}}, "nothing is fetched"),
        ({"properties": {"n": {"$dynamicRef": "#n"}}}, "properties.n.$dynamicRef"),
        ({"properties": {"n": {"$recursiveRef": "#"}}}, "properties.n.$recursiveRef"),
        ({"properties": {"n": {"pattern": "(" * 600}}}, "properties.n.pattern"),
    ):
        wire = Wire(tools=[{"name": "mine", "input_schema": schema}])
        assert place in await why(wire)


@says(
    "The model's arguments are checked before `pre_tool_call`, and once more if a plugin replaces"
    " them.",
)
async def test_arguments_are_checked_twice() -> None:
    wire = Wire(
        tools=[{"name": "mine", "input_schema": {"required": ["n"]}}],
        subscriptions=[{"event": "pre_tool_call", "replaces": True}],
        answers={"hook/pre_tool_call": {"replace": {"arguments": {}}}},
    )
    async with turn_of(wire) as (turn, _):
        assert (await turn.call_tool("mine", {})).status == "error"
        assert wire.sent("hook/pre_tool_call") == []
        outcome = await turn.call_tool("mine", {"n": 1})
        assert "as a plugin replaced them, do not fit mine" in outcome.result.content
        assert wire.sent("tool/call") == []


@says(
    "`$ref` leads to a place inside of the schema: `#/$defs/NAME`, an `$anchor` or an `$id` in it.",
    "A schema may refer to itself for a property or an item, not for the same value.",
)
async def test_references() -> None:
    defs = {"a": {"type": "integer"}, "b": {"$anchor": "b", "type": "integer"}}
    defs["c"] = {"$id": "https://example.org/c", "type": "integer"}
    for reference in ("#/$defs/a", "#b", "https://example.org/c"):
        schema = {"$defs": defs, "properties": {"n": {"$ref": reference}}}
        assert await whose_arguments(schema, {"n": 1}, {"n": "x"}) == ["ok", "error"]
    tree = {"type": "object", "properties": {"next": {"$ref": "#"}, "n": {"type": "integer"}}}
    assert await whose_arguments(tree, {"next": {"n": 1}}, {"next": {"n": "x"}}) == ["ok", "error"]
    assert "cannot be used" in await why(
        Wire(tools=[{"name": "mine", "input_schema": {"anyOf": [{"$ref": "#"}]}}])
    )


@says(
    "`pattern` and `patternProperties` are tried by an engine that takes no time without bound.",
    "Look-around in the middle and back-references match no text of more than 256 characters.",
    "`format` and `content…` are remarks.",
)
async def test_patterns_and_formats() -> None:
    slow = {"properties": {"n": {"pattern": "^(a+)+$"}}}
    assert await whose_arguments(slow, {"n": "a" * 4_000}, {"n": "a" * 4_000 + "b"}) == [
        "ok",
        "error",
    ]
    back = {"properties": {"n": {"pattern": "^(a)\\1+$"}}}
    assert await whose_arguments(back, {"n": "a" * 256}, {"n": "a" * 257}) == ["ok", "error"]
    remarks = {"properties": {"n": {"format": "date", "contentEncoding": "base64"}}}
    assert await whose_arguments(remarks, {"n": "%"}) == ["ok"]


# -- environment, secrets, names


@says(
    "The names in `env` consist of letters, digits and `_`, and do not begin with a digit.",
    "`LD_*`, `DYLD_*`, `PYTHONPATH` and `NODE_OPTIONS` are given to no plugin.",
)
async def test_names_of_variables() -> None:
    for name in ("A-B", "1A", "", "LD_PRELOAD", "DYLD_X", "PYTHONPATH", "NODE_OPTIONS"):
        assert (await why(Wire(env=[{"name": name}]))).startswith("env: ")
    async with host_of(Wire(env=[{"name": "_a1"}])) as (host, _):
        assert host.plugins[0].state == "ready"


@says(
    "Secret values do not reach traces and logs, nor what the user is shown by `host/notify` and"
    " `$/progress`: `[redacted]` takes their place.",
    "The plugin itself, and the agent, get all values unchanged.",
    "the values of granted environment variables (except those whose entry in `env` says"
    ' `"secret":false`), and the settings that `config_schema` marks, directly under its'
    ' `properties`, with `"secret":true`, `"writeOnly":true` or `"format":"password"`.',
)
async def test_secrets(tmp_path: Path) -> None:
    marks: tuple[Fields, ...] = ({"secret": True}, {"writeOnly": True}, {"format": "password"}, {})
    schema = {"properties": {f"s{number}": mark for number, mark in enumerate(marks)}}
    wire = Wire(
        config={f"s{number}": f"setting-{number}" for number in range(4)},
        variables={"A": "granted-a", "B": "granted-b"},
    )
    wire.manifest["config_schema"] = schema
    wire.manifest["env"] = [{"name": "A"}, {"name": "B", "secret": False}]
    wire.manifest["uses"], wire.manifest["tools"] = ["notify"], [{"name": "mine"}]
    words = "setting-0 setting-1 setting-2 setting-3 granted-a granted-b"
    hidden = "[redacted] [redacted] [redacted] setting-3 [redacted] granted-b"
    # as of an installed plugin: before its manifest is known, all that it was granted is secret
    object.__setattr__(wire, "recorded", msgspec.convert(wire.manifest, Manifest))
    wire.answers["tool/call"] = BY_HAND
    trace = FileTrace(tmp_path / "trace.jsonl")
    async with turn_of(wire, trace=trace) as (turn, seen), trio.open_nursery() as nursery:
        assert wire.params("initialize")[0]["plugin"]["config"]["s0"] == "setting-0"
        wire.send(method="host/log", params={"level": "info", "message": words})
        await wire.ask("host/notify", level="info", message=words)
        outcomes: list[Any] = []

        async def call() -> None:
            outcomes.append(await turn.call_tool("mine", {"words": words}))

        nursery.start_soon(call)
        asked = await wire.hears("tool/call")
        assert asked["params"]["arguments"]["words"] == words
        wire.send(method="$/progress", params={"id": asked["id"], "message": words})
        await wire.is_read()
        wire.send(id=asked["id"], result=words)
    assert outcomes[0].result.content == words
    assert (seen.lines("info"), seen.notices[0][1], seen.progress[0][0]) == (
        [hidden],
        hidden,
        hidden,
    )
    trace.close()
    text = (tmp_path / "trace.jsonl").read_text(encoding="utf-8")
    assert "setting-3" in text
    assert [word for word in words.split() if word in text] == ["setting-3", "granted-b"]


@says("Secret are the agent's own keys,")
async def test_the_agents_own_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "key-of-the-agent")
    wire = Wire()
    async with host_of(wire) as (_, seen):
        note = {"level": "info", "message": "key-of-the-agent"}
        wire.send(method="host/log", params=note)
        await wire.is_read()
        assert seen.lines("info") == ["[redacted]"]


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        ({"properties": {"a": {"items": {"secret": True}}}}, "[redacted] setting-b"),
        ({"allOf": [{"properties": {"a": {"secret": True}}}]}, "[redacted] [redacted]"),
    ],
)
@says(
    "A mark deeper in the schema of a setting hides the whole setting; a mark outside of"
    " `properties` hides all of them.",
)
async def test_marks_elsewhere(schema: Fields, shown: str) -> None:
    wire = Wire(config={"a": "setting-a", "b": "setting-b"}, config_schema=schema)
    async with host_of(wire) as (_, seen):
        note = {"level": "info", "message": "setting-a setting-b"}
        wire.send(method="host/log", params=note)
        await wire.is_read()
        assert seen.lines("info") == [shown]


@says(
    "A plugin's name tells people, guards and models who did or said something, so it is none of the"
    " words that mean someone else there.",
)
async def test_names_that_no_plugin_has() -> None:
    for name in RESERVED_PLUGINS:
        wire = Wire("other")
        wire.manifest["name"] = name
        assert "it would say that someone else has done what the plugin does" in await why(wire)


@says(
    "A name that another enabled plugin has (in the order of installation; a restart takes away none),"
    " or that the agent keeps for itself, is refused with a message that says which one has it.",
    "The name of the plugin itself that counts is the one that it is installed under.",
)
async def test_names_that_are_taken() -> None:
    first = Wire("first", tools=[{"name": "mine"}], commands=[{"name": "go"}])
    first.manifest["name"] = "another"
    others = [Wire("second", tools=[{"name": "mine"}]), Wire("third", commands=[{"name": "go"}])]
    agents = Wire("agents", tools=[{"name": "shell"}])
    async with host_of(first, *others, agents, reserved_tools=["shell"]) as (host, _):
        states = [(one.name, one.state) for one in host.plugins]
        whys = [one.why or "" for one in host.plugins]
    assert states == [
        ("first", "ready"),
        *((name, "refused") for name in ("second", "third", "agents")),
    ]
    assert whys[1].startswith("the tool mine is taken by the plugin first")
    assert whys[2].startswith("the command /go is taken by the plugin first")
    assert whys[3] == "the tool shell is taken by the agent"


APPROVED: Final[Fields] = {
    "protocol_version": 1,
    "name": "probe",
    "subscriptions": [
        guard(match={"tool_name": ["a", "b"]}),
        {"event": "stop"},
        {"event": "pre_llm_call", "replaces": True},
    ],
    "tools": [{"name": "mine"}],
    "uses": ["notify"],
    "env": [{"name": "A"}],
}


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({}, None),
        (
            {"subscriptions": APPROVED["subscriptions"][:1], "tools": [], "uses": [], "env": []},
            None,
        ),
        ({"tools": [{"name": "more"}]}, "the tool more"),
        ({"uses": ["inject"]}, "the use of inject"),
        ({"env": [{"name": "B"}]}, "the variable B"),
        (
            {
                "subscriptions": [
                    *APPROVED["subscriptions"],
                    {"event": "post_tool_call", "replaces": True},
                ]
            },
            "to replace in post_tool_call",
        ),
        ({"subscriptions": []}, "not to guard pre_tool_call as before"),
        (
            {"subscriptions": [guard(match={"tool_name": "a"})]},
            "not to guard pre_tool_call as before",
        ),
        ({"subscriptions": [guard(on_failure="open")]}, "not to guard pre_tool_call as before"),
        ({"subscriptions": [guard(subagents=False)]}, "not to guard pre_tool_call as before"),
        (
            {"subscriptions": [guard(on_failure="open", match={"tool_name": "a"}), guard()]},
            "not to guard pre_tool_call as before",
        ),
        (
            {"subscriptions": [guard(match={"tool_name": "a"}), guard(match={"tool_name": "b"})]},
            "not to guard pre_tool_call as before",
        ),
    ],
)
@says(
    "The manifest of an installed plugin is compared with the one that the user approved.",
    "The plugin is refused until the user accepts it with `sliphook trust`, if it declares a tool, a"
    " `uses`, an `env` or a `replaces` that was not approved, or if it drops or weakens a"
    " subscription that fails closed (narrower `match`, `open`, no `subagents` or `attempts`, its"
    " own open one first).",
    "To ask for less is always allowed.",
    "The patterns of `match` are compared as texts: to split a subscription in two weakens it.",
)
async def test_more_than_was_approved(changes: Fields, what: str | None) -> None:
    wire = Wire(recorded=msgspec.convert(APPROVED, Manifest))
    wire.manifest.clear()
    wire.manifest.update({**APPROVED, **changes})
    async with host_of(wire) as (host, _):
        status = host.plugins[0]
        assert status.state == ("ready" if what is None else "refused")
        if what is not None:
            assert f"it asks for more than was approved: {what}" in (status.why or "")
            assert "sliphook trust probe" in (status.why or "")
