"""Programs that take their time."""

from __future__ import annotations

import time
from collections import Counter

import trio

from sliphook import PluginHost
from sliphook_sdk.protocol.payloads import UserPromptSubmit
from tests.torture.case import HASTY_S, Case, Workshop, nothing, on_hook, python
from tests.torture.inside import owes_a_reply
from tests.torture.stage import HEALTHY, Stage, check_healthy, make_all


def _late(name: str, body: str) -> Case:
    return Case(
        "time",
        name,
        "the hook ends at its deadline",
        on_hook(body, timeout_s=HASTY_S),
        "timed_out",
        restarts=0,
    )


def _hangs(name: str, body: str) -> Case:
    make = python(f"greet()\nif once():\n    id = hook()\n    {body}\nserve()", timeout_s=HASTY_S)
    return Case(
        "time",
        name,
        "found hanging, killed, started again",
        make,
        "timed_out",
        says="hangs: it owes an answer",
        act=_until_restarted,
    )


async def _until_restarted(stage: Stage) -> None:
    await stage.until(lambda: stage.bad.restarts == 1 and stage.bad.state == "ready", "the restart")


def _payload(number: int) -> UserPromptSubmit:
    return UserPromptSubmit(
        event_id=str(number),
        seq=number,
        time="2026-01-01T00:00:00.000Z",
        session_id="s",
        session_key=None,
        platform=None,
        user_id=None,
        cwd="/",
        turn_id=None,
        agent_id="a",
        parent_agent_id=None,
        agent_depth=0,
        meta=None,
        source="user",
        text="hello",
    )


_AT_THE_DEADLINE = python(
    """
    greet()
    os.set_blocking(0, False)
    due, number = [], 0
    while True:
        wait = max(0, due[0][0] - time.monotonic()) if due else None
        if select.select([0], [], [], wait)[0]:
            data = os.read(0, 65536)
            if not data:
                sys.exit(0)
            _unread += data
            *lines, _unread = _unread.split(b"\\n")
            for line in lines:
                if not line.startswith(b"{"):
                    continue
                message = json.loads(line)
                if str(message.get("method")).startswith("hook/"):
                    number += 1
                    in_s = message["params"]["timeout_s"] - .001 + number % 3 * .001
                    due.append((time.monotonic() + in_s, message["id"]))
                else:
                    polite(message)
        while due and due[0][0] <= time.monotonic():
            reply(due.pop(0)[1], {})
    """,
    timeout_s=0.05,
)


async def _at_the_deadline(shop: Workshop) -> None:
    """Ten thousand hooks, answered within a millisecond of their deadline: one outcome each."""
    (program,) = await trio.to_thread.run_sync(lambda: make_all(shop, _AT_THE_DEADLINE))
    counts: Counter[str] = Counter()

    async def some(host: PluginHost, first: int) -> None:
        for number in range(first, first + 100):
            outcome = await host.fire("user_prompt_submit", _payload(number))
            assert len(outcome.parts) == 1, outcome.parts
            counts[outcome.parts[0].status] += 1

    async with PluginHost(
        [program], data_home=shop.folder / "data", log_dir=shop.folder / "logs"
    ) as host:
        async with trio.open_nursery() as nursery:
            for first in range(0, 10_000, 100):
                nursery.start_soon(some, host, first)
        assert not owes_a_reply(host, "bad")
        assert [plugin.state for plugin in host.plugins] == ["ready"], host.plugins
    assert set(counts) <= {"answered", "timed_out"}, counts
    assert counts.total() == 10_000, counts


async def _fifty(shop: Workshop) -> None:
    """Fifty plugins hang in the same hook: it costs one timeout, the healthy answer is there."""
    makes = [
        python("greet()\nhook()\ntime.sleep(1000)", name=f"bad{number}", timeout_s=2.0)
        for number in range(50)
    ]
    programs = await trio.to_thread.run_sync(lambda: make_all(shop, *makes, HEALTHY))
    stage = Stage(shop)
    async with stage.open_host(programs) as host:
        assert {plugin.state for plugin in host.plugins} == {"ready"}, [
            (plugin.name, plugin.state, plugin.why) for plugin in host.plugins
        ]
        async with host.session() as stage.session:
            began = time.monotonic()
            outcome = await stage.ask()
            took = time.monotonic() - began
            check_healthy(outcome)
            assert Counter(part.status for part in outcome.parts) == {
                "timed_out": 50,
                "answered": 1,
            }, outcome.parts
            assert took < 50, f"it took {took:.1f} s, fifty timeouts are 100 s and one is 2 s"
            async with trio.open_nursery() as nursery:
                nursery.start_soon(stage.interrupt)
        host.kill()


CASES = (
    _late("over its deadline", "time.sleep(1)\nreply(id, {})"),
    _late("never answers", "pass"),
    _late("ignores the cancel", "while receive().get('method') != '$/cancelRequest': pass"),
    _late(
        "answers all but the hook",
        "for _ in range(20): send(method='host/log', params={'level': 'info', 'message': "
        "'busy'}); time.sleep(.02)",
    ),
    _late(
        "progress never extends",
        "for n in range(50): send(method='$/progress', params={'id': id, 'fraction': n / "
        "50}); time.sleep(.02)",
    ),
    _hangs("stopped by SIGSTOP", "os.kill(os.getpid(), signal.SIGSTOP)"),
    _hangs("spins", "os.nice(19)\n    while True: pass"),
    _hangs("sleeps for ever", "time.sleep(10_000)"),
    _hangs("deadlock", "lock = threading.Lock()\n    lock.acquire()\n    lock.acquire()"),
    Case(
        "time",
        "ten thousand at the deadline",
        "exactly one outcome each",
        nothing,
        scene=_at_the_deadline,
    ),
    Case("time", "fifty hang at once", "one timeout, not fifty", nothing, scene=_fifty),
)
