"""What a decorator refuses, with the line of the handler."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, cast

import msgspec
import pytest

from sliphook_sdk import EnvWant, Plugin, RegistrationError
from sliphook_sdk.protocol import Subscription, ToolSpec
from sliphook_sdk.testing import Harness, PluginError


def refused(register: Callable[[Any], object]) -> str:
    """What type checkers refuse too. The message without the place of the handler, which must be there."""
    with pytest.raises(RegistrationError) as caught:
        register(Plugin("p"))
    place, line, message = str(caught.value).split(":", 2)
    assert place == __file__
    assert int(line) > 0
    return message.strip()


def handler(payload: Any) -> None: ...


def with_ctx(payload: Any, *, ctx: Any) -> None: ...


def no_arguments() -> None: ...


def two(payload: Any, other: Any) -> None: ...


def only_ctx(ctx: Any) -> None: ...


def positional_ctx(payload: Any, ctx: Any, /) -> None: ...


def generator(payload: Any) -> Any:
    yield payload


REFUSED: list[tuple[Callable[[Any], object], str]] = [
    (
        lambda p: p.hook("pre_toolcall")(handler),
        "handler() is for 'pre_toolcall', which is no hook or event; did you mean 'pre_tool_call'?",
    ),
    (lambda p: p.on("zzz")(handler), "handler() is for 'zzz', which is no hook or event"),
    (
        lambda p: p.hook(handler),
        'handler() is given to @plugin.hook in place of a name, as in @plugin.hook("pre_tool_call")',
    ),
    (
        lambda p: p.on(handler),
        'handler() is given to @plugin.on in place of a name, as in @plugin.on("pre_tool_call")',
    ),
    (
        lambda p: p.hook("turn_end")(handler),
        "handler() cannot be asked: turn_end is an event, so say on('turn_end')",
    ),
    (
        lambda p: p.hook("stop")(no_arguments),
        "no_arguments() cannot be called with the payload: too many positional arguments",
    ),
    (
        lambda p: p.hook("stop")(two),
        "two() cannot be called with the payload: missing a required argument: 'other'",
    ),
    (
        lambda p: p.on("turn_end")(only_ctx),
        "only_ctx() cannot be called with the payload and ctx: multiple values for argument 'ctx'",
    ),
    (
        lambda p: p.hook("stop")(positional_ctx),
        "positional_ctx() takes `ctx` by position; it is given by name: `*, ctx`",
    ),
    (
        lambda p: p.hook("stop")(generator),
        "generator() is a generator; a handler returns its answer",
    ),
    (
        lambda p: p.hook("stop", timeout_s=0)(handler),
        "handler() cannot have timeout_s=0: it takes 0.05 to 600 seconds",
    ),
    (
        lambda p: p.hook("stop", timeout_s=float("nan"))(handler),
        "handler() cannot have timeout_s=nan: it takes 0.05 to 600 seconds",
    ),
    (
        lambda p: p.hook("stop", timeout_s=601)(handler),
        "handler() cannot have timeout_s=601: it takes 0.05 to 600 seconds",
    ),
    (
        lambda p: p.hook("pre_tool_call", on_failure=cast("Any", "close"))(handler),
        "handler() cannot have on_failure='close': it takes 'open' and 'closed'",
    ),
    (
        lambda p: p.hook("stop", on_failure="closed")(handler),
        "handler() cannot have on_failure='closed': stop cannot be denied",
    ),
    (
        lambda p: p.hook("stop", replaces=True)(handler),
        "handler() cannot have replaces=True: nothing of stop can be replaced",
    ),
    (
        lambda p: p.hook("stop", include=["messages"])(handler),
        "handler() cannot include 'messages': stop has no heavy fields",
    ),
    (
        lambda p: p.on("pre_llm_call", include=["x"])(handler),
        "handler() cannot include 'x': pre_llm_call has the heavy fields tools, messages",
    ),
    (
        lambda p: p.hook("pre_tool_call", match={"toolname": "x"})(handler),
        "handler() cannot match 'toolname': pre_tool_call has no such string field; did you "
        "mean 'tool_name'?",
    ),
    (
        lambda p: p.hook("stop", match={"platform": []})(handler),
        "handler() cannot match platform=[]: it takes a pattern, or a list of them",
    ),
    (
        lambda p: p.hook("stop", match=cast("Any", {"platform": 3}))(handler),
        "handler() cannot match platform=3: it takes a pattern, or a list of them",
    ),
    (
        lambda p: p.tool(name="a b")(no_arguments),
        "no_arguments() cannot be the tool 'a b': names are [A-Za-z0-9_-]{1,64}",
    ),
    (
        lambda p: p.tool(timeout_s=-1)(no_arguments),
        "no_arguments() cannot have timeout_s=-1: it takes 0.05 to 600 seconds",
    ),
    (
        lambda p: p.command(name="Up")(handler),
        "handler() cannot be the command 'Up': names are [a-z][a-z0-9_-]{0,31}",
    ),
    (
        lambda p: p.command(name="stop")(handler),
        "handler() cannot be the command 'stop': /stop is the agent's own",
    ),
    (
        lambda p: p.command(no_arguments),
        "no_arguments() cannot be called with the text after the command: too many "
        "positional arguments",
    ),
]


@pytest.mark.parametrize(("register", "message"), REFUSED)
def test_a_wrong_registration_names_the_handler_and_its_line(
    register: Callable[[Any], object], message: str
) -> None:
    assert refused(register) == message


def test_a_field_that_is_no_string_cannot_be_matched() -> None:
    message = refused(lambda p: p.hook("post_tool_call", match={"duration_ms": "1"})(handler))
    assert message.startswith(
        "handler() cannot match 'duration_ms': post_tool_call has no such string field; it "
        "has tool_name, "
    )
    assert message.endswith("tool_name, tool_kind, origin, status, substituted_by")


def test_a_name_stands_once() -> None:
    def again(p: Plugin) -> None:
        p.tool(name="x")(no_arguments)
        p.tool(name="x")(only_ctx)

    assert re.fullmatch(
        r"only_ctx\(\) cannot be the tool 'x': no_arguments\(\) at .+test_registration.py:\d+ is",
        refused(again),
    )

    def command_again(p: Plugin) -> None:
        p.command(name="x")(handler)
        p.command(name="x")(with_ctx)

    assert re.fullmatch(
        r"with_ctx\(\) cannot be the command 'x': handler\(\) at .+test_registration.py:\d+ is",
        refused(command_again),
    )


def test_a_hook_that_would_never_be_asked_is_refused() -> None:
    def shadowed(p: Plugin) -> None:
        p.hook("pre_tool_call", match={"tool_name": "shell"})(handler)
        p.hook("pre_tool_call")(handler)
        p.hook("pre_tool_call", match={"tool_name": "edit"})(with_ctx)

    assert refused(shadowed).startswith(
        "with_ctx() would never be asked: all that it matches goes to those before it, "
        "such as handler() at "
    )

    def behind_a_wider_one(p: Plugin) -> None:
        p.hook("pre_tool_call", match={"tool_name": ["s*", "t?*"]})(handler)
        p.hook("pre_tool_call", match={"tool_name": ["shell", "tool_*"]})(with_ctx)

    assert " goes to those before it, such as handler() at " in refused(behind_a_wider_one)
    plugin = Plugin("p")
    plugin.on("pre_tool_call")(handler)
    plugin.hook("pre_tool_call", subagents=False)(handler)
    plugin.hook("pre_tool_call")(with_ctx)
    assert len(plugin.hooks) == 3


@pytest.mark.parametrize("name", ["", "Guard", "-x", "a" * 65, "a b"])
def test_names_of_plugins(name: str) -> None:
    with pytest.raises(RegistrationError, match="cannot be a plugin's name"):
        Plugin(name)


def test_uses_are_known() -> None:
    uses: Any = ["notifications"]
    with pytest.raises(
        RegistrationError,
        match="uses 'notifications', which is not among notify, tools, inject, interrupt",
    ):
        Plugin("p", uses=uses)


LATE = "is registered too late, when the plugin runs: do it before plugin.run()"


TOO_LATE: list[tuple[Callable[[Any], object], bool, str]] = [
    (lambda p: p.hook("pre_tool_call", on_failure="closed")(handler), False, ""),
    (lambda p: p.on("turn_end")(handler), False, ""),
    (lambda p: p.tool(no_arguments), False, ", or by plugin.add_tool() when it runs"),
    (lambda p: p.command(handler), True, ""),
    (lambda p: p.on_shutdown(no_arguments), True, ""),
]


@pytest.mark.parametrize(
    ("register", "in_on_start", "more"),
    TOO_LATE,
    ids=["hook", "on", "tool", "command", "on_shutdown"],
)
def test_what_would_have_no_effect_is_refused_when_the_plugin_runs(
    register: Callable[[Any], object], in_on_start: bool, more: str
) -> None:
    """A guard that is registered then would never be asked."""
    plugin = Plugin("p")
    with Harness(plugin), pytest.raises(RegistrationError, match=re.escape(LATE + more) + "$"):
        register(plugin)
    starts = Plugin("p")

    @starts.on_start
    def begin() -> None:
        register(starts)

    if in_on_start:
        Harness(starts).close()
    else:
        with pytest.raises(PluginError, match=re.escape(LATE + more)):
            Harness(starts)


def test_decorators_give_the_function_back() -> None:
    plugin = Plugin("p")
    assert plugin.hook("stop")(handler) is handler
    assert plugin.on("turn_end")(handler) is handler
    assert plugin.tool(no_arguments) is no_arguments
    assert plugin.tool(name="y")(no_arguments) is no_arguments
    assert plugin.command(handler) is handler


def test_a_wrapped_function_is_named_by_its_own_line() -> None:
    @functools.wraps(handler)
    def wrapper(*args: Any, **kwargs: Any) -> None:
        handler(*args, **kwargs)

    plugin = Plugin("p")
    plugin.hook("stop")(handler)
    plugin.on("turn_end")(wrapper)
    assert plugin.hooks[1].where == plugin.hooks[0].where
    assert (plugin.hooks[1].name, plugin.hooks[1].wants_ctx) == ("handler", False)


class Config(msgspec.Struct):
    limit: int
    label: str = "x"


def test_the_manifest_says_it_all() -> None:
    plugin = Plugin(
        "guard",
        version="1.2.0",
        description="Guards.",
        uses=["inject"],
        env=["HOME_PAGE", EnvWant(name="TOKEN", secret=True)],
        config=Config,
        disabled="not today",
    )
    plugin.hook(
        "pre_tool_call",
        match={"tool_name": ["a*"]},
        timeout_s=2,
        on_failure="open",
        priority=5,
        replaces=True,
        subagents=False,
    )(handler)
    plugin.on("pre_llm_call", include=["messages"], optional=True)(handler)
    plugin.tool(name="t", description="Does.", timeout_s=3)(no_arguments)
    plugin.command(name="c", description="Commands.")(handler)
    manifest = plugin.manifest()
    assert msgspec.to_builtins(manifest) == {
        "protocol_version": 1,
        "name": "guard",
        "version": "1.2.0",
        "description": "Guards.",
        "subscriptions": [
            {
                "event": "pre_tool_call",
                "match": {"tool_name": ["a*"]},
                "timeout_s": 2,
                "on_failure": "open",
                "priority": 5,
                "replaces": True,
                "subagents": False,
            },
            {"event": "pre_llm_call", "mode": "event", "include": ["messages"], "optional": True},
        ],
        "tools": [
            {
                "name": "t",
                "description": "Does.",
                "input_schema": {
                    "type": "object",
                    "properties": {},
                    "required": [],
                    "additionalProperties": False,
                },
                "timeout_s": 3,
            }
        ],
        "commands": [{"name": "c", "description": "Commands."}],
        "uses": ["inject"],
        "env": [
            {"name": "HOME_PAGE", "required": None, "secret": None, "why": None},
            {"name": "TOKEN", "required": None, "secret": True, "why": None},
        ],
        "config_schema": {
            "$ref": "#/$defs/Config",
            "$defs": {
                "Config": {
                    "title": "Config",
                    "type": "object",
                    "properties": {
                        "limit": {"type": "integer"},
                        "label": {"type": "string", "default": "x"},
                    },
                    "required": ["limit"],
                }
            },
        },
        "disabled": "not today",
    }


def test_handlers_of_one_event_share_a_subscription_that_has_what_any_of_them_wants() -> None:
    plugin = Plugin("p")
    plugin.on("post_llm_call")(handler)
    plugin.on("post_llm_call", include=["response"])(with_ctx)
    assert plugin.manifest().subscriptions == [
        Subscription(event="post_llm_call", include=["response"])
    ]


def test_the_end_of_sessions_is_heard_where_their_state_is_kept() -> None:
    assert Plugin("p").manifest().subscriptions is None
    assert Plugin("p", sessions=dict[str, Any]).manifest().subscriptions == [
        Subscription(event="session_end")
    ]
    assert Plugin("p", uses=["tools"]).manifest().subscriptions == [
        Subscription(event="session_end")
    ]
    plugin = Plugin("p", sessions=dict[str, Any])
    plugin.on("session_end", match={"platform": "cli"})(handler)
    assert plugin.manifest().subscriptions == [
        Subscription(event="session_end", match={"platform": "cli"}),
        Subscription(event="session_end"),
    ]
    plugin.on("session_end")(with_ctx)
    assert len(plugin.manifest().subscriptions or ()) == 2


def test_sessions_make_their_state_once_and_only_where_it_was_declared() -> None:
    plugin = Plugin("p", sessions=list[str])
    plugin.sessions["a"].append("x")
    assert plugin.sessions["a"] == ["x"]
    assert list(plugin.sessions) == ["a"]
    assert plugin.sessions.get("b") is None
    assert plugin.sessions.get("b", ["y"]) == ["y"]
    assert list(plugin.sessions.values()) == [["x"]]
    assert list(plugin.sessions.items()) == [("a", ["x"])]
    assert "b" not in plugin.sessions
    plugin.sessions.forget("a")
    assert len(plugin.sessions) == 0
    with pytest.raises(LookupError, match="sessions=dict"):
        _ = Plugin("q").sessions["a"]


def test_specs_are_what_the_protocol_says() -> None:
    plugin = Plugin("p")
    plugin.tool(no_arguments)
    assert isinstance(plugin.tools["no_arguments"].spec, ToolSpec)


@pytest.mark.parametrize("kind", ["tool", "command"])
def test_a_name_in_place_of_the_function(kind: str) -> None:
    decorator: Any = getattr(Plugin("guard"), kind)
    with pytest.raises(RegistrationError) as refused:
        decorator("deploy")
    assert re.fullmatch(
        rf".+test_registration\.py:\d+: @plugin\.{kind}\('deploy'\): a name is given by name:"
        rf" @plugin\.{kind}\(name='deploy'\)",
        str(refused.value),
    )
