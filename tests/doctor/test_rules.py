"""What the doctor tells from what plugins declare and how they started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from sliphook.doctor import rules
from sliphook.doctor.finding import Finding, Rule, Scene, Started
from sliphook.plugin.spec import Override, PluginStatus
from sliphook.registry import Broken, Registered
from sliphook.settings import Provider, Settings
from sliphook_sdk.protocol import Manifest
from tests.registry.installed import installed as registered


def manifest(name: str, **declares: Any) -> Manifest:
    return msgspec.convert({"protocol_version": 1, "name": name, **declares}, Manifest)


def installed(
    name: str, *subscriptions: dict[str, Any], declares: dict[str, Any] | None = None, **more: Any
) -> Registered:
    declared = manifest(name, subscriptions=list(subscriptions), **(declares or {}))
    return registered(Path("/p") / name, declared, **more)


def started(
    plugin: Registered, state: str = "ready", why: str | None = None, start_ms: float | None = 40.0
) -> Started:
    status = PluginStatus(plugin.name, plugin.path, state, why, None, 0, 0.0, (), plugin.manifest)
    return Started(status, start_ms if state == "ready" else None)


def told(rule: Rule, *plugins: Registered, **scene: Any) -> list[str]:
    """The findings as `LEVEL about: what -> do`."""
    return [_shown(finding) for finding in rule(Scene(plugins=plugins, **scene))]


def _shown(finding: Finding) -> str:
    return f"{finding.level} {finding.about}: {finding.what}" + (
        f" -> {finding.do}" if finding.do is not None else ""
    )


GUARD = {"event": "pre_tool_call", "on_failure": "closed"}


@pytest.mark.parametrize(
    ("state", "why", "start_ms", "line"),
    [
        ("ready", None, 40.4, "ok guard: ready after 40 ms"),
        (
            "ready",
            None,
            1500.0,
            "note guard: ready after 1.5 s; every agent waits for it when it opens -> load "
            "heavy things when they are first needed",
        ),
        (
            "failed",
            "/p/guard does not exist",
            None,
            "problem guard: failed: /p/guard does not exist; its closed hooks deny as long "
            "as it is not there"
            " -> once it is put right: sliphook check /p/guard; or: sliphook disable guard"
            "; its log: sliphook logs guard",
        ),
        (
            "refused",
            "its file was changed; accept it with: sliphook trust guard",
            None,
            "problem guard: refused: its file was changed; accept it with: sliphook trust guard;"
            " its closed hooks deny as long as it is not there",
        ),
        ("self_disabled", "no token", None, "note guard: leaves itself out: no token"),
    ],
)
def test_how_it_started(state: str, why: str | None, start_ms: float | None, line: str) -> None:
    guard = installed("guard", GUARD)
    assert told(rules.starts, guard, started={"guard": started(guard, state, why, start_ms)}) == [
        line
    ]


def test_a_disabled_one_was_not_to_start() -> None:
    assert told(rules.starts, installed("guard", enabled=False)) == [
        "ok guard: disabled: it is not started, and guards nothing"
    ]


def test_broken_files() -> None:
    broken = (
        Broken("guard", Path("/f/guard.toml"), "/f/guard.toml, line 1: it is no TOML"),
        Broken("a b", Path("/f/a b.toml"), "no name"),
    )
    assert told(rules.broken_files, broken=broken) == [
        "problem guard: /f/guard.toml, line 1: it is no TOML -> correct it, or remove the "
        "plugin: sliphook uninstall guard",
        "problem a b: no name",
    ]


def test_variables_that_it_cannot_do_without() -> None:
    wants = [{"name": name, "required": True} for name in ("TOKEN", "KEY", "HOME")] + [
        {"name": "EXTRA"}
    ]
    plugin = installed("deploy", declares={"env": wants}, env=("KEY", "EXTRA"))
    assert told(rules.environment, plugin, environ={"HOME": "/"}) == [
        "note deploy: it is granted the variable EXTRA, which is not set here",
        "problem deploy: it needs the variable TOKEN, which it has not been granted -> "
        "sliphook config deploy --env TOKEN",
        "problem deploy: it needs the variable KEY, which is not set here -> export KEY=…",
    ]
    assert (
        len(
            told(
                rules.environment,
                plugin,
                environ={"HOME": "/", "KEY": "x", "TOKEN": "x", "EXTRA": ""},
            )
        )
        == 1
    )


def test_what_a_plugin_wants_and_may_not() -> None:
    declares = {"uses": ["submit", "ask", "notify"]}
    some = installed("timer", declares=declares, grants=frozenset({"notify"}))
    assert told(rules.grants, some) == [
        "note timer: it wants to use ask, which has not been granted -> "
        "sliphook config timer --grant ask",
        "note timer: it wants to use submit, which has not been granted -> "
        "sliphook config timer --grant submit",
    ]


def test_where_a_plugin_may_not_send_model_calls() -> None:
    declares = {"uses": ["route"], "servers": ["gpu.lan", "127.0.0.1:8080"]}
    assert told(rules.servers, installed("switch", declares=declares)) == []
    granted = frozenset({"route"})
    some = installed("switch", declares=declares, grants=granted, servers=("gpu.lan",))
    assert told(rules.servers, some) == [
        "note switch: it may not send model calls to 127.0.0.1:8080, which it wants -> "
        "sliphook config switch --server 127.0.0.1:8080"
    ]
    every = installed("switch", declares=declares, grants=granted, servers=("gpu.lan", "127.0.0.1"))
    assert told(rules.servers, every) == []


@pytest.mark.parametrize(
    ("subscriptions", "why"),
    [
        (
            [{"event": "pre_tool_call", "match": {"tool_name": ["shel"]}}],
            "neither this agent nor a plugin has a tool of that name",
        ),
        ([{"event": "pre_tool_call", "match": {"tool_name": ["dep*", "x"]}}], None),
        ([{"event": "pre_tool_call", "match": {"tool_name": "shell"}}], None),
        (
            [{"event": "pre_tool_call", "match": {"origin": "gaurd"}}],
            "origin is always one of agent, deployer, guard",
        ),
        ([{"event": "pre_tool_call", "match": {"origin": "deployer"}}], None),
        # as docs/mcp.md has it
        ([{"event": "pre_tool_call", "match": {"origin": "mcp:*"}}], None),
        ([{"event": "session_end", "match": {"reason": "e*"}}], None),
        ([{"event": "turn_start", "match": {"platform": "telegram"}}], None),
        (
            [{"event": "stop"}, {"event": "stop", "match": {"platform": "cli"}}],
            "the subscription 1 before it takes them all",
        ),
        ([{"event": "stop", "match": {"platform": "cli"}}, {"event": "stop"}], None),
        ([{"event": "stop"}, {"event": "stop", "subagents": True}], None),
        ([{"event": "stop"}, {"event": "turn_end"}], None),
    ],
)
def test_subscriptions_that_never_match(
    subscriptions: list[dict[str, Any]], why: str | None
) -> None:
    guard = installed("guard", *subscriptions)
    deployer = installed("deployer", declares={"tools": [{"name": "deploy", "description": ""}]})
    last = subscriptions[-1]["event"]
    # closed is what `pre_tool_call` is, unless it is said
    level = "problem" if last == "pre_tool_call" else "note"
    lines = (
        []
        if why is None
        else [f"{level} guard: its subscription {len(subscriptions)} ({last}) never matches: {why}"]
    )
    assert told(rules.matches, guard, deployer, agent_tools=frozenset({"shell"})) == lines


def test_tools_that_may_still_come_are_not_missed() -> None:
    guard = installed("guard", {"event": "pre_tool_call", "match": {"tool_name": "later"}})
    assert len(told(rules.matches, guard)) == 1
    assert told(rules.matches, guard, installed("more", declares={"uses": ["tools"]})) == []


def test_tools_of_other_agents_are_not_missed() -> None:
    guard = installed("guard", {"event": "pre_tool_call", "match": {"tool_name": "Bash"}})
    assert told(rules.matches, guard, other_agents=True) == []


def test_events_that_are_never_fired() -> None:
    plugin = installed("guard", {"event": "sun_rise", "optional": True}, {"event": "stop"})
    assert told(rules.unknown_events, plugin) == [
        "note guard: it would hear sun_rise, which this agent never fires"
    ]


@pytest.mark.parametrize(
    ("all_s", "own_s", "file_s", "gets"),
    [
        (10.0, None, None, "10"),
        (None, 2.0, None, "2"),
        (10.0, 3.0, 2.5, "2.5"),
        (30.0, 40.0, 20.0, None),
    ],
)
def test_timeouts_above_the_cap(
    all_s: float | None, own_s: float | None, file_s: float | None, gets: str | None
) -> None:
    plugin = installed(
        "guard", {"event": "stop", "timeout_s": 20.0}, {"event": "turn_end"}, timeout_cap_s=file_s
    )
    plugins = {} if own_s is None else {"guard": {"timeout_cap_s": own_s}}
    settings = msgspec.convert(
        {"plugins": plugins} | ({} if all_s is None else {"timeout_cap_s": all_s}), Settings
    )
    lines = (
        []
        if gets is None
        else [
            f"note guard: it asks for 20 s to answer stop, and gets {gets} s, the cap in "
            "your settings"
        ]
    )
    assert told(rules.timeouts, plugin, settings=settings) == lines


def test_settings_for_what_is_not_there() -> None:
    settings = msgspec.convert(
        {"plugins": {"gaurd": {}, "guard": {"hooks": {"stop": {}, "turn_end": {}}}}}, Settings
    )
    guard = installed(
        "guard",
        GUARD,
        {"event": "stop"},
        overrides={"turn_start": Override(off=True), "pre_tool_call": Override(priority=1)},
    )
    assert told(rules.settings_without_effect, guard, settings=settings) == [
        "problem config.toml: plugins.gaurd: no plugin of that name is installed -> did you "
        "mean guard?",
        "note guard: guard does not subscribe to turn_start, so what you have set for it "
        "does nothing",
        "note guard: guard does not subscribe to turn_end, so what you have set for it does "
        "nothing",
    ]


def test_providers_of_models_whose_keys_are_not_there() -> None:
    providers = {
        name: Provider(base_url="http://a.example/v1", key_env=variable)
        for name, variable in (("mine", "MINE"), ("other", "OTHER"), ("set", "SET"), ("free", None))
    }
    settings = Settings(model="mine/big", providers=providers)
    assert told(rules.provider_keys, settings=settings, environ={"SET": "k"}) == [
        "problem config.toml: providers.mine has its key in MINE, which is not set here"
        " -> set MINE where you start the agent",
        "note config.toml: providers.other has its key in OTHER, which is not set here"
        " -> set OTHER where you start the agent",
    ]


def test_every_rule_is_in_the_table_and_a_healthy_plugin_has_one_line() -> None:
    guard = installed("guard", GUARD)
    scene = Scene(plugins=(guard,), started={"guard": started(guard)})
    assert [_shown(finding) for rule in rules.RULES for finding in rule(scene)] == [
        "ok guard: ready after 40 ms"
    ]
    public = [
        name
        for name, value in vars(rules).items()
        if callable(value) and getattr(value, "__module__", "") == rules.__name__
    ]
    assert {rule.__name__ for rule in rules.RULES} == {
        name for name in public if not name.startswith("_")
    }


def test_a_tool_that_a_provider_of_models_refuses() -> None:
    tool: dict[str, Any] = {"name": "price", "input_schema": {"properties": {"größe": {}}}}
    assert told(rules.refused_tools, installed("shop", declares={"tools": [tool]})) == [
        "note shop: its tool price is left out with models of anthropic: its parameter größe must"
        " be named with 1 to 64 letters of A to Z, digits, _, . and -"
    ]


REPLACER = {"event": "pre_tool_call", "replaces": True}
FIRST = GUARD | {"replaces": True, "priority": 100}


@pytest.mark.parametrize(
    ("guard", "other", "is_told"),
    [
        (FIRST, REPLACER, True),
        # what does not replace is asked after all that does
        (GUARD, REPLACER, False),
        (FIRST | {"priority": -1}, REPLACER, False),
        (FIRST, {"event": "pre_tool_call"}, False),
        (FIRST | {"on_failure": "open"}, REPLACER, False),
        (FIRST | {"match": {"tool_name": "shell"}}, REPLACER, True),
        (
            FIRST | {"match": {"tool_name": "shell"}},
            REPLACER | {"match": {"tool_name": "sh*"}},
            True,
        ),
        (
            FIRST | {"match": {"tool_name": "shell"}},
            REPLACER | {"match": {"tool_name": "read_*"}},
            False,
        ),
        # a tool whose kind nobody says is for both
        (
            FIRST | {"match": {"tool_kind": "shell"}},
            REPLACER | {"match": {"tool_kind": "read"}},
            True,
        ),
    ],
)
def test_a_guard_that_does_not_see_what_a_later_plugin_replaces(
    guard: dict[str, Any], other: dict[str, Any], is_told: bool
) -> None:
    plugins = installed("guard", guard, order=1), installed("mutator", other, order=2)
    line = (
        "note guard: guard may deny pre_tool_call and replaces, so it is not asked again about what"
        " mutator may make of it afterwards -> if it is a guard, let it be asked last: sliphook"
        " config guard --hook pre_tool_call --priority -1000; or ask its author for a guard that does not replace"
    )
    assert told(rules.unseen, *plugins) == ([line] if is_told else [])


def test_the_users_own_priority_decides_who_is_later() -> None:
    last = {"pre_tool_call": Override(priority=-5)}
    guard = installed("guard", FIRST, order=1, overrides=last)
    assert told(rules.unseen, guard, installed("mutator", REPLACER, order=2)) == []
