"""`sliphook hook`: what the thin client does, slowly, for people."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

import click

from sliphook.cli.common import Failed, print_json

from .attach import agent_argument, dialect_of

_WAIT_S: Final = 120.0


@click.command("hook")
@agent_argument
@click.argument("event", metavar="EVENT")
@click.option("--explain", is_flag=True, help="Show how the event is read, and ask no plugin.")
def command(agent: str, event: str, explain: bool) -> int:
    """Put what AGENT would say at EVENT, JSON on stdin, to the plugins, and show the answer.

    It runs the client that `attach` writes, with its daemon: give a session's id of your own.
    """
    import json

    import msgspec

    from sliphook.adapters.attached.build import build
    from sliphook.adapters.dialects.told import Misread

    dialect = dialect_of(agent)
    text = sys.stdin.buffer.read()
    if not explain:
        words = ["/bin/sh", "-c", build().command(agent, event, closed=False)]
        return subprocess.run(words, input=text, timeout=_WAIT_S, check=False).returncode
    try:
        told = dialect.read(event, json.loads(text))
    except (ValueError, RecursionError):
        raise Failed("stdin is no JSON") from None
    if isinstance(told, Misread):
        raise Failed(told.why)
    ours = [entry.ours for entry in dialect.entries if event in entry.theirs]
    print_json({"reads": msgspec.to_builtins(told), "fires": ours})
    return 0
