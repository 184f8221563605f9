"""`sliphook.blocking`: an interrupt reaches every wait, from anywhere.

Ctrl+C leaves nothing behind.
"""

from __future__ import annotations

import inspect
import queue
import threading
from typing import Any

import pytest

import sliphook
from sliphook import ApprovalRequest, Context, HostError, Submission, TurnOpen
from sliphook.blocking import BegunTool, PluginHost, Session, Turn
from sliphook.portal.portal import HostClosed
from sliphook.portal.proxies import HostSettings
from sliphook.session.state import SessionState, TurnState
from sliphook.testing import CRASHES, FakePlugin
from sliphook_sdk.protocol import Message, Usage
from sliphook_sdk.protocol.payloads import TurnStart
from tests.programs import WAIT_S, Workshop

from .threads import hello, names_the_tool, outcomes, probe, shell, wait_until

# -- every method
# -------------------------------------------------------------------------------------------------


def test_a_whole_turn() -> None:
    plugin = probe(
        hooks={"session_start": {"context": ["be brief"]}, "pre_tool_call": names_the_tool},
        tools={"look": "fine"},
        commands={"hello": hello},
        uses=["inject"],
    )
    with PluginHost([plugin], name="agent") as host:
        assert [(status.name, status.state) for status in host.plugins] == [("probe", "ready")]
        assert [offer.name for offer in host.tools()] == ["look"]
        assert [offer.name for offer in host.commands()] == ["hello"]
        with host.session(session_key="k", model="m") as session:
            assert session.ready() == [Context("probe", "be brief")]
            assert session.run_command("hello", "ada") == "hello ada"
            assert session.take_injected() == []
            session.notification("warning", "mind the step")
            with session.turn("hello") as turn:
                prompt = turn.submit()
                assert (prompt.text, prompt.denied) == ("hello", False)
                gate = turn.pre_llm_call(
                    provider=None,
                    model="m",
                    messages=[Message(role="user", content="hello")],
                    tools=[],
                )
                assert (gate.model, gate.denied) == ("m", False)
                turn.llm_call_failed(
                    attempt=1, kind="timeout", status=None, message="slow", will_retry=True
                )
                answer = Message(role="assistant", content="done")
                turn.post_llm_call(
                    provider=None,
                    model="m",
                    response=answer,
                    finish_reason="stop",
                    usage=Usage(),
                    duration_ms=1.0,
                )
                assert turn.last_assistant_message == "done"
                assert turn.call_tool("look", {}).text() == "fine\n\n[probe] look"
                assert (
                    turn.call_tool("shell", {"command": "ls"}, run=shell).text()
                    == "ran ls\n\n[probe] shell"
                )
                choice = turn.decide("question", "this one?", lambda prompt: prompt == "this one?")
                assert (choice.allowed, choice.by) == (True, "user")
                with turn.subagent("look around") as child:
                    assert (child.agent_depth, child.outcome) == (1, None)
                    child.summary = "nothing there"
                assert turn.stop() is None
                turn.finish("max_iterations")
            assert turn.outcome == "max_iterations"
            assert turn.index == 1
            assert turn.interrupted is False
            assert session.turn_count == 1
            old_id = session.session_id
            session.reset()
            assert session.session_id != old_id
            session.end("signal")
    assert plugin.names(old_id) == [
        "session_start",
        "notification",
        "turn_start",
        "user_prompt_submit",
        "pre_llm_call",
        "llm_call_failed",
        "post_llm_call",
        "pre_tool_call",
        "post_tool_call",
        "pre_tool_call",
        "post_tool_call",
        "user_input_required",
        "user_input_received",
        "subagent_start",
        "turn_start",
        "turn_end",
        "subagent_stop",
        "stop",
        "turn_end",
        "session_end",
    ]
    assert plugin.payloads("subagent_stop")[0].summary == "nothing there"
    assert [payload.reason for payload in plugin.payloads("session_end")] == ["reset", "signal"]
    assert plugin.received[0].params["host"]["name"] == "agent"


def test_orders_for_plugins() -> None:
    plugin = FakePlugin("p", hears=["pre_tool_call"])
    with PluginHost([plugin]) as host:
        assert host.disable("p").state == "disabled"
        assert host.enable("p").state == "ready"
        assert host.restart("p").state == "ready"
        with pytest.raises(HostError, match="there is no plugin named q"):
            host.restart("q")
    assert plugin.starts == 3


def test_a_real_process(shop: Workshop) -> None:
    program = shop.program("real", hears=["turn_start", "turn_end"], tools=["look"])
    with PluginHost([program.path]) as host, host.session() as session, session.turn("x") as turn:
        assert turn.call_tool("look", {}).text() == "fine"
    assert program.names() == ["turn_start", "turn_end"]


@pytest.mark.parametrize(
    ("face", "inner", "own"),
    [
        (PluginHost, sliphook.PluginHost, {"portal", "block", "inner"}),
        (Session, sliphook.Session, {"portal", "block", "inner"}),
        (Turn, sliphook.Turn, {"portal", "block", "inner"}),
        (BegunTool, sliphook.BegunTool, {"portal", "block", "inner", "outcome"}),
    ],
)
def test_every_public_method_has_its_face(face: type, inner: type, own: set[str]) -> None:
    internal = {"close", "begin", "run_own", "interrupt_from_thread"}
    internal |= (vars(SessionState).keys() | vars(TurnState).keys()) - {"take_injected"}
    wanted = {name for name, _ in inspect.getmembers(inner) if not name.startswith("_")} - internal
    offered = {name for name in dir(face) if not name.startswith("_")}
    assert wanted - offered == set()
    assert offered - wanted <= own | {
        "enter",
        "leave",
        "ended",
        "session_id",
        "session_key",
        "turn_count",
        "turn_id",
        "index",
        "agent_depth",
        "outcome",
        "last_assistant_message",
        "context",
        "summary",
        "tools_begun",
        "continued_by",
    }


def test_the_settings_are_those_of_the_host() -> None:
    settings = set(inspect.signature(sliphook.PluginHost.__init__).parameters) - {
        "self",
        "plugins",
        "approver",
        "asker",
    }
    assert set(HostSettings.__annotations__) == settings


# -- ends of blocks
# -------------------------------------------------------------------------------------------------


class Fault(Exception):
    """The agent's own."""


def test_an_exception_leaves_all_blocks_as_it_is() -> None:
    plugin, fault = probe(), Fault("mine")
    with (
        pytest.raises(Fault) as caught,
        PluginHost([plugin]) as host,
        host.session() as session,
        session.turn("x"),
    ):
        raise fault
    assert caught.value is fault
    assert outcomes(plugin) == ["failed"]
    assert [payload.reason for payload in plugin.payloads("session_end")] == ["error"]


def test_a_second_turn_is_refused_while_one_is_open() -> None:
    plugin = probe()
    with PluginHost([plugin]) as host, host.session() as session, session.turn("one"):
        with pytest.raises(TurnOpen), session.turn("two"):
            pass
        with session.turn("three", interrupt=True):
            pass
    assert outcomes(plugin) == ["interrupted", "completed"]


def test_nothing_can_be_called_before_and_after() -> None:
    host = PluginHost([])
    with pytest.raises(HostClosed, match="the host is not open"):
        host.commands()
    with host, host.session() as session:
        with session.turn("x") as turn:
            pass
        with pytest.raises(HostClosed, match="its block is not open"):
            turn.submit()
    assert session.interrupt() is False
    with pytest.raises(HostClosed, match="the host is not open"):
        session.ready()


def test_a_host_that_is_left_first_ends_the_rest() -> None:
    plugin = probe()
    host = PluginHost([plugin])
    host.__enter__()
    session = host.session()
    session.__enter__()
    turn = session.turn("x")
    turn.__enter__()
    host.__exit__(None, None, None)
    turn.__exit__(None, None, None)
    session.__exit__(None, None, None)
    assert outcomes(plugin) == ["interrupted"]


def test_a_plugin_that_fails_is_told_in_the_callbacks_thread() -> None:
    told: list[tuple[str, str]] = []

    def problem(_: str, line: str) -> None:
        told.append((threading.current_thread().name, line))

    with PluginHost([FakePlugin("p", initialize=CRASHES)], on_problem=problem) as host:
        assert [status.state for status in host.plugins] == ["failed"]
    assert told == [
        ("sliphook callbacks", "p is left out: exited with status 1 before it answered initialize")
    ]


def test_a_callback_may_call_the_host_and_hold_itself_up() -> None:
    states: list[str] = []
    release = threading.Event()
    plugin = FakePlugin(
        "p",
        uses=["notify"],
        hooks={"turn_start": lambda _: plugin.ask("host/notify", level="warning", message="look")},
    )

    def show(*_: str) -> None:
        release.wait(WAIT_S)
        states.append(host.plugins[0].state)

    with PluginHost([plugin], on_notify=show) as host:
        with host.session() as session, session.turn("x") as turn:
            assert turn.stop() is None, "the host goes on while the callback stands"
        release.set()
        wait_until(lambda: states == ["ready"])


# -- the agent's own code
# ------------------------------------------------------------------------------------------------


def test_a_tool_and_the_approver_run_in_the_calling_thread() -> None:
    threads: list[str] = []

    def approve(request: ApprovalRequest) -> bool:
        threads.append(threading.current_thread().name)
        return request.tool_name == "shell"

    def own(arguments: dict[str, Any]) -> str:
        threads.append(threading.current_thread().name)
        return shell(arguments)

    plugin = FakePlugin("p", hooks={"pre_tool_call": {"decision": "ask"}})
    with (
        PluginHost([plugin], approver=approve) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):
        assert turn.call_tool("shell", {"command": "ls"}, run=own).status == "ok"
        assert turn.call_tool("other", {"command": "ls"}, run=own).status == "denied"
    assert threads == ["MainThread"] * 3


def test_a_tool_that_raises_is_a_result() -> None:
    def broken(_: dict[str, Any]) -> str:
        raise Fault("no such file")

    with PluginHost([]) as host, host.session() as session, session.turn("x") as turn:
        outcome = turn.call_tool("shell", {}, run=broken)
        assert (outcome.status, outcome.text()) == ("error", "the tool shell failed: no such file")


def test_tools_side_by_side_in_threads() -> None:
    plugin, barrier = probe(), threading.Barrier(4)
    texts: list[str] = []

    def together(arguments: dict[str, Any]) -> str:
        barrier.wait(WAIT_S)
        return shell(arguments)

    with PluginHost([plugin]) as host, host.session() as session, session.turn("x") as turn:

        def call(number: int) -> None:
            texts.append(turn.call_tool("shell", {"command": str(number)}, run=together).text())

        threads = [threading.Thread(target=call, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT_S)
    assert sorted(texts) == ["ran 0", "ran 1", "ran 2", "ran 3"]
    assert plugin.names().count("post_tool_call") == 4


def test_messages_of_plugins() -> None:
    inbox: queue.Queue[Submission] = queue.Queue()

    async def submits(start: TurnStart) -> None:
        await plugin.ask("host/submit", session_key="main", text=f"more {start.index}")

    plugin = probe(hooks={"turn_start": submits}, uses=["submit"])
    settings: HostSettings = {"on_submit": inbox.put, "plugin_messages": "queue"}
    with PluginHost([plugin], **settings) as host, host.session() as session:
        with session.turn("hello"):
            wait_until(lambda: not inbox.empty())
        with session.turn(inbox.get()) as turn:
            assert turn.submit().text == "more 1"
        session.drop_submission(inbox.get(timeout=WAIT_S), "refused")
    assert [end.outcome for end in plugin.payloads("submission_end")] == ["completed", "refused"]


def test_text_before_the_answer_comes_to_the_thread_that_waits() -> None:
    shown: list[tuple[str, bool]] = []
    here = threading.get_ident()
    pieces = [f"{number} " for number in range(200)]

    async def say(_: object) -> dict[str, Any]:
        for piece in pieces:
            await plugin.say(piece)
        return {"substitute": {"response": {"role": "assistant", "content": "done"}}}

    def show(text: str) -> None:
        shown.append((text, threading.get_ident() == here))
        raise ValueError("a fault of the agent")

    asked = {"event": "pre_llm_call", "replaces": True}
    plugin = FakePlugin("cache", hooks={"pre_llm_call": say}, subscriptions=[asked])
    with PluginHost([plugin]) as host, host.session() as session, session.turn("x") as turn:
        gate = turn.pre_llm_call(provider=None, model=None, messages=[], tools=[], on_text=show)
        assert gate.shown == "".join(pieces)
    assert shown == [(piece, True) for piece in pieces]
