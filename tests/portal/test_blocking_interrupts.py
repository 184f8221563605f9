"""`sliphook.blocking`: an interrupt reaches every wait, and Ctrl+C leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from typing import Any

import pytest
import trio

from sliphook import ApprovalRequest
from sliphook.blocking import Interrupted, PluginHost
from sliphook.forks import Home
from sliphook.portal.thread_caller import WaitingThread
from sliphook.testing import HANGS, FakePlugin
from tests.programs import WAIT_S, Workshop

from .threads import ctrl_c, outcomes, probe, shell, wait_until, when


def test_an_interrupt_from_another_thread_ends_the_wait_and_the_block() -> None:
    plugin = probe(hooks={"stop": HANGS})
    done: list[bool] = []
    with PluginHost([plugin]) as host, host.session() as session:
        with (
            when(
                plugin, "stop", lambda: done.append(session.interrupt("user_stop", "stop_command"))
            ),
            session.turn("x") as turn,
        ):
            turn.stop()
            raise AssertionError("a call of an interrupted turn does not return")
        assert (done, turn.outcome) == ([True], "interrupted")
        with session.turn("next"):
            pass
    assert outcomes(plugin) == ["interrupted", "completed"]


def test_when_interrupt_returns_all_is_done() -> None:
    plugin = probe()
    with PluginHost([plugin]) as host, host.session() as session, session.turn("x") as turn:
        assert session.interrupt() is True
        assert (turn.interrupted, turn.outcome) == (True, "interrupted")
        assert session.interrupt() is False
        with pytest.raises(Interrupted):
            turn.call_tool("shell", {"command": "ls"}, run=shell)
        wait_until(lambda: "turn_end" in plugin.names())
        assert plugin.names()[-2:] == ["agent_loop_stopped", "turn_end"]
    assert outcomes(plugin) == ["interrupted"]


def test_interrupted_is_no_exception_that_an_agent_catches_by_the_way() -> None:
    assert not issubclass(Interrupted, Exception)


def test_interrupted_stops_at_the_end_of_its_own_turns_block_alone() -> None:
    left: list[str] = []
    with PluginHost() as host, host.session() as session, host.session() as other:
        with session.turn("mine") as turn:
            with other.turn("other"):
                session.interrupt()
                turn.stop()
            left.append("the other turn's block was left without an exception")
        assert turn.interrupted
    assert left == []


def test_an_interrupt_while_the_agents_own_tool_runs() -> None:
    plugin, running, release = probe(), threading.Event(), threading.Event()

    def slow(_: dict[str, Any]) -> str:
        running.set()
        release.wait(WAIT_S)
        return "too late"

    def interrupt() -> None:
        running.wait(WAIT_S)
        assert session.interrupt()
        wait_until(lambda: "post_tool_call" in plugin.names())  # told, though the tool still runs
        release.set()

    with (
        PluginHost([plugin]) as host,
        host.session() as session,
        when(plugin, "pre_tool_call", interrupt),
        session.turn("x") as turn,
    ):
        turn.call_tool("slow", {}, run=slow)
        raise AssertionError("what came late is dropped")
    (after,) = plugin.payloads("post_tool_call")
    assert (after.status, after.started) == ("cancelled", True)
    assert outcomes(plugin) == ["interrupted"]


def test_a_tool_that_was_not_begun_is_not_begun_after_an_interrupt() -> None:
    ran: list[str] = []

    def own(_: dict[str, Any]) -> str:
        ran.append("it")
        return "ran"

    plugin = FakePlugin("p", hooks={"pre_tool_call": HANGS})
    with (
        PluginHost([plugin]) as host,
        host.session() as session,
        when(plugin, "pre_tool_call", session.interrupt),
        session.turn("x") as turn,
    ):
        turn.call_tool("shell", {}, run=own)
    assert ran == []


def test_what_was_withdrawn_before_its_thread_came_to_it_is_not_done() -> None:
    ran: list[str] = []
    thread = WaitingThread(Home())

    async def withdraw() -> None:
        with trio.CancelScope() as scope:
            scope.cancel()
            await thread.have_done(ran.append, ("it",))
        thread.settled()

    trio.run(withdraw)
    thread.serve()
    assert ran == []


def test_an_interrupt_from_a_signals_handler() -> None:
    plugin = probe(hooks={"stop": HANGS})
    with PluginHost([plugin]) as host, host.session() as session:

        def handler(_: int, __: object) -> None:
            session.interrupt("signal", "sigterm")

        old = signal.signal(signal.SIGUSR1, handler)
        try:
            with (
                when(plugin, "stop", lambda: os.kill(os.getpid(), signal.SIGUSR1)),
                session.turn("x") as turn,
            ):
                turn.stop()
        finally:
            signal.signal(signal.SIGUSR1, old)
        assert turn.interrupted
    assert [payload.reason for payload in plugin.payloads("agent_loop_stopped")] == ["signal"]


def test_a_child_is_interrupted_with_its_parent() -> None:
    plugin = probe(hooks={"pre_tool_call": HANGS})
    with (
        PluginHost([plugin]) as host,
        host.session() as session,
        when(plugin, "pre_tool_call", session.interrupt),
        session.turn("x") as turn,
    ):
        with turn.subagent("look") as child:
            child.call_tool("shell", {}, run=shell)
        assert child.interrupted
        turn.stop()
        raise AssertionError("the parent is interrupted too")
    assert outcomes(plugin) == ["interrupted", "interrupted"]


# -- Ctrl+C
# -------------------------------------------------------------------------------------------------


def test_ctrl_c_ends_the_wait_and_every_block_as_signal() -> None:
    plugin = probe(hooks={"stop": HANGS})
    host = PluginHost([plugin])
    with (
        pytest.raises(KeyboardInterrupt),
        host,
        host.session() as session,
        when(plugin, "stop", ctrl_c),
        session.turn("x") as turn,
    ):
        turn.stop()
    assert outcomes(plugin) == ["interrupted"]
    assert [payload.reason for payload in plugin.payloads("agent_loop_stopped")] == ["signal"]
    assert [payload.reason for payload in plugin.payloads("session_end")] == ["signal"]


def test_ctrl_c_that_stays_inside_the_turn_withdraws_the_call() -> None:
    plugin = FakePlugin(
        "p",
        hooks={"stop": HANGS},
        # its timeout would cancel the request as well, but later
        subscriptions=[{"event": "stop", "timeout_s": WAIT_S * 2}, {"event": "turn_end"}],
    )
    with (
        PluginHost([plugin]) as host,
        host.session() as session,
        when(plugin, "stop", ctrl_c),
        session.turn("x") as turn,
    ):
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            turn.stop()
        assert time.monotonic() - began < WAIT_S, "it waited for the hook's timeout"
        wait_until(
            lambda: any(message.method == "$/cancelRequest" for message in list(plugin.received))
        )
    assert [payload.outcome for payload in plugin.payloads("turn_end")] == ["completed"]


@pytest.mark.usefixtures("patient_ends")
def test_ctrl_c_while_the_host_is_left_kills_the_plugins(shop: Workshop) -> None:
    """It is impatience: the way out goes on, and asks no plugin to end any more."""
    asked = shop.flag("asked")
    program = shop.program(
        "stays",
        before=f"""
            import signal
            def asked(*_):
                open({str(asked)!r}, "w").close()
                os._exit(0)
            signal.signal(signal.SIGTERM, asked)
        """,
        on=f"if method == 'shutdown': time.sleep({2 * WAIT_S})",
    )

    def impatient() -> None:
        wait_until(lambda: "shutdown" in program.methods())
        ctrl_c()

    thread = threading.Thread(target=impatient)
    with pytest.raises(KeyboardInterrupt), PluginHost([program.path]):
        thread.start()
    thread.join(WAIT_S)
    assert not asked.exists()


def test_ctrl_c_in_the_approver_reaches_it() -> None:
    plugin = probe(hooks={"pre_tool_call": {"decision": "ask"}})

    def approve(_: ApprovalRequest) -> bool:
        ctrl_c()
        time.sleep(WAIT_S)
        return True

    host = PluginHost([plugin], approver=approve)
    with (
        pytest.raises(KeyboardInterrupt),
        host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        turn.call_tool("shell", {}, run=shell)
    assert outcomes(plugin) == ["interrupted"]


def test_ctrl_c_while_the_host_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sliphook.plugin.instance.INITIALIZE_TIMEOUT_S", WAIT_S * 2)
    plugin = FakePlugin("p", initialize=HANGS)
    began = time.monotonic()
    with when(plugin, "initialize", ctrl_c), pytest.raises(KeyboardInterrupt), PluginHost([plugin]):
        raise AssertionError("it does not open")
    assert time.monotonic() - began < WAIT_S, "it waited for the plugin"


def test_a_program_that_never_leaves_the_block_can_end(shop: Workshop) -> None:
    program = shop.program("real")
    script = f"""
        import sys
        from sliphook.blocking import PluginHost
        host = PluginHost([{str(program.path)!r}])
        host.__enter__()
        print(host.plugins[0].state)
        sys.exit(7)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (7, "ready\n"), done.stderr
