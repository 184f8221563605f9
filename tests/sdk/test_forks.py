"""A handler forks: the child speaks for nobody, and ends where it comes back."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from tests.sdk.conftest import Start
from tests.sdk.driver import Child, command, payload, tool_call

PLUGIN = """
    import logging, multiprocessing, os, signal, subprocess, sys, threading, time, warnings
    from sliphook_sdk import *

    # of Python 3.12 and later, about forks: it would be a line of the log
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    plugin = Plugin("torture", uses=["notify"])
    fork = multiprocessing.get_context("fork")

    def status_of(pid):
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    @plugin.hook("pre_tool_call")
    def guard(call):
        pid = os.fork()
        if pid == 0:
            return None
        return deny(f"child {status_of(pid)}")

    @plugin.on("turn_start")
    def told(turn, *, ctx):
        pid = os.fork()
        if pid == 0:
            return
        ctx.log("info", f"child {status_of(pid)}")

    @plugin.command
    def ends(how):
        pid = os.fork()
        if pid == 0:
            print("of the child", end="")
            if how == "raise":
                raise LookupError("in the child")
            sys.exit(int(how) if how.isdecimal() else how or None)
        return str(status_of(pid))

    @plugin.tool
    def speaks(*, ctx) -> str:
        pid = os.fork()
        if pid == 0:
            ctx.log("info", "logged", a=1)
            logging.info("logging")
            ctx.progress("half")
            try:
                ctx.notify("info", "hey")
            except RuntimeError as exc:
                print(exc)
            plugin.run()
        return str(status_of(pid))

    @plugin.tool
    def in_a_thread() -> str:
        pids = []
        def work():
            pids.append(os.fork())
            if pids[0] == 0:
                print("in a thread", flush=True)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return str(status_of(pids[0]))

    def sleep(queue):
        queue.put("started")
        time.sleep(60)

    @plugin.tool
    def worker(at_once: bool) -> str:
        queue = fork.SimpleQueue()
        process = fork.Process(target=sleep, args=(queue,))
        process.start()
        if not at_once:
            queue.get()
        process.terminate()
        process.join(120)
        return str(process.exitcode)

    @plugin.tool
    def before_exec() -> str:
        handler = "import signal; print(signal.getsignal(signal.SIGTERM) == signal.SIG_DFL)"
        command = [sys.executable, "-c", handler]
        return subprocess.run(command, preexec_fn=os.setsid, capture_output=True).stdout.decode()

    @plugin.tool
    def leaves_a_daemon() -> str:
        readable, writable = os.pipe()
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.close(0); os.close(2)
                os.write(writable, str(os.getpid()).encode())
                time.sleep(60)
            return "the one between"
        os.wait()
        return os.read(readable, 100).decode()

    @plugin.tool
    def child_of_a_child() -> str:
        readable, writable = os.pipe()
        if os.fork() == 0:
            # every number that the plugin has, as a daemon does, and files of its own under them
            os.closerange(3, writable)
            own = [os.open("/dev/zero", os.O_RDONLY) for _ in range(3, writable)]
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            if os.fork() == 0:
                still = [os.read(fd, 1) for fd in own if os.fstat(fd)] == [bytes(1)] * len(own)
                mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
                kept = signal.getsignal(signal.SIGTERM) == signal.SIG_IGN
                os.write(writable, repr((still, sorted(mask), kept)).encode())
                os._exit(0)
            os.wait()
            return "the one between"
        os.close(writable)
        os.wait()
        return os.read(readable, 100).decode()
"""


@pytest.fixture
def child(start_each: Start) -> Child:
    child = start_each(PLUGIN)
    child.initialize()
    return child


def content(child: Child, tool: str, **arguments: Any) -> str:
    return str(child.ask("tool/call", tool_call(tool, **arguments))["content"])


def test_the_guard_that_forks_is_the_one_that_answers(child: Child) -> None:
    for _ in range(3):
        answer = child.ask("hook/pre_tool_call", payload("pre_tool_call"))
        assert answer == {"decision": "deny", "reason": "child 0"}
    assert child.replies == {}


def test_an_event_runs_once(child: Child) -> None:
    child.notify("event/turn_start", payload("turn_start"))
    assert child.said("host/log")["message"] == "child 0"
    assert child.ask("ping", {}) == {}
    assert child.unasked == []


@pytest.mark.parametrize(
    ("how", "status", "printed"),
    [
        ("", "0", []),
        ("0", "0", []),
        ("7", "7", []),
        ("a reason", "1", ["a reason"]),
        ("raise", "1", ["LookupError: in the child"]),
    ],
)
def test_the_child_ends_as_a_program_does(
    child: Child, how: str, status: str, printed: list[str]
) -> None:
    assert child.ask("command/run", command("ends", how)) == {"text": status}
    child.close_input()
    assert child.ended() == 0
    said = child.stderr()
    assert "of the child" in said
    assert said.replace("of the child", "").splitlines()[-1:] == printed
    assert child.unasked == []


def test_the_child_says_nothing_to_the_host(child: Child) -> None:
    assert content(child, "speaks") == "1"
    child.close_input()
    assert child.ended() == 0
    assert child.unasked == []
    assert child.stray() == b""
    said = child.stderr().splitlines()
    assert said[:3] == [
        "info: logged {'a': 1}",
        "info: logging",
        "host/notify is for the plugin's own process, and not for its child",
    ]
    assert said[-1] == (
        "RuntimeError: plugin.run() is for the process that the host has started, "
        "and not for its child"
    )


def test_a_fork_in_a_thread_of_the_author(child: Child) -> None:
    assert content(child, "in_a_thread") == "0"
    child.close_input()
    assert child.ended() == 0
    assert child.stderr() == "in a thread\n"


@pytest.mark.parametrize("at_once", [False, True])
def test_terminate_ends_the_child_and_not_the_plugin(child: Child, at_once: bool) -> None:
    for _ in range(5):
        assert content(child, "worker", at_once=at_once) == "-15"
    child.terminate()  # and it still hears its own
    assert child.ended() == 0


def test_a_program_started_with_preexec_fn_has_the_handlers_of_a_program(child: Child) -> None:
    assert content(child, "before_exec") == "True\n"


def test_the_host_sees_the_end_of_a_plugin_that_leaves_a_daemon(child: Child) -> None:
    daemon = int(content(child, "leaves_a_daemon"))
    child.close_input()
    assert child.ended() == 0  # at the end of its output, which the daemon does not hold
    os.kill(daemon, signal.SIGKILL)


def test_what_a_child_has_is_what_its_own_children_have(child: Child) -> None:
    assert content(child, "child_of_a_child") == "(True, [], True)"
    child.close_input()
    assert child.ended() == 0
    assert child.stderr() == ""


ASYNC = """
    import asyncio, os
    from sliphook_sdk import *

    plugin = Plugin("torture")
    ran = []

    @plugin.tool
    async def forks(awaits: bool) -> str:
        pid = os.fork()
        if pid == 0:
            if awaits:
                await asyncio.sleep(0)
                os._exit(77)
            return "of the child"
        status = (await asyncio.to_thread(os.waitpid, pid, 0))[1]
        return str(os.waitstatus_to_exitcode(status))

    @plugin.tool
    async def beside(seconds: float) -> str:
        await asyncio.sleep(seconds)
        os.write(2, b"beside\\n")
        return "beside"
"""


def test_the_child_of_an_async_def_ends_at_its_end_or_its_next_await(start: Start) -> None:
    child = start(ASYNC)
    child.initialize()
    calls = [
        child.asking("tool/call", tool_call("beside", seconds=0)),
        child.asking("tool/call", tool_call("forks", awaits=True)),
        child.asking("tool/call", tool_call("beside", seconds=0)),
        child.asking("tool/call", tool_call("forks", awaits=False)),
        child.asking("tool/call", tool_call("beside", seconds=0.01)),
    ]
    child.write(*calls)
    assert [child.result(call["id"])["content"] for call in calls] == [
        "beside",
        "1",
        "beside",
        "0",
        "beside",
    ]
    child.close_input()
    assert child.ended() == 0
    assert sorted(child.stderr().splitlines()) == [
        "a forked child awaits something, but the event loop is the plugin's: the child ends here",
        *["beside"] * 3,
    ]


def test_a_child_of_multiprocessing_that_reaches_run_is_told_why(start: Start) -> None:
    child = start(
        """
        import multiprocessing
        from sliphook_sdk import *

        plugin = Plugin("torture")

        @plugin.tool
        def spawns() -> str:
            process = multiprocessing.get_context("spawn").Process(target=print)
            process.start()
            process.join()
            return str(process.exitcode)

        if __name__ == "__mp_main__":
            plugin.run()
        """
    )
    child.initialize()
    assert content(child, "spawns") == "1"
    child.close_input()
    assert child.ended() == 0
    assert "write it under `if __name__" in child.stderr()
