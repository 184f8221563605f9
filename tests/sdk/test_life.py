"""The start and the end of a plugin: `on_start`, `on_shutdown`, and requests in between."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, cast

import pytest

from sliphook_sdk import (
    Disabled,
    HostRefused,
    LifeContext,
    NotConnected,
    Plugin,
    RegistrationError,
    disabled,
)
from sliphook_sdk.testing import CallCancelled, Harness, PluginError
from tests.sdk.conftest import Start, patient
from tests.sdk.driver import payload, tool_call

LIVES = """
import os, time
from sliphook_sdk import Plugin, disabled
plugin = Plugin("torture", uses=["notify"])

@plugin.on_start
def begin(*, ctx):
    if ctx.config.get("bad"):
        raise ValueError("no such port")
    if ctx.config.get("off"):
        return disabled("ffmpeg is not installed")
    (ctx.data_dir / "started").write_text("yes")

@plugin.on("turn_end")
def note(turn):
    with open("events", "a") as file:
        file.write("turn_end ")

@plugin.on_shutdown
def end(*, ctx):
    with open("events", "a") as file:
        file.write("end ")
    ctx.log("info", "cleaned up")
"""


def info(folder: Any, **config: Any) -> dict[str, Any]:
    return {"plugin": {"name": "torture", "data_dir": str(folder), "config": config}}


def test_it_starts_before_it_is_ready_and_ends_once(start_each: Start) -> None:
    child = start_each(LIVES)
    assert "disabled" not in child.initialize()
    assert (child.data_dir / "started").read_text() == "yes"
    child.notify("event/turn_end", payload("turn_end"))
    assert child.ask("shutdown", {}) == {}
    child.notify("exit", {})
    assert child.ended() == 0
    assert (child.data_dir / "events").read_text() == "turn_end end "


@pytest.mark.parametrize("ending", ["close_input", "terminate"])
def test_it_cleans_up_when_the_host_is_gone(start_each: Start, ending: str) -> None:
    child = start_each(patient(LIVES))
    child.initialize()
    getattr(child, ending)()
    assert child.ended() == 0
    assert (child.data_dir / "events").read_text() == "end "


def test_a_start_that_raises_is_told_with_file_and_line(start_each: Start) -> None:
    child = start_each(LIVES)
    said = child.reply(child.request("initialize", _params(child, bad=True)))["error"]["message"]
    assert said.startswith("on_start: begin() failed: ValueError: no such port (")
    assert said.endswith("plugin_0.py:9)")
    child.close_input()
    child.ended()
    assert not (child.data_dir / "events").exists()


def test_it_may_find_that_it_cannot_work_here(start_each: Start) -> None:
    child = start_each(LIVES)
    assert child.ask("initialize", _params(child, off=True))["disabled"] == (
        "ffmpeg is not installed"
    )
    child.close_input()
    child.ended()
    assert not (child.data_dir / "events").exists()


def test_an_installation_starts_nothing(start_each: Start) -> None:
    child = start_each(LIVES)
    assert child.ask("initialize", {**_params(child), "manifest_only": True})["name"] == "torture"
    child.close_input()
    child.ended()
    assert not (child.data_dir / "started").exists()
    assert not (child.data_dir / "events").exists()


def test_a_start_that_finds_the_manifest_runs_at_an_installation_too(start_each: Start) -> None:
    source = (
        "import os\nfrom sliphook_sdk import Plugin\nplugin = Plugin('torture')\n"
        "@plugin.on_start(when_installed=True)\ndef begin():\n"
        "    plugin.add_tool(len_of, name='found')\n"
        "def len_of(text: str) -> str:\n    return str(len(text))\n"
        "@plugin.on_shutdown\ndef end(*, ctx):\n"
        "    open(os.path.join(ctx.data_dir, 'events'), 'w').write('end')\n"
    )
    child = start_each(patient(source))
    manifest = child.ask("initialize", {**_params(child), "manifest_only": True})
    assert "found" in [tool["name"] for tool in manifest["tools"]]
    child.close_input()
    assert child.ended() == 0
    assert (child.data_dir / "events").read_text() == "end"


def _params(child: Any, **config: Any) -> dict[str, Any]:
    from sliphook_sdk.protocol import InitializeParams
    from sliphook_sdk.protocol.describe import example_of

    params = example_of(InitializeParams)
    params.pop("manifest_only", None)
    return {**params, **info(child.data_dir, **config)}


def test_a_start_that_takes_too_long_is_named(start_each: Start) -> None:
    child = start_each(
        "import sliphook_sdk.engine.base as base\nbase.START_S = 0.2\n"
        "import time\nfrom sliphook_sdk import Plugin\nplugin = Plugin('torture')\n"
        "@plugin.on_start\ndef waits():\n    time.sleep(3600)\n"
    )
    said = child.reply(child.request("initialize", _params(child)))["error"]["message"]
    assert said.startswith("on_start: waits() took longer than 0.2 s (")


def test_a_thread_of_on_start_waits_until_the_host_hears_it(start_each: Start) -> None:
    child = start_each(
        "import threading\nfrom sliphook_sdk import Plugin\n"
        "plugin = Plugin('torture', uses=['notify'])\n"
        "@plugin.on_start\ndef begin(*, ctx):\n"
        "    threading.Thread(target=plugin.host.notify, args=('info', 'up')).start()\n"
        "    try: plugin.host.notify('info', 'too early')\n"
        "    except RuntimeError as error: ctx.log('info', str(error))\n"
        "@plugin.on('turn_end')\ndef told(turn): ...\n"
    )
    child.initialize()
    assert "host/notify in on_start()" in child.said("host/log")["message"]
    asked = child.said("host/notify")
    assert asked["message"] == "up"
    child.write({"id": asked["_id"], "result": {}})


def test_who_waits_for_a_host_that_goes_is_told(start_each: Start) -> None:
    source = (
        "import time\nfrom sliphook_sdk import NotConnected, Plugin\n"
        "plugin = Plugin('torture', uses=['notify'])\n"
        "@plugin.tool\ndef asks() -> None:\n"
        "    try: plugin.host.notify('info', 'anybody?')\n"
        "    except NotConnected as error: open('told', 'w').write(str(error))\n"
    )
    child = start_each(patient(source))
    child.initialize()
    child.request("tool/call", tool_call("asks"))
    child.said("host/notify")
    child.close_input()
    child.ended()
    assert "the host has gone" in (child.data_dir / "told").read_text()


def test_before_the_plugin_runs() -> None:
    plugin = Plugin("idle", uses=["notify", "tools"])
    with pytest.raises(NotConnected, match="the plugin does not run"):
        plugin.host.notify("info", "x")
    with pytest.raises(NotConnected, match="the plugin does not run"):
        asyncio.run(plugin.async_host.notify("info", "x"))

    def late() -> None: ...

    plugin.add_tool(late, name="soon")
    assert [tool.name for tool in plugin.manifest().tools or ()] == ["soon"]
    with pytest.raises(RegistrationError, match="cannot be the tool 'soon'"):
        plugin.add_tool(late, name="soon")
    plugin.remove_tool("soon")
    with pytest.raises(LookupError, match="has no tool 'soon'"):
        plugin.remove_tool("soon")


def offering() -> Plugin[Any]:
    plugin = Plugin("offering", uses=["tools"])

    @plugin.tool
    def kept() -> str:
        return "kept"

    @plugin.tool
    async def makes_it_async() -> None: ...

    return plugin


def names(harness: Harness) -> list[list[str]]:
    return [[tool.name for tool in params.tools] for _, params in harness.sent]  # type: ignore[attr-defined]


def test_one_tool_comes_and_goes() -> None:
    plugin = offering()

    def more() -> str:
        return "more"

    with Harness(plugin) as harness:
        plugin.add_tool(more)
        assert harness.call_tool("more").content == "more"
        assert harness.call_tool("kept").content == "kept"
        with pytest.raises(RegistrationError, match="cannot be added as the tool 'more'"):
            plugin.add_tool(more)
        plugin.remove_tool("kept")
        with pytest.raises(LookupError, match="no tool 'kept'"):
            harness.call_tool("kept")
        plugin.add_tool(more, session_id="s-2")
        with pytest.raises(LookupError, match="no tool 'gone' among"):
            plugin.remove_tool("gone")
    declared = ["kept", "makes_it_async"]
    assert names(harness) == [[*declared, "more"], ["makes_it_async", "more"], ["more"]]
    assert harness.logs == []


def test_a_tool_that_on_start_adds_is_declared() -> None:
    plugin = offering()

    def more() -> str:
        return "more"

    @plugin.on_start
    async def begin() -> None:
        plugin.add_tool(more)
        plugin.remove_tool("makes_it_async")
        with pytest.raises(NotConnected):
            await plugin.async_host.add_tool(more, session_id="s-1")

    for _ in range(2):
        with Harness(plugin) as harness:
            assert [tool.name for tool in harness.manifest().tools or ()] == ["kept", "more"]
            assert harness.call_tool("more").content == "more"
            assert harness.sent == []
            plugin.set_tools([])
        assert [line.message for line in harness.logs] == [
            "set_tools() takes away kept, more, which the plugin declares; add_tool() keeps them"
        ]


def test_set_tools_says_what_it_takes_away() -> None:
    plugin = offering()
    with Harness(plugin) as harness:
        plugin.set_tools([])
        plugin.set_tools([])
    assert [line.message for line in harness.logs] == [
        "set_tools() takes away kept, makes_it_async, which the plugin declares;"
        " add_tool() keeps them"
    ]


def test_changes_from_many_threads_and_tasks_lose_none() -> None:
    plugin = offering()

    def made(name: str) -> Any:
        def tool() -> str:
            return name

        tool.__name__ = name
        return tool

    @plugin.command
    async def add(text: str) -> str:
        await asyncio.gather(*(plugin.async_host.add_tool(made(f"a{n}")) for n in range(20)))
        return ""

    with Harness(plugin) as harness:
        threads = [
            threading.Thread(target=plugin.add_tool, args=(made(f"t{n}"),)) for n in range(20)
        ]
        for thread in threads:
            thread.start()
        harness.run_command("add")
        for thread in threads:
            thread.join(120)
    assert len(names(harness)[-1]) == 2 + 40


def test_a_refused_tool_is_not_there() -> None:
    plugin = offering()
    with Harness(plugin, granted=()) as harness:
        with pytest.raises(HostRefused):
            plugin.add_tool(lambda: None, name="more")
        with pytest.raises(LookupError):
            harness.call_tool("more")


def test_the_harness_keeps_one_loop_for_tasks_in_the_background() -> None:
    plugin = Plugin("background")
    begun, seen = threading.Event(), list[str]()

    @plugin.on_start
    async def begin() -> None:
        async def beat() -> None:
            try:
                await asyncio.sleep(0)
                begun.set()
                await asyncio.sleep(3600)
            finally:
                seen.append("task cancelled")

        plugin.tasks = asyncio.create_task(beat())  # type: ignore[attr-defined]
        seen.append(str(id(asyncio.get_running_loop())))

    @plugin.on("turn_end")
    async def told(_: object) -> None:
        seen.append(str(id(asyncio.get_running_loop())))

    @plugin.on_shutdown
    async def end() -> None:
        seen.append("end")

    with Harness(plugin) as harness:
        assert begun.wait(120)
        harness.tell("turn_end")
    assert seen[0] == seen[1]
    assert seen[2:] == ["end", "task cancelled"]


def test_the_harness_cancels_a_call() -> None:
    plugin = Plugin("slow")
    seen = list[str]()

    @plugin.tool
    async def waits() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            seen.append("stopped")

    @plugin.tool
    def sleeps(*, ctx: Any) -> str:
        seen.append(f"cancelled {ctx.wait(3600)}")
        return "too late"

    with Harness(plugin) as harness:
        with pytest.raises(CallCancelled):
            harness.call_tool("waits", cancel_after=0.01)
        with pytest.raises(CallCancelled, match="answered all the same"):
            harness.call_tool("sleeps", cancel_after=0.01)
    assert seen == ["stopped", "cancelled True"]


def test_the_harness_starts_and_ends_a_plugin() -> None:
    plugin = Plugin("lives")

    @plugin.on_start
    def begin(*, ctx: LifeContext) -> Disabled | None:
        if ctx.config == {"off": True}:
            return disabled("off")
        if ctx.config:
            raise ValueError("wrong")
        return None

    @plugin.on_shutdown
    def end() -> None:
        raise OSError("stuck")

    with pytest.raises(PluginError, match="ValueError: wrong"):
        Harness(plugin, config={"x": 1})
    with Harness(plugin, config={"off": True}) as harness:
        assert harness.manifest().disabled == "off"
    harness = Harness(plugin)
    with pytest.raises(PluginError, match="stuck"):
        harness.close()


def test_one_function_for_each_and_only_ctx() -> None:
    plugin = Plugin("lives")

    @plugin.on_start
    def begin() -> None: ...

    def takes_more(payload: object) -> None: ...

    with pytest.raises(RegistrationError, match=r"cannot be on_start: begin\(\) at "):
        plugin.on_start(begin)
    with pytest.raises(RegistrationError, match="which is given nothing but ctx"):
        cast("Any", plugin).on_shutdown(takes_more)


def test_settings_that_do_not_fit_are_an_error_for_a_plugin_that_is_only_tried(
    start_each: Start,
) -> None:
    """Being tried and being installed, it has no name; then it has no settings either."""
    text = (
        "import msgspec\nfrom sliphook_sdk import Plugin\n"
        "class Settings(msgspec.Struct):\n    port: int\n"
        "plugin = Plugin('torture', config=Settings)\n"
    )
    for config, reason in (
        ({}, None),
        ({"port": "x"}, "its settings do not fit: Expected `int`, got `str` - at `$.port`"),
    ):
        child = start_each(text)
        params = _params(child, **config)
        params["plugin"]["name"] = None
        assert child.ask("initialize", params).get("disabled") == reason
        child.close_input()
        child.ended()
