"""End, the process, and the limits of the writing side; real processes where they matter."""

# An interrupt leaves a turn's block early; these tests know where it does.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from sliphook import PluginHost, PluginSpec
from tests.docs.test_examples_without_sdk import EXAMPLES
from tests.programs import WAIT_S, Workshop, case_of, group_lives, until

from .says import limit, says
from .wire import BY_HAND, DIES, NO_ARGUMENTS, Wire, host_of, own, turn_of


@says(
    "A plugin is a program that the host of an LLM agent starts as a child process.",
    "The host starts the plugin without arguments of its own, without a shell, in a new process"
    " session: Ctrl+C in the terminal does not reach it.",
    "`$0` (`argv[0]`) is the absolute path of the executable.",
    "Only standard input, output and error are open.",
    "Its working directory is `data_dir`; the project's folder is `cwd` in the payloads.",
    "Its environment is `PATH HOME LANG LC_* TZ TMPDIR TERM USER LOGNAME SHELL`, what the user"
    " granted of `env`, `PYTHONUTF8` and `PYTHONUNBUFFERED`.",
    "Of `PATH` only absolute entries are kept.",
    "Payloads are never in the environment or in arguments.",
)
async def test_what_a_process_finds(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "TERM", "USER", "LOGNAME", "SHELL"]
    for name in (*keys, "OTHER"):
        monkeypatch.setenv(
            name, {"PATH": f"rel:{os.environ['PATH']}"}.get(name, os.environ.get(name) or "C")
        )
    probe = shop.program(
        hears=["session_start"],
        before="""
record({"method": "found", "params": {
    "command": open("/proc/self/cmdline").read().split("\\0")[:-1],
    "session": os.getsid(0) == os.getpid(), "group": os.getpgrp() == os.getpid(),
    "open": sorted(int(one) for one in os.listdir("/proc/self/fd")),
    "cwd": os.getcwd(), "env": dict(os.environ)}})
""",
    )
    monkeypatch.chdir(shop.folder)
    relative = Path(probe.path.name)
    spec = PluginSpec(relative, env={"GRANTED": "yes"})
    with trio.fail_after(WAIT_S):
        async with PluginHost([spec]) as host, host.session(cwd="/the/project") as session:
            await session.ready()
    (found,) = probe.params("found")
    (params,) = probe.params("initialize")
    (asked,) = probe.params("hook/session_start")
    # the interpreter and its options are the first line's; the script is what the host named
    assert found["command"][2:] == [str(probe.path)]
    assert (found["session"], found["group"]) == (True, True)
    # 3 is the log of this test's plugin, 4 the listing itself
    assert found["open"] == [0, 1, 2, 3, 4]
    assert found["cwd"] == params["plugin"]["data_dir"]
    assert asked["cwd"] == "/the/project"
    env = found["env"]
    assert set(env) - {"LC_CTYPE"} == {*keys, "GRANTED", "PYTHONUTF8", "PYTHONUNBUFFERED"}
    assert all(entry.startswith("/") for entry in env["PATH"].split(":"))
    assert "session_start" not in json.dumps(env)


@says(
    "Standard error is always read, into the plugin's log.",
    "It is not a sign of failure.",
    "What a plugin starts belongs to its process group, and ends with it, in the background too"
    " (`notify-send … &`);",
    "A plugin MUST NOT let children write to its standard output.",
    "Host and plugin speak JSON-RPC 2.0 over the plugin's standard input and output.",
)
async def test_standard_error_and_children(shop: Workshop) -> None:
    lines: list[tuple[str, str]] = []
    probe = shop.program(
        before="""
import subprocess
print("some words", file=sys.stderr, flush=True)
subprocess.Popen(["sh", "-c", "echo from a child; exec sleep 100"], stderr=subprocess.DEVNULL)
subprocess.run(["sh", "-c", "sleep 100 &"], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
"""
    )
    with trio.fail_after(WAIT_S):
        async with PluginHost(
            [probe.path], on_log=lambda _, level, line: lines.append((level, line))
        ) as host:
            pid = host.plugins[0].pid
            assert pid is not None
            await until(lambda: any("from a child" in line for _, line in lines))
            await until(lambda: ("stderr", "some words") in lines)
            assert host.plugins[0].state == "ready"
    assert not group_lives(pid)
    assert [level for level, line in lines if "stray output" in line] == ["host"]


@says(
    "The first line of a script is `#!` and an interpreter, ends with LF and not CRLF, and the file"
    " is executable.",
)
async def test_scripts_that_cannot_be_started(shop: Workshop) -> None:
    good = shop.program("good").path
    text = good.read_text()
    for name, content, mode, why in (
        ("none", text.partition("\n")[2], 0o755, "#!"),
        ("crlf", text.replace("\n", "\r\n", 1), 0o755, "\\r"),
        ("mode", text, 0o600, "executable"),
    ):
        path = shop.folder / name
        path.write_text(content)
        path.chmod(mode)
        with trio.fail_after(WAIT_S):
            async with PluginHost([path]) as host:
                assert host.plugins[0].state == "failed"
                assert why in (host.plugins[0].why or "")


@says(
    "That is a complete plugin.",
    "Without an SDK, [examples/guard.sh](examples/guard.sh) is this plugin in POSIX sh"
    " ([docs/sh.md](docs/sh.md) says what makes it reliable), and"
    " [examples/guard.mjs](examples/guard.mjs) in JavaScript.",
)
async def test_a_complete_plugin() -> None:
    """guard.mjs is driven by tests/docs/test_examples_without_sdk.py."""
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([EXAMPLES / "guard.sh"]) as host,
            host.session() as session,
            session.turn("x") as turn,
        ):
            outcome = await turn.call_tool("shell", {"command": "rm -rf build"}, run=own)
    assert outcome.status == "denied"
    assert "deleting whole trees is not for agents" in outcome.result.content


# -- the end


@says(
    "The host queues the ends of turns and sessions, then sends `shutdown`.",
    "All plugins end at the same time.",
)
async def test_the_order_at_the_end(autojump_clock: MockClock) -> None:
    wires = [Wire(name, hears=["turn_end", "session_end"]) for name in ("one", "two", "three")]
    for wire in wires:
        wire.answers["shutdown"] = BY_HAND
    began = 0.0
    async with host_of(*wires) as (host, _), host.session() as session:
        async with session.turn("x"):
            pass
        began = trio.current_time()
    assert trio.current_time() - began == pytest.approx(1.5, abs=0.1)
    for wire in wires:
        assert wire.methods()[1:4] == ["event/turn_end", "event/session_end", "shutdown"]


@says(
    "A plugin MUST end on `exit`, and on the end of its input without it: that is how it learns that"
    " the agent was killed. 2 s later SIGTERM goes to its process group, and 2 s after that SIGKILL.",
)
@limit("from `exit` and EOF to the end of the process")
async def test_a_plugin_that_stays(autojump_clock: MockClock) -> None:
    signals: list[tuple[float, int]] = []
    wire = Wire()
    wire.stays = True
    began = 0.0
    async with host_of(wire):
        process = wire.process

        def signalled(number: int) -> None:
            signals.append((trio.current_time() - began, number))
            if number == signal.SIGKILL:
                process.end(-number)

        process.signal_group = signalled  # type: ignore[method-assign]
        began = trio.current_time()
    assert [number for _, number in signals] == [signal.SIGTERM, signal.SIGKILL]
    assert [time_s for time_s, _ in signals] == pytest.approx([2, 4], abs=0.1)


@pytest.mark.parametrize("status", [0, 1, 77])
@says("The exit status does not matter.")
async def test_the_exit_status(status: int) -> None:
    wire = Wire()
    wire.exit_status = status
    async with host_of(wire) as (host, seen):
        await host.disable("probe")
        assert host.plugins[0].state == "disabled"
        assert (await host.enable("probe")).state == "ready"
    assert seen.problems == []


# -- deaths


@pytest.mark.parametrize("status", [0, 1])
@says(
    "When the plugin dies, with whatever status, pending requests settle at once as failed and are"
    " never sent again.",
)
async def test_a_death(status: int) -> None:
    wire = Wire(tools=[{"name": "mine"}], answers={"tool/call": BY_HAND})
    async with turn_of(wire) as (turn, _), trio.open_nursery() as nursery:

        async def die() -> None:
            await wire.hears("tool/call")
            wire.process.end(status)

        nursery.start_soon(die)
        assert (await turn.call_tool("mine", {})).status == "error"
        await wire.hears("initialize", 2)
        await wire.is_read()
        assert len(wire.sent("tool/call")) == 1


@says(
    "It is started again at once, then after 1, 2, 4 … 60 s; after five deaths in a minute it is left"
    " `failed` until the user resets it.",
    "After 30 s of health, earlier deaths no longer count.",
    "A plugin that dies before its first manifest was read is not started again.",
)
async def test_restarts(autojump_clock: MockClock) -> None:
    wire = Wire()
    waits: list[float] = []

    async def dies(after_s: float) -> None:
        await trio.sleep(after_s)
        known, began = len(wire.sent("initialize")), trio.current_time()
        wire.process.end(1)
        await wire.hears("initialize", known + 1)
        waits.append(trio.current_time() - began)
        await wire.is_read()

    async with host_of(wire) as (host, _):
        for health_s in (0, 0, 0, 31, 0, 0):
            await dies(health_s)
        # up to a quarter more or less, so that many plugins do not come back at once
        assert waits == pytest.approx([0, 1, 2, 0, 1, 2], rel=0.3, abs=0.01)
        for _ in range(4):
            if host.plugins[0].state != "ready":
                break
            wire.process.end(1)
            await trio.sleep(10)
        assert host.plugins[0].state == "failed"
        assert "it died too often" in (host.plugins[0].why or "")
        assert (await host.restart("probe")).state == "ready"
    early = Wire(answers={"initialize": DIES})
    async with host_of(early) as (host, _):
        await trio.sleep(100)
        assert (host.plugins[0].state, early.starts) == ("failed", 1)


@says(
    "If standard output is closed while the process lives, the connection ends and the process is"
    " killed.",
)
async def test_a_closed_standard_output(shop: Workshop) -> None:
    probe = shop.program(
        hears=["session_start"],
        on=case_of("hook/session_start", "os.close(1)\ntime.sleep(1000)"),
        before="if not set_flag('first'): MANIFEST['subscriptions'] = []",
    )
    problems: list[str] = []
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([probe.path], on_problem=lambda _, line: problems.append(line)) as host,
            host.session() as session,
        ):
            await session.ready()
            await until(lambda: host.plugins[0].restarts == 1)
    assert "closed its standard output and lived on" in problems[0]


def held(**answers: object) -> Wire:
    """A plugin that never answers its hook `stop`."""
    tools = [{"name": name, "timeout_s": 60} for name in ("slow", "other")]
    wire = Wire(hears=["stop", "turn_start"], tools=tools)
    wire.answers |= {"hook/stop": BY_HAND, "tool/call": BY_HAND, "ping": BY_HAND, **answers}
    return wire


@says(
    "Sent only to a plugin that has been silent for too long with a request [past its"
    " time](#the-process).",
    "A plugin with a request 5 s past its timeout or its cancel is suspect, and is sent `ping`.",
    "Any message clears it. 10 s without a message is a hang: it is killed and started again.",
)
async def test_a_plugin_that_is_silent(autojump_clock: MockClock) -> None:
    for speaks in (True, False):
        wire = held()
        async with turn_of(wire) as (turn, seen):
            await turn.stop()
            began = trio.current_time()
            await wire.hears("ping")
            assert trio.current_time() - began == pytest.approx(5, abs=0.1)
            if speaks:
                wire.send(method="host/log", params={"level": "info", "message": "here"})
                await trio.sleep(60)
                assert wire.starts == 1
            else:
                await wire.hears("initialize", 2)
                assert trio.current_time() - began == pytest.approx(15, abs=0.1)
                assert "hangs: it owes an answer" in seen.problems[-1]


@says(
    "A plugin that sends messages and still owes that reply after 15 s is *stuck*, and killed too,"
    " once a request with a higher id has waited for 10 s, whatever its timeout.",
    "It is not stuck if it has answered a later request of the same method, or reported `$/progress`"
    " on one: it only left out a reply.",
    "and may not hold what is asked later.",
)
async def test_a_plugin_that_is_stuck(autojump_clock: MockClock) -> None:
    for answers, stuck in ((True, False), (False, True)):
        wire = held()
        async with turn_of(wire) as (turn, _), trio.open_nursery() as nursery:

            async def chatter(of: Wire = wire) -> None:
                while of.starts == 1:
                    of.send(method="host/log", params={"level": "info", "message": "here"})
                    await trio.sleep(2)

            nursery.start_soon(chatter)
            await turn.stop()
            began = trio.current_time()
            if answers:
                wire.answers["hook/stop"] = None
                await turn.stop()
            nursery.start_soon(turn.call_tool, "slow", NO_ARGUMENTS)
            await wire.hears("tool/call")
            if stuck:
                await wire.hears("initialize", 2)
                assert trio.current_time() - began == pytest.approx(15, abs=1)
            else:
                await trio.sleep(50)
                assert wire.starts == 1
            nursery.cancel_scope.cancel()


@says(
    "While a request with a lower id is under way, and none behind that one was answered in time,"
    " the plugin is neither suspect nor stuck: it may have one thread and be at work on it.",
)
async def test_a_plugin_with_one_thread(autojump_clock: MockClock) -> None:
    wire = held()
    async with turn_of(wire) as (turn, _), trio.open_nursery() as nursery:
        nursery.start_soon(turn.call_tool, "slow", NO_ARGUMENTS)
        call = await wire.hears("tool/call")
        await turn.stop()
        wire.send(id=wire.sent("hook/stop")[0]["id"], result=None)  # too late
        await turn.stop()
        await trio.sleep(50)
        assert (wire.sent("ping"), wire.starts) == ([], 1)
        wire.send(id=call["id"], result="at last")
        nursery.cancel_scope.cancel()


@says(
    "A plugin MUST keep reading: one that does not read for 5 s while something waits to be written"
    " to it is killed, too.",
)
@limit("a write that does not move", "messages waiting to be written to one plugin")
async def test_a_plugin_that_does_not_read(autojump_clock: MockClock) -> None:
    wire = Wire(hears=["notification", "stop"])
    async with host_of(wire) as (host, seen), host.session() as session:
        wire.reading = trio.Event()
        for _number in range(3_000):
            session.notification("info", "x" * 100, "agent")
        await trio.testing.wait_all_tasks_blocked()
        lost = [line for line in seen.lines() if "event/notification was lost" in line]
        assert lost != []
        await trio.sleep(4.8)
        assert wire.starts == 1
        wire.reading.set()
        await wire.is_read()
        kept = len(wire.sent("event/notification"))
        assert 1_024 <= kept < 3_000
        wire.reading = trio.Event()
        for _number in range(1_000):
            session.notification("info", "x" * 1_000, "agent")
        await trio.sleep(5.2)
        wire.reading.set()
        await wire.restarts()


@says(
    "Replies to requests of the host are asked for, and do not count in the rate of messages that the"
    " host did not ask for.",
)
@limit("messages that the host did not ask for")
async def test_the_rate_of_messages(autojump_clock: MockClock) -> None:
    wire = Wire(tools=[{"name": "mine"}], answers={"tool/call": "fine"})
    note = b'{"jsonrpc":"2.0","method":"unknown"}\n'
    async with turn_of(wire) as (turn, _):
        await trio.sleep(1)
        began = trio.current_time()
        for _number in range(300):
            await turn.call_tool("mine", {})
        await wire.pour(note * 999)
        await wire.is_read()
        assert trio.current_time() - began < 0.5
        await wire.pour(note)
        await trio.testing.wait_all_tasks_blocked()
        await wire.is_read()
        assert trio.current_time() - began > 0.5
