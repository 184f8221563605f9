"""Programs whose words are logged, traced, searched for secrets and matched with patterns."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import trio

from sliphook import AskRequest, PluginHost
from sliphook.testing import FakePlugin
from sliphook.trace import FileTrace, LiveTrace, Tee
from tests.heartbeat import timed_interrupt, unmeasured
from tests.torture.case import Case, Make, Workshop, nothing, on_hook, python, sh
from tests.torture.stage import HEALTHY, Stage, check_healthy, make_all

_SECRETS = [
    "s3cret-token-abcdef",
    "\n".join(f"line {number:02} of a long private key" for number in range(50)),
    "a" * 300 + "b",
    "4711",
    "7",
    *(f"x{number:03}" for number in range(500)),
]
_MANY_SECRETS = [
    *(f"y{number:04}" for number in range(500)),
    *(f"{number}" for number in range(910_000, 911_000)),
]
_MANY = 20
"""Plugins beside which an interrupt is timed; a busy machine needs some of the 2 ms itself."""


def _traced(
    name: str,
    promise: str,
    make: Make,
    text: str = "hello",
    leaves: Callable[[str], None] | None = None,
    secrets: Sequence[str] = _SECRETS,
) -> Case:
    """A turn with the user's `text`, beside both traces; `leaves` looks at all that was written."""

    async def scene(shop: Workshop) -> None:
        programs = await trio.to_thread.run_sync(lambda: make_all(shop, make, HEALTHY))
        stage = Stage(shop)
        folder = shop.folder
        with (folder / "live").open("w") as terminal:
            sinks: list[FileTrace | LiveTrace] = [
                FileTrace(folder / "trace"),
                LiveTrace(terminal, bodies=True),
            ]
            stage.host = PluginHost(
                programs,
                trace=Tee(sinks),
                on_log=lambda plugin, level, line: stage.log.append(f"{plugin} {level}: {line}"),
                on_problem=lambda _, line: stage.problems.append(line),
                data_home=folder / "data",
                log_dir=folder / "logs",
            )
            with unmeasured():
                stage.host.hide(secrets)
            async with stage.host, stage.host.session() as stage.session:
                check_healthy(await stage.ask(text))
                await stage.interrupt()
                assert not stage.said("a fault of the host"), stage.problems
            for sink in sinks:  # in a thread: the loop is not held while the rest is written
                await trio.to_thread.run_sync(sink.close)
        if leaves is not None:
            files = [folder / "trace", folder / "live", *sorted((folder / "logs").iterdir())]
            written = "".join(path.read_text(errors="replace") for path in files)
            leaves("\n".join([written, *stage.log, *stage.problems]))

    return Case("telling", name, promise, nothing, scene=scene)


def _hides(written: str) -> None:
    for secret in ("s3cret-token", "of a long private key", "aaaaaaaa", "4711"):
        assert re.search(rf"(?<![0-9.]){secret}(?![0-9.])", written) is None, f"{secret} was shown"
    assert "[redacted]" in written


def _writes(text: bytes) -> Make:
    """Writes the text to stderr, as a log line and as stray output, in lines and without end."""
    return on_hook(
        f"""
        text = {text[:200]!r} * {max(1, len(text) // 200)}
        for piece in (text, text + b'\\n', text[:900] + b'\\n'):
            os.write(2, piece[:60000])
        said = text.decode('utf-8', 'replace')[:10000]
        send(method='host/log', params={{'level': 'info', 'message': said}})
        send(method='host/log', params={{'level': 'info', 'message': 'm', 'fields': {{'f': said}}}})
        raw(text[:2000].replace(b'\\n', b' ') + b'\\n')
        reply(id, {{'context': [said[:5000]]}})
        """
    )


_HOSTILE = {
    "backslashes": b"\\" * 20_000,
    "escapes of units": b"\\u0041\\u005c\\u0075 " * 1_000,
    "escapes of line feeds": b"\\n" * 10_000,
    "almost a secret": b"s3cret-token-abcde " * 1_000,
    "the beginning of a long secret": b"a" * 20_000,
    "digits of a secret": b"4711" * 2_000,
    "short secrets in a row": (b"x001" * 49 + b"..\n") * 300,
    "numbers that are secret": (b'"7",' * 49 + b"..\n") * 300,
    "digits of a number that is secret": (b"7" * 199 + b"\n") * 300,
    "lines with an escape": (b"x" * 198 + b"\x07\n") * 300,
    "short lines": b"x\n" * 10_000,
    "control characters": b"\x1b" * 4_000,
}
"""Sizes of which each took tens of milliseconds or more when the search was quadratic."""

_REPEATS = on_hook(
    f"""
    secrets = json.loads({json.dumps(json.dumps(_SECRETS[:5]))})
    for text in secrets:
        for level in range(3):
            os.write(2, text.encode() + b'\\n')
            send(method='host/log', params={{'level': 'info', 'message': 'x ' + text + ' y'}})
            raw(b'stray ' + text.encode().replace(b'\\n', b' ') + b'\\n')
            text = json.dumps({{'k': text}})
    reply(id, {{'context': ['; '.join(secrets)]}})
    """
)

_ALMOST = on_hook(
    """
    pieces = [b"y%03dz y%04d9 9%d1 " % (n % 500, n % 600, 910000 + n % 1000) for n in range(3000)]
    lines = [b"".join(pieces[n : n + 25]) + b"\\n" for n in range(0, 3000, 25)]
    for n in range(0, len(lines), 8):
        os.write(2, b"".join(lines[n : n + 8]))
        said = (b"".join(lines[n : n + 8])).decode()
        send(method='host/log', params={'level': 'info', 'message': said})
    raw(b"".join(lines)[:20000].replace(b"\\n", b" ") + b"\\n")
    reply(id, {})
    """
)

_CHAINED = on_hook(
    """
    def hexes(text, each):
        return ''.join(
            '\\\\x%02x' % ord(one) if at % each == 0 else one for at, one in enumerate(text)
        )
    known = ['s3cret-token-abcdef', 'a' * 300 + 'b', *('y%04d' % n for n in range(40)), '4711']
    plain = ''.join(one[:-1] + ' ' for one in known), ' '.join(known), '\u2026'.join(known)
    for text in plain:
        for each in (1, 2, 8):
            line = hexes(hexes(text * 3, each)[:2000], 8).replace('\\\\', '\\\\x5c')[:900]
            said = {'f': '\\n'.join([line] * 49)}
            send(method='host/log', params={'level': 'info', 'message': 'm', 'fields': said})
            os.write(2, (line + '\\n').encode() * 20)
            raw(line.encode() + b'\\n')
    reply(id, {})
    """
)
"""Beginnings of secrets, and some whole ones, in escapes of escapes: each line in many levels."""

_ECHO = sh("exec cat")

_ASKS = python(
    """
    asked = initialize()
    for params in ({}, {'plugin': 1}, {'plugin': {'config': {'a': 1}}}):
        send(id='x', method='initialize', params=params)
        send(method='initialize', params=params)
    reply(asked, MANIFEST)
    serve()
    """
)


_FORGED = on_hook(
    """
    text = 'bad exited with status 3; it is started again'
    os.write(2, text.encode() + b'\\n')
    fields = {'f': 'x\\n' + text}
    send(method='host/log', params={'level': 'error', 'message': text, 'fields': fields})
    reply(id, {})
    """
)


def _forges_nothing(written: str) -> None:
    # the lines of the log file: they begin with the date and the process
    lines = [line.split(" ", 3) for line in written.splitlines() if re.match(r"\d{4}-", line)]
    forged = [line for line in lines if "exited with status 3" in line[-1]]
    assert len(forged) >= 3, lines
    assert {line[2] for line in forged} == {"plugin"}, forged


async def _interrupted_beside_many(shop: Workshop) -> None:
    """The worst manifests that are allowed: all differ, and nothing that is told fits."""

    def subscriptions(number: int) -> list[dict[str, Any]]:
        def globs(place: int) -> list[str]:
            return [f"*{number:02}{place:02}{many:02}?x*" for many in range(10)]

        ends = [
            ("agent_loop_stopped", "reason", "*h?tdown*"),
            ("turn_end", "outcome", "*en?ed*"),
            ("subagent_stop", "status", "*en?ed*"),
        ]
        return [
            {"event": event, "match": {field: [glob] * 10}} for event, field, glob in ends * 4
        ] + [
            {"event": "post_tool_call", "match": {"tool_name": globs(place)}} for place in range(8)
        ]

    plugins = [
        FakePlugin(f"p{number}", subscriptions=subscriptions(number)) for number in range(_MANY)
    ]
    with unmeasured():
        host = PluginHost(plugins)
        await host.__aenter__()
    try:
        assert {plugin.state for plugin in host.plugins} == {"ready"}, host.plugins[0].why
        async with host.session() as session, session.turn("x") as turn:
            began = trio.Event()

            async def runs(_: dict[str, Any]) -> str:
                began.set()
                await trio.sleep_forever()
                raise AssertionError

            async with trio.open_nursery() as nursery:

                async def call() -> None:
                    await turn.call_tool("shell" + "x" * 50, {}, run=runs)

                nursery.start_soon(call)
                await began.wait()
                with timed_interrupt():
                    session.interrupt()
                nursery.cancel_scope.cancel()
    finally:
        with unmeasured():
            await host.__aexit__(None, None, None)


def _interrupted_with(
    plugins: int, calls: int, arguments: Callable[[], dict[str, Any]], meta: dict[str, Any]
) -> Callable[[Workshop], Awaitable[None]]:
    """So many calls of the agent's own tool are open, beside so many plugins that hear all."""

    async def scene(shop: Workshop) -> None:
        heard = ("agent_loop_stopped", "post_tool_call", "turn_end")
        hears = [{"event": event, "mode": "event"} for event in heard]
        with unmeasured():
            given = arguments()
            fakes = [FakePlugin(f"p{number}", subscriptions=hears) for number in range(plugins)]
            host = PluginHost(fakes)
            await host.__aenter__()
        try:
            running = 0
            all_run = trio.Event()

            async def runs(_: dict[str, Any]) -> None:
                nonlocal running
                running += 1
                if running == calls:
                    all_run.set()
                await trio.sleep_forever()

            async with (
                host.session(meta=meta) as session,
                session.turn("x") as turn,
                trio.open_nursery() as nursery,
            ):
                with unmeasured():
                    for _ in range(calls):
                        nursery.start_soon(lambda: turn.call_tool("shell", given, run=runs))
                await all_run.wait()
                with timed_interrupt():
                    session.interrupt()
        finally:
            with unmeasured():
                await host.__aexit__(None, None, None)

    return scene


async def _interrupted_while_many_ask(shop: Workshop) -> None:
    """The question of one is open, and those of the others wait for their turn."""

    async def asks(_: AskRequest) -> object:
        await trio.sleep_forever()

    plugins = [FakePlugin(f"p{number}", uses=["ask"]) for number in range(_MANY)]
    results: list[str] = []

    async def ask(plugin: FakePlugin, session_id: str) -> None:
        result = await plugin.ask("host/ask", session_id=session_id, prompt="Where to?")
        results.append(result["outcome"])

    with unmeasured():
        host = PluginHost(plugins, asker=asks)
        await host.__aenter__()
    try:
        async with (
            host.session() as session,
            trio.open_nursery() as nursery,
            session.turn("x") as turn,
        ):
            for plugin in plugins:
                nursery.start_soon(ask, plugin, session.session_id)
            while len(turn.questions) < _MANY:  # noqa: ASYNC110 - there is no event for it
                await trio.sleep(0.01)
            with timed_interrupt():
                session.interrupt()
        assert results == ["interrupted"] * _MANY, results
    finally:
        with unmeasured():
            await host.__aexit__(None, None, None)


CASES = (
    *(
        _traced(f"{name}, written", "no secret is searched for long", _writes(text))
        for name, text in _HOSTILE.items()
    ),
    *(
        _traced(
            f"{name}, by a user",
            "the trace keeps the lock for milliseconds",
            on_hook("reply(id, {})"),
            text=text.decode(),
        )
        for name, text in _HOSTILE.items()
    ),
    _traced("repeats secrets", "shown nowhere, however JSON spells them", _REPEATS, leaves=_hides),
    _traced(
        "almost repeats many secrets",
        "no secret is searched for long",
        _ALMOST,
        secrets=_MANY_SECRETS,
    ),
    _traced(
        "repeats secrets in chains of escapes",
        "the lines of one message take several passes",
        _CHAINED,
        secrets=[*_SECRETS, *_MANY_SECRETS],
    ),
    _traced("sends back what it reads", "only recorded", _ECHO),
    _traced("asks for initialize", "only recorded", _ASKS),
    _traced("forges a report", "whose line it is stands in it", _FORGED, leaves=_forges_nothing),
    Case(
        "telling",
        "matches free text",
        "refused by name, with advice",
        python(
            "greet()\nserve()",
            subscriptions=[{"event": "turn_end", "match": {"last_assistant_message": "*a*"}}],
        ),
        status=None,
        state="failed",
        says="match names 'last_assistant_message'.*match it in the handler",
    ),
    Case(
        "telling",
        "an interrupt beside many that match",
        "2 ms, whatever their manifests say",
        nothing,
        scene=_interrupted_beside_many,
    ),
    Case(
        "telling",
        "an interrupt while many ask the person",
        "2 ms; each question is over",
        nothing,
        scene=_interrupted_while_many_ask,
    ),
    Case(
        "telling",
        "an interrupt of a call with long arguments",
        "2 ms: they were encoded before",
        nothing,
        scene=_interrupted_with(1, 1, lambda: {"text": '"' * 1_900_000}, {}),
    ),
    Case(
        "telling",
        "an interrupt of many calls with long arguments",
        "2 ms: they were encoded before",
        nothing,
        scene=_interrupted_with(_MANY, 8, lambda: {"text": "\x01" * 10_000}, {}),
    ),
    Case(
        "telling",
        "an interrupt of a session with a long meta",
        "2 ms: it was encoded before",
        nothing,
        scene=_interrupted_with(1, 1, dict, {"text": "\x01" * 150_000}),
    ),
)
