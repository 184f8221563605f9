"""A request that was given up holds no later turn, whatever that turn asks."""

# An interrupt leaves a turn's block early; these tests know where it does.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

from functools import partial

import pytest
import trio
import trio.testing

from sliphook import PluginHost
from tests.programs import WAIT_S, Workshop, until

SLOW_STOP = [{"event": "stop", "timeout_s": 300}]

ONE_THREAD = "if method == 'hook/stop' and set_flag('stuck'): time.sleep(10_000)"
"""It works on the request to its end before it reads on, as a script of the shell does."""

READER_LIVES = """
    if method == 'hook/stop':
        threading.Thread(target=work, args=(id,), daemon=True).start()
        return NOTHING
"""
WITH_ONE_WORKER = """
import threading
lane = threading.Lock()
def work(id):
    with lane:
        if set_flag('stuck'): time.sleep(10_000)
        reply(id, {})
"""


def _problem(problems: list[str], _: str, text: str) -> None:
    """Keep what is said of the plugin itself; work that goes on is told too."""
    if "told to stop" not in text and "still ran" not in text:
        problems.append(text)


@pytest.mark.parametrize(
    ("on", "before", "says"),
    [
        (ONE_THREAD, "", "hangs: it owes an answer"),
        (READER_LIVES, WITH_ONE_WORKER, "is stuck: its answer to hook/stop has been overdue for"),
    ],
    ids=["one thread", "a reader and one worker"],
)
async def test_the_plugin_is_killed_after_fifteen_seconds_and_works_again(
    shop: Workshop, mock_clock: trio.testing.MockClock, on: str, before: str, says: str
) -> None:
    mock_clock.rate = 1.0  # the plugin is a real process; the test jumps
    plugin = shop.program(on=on, before=before, subscriptions=SLOW_STOP)
    problems: list[str] = []
    jumped_s = 0
    with trio.fail_after(WAIT_S + 60):
        async with PluginHost([plugin.path], on_problem=partial(_problem, problems)) as host:
            async with host.session() as session, trio.open_nursery() as nursery:
                async with session.turn("one") as turn:
                    nursery.start_soon(turn.stop)
                    await until(shop.flag("stuck").exists)
                    session.interrupt("user_stop", "stop_command")
                    since_s = trio.current_time()
                ended = trio.Event()

                async def next_turn() -> None:
                    async with session.turn("two") as turn:
                        assert await turn.stop() is None
                    ended.set()

                nursery.start_soon(next_turn)
                await plugin.hears("$/cancelRequest") if before else None
                while not problems:
                    # first: the watch begins when `interrupt()` has returned
                    await trio.sleep(0.02)
                    if jumped_s < 16:
                        mock_clock.jump(1.0)
                        jumped_s += 1
                after_s = trio.current_time() - since_s
                await ended.wait()
                async with session.turn("three") as turn:
                    assert await turn.stop() is None
            assert [status.state for status in host.plugins] == ["ready"]
    assert says in problems[0]
    # what is over 16 s is the machine's: its own time, as the clock goes on
    assert 15 <= after_s < 30
    # the second one was lost with the first process, the third one was answered by the next
    assert plugin.methods().count("initialize") == 2


async def test_one_that_answers_the_cancel_is_left_alone(
    shop: Workshop, mock_clock: trio.testing.MockClock
) -> None:
    """Its handlers do not hold each other, and a long one may take its time."""
    mock_clock.rate = 1.0
    plugin = shop.program(
        subscriptions=SLOW_STOP,
        before="""
asked = []
def heard(message):
    if message.get('method') == '$/cancelRequest':
        send(id=message['params']['id'], error={'code': -32800, 'message': 'request cancelled'})
    elif message.get('method') == 'event/notification' and asked:
        reply(asked.pop(), {})
""",
        on="if method == 'hook/stop':\n    asked.append(id)\n    return NOTHING",
        hears=["notification"],
    )
    problems: list[str] = []
    with trio.fail_after(WAIT_S + 200):
        async with (
            PluginHost([plugin.path], on_problem=partial(_problem, problems)) as host,
            host.session() as session,
            trio.open_nursery() as nursery,
        ):
            async with session.turn("one") as turn:
                nursery.start_soon(turn.stop)
                await plugin.hears("hook/stop")
                session.interrupt("user_stop", "stop_command")
            async with session.turn("two") as turn:
                nursery.start_soon(turn.stop)
                await plugin.hears("hook/stop", times=2)
                for _ in range(100):
                    mock_clock.jump(1.0)
                    await trio.sleep(0.01)
                session.notification("info", "go on", "agent")
    # on a busy machine the clock may jump before its answer to the cancel is read
    assert [one for one in problems if "went on with its handler" not in one] == []
