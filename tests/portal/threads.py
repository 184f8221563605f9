"""A plugin in memory, and what is done to a host from other threads."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from sliphook.testing import FakePlugin
from sliphook_sdk.protocol import Answer
from sliphook_sdk.protocol.payloads import PreToolCall
from tests.pairs import check_pairs
from tests.programs import EVERYTHING, WAIT_S


def probe(**fields: Any) -> FakePlugin:
    """Hears everything, child agents too."""
    hooks = fields.pop("hooks", {})
    return FakePlugin(
        "probe",
        hooks=hooks,
        subscriptions=[{"event": event, "subagents": True} for event in EVERYTHING],
        **fields,
    )


def fired(plugin: FakePlugin) -> list[dict[str, Any]]:
    return [{"method": message.method, "params": message.params} for message in plugin.fired()]


def outcomes(plugin: FakePlugin) -> list[str]:
    check_pairs(fired(plugin))
    return [payload.outcome for payload in plugin.payloads("turn_end")]


@contextmanager
def when(plugin: FakePlugin, hears: str, function: Callable[[], object]) -> Generator[None]:
    """Call a function in another thread when the plugin has heard `method`.

    The block waits meanwhile.
    """

    def wait_and_call() -> None:
        wait_until(
            lambda: any(
                hears in (message.method, message.name) for message in list(plugin.received)
            )
        )
        function()

    thread = threading.Thread(target=wait_and_call)
    thread.start()
    yield
    thread.join(WAIT_S)
    assert not thread.is_alive()


def wait_until(done: Callable[[], bool]) -> None:
    give_up = time.monotonic() + WAIT_S
    while not done():
        assert time.monotonic() < give_up
        time.sleep(0.002)


def ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def names_the_tool(call: PreToolCall) -> Answer:
    return Answer(context=[call.tool_name])


def hello(text: str) -> dict[str, Any]:
    return {"text": f"hello {text}"}


def shell(arguments: dict[str, Any]) -> str:
    return f"ran {arguments['command']}"
