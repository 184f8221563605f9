"""A guard that is not running still guards: the manifest approved at installation counts."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import trio
import trio.testing
from trio.testing import MockClock

from sliphook import HostError, PluginHost, Session
from sliphook.host.state import HostState
from sliphook.plugin import overrides
from sliphook.plugin.manifest import ReadManifest, read_manifest
from sliphook.plugin.spec import Override, PluginSpec
from sliphook.testing import CRASHES, HANGS, Fails, FakePlugin
from sliphook_sdk.protocol import CommandSpec, Manifest, Subscription, ToolSpec
from tests.programs import WAIT_S, Workshop, until

GUARD = Manifest(
    protocol_version=1,
    name="guard",
    subscriptions=[
        Subscription(event="pre_tool_call"),
        Subscription(event="user_prompt_submit"),
        Subscription(event="turn_start"),
    ],
    tools=[ToolSpec(name="deploy")],
    commands=[CommandSpec(name="deploys")],
)
DECLARED: dict[str, Any] = msgspec.to_builtins(GUARD)


def guard(**fields: Any) -> FakePlugin:
    return FakePlugin("guard", recorded=GUARD, **fields)


async def shell(arguments: dict[str, Any]) -> str:
    return f"ran {arguments['command']}"


async def run_shell(session: Session) -> tuple[str, str]:
    """Run the agent's own tool in a turn of its own; the status, and what the model reads."""
    async with session.turn("go on") as turn:
        await turn.submit()
        outcome = await turn.call_tool("shell", {"command": "ls"}, run=shell)
        return outcome.status, outcome.text()
    raise AssertionError("there is no interrupt here")


NOT_THERE = [
    pytest.param(
        CRASHES,
        "failed",
        "exited with status 1 before it answered initialize",
        id="it dies at the start",
    ),
    pytest.param(
        HANGS, "failed", "did not answer initialize within 10 s", id="it never declares itself"
    ),
    pytest.param(
        Fails("not today"), "failed", "refused to start: not today", id="it refuses to start"
    ),
    pytest.param(
        {**DECLARED, "protocol_version": 2},
        "failed",
        "speaks version 2",
        id="it speaks another version",
    ),
    pytest.param(
        {**DECLARED, "disabled": "no key"}, "self_disabled", "no key", id="it leaves itself out"
    ),
    pytest.param(
        {**DECLARED, "tools": [{"name": "shell"}]},
        "refused",
        "it asks for more than was approved: the tool shell",
        id="it is refused",
    ),
]


@pytest.mark.parametrize(("initialize", "state", "why"), NOT_THERE)
async def test_its_closed_hooks_fail_while_it_is_not_there(
    autojump_clock: MockClock, initialize: Any, state: str, why: str
) -> None:
    async with (
        PluginHost([guard(initialize=initialize)], reserved_tools=["shell"]) as host,
        host.session() as session,
    ):
        (plugin,) = host.plugins
        assert plugin.state == state
        assert plugin.why is not None
        assert why in plugin.why
        status, text = await run_shell(session)
    assert (status, text.partition(":")[0]) == ("denied", "the call of shell was denied")
    assert f"guard: guard is {state}" in text


async def test_the_record_is_read_once_however_often_it_starts(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To read what is allowed takes 15 ms, and what it declares is read in the same stretch."""
    reads: list[bytes | msgspec.Raw] = []

    def read(raw: bytes | msgspec.Raw) -> ReadManifest:
        reads.append(raw)
        return read_manifest(raw)

    monkeypatch.setattr(overrides, "read_manifest", read)
    async with PluginHost([guard(initialize=DECLARED)]) as host:
        await host.restart("guard")
        assert host.plugins[0].state == "ready"
    assert len(reads) == 3


async def test_its_open_hooks_do_not_hold_anybody(autojump_clock: MockClock) -> None:
    async with (
        PluginHost([guard(initialize=CRASHES)]) as host,
        host.session() as session,
        session.turn("hello") as turn,
    ):
        began = trio.current_time()
        prompt = await turn.submit()
        assert (prompt.denied, trio.current_time() - began) == (False, 0.0)


async def test_without_a_record_a_plugin_that_never_worked_guards_nothing(
    autojump_clock: MockClock,
) -> None:
    async with (
        PluginHost([FakePlugin("guard", hears=["pre_tool_call"], initialize=CRASHES)]) as host,
        host.session() as session,
    ):
        assert await run_shell(session) == ("ok", "ran ls")


async def test_disable_alone_lifts_them(autojump_clock: MockClock) -> None:
    """A guard that failed still guards; only the order of the user ends that."""
    async with PluginHost([guard(initialize=CRASHES)]) as host, host.session() as session:
        assert (await run_shell(session))[0] == "denied"
        assert (await host.disable("guard")).state == "disabled"
        assert await run_shell(session) == ("ok", "ran ls")
        assert (await host.enable("guard")).state == "failed"
        assert (await run_shell(session))[0] == "denied"


async def test_while_it_is_starting_the_call_waits_for_it_and_no_longer_than_its_timeout(
    autojump_clock: MockClock,
) -> None:
    answers: list[Any] = [DECLARED]

    def first_alone(_: object) -> Any:
        return answers.pop() if answers else HANGS

    plugin = guard(initialize=first_alone)
    async with PluginHost([plugin]) as host, host.session() as session:
        plugin.crash()
        await plugin.hears("initialize", times=2)
        assert [one.state for one in host.plugins] == ["starting"]
        began = trio.current_time()
        async with session.turn("go on") as turn:
            outcome = await turn.call_tool("shell", {}, run=shell)
            assert (outcome.status, trio.current_time() - began) == ("denied", 5.0)


async def test_while_it_is_being_restarted_by_hand(autojump_clock: MockClock) -> None:
    plugin = FakePlugin("guard", hears=["pre_tool_call"])
    async with (
        PluginHost([plugin]) as host,
        host.session() as session,
        trio.open_nursery() as nursery,
    ):
        plugin.freeze()
        nursery.start_soon(host.restart, "guard")
        await trio.testing.wait_all_tasks_blocked()
        assert [one.state for one in host.plugins] == ["stopping"]
        assert (await run_shell(session))[0] == "denied"
        plugin.thaw()
    assert plugin.starts == 2


async def test_it_guards_from_the_order_on_that_enables_it_while_it_still_ends(
    autojump_clock: MockClock,
) -> None:
    plugin = FakePlugin("guard", hears=["pre_tool_call"])
    async with (
        PluginHost([plugin]) as host,
        host.session() as session,
        trio.open_nursery() as nursery,
    ):
        plugin.freeze()
        for order, status in ((host.disable, "ok"), (host.enable, "denied"), (host.disable, "ok")):
            nursery.start_soon(order, "guard")
            await trio.testing.wait_all_tasks_blocked()
            assert [one.state for one in host.plugins] == ["stopping"]
            assert (await run_shell(session))[0] == status
        plugin.thaw()


async def test_a_kill_in_mid_session_lifts_nothing(autojump_clock: MockClock) -> None:
    async with (
        PluginHost([FakePlugin("guard", hears=["pre_tool_call"])]) as host,
        host.session() as session,
    ):
        host.kill()
        await trio.testing.wait_all_tasks_blocked()
        assert (await run_shell(session))[0] == "denied"


async def test_the_users_word_counts_while_it_is_not_there(autojump_clock: MockClock) -> None:
    opened = guard(initialize=CRASHES, overrides={"pre_tool_call": Override(on_failure="open")})
    async with PluginHost([opened]) as host, host.session() as session:
        assert await run_shell(session) == ("ok", "ran ls")
    off = guard(initialize=CRASHES, overrides={"pre_tool_call": Override(off=True)})
    async with PluginHost([off]) as host, host.session() as session:
        assert await run_shell(session) == ("ok", "ran ls")


async def test_settings_that_cannot_be_are_told_and_the_guard_stays_closed(
    autojump_clock: MockClock,
) -> None:
    problems: list[str] = []
    plugin = guard(overrides={"pre_tool_cal": Override(off=True)})
    async with (
        PluginHost([plugin], on_problem=lambda _, line: problems.append(line)) as host,
        host.session() as session,
    ):
        assert (await run_shell(session))[0] == "denied"
    why = (
        "the user's settings: pre_tool_cal: there is no such hook or event; did you mean "
        "pre_tool_call?"
    )
    assert problems == [f"guard is left out: {why}"]


async def test_the_cap_of_the_host_ends_the_wait(autojump_clock: MockClock) -> None:
    slow = FakePlugin("slow", hooks={"pre_tool_call": HANGS})
    async with PluginHost([slow], timeout_cap_s=0.5) as host, host.session() as session:
        began = trio.current_time()
        status, text = await run_shell(session)
        assert (status, trio.current_time() - began) == ("denied", 0.5)
    assert text == "the call of shell was denied: slow: no answer within 0.5 s"
    assert [payload["timeout_s"] for payload in (message.params for message in slow.fired())] == [
        0.5
    ]


# -- names
# -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("thief_first", [True, False])
@pytest.mark.parametrize(
    "claims", [{"tools": {"deploy": "mine"}}, {"commands": {"deploys": "mine"}}]
)
async def test_its_names_stay_taken(
    autojump_clock: MockClock, claims: dict[str, Any], thief_first: bool
) -> None:
    thief = FakePlugin("thief", **claims)
    plugins = (
        [thief, guard(initialize=CRASHES)] if thief_first else [guard(initialize=CRASHES), thief]
    )
    async with PluginHost(plugins) as host:
        states = {plugin.name: plugin.state for plugin in host.plugins}
        assert states == {"guard": "failed", "thief": "refused"}
        assert host.tools() == []
        assert host.commands() == []


async def test_its_names_stay_taken_at_run_time_too(autojump_clock: MockClock) -> None:
    thief = FakePlugin("thief", uses=["tools"])
    async with PluginHost([guard(initialize=CRASHES), thief]) as host:
        with pytest.raises(Exception, match="the tool deploy is taken by guard"):
            await thief.ask("host/tools", session_id=None, tools=[{"name": "deploy"}])
        await host.disable("guard")
        await thief.ask("host/tools", session_id=None, tools=[{"name": "deploy"}])
        assert [(offer.name, offer.plugin) for offer in host.tools()] == [("deploy", "thief")]


async def test_a_name_taken_at_run_time_is_not_given_again(autojump_clock: MockClock) -> None:
    first, late = FakePlugin("first", uses=["tools"]), FakePlugin("late", tools={"deploy": "late"})
    async with PluginHost([first, late]) as host:
        await host.disable("late")
        await first.ask("host/tools", session_id=None, tools=[{"name": "deploy"}])
        status = await host.enable("late")
        assert (status.state, status.why) == ("refused", "the tool deploy is taken by first")


async def test_of_two_with_a_record_the_one_installed_first_keeps_a_name_and_the_other_still_guards(
    autojump_clock: MockClock,
) -> None:
    rival = FakePlugin("rival", tools={"deploy": "rival"}, recorded=True)
    async with PluginHost([rival, guard(initialize=DECLARED)]) as host, host.session() as session:
        assert {plugin.name: plugin.state for plugin in host.plugins} == {
            "rival": "ready",
            "guard": "refused",
        }
        assert (await run_shell(session))[0] == "denied"


async def test_an_update_that_claims_what_another_was_approved_with_is_refused(
    autojump_clock: MockClock,
) -> None:
    greedy = FakePlugin(
        "greedy", recorded=Manifest(protocol_version=1, name="greedy"), tools={"deploy": "greedy"}
    )
    async with PluginHost([greedy, guard(initialize=DECLARED)]) as host:
        assert {plugin.name: plugin.state for plugin in host.plugins} == {
            "greedy": "refused",
            "guard": "ready",
        }


async def test_a_plugin_that_comes_back_by_hand_is_told_of_the_living_sessions(
    autojump_clock: MockClock,
) -> None:
    plugin = FakePlugin("memo", hears=["session_start"])
    async with PluginHost([plugin]) as host, host.session() as session:
        await session.ready()
        await host.restart("memo")
        await plugin.hears("session_start", times=2)
    assert [(message.method, message.params["source"]) for message in plugin.fired()] == [
        ("hook/session_start", "startup"),
        ("event/session_start", "reload"),
    ]


# -- real processes
# --------------------------------------------------------------------------------------------------


async def test_a_file_that_is_gone_still_guards(shop: Workshop) -> None:
    spec = PluginSpec(path=shop.folder / "guard", name="guard", recorded=GUARD)
    with trio.fail_after(WAIT_S):
        async with PluginHost([spec]) as host, host.session() as session:
            assert [plugin.state for plugin in host.plugins] == ["failed"]
            assert host.plugins[0].manifest == GUARD
            status, text = await run_shell(session)
            assert (status, "guard: guard is failed: " in text) == ("denied", True)
            with pytest.raises(HostError, match="there is no command /deploys"):
                await session.run_command("deploys")


async def test_a_process_that_dies_again_and_again_still_guards(shop: Workshop) -> None:
    program = shop.program("guard", hears=["pre_tool_call"], main="sys.exit(3)")
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([PluginSpec(path=program.path, name="guard", recorded=GUARD)]) as host,
            host.session() as session,
        ):
            assert [plugin.state for plugin in host.plugins] == ["failed"]
            assert (await run_shell(session))[0] == "denied"
            await host.disable("guard")
            assert (await run_shell(session))[0] == "ok"


async def test_overrides_and_caps_reach_a_real_plugin(shop: Workshop) -> None:
    program = shop.program("probe", hears=["pre_tool_call", "stop", "turn_end"])
    overrides = {"stop": Override(off=True), "turn_end": Override(priority=1)}
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost(
                [PluginSpec(path=program.path, timeout_cap_s=0.75, overrides=overrides)]
            ) as host,
            host.session() as session,
        ):
            async with session.turn("x") as turn:
                await turn.call_tool("shell", {"command": "ls"}, run=shell)
                await turn.stop()
            await until(lambda: "turn_end" in program.names())
    assert program.names() == ["pre_tool_call", "turn_end"]
    assert [one["timeout_s"] for one in program.params("hook/pre_tool_call")] == [0.75]


async def test_what_it_lacks_in_its_environment_is_told_once(autojump_clock: MockClock) -> None:
    problems: list[str] = []
    wants = [
        {"name": "TOKEN", "required": True},
        {"name": "HOME", "required": True},
        {"name": "URL"},
    ]
    plugin = FakePlugin("memo", env=wants)
    async with PluginHost([plugin], on_problem=lambda _, message: problems.append(message)) as host:
        await host.restart("memo")
    assert problems == [
        "memo lacks TOKEN in its environment; set it where the agent is started, and give it "
        "by: sliphook config memo --env TOKEN"
    ]


async def test_it_denies_if_the_host_itself_cannot_start_it(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(HostState, "data_dir", fails)
    async with PluginHost([guard()]) as host, host.session() as session:
        assert host.plugins[0].why == "a fault of the host: RuntimeError('boom')"
        async with session.turn("go on") as turn:
            outcome = await turn.call_tool("shell", {"command": "ls"}, run=shell)
            assert (outcome.status, "boom" in outcome.text()) == ("denied", True)
