"""Programs that misuse their three pipes."""

from __future__ import annotations

from tests.heartbeat import unmeasured
from tests.torture.case import HASTY_S, PATIENT_S, Case, at_first, on_hook, python
from tests.torture.inside import log_files_lost
from tests.torture.stage import Stage


def _answered(name: str, promise: str, body: str, says: str | None = None) -> Case:
    return Case("pipes", name, promise, on_hook(body), says=says, restarts=0)


def _crashes(name: str, body: str, says: str, status: str = "crashed") -> Case:
    return Case(
        "pipes",
        name,
        "killed, told why, started again",
        at_first(body),
        status,
        says=says,
        restarts=1,
    )


async def _ask_much(stage: Stage) -> None:
    """Send it more than its pipe holds: the healthy one answers every time."""
    text = "x" * 200_000
    for _ in range(3):
        outcome = await stage.ask(text)
        assert [part.status for part in outcome.parts if part.plugin == "healthy"] == [
            "answered"
        ], outcome.parts
    await stage.until(lambda: stage.bad.restarts > 0, "the restart")


async def _tell_much(stage: Stage) -> None:
    """Tell it more than its queue holds; no task waits for it."""
    async with stage.session.turn("much") as turn:
        with unmeasured():
            for number in range(6_000):
                stage.session.hooks.tell("turn_start", turn, index=number, parent_turn_id=None)
    await stage.until(lambda: stage.bad.restarts > 0, "the restart")


async def _drop_much(stage: Stage) -> None:
    """Alerts may be lost: the queue stays bounded, and the loss is said."""
    with unmeasured():
        for number in range(6_000):
            stage.session.notification("info", f"alert {number}")
    assert stage.sightings.dropped > 1_000, stage.sightings.dropped
    await stage.until(lambda: stage.said("event/notification was lost"), "the word of the loss")


async def _log_is_clean(stage: Stage) -> None:
    """No line of the log, or of its file, steers a terminal or forges another."""
    await stage.until(lambda: stage.said("forged"), "the line")
    assert all(line.isprintable() for line in stage.log), [
        line for line in stage.log if not line.isprintable()
    ]
    file = stage.shop.folder / "logs" / "bad.log"
    await stage.until(
        lambda: file.exists() and "forged" in file.read_text(), "the line in the file"
    )
    lines = file.read_text().splitlines()
    assert all(line.isprintable() and line[:2] == "20" for line in lines), lines
    assert file.stat().st_mode & 0o777 == 0o600
    assert log_files_lost(stage.host) == 0


_HEARS_ALERTS = [{"event": "user_prompt_submit", "timeout_s": HASTY_S}, {"event": "notification"}]

CASES = (
    _answered(
        "flood on stderr",
        "drained, bounded, counted",
        "def flood():\n    end = time.monotonic() + 4\n"
        "    while time.monotonic() < end: os.write(2, b'noise ' * 10_000 + b'\\n' * 100)\n"
        "threading.Thread(target=flood, daemon=True).start()\ntime.sleep(1)\nreply(id, {})",
        "lines on stderr were left out",
    ),
    _answered(
        "20 MB on stderr without a line end",
        "drained, bounded",
        "for _ in range(320): os.write(2, b'x' * 65536)\nreply(id, {})",
    ),
    _crashes(
        "flood on stdout", "while True: raw(b'noise\\n' * 1000)", "stray|64", "protocol_error"
    ),
    _answered(
        "flood of notifications",
        "held back, the answer behind it comes",
        """
        log = dump(method='host/log', params={'level': 'info', 'message': 'm'}) + b'\\n'
        for _ in range(40): raw(log * 100)
        reply(id, {})
        """,
        "lines of log and progress were left out",
    ),
    _answered(
        "flood of requests",
        "every one is answered",
        """
        for n in range(3000):
            send(id=f'r{n}', method='no/such')
            if n % 50 == 49:
                for _ in range(50): assert receive_reply()['error']['code'] == -32601
        reply(id, {})
        """,
    ),
    _crashes(
        "asks and never reads",
        "n = 0\nwhile True:\n    n += 1\n"
        "    send(id=n, method='no/such', params={'a': 'x' * 2000})",
        "does not read|has not read",
    ),
    Case(
        "pipes",
        "never reads",
        "a stalled write ends it, the others are not held",
        python("greet()\nif once():\n    hook()\n    time.sleep(1000)\nserve()", timeout_s=HASTY_S),
        "timed_out",
        says="it has not read for 5 s|does not read",
        act=_ask_much,
    ),
    Case(
        "pipes",
        "never reads what may not be lost",
        "restarted rather than left without it",
        python("greet()\nif once():\n    hook()\n    time.sleep(1000)\nserve()", timeout_s=HASTY_S),
        "timed_out",
        says="does not read|has not read",
        act=_tell_much,
    ),
    Case(
        "pipes",
        "never reads what may be lost",
        "the oldest go, and it is said",
        python("greet()\nhook()\ntime.sleep(4)\nserve()", subscriptions=_HEARS_ALERTS),
        "timed_out",
        says="was lost",
        act=_drop_much,
    ),
    Case(
        "pipes",
        "closes stdin",
        "found at the next message, killed, started again",
        python(
            "greet()\nif once():\n    id = hook()\n    os.close(0)\n    reply(id, {})\n"
            "    time.sleep(1000)\nserve()"
        ),
        says="closed its standard input and lives on",
        act=lambda stage: stage.until(lambda: stage.bad.restarts == 1, "the restart"),
    ),
    _crashes(
        "closes stdout", "os.close(1)\ntime.sleep(1000)", "closed its standard output and lived on"
    ),
    _answered("closes stderr", "no failure", "os.close(2)\nreply(id, {})"),
    _crashes(
        "closes all three",
        "os.closerange(0, 3)\ntime.sleep(1000)",
        "closed its standard (output and lived|input and lives) on",
    ),
    Case(
        "pipes",
        "forged log lines",
        "no line of the log is forged or broken",
        on_hook(
            "os.write(2, b'\\x1b[2J\\rERROR sliphook: "
            "forged\\x85\\xe2\\x80\\xa8next\\xe2\\x80\\xaegnp\\0\\n')\n"
            "send(method='host/log', params={'level': 'info', 'message': "
            "'forged\\n2026-01-01 error: x\\x1b]0;title\\x07'})\n"
            "raw(b'forged \\x1b[31m\\n')\nreply(id, {})"
        ),
        restarts=0,
        act=_log_is_clean,
    ),
    Case(
        "pipes",
        "does not flush",
        "ends at its deadline",
        on_hook(
            "sys.stdout = os.fdopen(1, 'w', 65536, closefd=False)\n"
            "print(dump(id=id, result={}).decode())",
            timeout_s=HASTY_S,
        ),
        "timed_out",
    ),
    _answered(
        "stdout made non-blocking",
        "no failure",
        "os.set_blocking(1, False)\nos.set_blocking(0, False)\nreply(id, {})\n"
        "os.set_blocking(0, True)\nos.set_blocking(1, True)",
    ),
    _answered(
        "stderr on stdout",
        "told as stray output",
        "os.dup2(1, 2)\nprint('warning: on the wrong pipe', file=sys.stderr, flush=True)\n"
        "reply(id, {})",
        "on the wrong pipe",
    ),
    Case(
        "pipes",
        "a pipe of one page",
        "no failure",
        python(
            """
            import fcntl, socket
            try:
                for descriptor in (0, 1):
                    fcntl.fcntl(descriptor, 1031, 4096)  # F_SETPIPE_SZ
            except OSError:  # they are sockets, whose room is the sender's
                socket.socket(fileno=os.dup(1)).setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
            greet()
            serve()
            """,
            timeout_s=PATIENT_S,
        ),
        restarts=0,
    ),
)
