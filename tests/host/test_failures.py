"""What a plugin does wrong costs that plugin its answer, and no other plugin anything."""

# An interrupt leaves a turn's block early; these tests know where it does.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

import re
import time

import pytest
import trio

from sliphook import PluginHost
from sliphook.transport.silence_watch import SilenceWatch
from tests.programs import WAIT_S, Workshop

from .guarding import QUICK_S, ask, guarding

FAULTS = {
    "hangs": ("return NOTHING", "timed_out", r"no answer within 0\.2 s"),
    "answers an error": (
        'send(id=id, error={"code": 7, "message": "full"})\nreturn NOTHING',
        "refused_answer",
        r"full \(7\)",
    ),
    "answers a broken error": (
        'send(id=id, error={"code": "seven"})\nreturn NOTHING',
        "refused_answer",
        "not valid",
    ),
    "answers result and error": (
        'send(id=id, result={}, error={"code": 7, "message": ""})\nreturn NOTHING',
        "refused_answer",
        "not valid",
    ),
    "answers neither": (
        "send(id=id)\nreturn NOTHING",
        "refused_answer",
        "neither a method, a result nor an error",
    ),
    "answers a list": ("return []", "refused_answer", "must be an object or null, not list"),
    "answers true": ("return True", "refused_answer", "must be an object or null, not bool"),
    "answers a number that no double can be": (
        'raw(b\'{"jsonrpc":"2.0","id":%d,"result":1.9e400}\\n\' % id)\nreturn NOTHING',
        "refused_answer",
        "must be an object or null, not number",
    ),
    "answers too much with an id that is no JSON": (
        'raw(b\'{"jsonrpc":"2.0","id":00%d,"result":"\' % id + b"x" * 9_000_000 + b\'"}\\n\')\n'
        "return {'decision': 'block'}",
        "refused_answer",
        "block",
    ),
    "misspells decision": (
        'return {"desicion": "allow"}',
        "refused_answer",
        "did you mean decision",
    ),
    "decides twice": (
        'raw(b\'{"jsonrpc":"2.0","id":%d,"result":{"decision":"deny","decision":"allow"}}\\n\' % id)\n'
        "return NOTHING",
        "refused_answer",
        "it has the name 'decision' twice",
    ),
    "decides twice, once in escapes": (
        r"""raw(b'{"jsonrpc":"2.0","id":%d,"result":' % id)"""
        "\n"
        r"""raw(rb'{"decision":"deny","\u0064ecision":"allow"}}' + b'\n')"""
        "\nreturn NOTHING",
        "refused_answer",
        "it has the name 'decision' twice",
    ),
    "has a name twice deep inside": (
        'raw(b\'{"jsonrpc":"2.0","id":%d,"result":{"_meta":[{"a":1,"a":1}]}}\\n\' % id)\n'
        "return NOTHING",
        "refused_answer",
        "it has the name 'a' twice",
    ),
    "answers with two results": (
        'raw(b\'{"jsonrpc":"2.0","id":%d,"result":null,"result":{"decision":"allow"}}\\n\' % id)\n'
        "return NOTHING",
        "refused_answer",
        "it has the name 'result' twice",
    ),
    "decides what there is not": ('return {"decision": "block"}', "refused_answer", "block"),
    "uses a field that is not allowed there": (
        'return {"continue_with": "more"}',
        "refused_answer",
        "takes no continue_with",
    ),
    "replaces without having said so": (
        'return {"replace": {"arguments": {}}}',
        "refused_answer",
        "only a subscription with replaces",
    ),
    "exits": ("os._exit(3)", "crashed", "exited with status 3"),
    "exits with a last word": (
        'os.write(2, b"no \\x1b[31mdisk\\n")\nos._exit(3)',
        "crashed",
        r"no \\x1b\[31mdisk",
    ),
    "dies by a signal": ("os.kill(os.getpid(), signal.SIGSEGV)", "crashed", "killed by SIGSEGV"),
    "kills its whole group": ("os.killpg(0, signal.SIGKILL)", "crashed", "killed by SIGKILL"),
    "sends nonsense in a frame": (
        'raw(b"Content-Length: 4\\r\\n\\r\\n}}}}")\nreturn NOTHING',
        "protocol_error",
        "JSON",
    ),
    "sends a bad length": (
        'raw(b"Content-Length: -4\\r\\n\\r\\n{}")\nreturn NOTHING',
        "protocol_error",
        "Content-Length",
    ),
    "sends too deep": (
        'raw(b\'{"jsonrpc":"2.0","id":%d,"result":\' % id + b"[" * 200 + b"]" * 200 + b"}\\n")\n'
        "return NOTHING",
        "refused_answer",
        "deep",
    ),
    "closes its output and lives on": (
        "os.close(1)\ntime.sleep(30)",
        "crashed",
        "closed its standard output and lived on",
    ),
    "dies in the middle of a message": (
        'raw(b\'{"jsonrpc":"2.0","id":\')\nos._exit(3)',
        "crashed",
        "exited with status 3",
    ),
    "dies in the middle of a frame": (
        'raw(b"Content-Length: 99\\r\\n\\r\\n{")\nos._exit(3)',
        "protocol_error",
        "98 of 99 bytes are missing",
    ),
}


@pytest.mark.parametrize("on_failure", ["closed", "open"])
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_failed_answer(shop: Workshop, fault: str, on_failure: str) -> None:
    on, status, error = FAULTS[fault]
    probe = guarding(
        shop, on, on_failure=on_failure, timeout_s=QUICK_S if status == "timed_out" else 5.0
    )
    healthy = shop.program("healthy", hears=["pre_tool_call"])
    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path, healthy.path]) as host:
            outcome = await ask(host)
            host.kill()
    part = next(part for part in outcome.parts if part.plugin == "probe")
    assert part.status == status, part
    assert part.error is not None
    assert "\x1b" not in part.error
    assert re.search(error, part.error), part.error
    assert [part.status for part in outcome.parts if part.plugin == "healthy"] == ["answered"]
    if on_failure == "closed":
        assert (outcome.decision, outcome.reason) == ("deny", f"probe: {part.error}")
    else:
        assert (outcome.decision, outcome.reasons) == (None, ())


async def test_how_a_process_died_is_said_also_where_it_died_in_mid_message(shop: Workshop) -> None:
    probe = guarding(
        shop, 'raw(b"Content-Length: 99\\r\\n\\r\\n{")\nos.kill(os.getpid(), signal.SIGSEGV)'
    )
    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path]) as host:
            (part,) = (await ask(host)).parts
            host.kill()
    assert part.error is not None
    assert "SIGSEGV" in part.error


async def test_half_a_message_and_then_silence(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sliphook.transport.silence_watch.MESSAGE_SILENCE_S", 0.2)
    probe = shop.program(
        hears=["pre_tool_call"], on='raw(b"Content-Length: 99\\r\\n\\r\\n{"); time.sleep(30)'
    )
    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path]) as host:
            outcome = await ask(host)
            host.kill()
    (part,) = outcome.parts
    assert part.status == "protocol_error"
    assert part.error is not None
    assert "silent" in part.error


async def test_silence_is_not_the_agents_own(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent blocks its loop for longer than a plugin may be silent inside a message.

    The rest of the message has come meanwhile, so the plugin is not at fault.
    """
    monkeypatch.setattr("sliphook.transport.silence_watch.MESSAGE_SILENCE_S", 0.2)
    go, done = shop.flag("go"), shop.flag("done")
    look = SilenceWatch.look
    begun = trio.Event()

    def looked(watch: SilenceWatch, mid_message: bool) -> None:
        look(watch, mid_message)
        if mid_message:
            begun.set()

    monkeypatch.setattr(SilenceWatch, "look", looked)
    probe = shop.program(
        hears=["pre_tool_call"],
        on="""
        if method == "hook/pre_tool_call":
            message = {"jsonrpc": "2.0", "id": id, "result": {"decision": "allow"}}
            answer = json.dumps(message).encode()
            raw(b"Content-Length: %d\\r\\n\\r\\n" % len(answer) + answer[:5])
            wait_for_flag("go")
            raw(answer[5:])
            set_flag("done")
            return NOTHING
        """,
    )

    async def block() -> None:
        await begun.wait()
        go.touch()
        began_s = time.monotonic()
        while time.monotonic() < began_s + 0.4 or not done.exists():
            assert time.monotonic() < began_s + WAIT_S
            time.sleep(0.01)  # noqa: ASYNC251 - the agent's fault is what is tested

    for _ in range(3):
        begun = trio.Event()
        for flag in (go, done):
            flag.unlink(missing_ok=True)
        with trio.fail_after(WAIT_S):
            async with PluginHost([probe.path]) as host, trio.open_nursery() as nursery:
                nursery.start_soon(block)
                outcome = await ask(host)
        assert [(part.status, part.decision) for part in outcome.parts] == [("answered", "allow")]
