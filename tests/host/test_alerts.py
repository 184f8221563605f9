"""What the user is told of a plugin, the other plugins are told as `notification`."""

from __future__ import annotations

import trio
from trio.testing import MockClock

from sliphook import PluginHost
from sliphook.testing import CRASHES, HANGS, FakePlugin
from sliphook_sdk.protocol.payloads import Notification
from tests.programs import until
from tests.session.shell import shell

Alert = tuple[str, str, str]


def hearer(name: str = "hearer") -> FakePlugin:
    return FakePlugin(name, hears=["notification"])


async def alerts(plugin: FakePlugin, times: int = 1) -> None:
    with trio.fail_after(120):
        await plugin.hears("event/notification", times=times)


def heard(plugin: FakePlugin) -> list[Alert]:
    return [(one.level, one.message, one.source) for one in plugin.payloads("notification")]


async def test_an_alert_of_a_plugin_is_told_with_its_name(autojump_clock: MockClock) -> None:
    talker = FakePlugin("talker", hears=["notification"], uses=["notify"])
    other = hearer()
    shown: list[tuple[str, str, str]] = []

    def show(plugin: str, level: str, message: str) -> None:
        shown.append((plugin, level, message))

    async with (
        PluginHost([talker, other], on_notify=show) as host,
        host.session(),
        host.session() as newest,
    ):
        await talker.ask("host/notify", level="error", message="it is stuck")
        await alerts(other)
    assert shown == [("talker", "error", "it is stuck")]
    assert heard(other) == [("error", "it is stuck", "talker")]
    assert other.payloads("notification")[0].session_id == newest.session_id
    assert heard(talker) == []


async def test_an_alert_is_told_in_the_session_that_the_plugin_works_for(
    autojump_clock: MockClock,
) -> None:
    talker = FakePlugin("talker", hooks={"stop": HANGS}, uses=["notify"])
    other = hearer()
    async with (
        PluginHost([talker, other]) as host,
        host.session() as first,
        host.session(),
        trio.open_nursery() as nursery,
        first.turn("x") as turn,
    ):
        nursery.start_soon(turn.stop)
        await talker.hears("hook/stop")
        await talker.ask("host/notify", level="info", message="half way")
        await alerts(other)
        (alert,) = other.payloads("notification")
        assert (alert.session_id, alert.turn_id) == (first.session_id, turn.turn_id)
        first.interrupt()


async def test_a_timeout_and_a_crash_are_told_by_the_host(autojump_clock: MockClock) -> None:
    """Closed or open: whoever watches the plugins learns of both."""
    failing = FakePlugin(
        "failing",
        hooks={"stop": HANGS, "pre_tool_call": HANGS, "user_prompt_submit": CRASHES},
        hears=["notification"],
    )
    other = hearer()
    async with (
        PluginHost([failing, other]) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        await turn.stop()
        await turn.call_tool("shell", {"command": "ls"}, run=shell)
        await turn.submit()
        await until(lambda: any("started again" in text for _, text, _ in heard(other)))
    late = "failing did not answer {}: no answer within 5 s; it counts as {}"
    # what is said of handlers that still run has tests of its own
    told = [one for one in heard(other) if "handler" not in one[1]]
    assert told[:2] == [
        ("warning", late.format("stop", "no opinion"), "host"),
        ("warning", late.format("pre_tool_call", "a deny"), "host"),
    ]
    (crash,) = told[2:]
    assert crash[1].startswith("failing ")
    assert "started again" in crash[1]
    assert heard(failing) == []


async def test_two_that_answer_each_other_end(autojump_clock: MockClock) -> None:
    plugins: list[FakePlugin] = []

    async def answer(alert: Notification) -> None:
        (me,) = (one for one in plugins if one.name != alert.source)
        await me.ask("host/notify", level="info", message="and you")

    plugins += [
        FakePlugin(name, hooks={"notification": answer}, uses=["notify"]) for name in ("a", "b")
    ]
    shown: list[str] = []

    def show(plugin: str, level: str, message: str) -> None:
        shown.append(plugin)

    async with (
        PluginHost(plugins, on_notify=show) as host,
        host.session(),
    ):
        await plugins[0].ask("host/notify", level="info", message="hello")
        await trio.sleep(30)
    assert sorted(shown) == ["a"] * 10 + ["b"] * 10


async def test_of_many_failures_only_ten_in_a_minute_are_told(autojump_clock: MockClock) -> None:
    failing = FakePlugin("failing", hooks={"stop": {"decision": "maybe"}})
    other = hearer()
    async with PluginHost([failing, other]) as host, host.session() as session:
        async with session.turn("x") as turn:
            for _ in range(40):
                await turn.stop()
        await trio.sleep(1)
        assert len(heard(other)) == 10
        await trio.sleep(60)
        async with session.turn("y") as turn:
            await turn.stop()
            await alerts(other, 11)


async def test_secrets_are_hidden_from_the_other_plugins(autojump_clock: MockClock) -> None:
    talker = FakePlugin("talker", uses=["notify"])
    other = hearer()
    async with PluginHost([talker, other]) as host, host.session():
        host.hide(["hunter2hunter2"])
        await talker.ask("host/notify", level="info", message="it is hunter2hunter2")
        await alerts(other)
    assert heard(other) == [("info", "it is [redacted]", "talker")]


async def test_fifty_that_fail_at_once_are_told_one_at_a_time(autojump_clock: MockClock) -> None:
    """Between two of them other tasks run: each goes to fifty plugins."""
    failing = [
        FakePlugin(f"p{number}", hooks={"stop": {"decision": "maybe"}}, hears=["notification"])
        for number in range(50)
    ]
    async with (
        PluginHost(failing) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        await turn.stop()
        begun = session.seq
        for _ in range(5):
            await trio.lowlevel.checkpoint()
        assert session.seq - begun < 20  # not all fifty
        await trio.sleep(1)
    assert [len(heard(plugin)) for plugin in failing] == [49] * 50
