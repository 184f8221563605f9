"""`sliphook chat`: a conversation with an agent."""

from __future__ import annotations

import sys
import termios
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sliphook.cli.common import Failed, model_options, plugin_option
from sliphook.cli.completion import session_ids
from sliphook.cli.tracing import Tracing, trace_options

if TYPE_CHECKING:
    from .frontend import ChatFrontend


@click.command("chat")
@model_options
@plugin_option
@click.option(
    "--resume",
    is_flag=False,
    flag_value="",
    metavar="[ID]",
    shell_complete=session_ids,
    help="Go on with a conversation: the last one of this folder, or the one whose ID begins so (see: sliphook sessions).",
)
@trace_options
def command(
    model: str | None,
    base_url: str | None,
    plugins: tuple[Path, ...],
    resume: str | None,
    tracing: Tracing,
) -> int:
    """Talk with an agent.

    Every plugin that is installed and enabled is started, and those of --plugin; what is installed
    or changed meanwhile is taken up at /new, and by /plugins reload. Without --model and settings
    it is the scripted model, which needs no network and no key.

    /help lists the commands. /stop or Ctrl+C interrupts the agent while it works, and what is typed
    meanwhile waits for its turn. Ctrl+C a second time within two seconds, or at the prompt, leaves
    at once; so does Ctrl+D. Alt+Enter begins another line.

    Where stdin or stdout is no terminal, every line of stdin is a message and nobody is asked for
    approvals.
    """
    import trio

    from sliphook import HostError
    from sliphook.agent.models.base import ModelError
    from sliphook.agent.models.script import ScriptError
    from sliphook.cli.run.memory import Memory
    from sliphook.cli.run.setup import set_up

    from .conversation import chat

    setup = set_up(model, base_url, plugins)
    with _unechoed():
        face = _face()
        with (
            tracing.open(face.write) as sink,
            Memory(resume, lambda line: face.display.notice("warning", line)) as memory,
        ):
            try:
                return trio.run(chat, setup, face, memory, sink)
            except (HostError, ModelError, ScriptError) as error:
                raise Failed(str(error)) from None


@contextmanager
def _unechoed() -> Generator[None]:
    """What is typed before there is a prompt is shown by the prompt, and not by the terminal, too."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        yield
        return
    terminal = sys.stdin.fileno()
    modes = termios.tcgetattr(terminal)
    termios.tcsetattr(terminal, termios.TCSANOW, [*modes[:3], modes[3] & ~termios.ECHO, *modes[4:]])
    try:
        sys.stdout.write("\r\x1b[K")  # what has been typed already
        sys.stdout.flush()
        yield
    finally:
        with suppress(termios.error):  # it was closed
            termios.tcsetattr(terminal, termios.TCSANOW, modes)


def _face() -> ChatFrontend:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        from .pipe import Lines

        return Lines()
    from sliphook.files.paths import state_home

    from .screen import Screen  # prompt_toolkit only where there is a terminal

    return Screen(state_home() / "history")
