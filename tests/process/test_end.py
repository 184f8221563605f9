"""Closing a host: politely first, then less so, all plugins at once, and nothing is left."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import pytest
import trio

from sliphook import PluginHost
from sliphook.process import spawn as spawning
from tests.programs import EVERYTHING, WAIT_S, Workshop, group_lives, stop, until

GRACE_S = 0.3
SHUTDOWN, EXIT, TERM = GRACES = ("SHUTDOWN_TIMEOUT_S", "EXIT_GRACE_S", "TERM_GRACE_S")


@pytest.fixture
def short_graces(monkeypatch: pytest.MonkeyPatch) -> None:
    """The steps of the ladder, shorter, so that the test sees all of it and is quick."""
    for name in GRACES:
        monkeypatch.setattr(f"sliphook.process.shutdown.{name}", GRACE_S)


IGNORES_TERM = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"
NOTES_TERM = (
    "signal.signal(signal.SIGTERM, lambda *_: (record({'method': 'SIGTERM'}), os._exit(0)))"
)
GRANDCHILD = f"if os.fork() == 0:\n    {IGNORES_TERM}\n    time.sleep(30)\n    os._exit(0)"

SHAKES_HANDS = "reply(receive()['id'], MANIFEST)\n"
STAYS = "while True: time.sleep(30)"
ENDS_AT_EOF = """
while True:
    message = receive()
    if "id" in message:
        reply(message["id"], MANIFEST if message["method"] == "initialize" else None)
"""
ENDS_AT_EXIT = """
while receive()["method"] != "exit":
    pass
"""
WRITES_MUCH = """
message = receive()
for _ in range(10_000):
    raw(b"y" * 1000 + b"\\n")
    os.write(2, b"y" * 100 + b"\\n")
reply(message["id"], None)
"""

# how it behaves: what runs first, its main program, which graces its end takes
LADDER: dict[str, tuple[str, str, tuple[str, ...] | None]] = {
    "ends when asked": ("", "serve()", ()),
    "ends at EOF only": ("", ENDS_AT_EOF, ()),
    "does not answer shutdown, ends at exit": ("", SHAKES_HANDS + ENDS_AT_EXIT, (SHUTDOWN,)),
    "answers and stays": (
        NOTES_TERM,
        f"{SHAKES_HANDS}reply(receive()['id'], None)\n{STAYS}",
        (EXIT,),
    ),
    "hangs, ends at SIGTERM": (NOTES_TERM, SHAKES_HANDS + STAYS, (SHUTDOWN, EXIT)),
    "ignores SIGTERM": (IGNORES_TERM, SHAKES_HANDS + STAYS, GRACES),
    "exits first": ("", f"{SHAKES_HANDS}receive()\nos._exit(0)", ()),
    "dies of the shutdown": (
        "",
        f"{SHAKES_HANDS}receive()\nos.kill(os.getpid(), signal.SIGSEGV)",
        (),
    ),
    "writes 10 MB at the end": ("", SHAKES_HANDS + WRITES_MUCH, ()),
    "leaves a grandchild that holds the pipes": (GRANDCHILD, "serve()", ()),
    "closes its input first": ("", f"{SHAKES_HANDS}os.close(0)\n{STAYS}", None),
}


@pytest.mark.usefixtures("patient_ends")
@pytest.mark.parametrize("case", LADDER)
async def test_the_ladder(shop: Workshop, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The graces that it takes are short; any other one would take as long as a wait may."""
    before, main, graces = LADDER[case]
    for name in GRACES if graces is None else graces:
        monkeypatch.setattr(f"sliphook.process.shutdown.{name}", GRACE_S)
    probe = shop.program(before=before, main=main)
    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path]) as host:
            pid = host.plugins[0].pid
            assert pid is not None
            began = time.monotonic()
        took_s = time.monotonic() - began
    await until(lambda: not group_lives(pid))
    if graces is not None:
        assert len(graces) * GRACE_S <= took_s < WAIT_S, took_s
    if "SIGTERM" in before and "SIG_IGN" not in before:
        assert probe.methods()[-1] == "SIGTERM"


@pytest.mark.usefixtures("short_graces")
async def test_a_stopped_one_ends_all_the_same(shop: Workshop) -> None:
    probe = shop.program(hears=EVERYTHING)
    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path]) as host, host.session():
            pid = host.plugins[0].pid
            assert pid is not None
            stop(pid)
    await until(lambda: not group_lives(pid))


@pytest.mark.usefixtures("short_graces")
async def test_all_at_once(shop: Workshop) -> None:
    """Twelve that have to be killed take as long as one."""
    programs = [
        shop.program(f"p{number}", before=IGNORES_TERM, main=SHAKES_HANDS + STAYS)
        for number in range(12)
    ]
    with trio.fail_after(WAIT_S):
        async with PluginHost([program.path for program in programs]) as host:
            pids = [plugin.pid for plugin in host.plugins]
            began = time.monotonic()
        assert time.monotonic() - began < 12 * 3 * GRACE_S  # one after the other
    assert not any(group_lives(pid) for pid in pids if pid is not None)
    assert None not in pids


async def test_in_a_hurry(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    """`kill` ends plugins at once, whether they are stopping, ready or still being started."""
    for name in ("SHUTDOWN_TIMEOUT_S", "EXIT_GRACE_S", "TERM_GRACE_S"):
        monkeypatch.setattr(f"sliphook.process.shutdown.{name}", 30.0)
    probe = shop.program(before=IGNORES_TERM, main=SHAKES_HANDS + STAYS)
    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path]) as host:
            host.kill()

        async def kill_when_stopping() -> None:
            await until(lambda: host.plugins[0].state == "stopping")
            host.kill()

        async with trio.open_nursery() as nursery, PluginHost([probe.path]) as host:
            nursery.start_soon(kill_when_stopping)

        async def kill_and_spawn(*args: Any, **options: Any) -> Any:
            host.kill()
            return await spawn(*args, **options)

        spawn = spawning.spawn
        monkeypatch.setattr("sliphook.plugin.launch.spawn", kill_and_spawn)
        host = PluginHost([probe.path])
        async with host:
            pass
    assert host.plugins[0].state == "stopped"


@pytest.mark.usefixtures("patient_ends")
async def test_the_last_words_are_read(shop: Workshop) -> None:
    """What a plugin logs and what it prints while it ends is not lost."""
    said: list[tuple[str, str]] = []
    probe = shop.program(
        main="""
        reply(receive()["id"], MANIFEST)
        message = receive()
        send(method="host/log", params={"level": "info", "message": "flushed 3 records"})
        os.write(2, b"good bye")
        reply(message["id"], None)
        """
    )
    with trio.fail_after(WAIT_S):
        async with PluginHost(
            [probe.path], on_log=lambda _, level, line: said.append((level, line))
        ):
            pass
    assert ("info", "flushed 3 records") in said
    assert ("stderr", "good bye") in said


@pytest.mark.usefixtures("patient_ends")
async def test_the_events_of_the_end_come_before_the_shutdown(shop: Workshop) -> None:
    """The plugin reads slowly; everything that waits for it is still said."""
    slow = shop.program(hears=EVERYTHING, before="def heard(message):\n    time.sleep(0.001)")
    with trio.fail_after(WAIT_S):
        async with PluginHost([slow.path]) as host, host.session() as session:
            for _ in range(50):
                async with session.turn("hello"):
                    pass
    assert slow.names() == ["session_start", *["turn_start", "turn_end"] * 50, "session_end"]
    assert slow.methods()[-2:] == ["shutdown", "exit"]


async def test_opened_and_closed_many_times_nothing_adds_up(shop: Workshop) -> None:
    """Tasks and threads; the descriptors are compared by the fixture of all these tests."""
    programs = [
        shop.program("good", hears=EVERYTHING, tools=["look"]),
        shop.program("bad", main="sys.exit(1)"),
        shop.program("gone"),
    ]
    programs[2].path.unlink()
    with trio.fail_after(WAIT_S):
        counts: set[int] = set()
        for _ in range(4):
            async with (
                PluginHost([program.path for program in programs]) as host,
                host.session() as session,
                session.turn("hello") as turn,
            ):
                await turn.call_tool("look", {})
            counts.add(trio.lowlevel.current_statistics().tasks_living)
            assert (
                trio.lowlevel.current_statistics().io_statistics.tasks_waiting_read == 1
            )  # trio's own wake-up
    assert len(counts) == 1


async def test_a_death_while_the_host_closes(shop: Workshop) -> None:
    for _ in range(3):
        probe = shop.program(hears=EVERYTHING, tools=["look"])
        with trio.fail_after(WAIT_S):
            async with (
                PluginHost([probe.path]) as host,
                host.session() as session,
                session.turn("hello") as turn,
            ):
                await turn.submit()
                pid = host.plugins[0].pid
                assert pid is not None
                os.kill(pid, signal.SIGKILL)
        await until(lambda pid=pid: not group_lives(pid))  # type: ignore[misc]
        assert host.plugins[0].state == "stopped"
