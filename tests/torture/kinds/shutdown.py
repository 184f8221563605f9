"""Programs that do not end when they are asked to."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Callable

import pytest
import trio

from sliphook import PluginHost
from tests.torture.case import Case, Make, Workshop, nothing, python
from tests.torture.inside import living
from tests.torture.stage import HEALTHY, Stage, make_all

_STUBBORN = python(
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\ngreet()\nwhile True: time.sleep(1000)"
)
_HOOKS = """
greet()
while True:
    message = receive()
    method = str(message.get('method'))
    if method.startswith('hook/'):
        reply(message['id'], {})
"""
LONG_S = 25.0
"""One stop takes under six seconds; twenty of them after each other take a hundred."""


def _ends(name: str, on_end: str) -> Case:
    """A program that answers hooks and runs `body` at `shutdown` (its `id`) and `exit` (None)."""
    body = _HOOKS + "    elif method in ('shutdown', 'exit'):\n        id = message.get('id')\n"
    body += textwrap.indent(textwrap.dedent(on_end).strip(), " " * 8)
    return Case("shutdown", name, "leaving the host ends it, in seconds", python(body), restarts=0)


async def _leave(
    shop: Workshop,
    makes: list[Make],
    leave: Callable[[PluginHost, trio.CancelScope], None],
    longest_s: float,
) -> None:
    programs = await trio.to_thread.run_sync(lambda: make_all(shop, *makes, HEALTHY))
    stage = Stage(shop)
    groups: list[int] = []
    began = time.monotonic()
    with trio.CancelScope() as agent:
        async with stage.open_host(programs) as host:
            assert {plugin.state for plugin in host.plugins} == {"ready"}, host.plugins
            groups += [plugin.pid for plugin in host.plugins if plugin.pid is not None]
            leave(host, agent)
            began = time.monotonic()
    took = time.monotonic() - began
    assert took < longest_s, f"it took {took:.1f} s"
    assert not living(groups), living(groups)


async def _twenty(shop: Workshop) -> None:
    makes = [
        python(
            "signal.signal(15, signal.SIG_IGN)\ngreet()\nwhile True: time.sleep(1000)",
            name=f"bad{number}",
        )
        for number in range(20)
    ]
    await _leave(shop, makes, lambda host, agent: None, LONG_S)


async def _cancelled_twice(shop: Workshop) -> None:
    """The agent is cancelled while the host closes: all steps of ending are taken all the same."""
    async with trio.open_nursery() as nursery:
        nursery.cancel_scope.deadline = trio.current_time() + 2.0

        def leave(host: PluginHost, agent: trio.CancelScope) -> None:
            agent.cancel()

        await _leave(shop, [_STUBBORN], leave, LONG_S)


async def _killed(shop: Workshop) -> None:
    """A user in a hurry: no asking."""
    await _leave(shop, [_STUBBORN], lambda host, agent: host.kill(), 5.0)


async def _killed_while_closing(shop: Workshop) -> None:
    """The second Ctrl+C comes while the first is being obeyed."""
    programs = await trio.to_thread.run_sync(lambda: make_all(shop, _STUBBORN, HEALTHY))
    stage = Stage(shop)

    async def hurry() -> None:
        await trio.sleep(0.2)
        stage.host.kill()

    async with trio.open_nursery() as nursery, stage.open_host(programs) as host:
        groups = [plugin.pid for plugin in host.plugins if plugin.pid is not None]
        nursery.start_soon(hurry)
    assert not living(groups), living(groups)


async def _raises(shop: Workshop) -> None:
    """An exception of the agent's leaves as it is."""
    programs = await trio.to_thread.run_sync(lambda: make_all(shop, _STUBBORN, HEALTHY))
    stage = Stage(shop)
    with pytest.raises(ZeroDivisionError, match="the agent's own"):
        async with stage.open_host(programs):
            raise ZeroDivisionError("the agent's own")
    assert not living(stage.sightings.pids), living(stage.sightings.pids)


CASES = (
    _ends("no answer", "if id is None: sys.exit(0)"),
    _ends("answers and stays", "if id is not None: reply(id)\nwhile True: time.sleep(1000)"),
    _ends("does not answer and stays", "while True: time.sleep(1000)"),
    _ends(
        "ignores SIGTERM",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: time.sleep(1000)",
    ),
    _ends("exits first", "sys.exit(0)"),
    _ends("exits with 9", "os._exit(9)"),
    _ends("segmentation fault at the end", "os.kill(os.getpid(), signal.SIGSEGV)"),
    _ends(
        "answers an error",
        "if id is None: sys.exit(0)\nsend(id=id, error={'code': -32603, 'message': 'no'})",
    ),
    _ends("answers nonsense", "raw(b'Content-Length: x\\r\\n\\r\\n')\ntime.sleep(1000)"),
    _ends(
        "10 MB on stdout at exit",
        "if id is not None: reply(id)\nelse:\n    raw(b'bye ' * 2_500_000)\n    sys.exit(0)",
    ),
    _ends(
        "10 MB on stderr at exit",
        "if id is not None: reply(id)\nelse:\n"
        "    for _ in range(160): os.write(2, b'bye ' * 16_384)\n    sys.exit(0)",
    ),
    _ends(
        "10 MB of messages at exit",
        """
        log = dump(method='host/log', params={'level': 'info', 'message': 'x' * 1000}) + b'\\n'
        for _ in range(10_000): raw(log)
        sys.exit(0)
        """,
    ),
    _ends(
        "a child stays",
        "subprocess.Popen(['sh', '-c', 'trap \"\" TERM HUP; sleep 1000'])\nsys.exit(0)",
    ),
    _ends("closes its pipes and stays", "os.closerange(0, 3)\ntime.sleep(1000)"),
    _ends(
        "asks the host",
        """
        params = {'level': 'info', 'message': 'm'}
        for n in range(50): send(id=f'q{n}', method='host/notify', params=params)
        if id is not None: reply(id)
        else: sys.exit(0)
        """,
    ),
    Case(
        "shutdown",
        "stopped at the end",
        "SIGKILL reaches it",
        python(
            "greet()\nreply(hook(), {})\nhook()\nos.kill(os.getpid(), signal.SIGSTOP)",
            timeout_s=2.0,
        ),
        restarts=0,
    ),
    Case(
        "shutdown",
        "does not end by EOF",
        "SIGTERM ends it",
        python("greet()\nreply(hook(), {})\nwhile True: time.sleep(1000)", timeout_s=2.0),
        restarts=0,
    ),
    Case(
        "shutdown",
        "cancelled twice",
        "the ladder is climbed all the same",
        nothing,
        scene=_cancelled_twice,
    ),
    Case("shutdown", "killed", "the host does not wait", nothing, scene=_killed),
    Case(
        "shutdown",
        "killed while closing",
        "the host does not wait",
        nothing,
        scene=_killed_while_closing,
    ),
    Case("shutdown", "the agent raises", "its exception leaves as it is", nothing, scene=_raises),
    Case(
        "shutdown",
        "twenty stubborn ones at once",
        "the slowest, not the sum",
        nothing,
        scene=_twenty,
    ),
)
