"""Tools that are known before their plugin runs, on each face; an opening that does not wait."""

from __future__ import annotations

import pytest

from sliphook import PluginSpec, ToolOffer
from sliphook.testing import HANGS, After, FakePlugin
from sliphook_sdk.protocol import Manifest, Subscription, ToolSpec
from tests.programs import Workshop

from .faces import FACES, Face

faces = pytest.mark.parametrize("face", FACES, ids=[face.name for face in FACES])


def recorded(name: str, *tools: str) -> Manifest:
    return Manifest(protocol_version=1, name=name, tools=[ToolSpec(name=tool) for tool in tools])


def named(tools: list[ToolOffer]) -> list[tuple[str, str]]:
    return [(tool.plugin, tool.name) for tool in tools]


@faces
def test_tools_of_recorded_manifests_before_the_host_is_open(face: Face) -> None:
    plugins: list[PluginSpec] = [
        FakePlugin("weather", recorded=recorded("weather", "forecast", "radar")),
        FakePlugin("tried"),
        FakePlugin("other", recorded=recorded("other", "radar", "tides")),
        FakePlugin("bold", recorded=recorded("bold", "shell")),
    ]
    host = face.host(plugins, reserved_tools=["shell"])
    # `other` will not start: another one has a name of its, and `bold` takes the agent's own
    assert named(host.tools()) == [("weather", "forecast"), ("weather", "radar")]
    host.hide(["secret"])


@faces
def test_the_host_opens_without_waiting_for_a_slow_plugin(face: Face) -> None:
    manifest = recorded("slow", "look")
    slow = FakePlugin("slow", tools={"look": "fine"}, recorded=manifest, initialize=HANGS)

    async def story() -> None:
        async with (
            face.block(face.host([slow], open_wait_s=0)) as host,
            face.block(host.session()) as session,
            face.block(session.turn("x")) as turn,
        ):
            assert [plugin.state for plugin in host.plugins] == ["starting"]
            assert named(host.tools()) == [("slow", "look")]
            # known, and not unknown: the call waits for the plugin, as long as a tool may take
            call = await face.got(turn.begin_tool("look", {}, own=False))
            assert call.outcome is None
            host.kill()
            await face.got(call.end(cancelled=True))

    face.run(story)


@faces
def test_a_call_waits_for_its_plugin_to_start(face: Face) -> None:
    manifest = recorded("late", "look")
    late = FakePlugin(
        "late",
        tools={"look": "fine"},
        recorded=manifest,
        initialize=After(
            0.05, {"protocol_version": 1, "name": "late", "tools": [{"name": "look"}]}
        ),
    )

    async def story() -> None:
        async with (
            face.block(face.host([late], open_wait_s=0)) as host,
            face.block(host.session()) as session,
            face.block(session.turn("x")) as turn,
        ):
            assert (await face.got(turn.call_tool("look", {}))).text() == "fine"
            assert [plugin.state for plugin in host.plugins] == ["ready"]

    face.run(story)


@faces
def test_a_recorded_guard_is_waited_for_from_the_first_moment(face: Face, shop: Workshop) -> None:
    """It may not deny, as one that does not run, between the opening and its start."""
    go = shop.flag("go")
    program = shop.program("slow", hears=["turn_end"], tools=["look"], before='wait_for_flag("go")')
    guard = Manifest(
        protocol_version=1,
        name="slow",
        subscriptions=[Subscription(event="turn_end")],
        tools=[ToolSpec(name="look")],
    )

    async def story() -> None:
        async with (
            face.block(
                face.host([PluginSpec(program.path, recorded=guard)], open_wait_s=0)
            ) as host,
            face.block(host.session()) as session,
            face.block(session.turn("x")) as turn,
        ):
            assert [plugin.state for plugin in host.plugins] == ["starting"]
            go.touch()
            assert (await face.got(turn.call_tool("look", {}))).text() == "fine"

    face.run(story)


@faces
@pytest.mark.parametrize("given", ["soon", -1, float("nan")])
def test_a_wrong_wait_is_refused(face: Face, given: object) -> None:
    with pytest.raises((TypeError, ValueError), match="open_wait_s"):
        face.host([], open_wait_s=given)
