#!/usr/bin/env python3
"""Sends calls of the model `local` to a server on this machine, and starts it if none answers."""

from __future__ import annotations

import contextlib
import shlex
import socket
import subprocess

import msgspec

from sliphook_sdk import Context, Plugin, replace
from sliphook_sdk.protocol import ModelRoute
from sliphook_sdk.protocol.answers import PreLlmCallReplacement
from sliphook_sdk.protocol.payloads import PreLlmCall


class Settings(msgspec.Struct):
    port: int = 8080
    command: str = "llama-server --model model.gguf --port 8080"


plugin = Plugin(
    "llm-switch",
    version="1.0.0",
    description="Has a server on this machine answer for the model `local`.",
    uses=["route"],
    servers=["127.0.0.1"],
    config=Settings,
)
running: list[subprocess.Popen[bytes]] = []


@plugin.hook("pre_llm_call", match={"model": "local"}, replaces=True, attempts=True, timeout_s=120)
def to_this_machine(call: PreLlmCall, *, ctx: Context) -> PreLlmCallReplacement:
    settings: Settings = ctx.config
    if call.failure is not None and call.failure.kind == "connection":
        start(settings, ctx)
    return replace(route=ModelRoute(base_url=f"http://127.0.0.1:{settings.port}/v1"))


def start(settings: Settings, ctx: Context) -> None:
    """Start the server, and wait until it takes connections; it ends with this plugin."""
    nothing = subprocess.DEVNULL
    if not running or running[-1].poll() is not None:  # else it is still loading its model
        command = shlex.split(settings.command)
        running.append(subprocess.Popen(command, stdin=nothing, stdout=nothing))
    while running[-1].poll() is None and not ctx.wait(0.1):  # no longer than the call lasts
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", settings.port), timeout=1).close()
            return


if __name__ == "__main__":
    plugin.run()
