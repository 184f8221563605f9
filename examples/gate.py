#!/usr/bin/env python3
"""Runs `make test` when the agent wants to stop, and sends it on while they fail."""

from __future__ import annotations

from sliphook_sdk import Context, Plugin, continue_with
from sliphook_sdk.protocol.answers import StopAnswer
from sliphook_sdk.protocol.payloads import Stop

plugin = Plugin("gate", version="1.0.0", description="Keeps an agent at work until the tests pass.")


@plugin.hook("stop", timeout_s=600)
def tests_pass(stop: Stop, *, ctx: Context) -> StopAnswer | None:
    if ctx.cwd is None or not (ctx.cwd / "Makefile").exists():
        return None
    tests = ctx.run(["make", "test"], timeout_s=540, max_bytes=8000)
    if tests.ok:
        return None
    why = "took too long" if tests.timed_out else "fail"
    return continue_with(f"The tests {why}:\n{tests.stdout}{tests.stderr}")


if __name__ == "__main__":
    plugin.run()
