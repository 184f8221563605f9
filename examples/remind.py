#!/usr/bin/env python3
"""Reminders: `/remind 20 look at the build` gives the model that message in 20 minutes.

A reminder is forgotten when the agent ends before.
"""

import threading

from sliphook_sdk import Context, HostRefused, Plugin
from sliphook_sdk.protocol.payloads import SubmissionEnd

plugin = Plugin("remind", version="1.0.0", description="Wakes the agent up later.", uses=["submit"])


@plugin.command(description="MINUTES TEXT: have the agent do something later.")
def remind(typed: str, *, ctx: Context) -> str:
    minutes, _, text = typed.partition(" ")
    if not minutes.isdecimal() or not text or ctx.session_key is None:
        return "say it so: /remind 20 look at the build"
    timer = threading.Timer(int(minutes) * 60, wake_up, [text, ctx.session_key, ctx.platform])
    timer.daemon = True
    timer.start()
    return f"in {minutes} minutes: {text}"


def wake_up(text: str, session_key: str, platform: "str | None") -> None:
    try:
        plugin.host.submit(text, session_key=session_key, platform=platform)
    except HostRefused as refused:
        plugin.host.log("warning", f"{text} was not taken: {refused}")


@plugin.on("submission_end", match={"by": "remind"})
def ended(end: SubmissionEnd) -> None:
    plugin.host.log("info", f"{end.outcome}: {end.reply}")


if __name__ == "__main__":
    plugin.run()
