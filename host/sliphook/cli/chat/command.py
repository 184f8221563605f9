"""`sliphook chat`: a conversation with an agent."""

from __future__ import annotations

import sys
import termios
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import click

from sliphook.cli.common import Failed
from sliphook.cli.completion import session_ids
from sliphook.cli.options.model import model_options
from sliphook.cli.options.plugin import plugin_options
from sliphook.cli.options.shell import ShellOption, shell_options
from sliphook.cli.tracing import Tracing, trace_options

if TYPE_CHECKING:
    from sliphook.plugin.spec import PluginSpec

    from .frontend import ChatFrontend


@click.command("chat")
@model_options
@plugin_options
@click.option(
    "--watch",
    is_flag=True,
    help="Restart a plugin of --plugin between two turns when its file has changed.",
)
@click.option(
    "--resume",
    is_flag=False,
    flag_value="",
    metavar="[ID]",
    shell_complete=session_ids,
    help="Continue a conversation: the last one of this folder, or the one whose ID begins so"
    " (see: sliphook sessions).",
)
@shell_options
@trace_options
def command(
    model: str | None,
    base_url: str | None,
    plugins: tuple[PluginSpec, ...],
    watch: bool,
    resume: str | None,
    shell: ShellOption,
    tracing: Tracing,
) -> int:
    """Talk with an agent.

    All installed and enabled plugins are started, and those of --plugin and --mcp. Plugins that
    are installed or changed during the chat are taken up at /new, and by /plugins reload; --watch
    does that for those of --plugin as soon as their file has changed. If neither --model nor the
    settings name a model, the scripted model answers; it needs no network and no key.

    /help lists the commands. While the agent works, /stop or Ctrl+C interrupts it, and a message
    that you type waits for its turn. A second Ctrl+C within two seconds leaves at once; so does
    Ctrl+C or Ctrl+D at the prompt. Alt+Enter begins another line.

    If stdin or stdout is no terminal, every line of stdin is a message. No one can be asked then:
    calls that need approval are denied, and questions of plugins are answered so.
    """
    import trio

    from sliphook import HostError
    from sliphook.agent.models.base import ModelError
    from sliphook.agent.models.script import ScriptError
    from sliphook.cli.run.memory import Memory
    from sliphook.cli.run.setup import set_up

    from .conversation import chat

    setup = set_up(model, base_url, plugins, shell=shell, watch=watch)
    with _unechoed():
        frontend = _frontend()
        with (
            tracing.open(frontend.write) as sink,
            Memory(resume, lambda line: frontend.display.notice("warning", line)) as memory,
        ):
            frontend.follow(sink)
            try:
                return trio.run(chat, setup, frontend, memory, sink)
            except (HostError, ModelError, ScriptError) as error:
                raise Failed(str(error)) from None


@contextmanager
def _unechoed() -> Generator[None]:
    """Turn off the terminal's echo: the prompt shows what was typed before it was there."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        yield
        return
    terminal = sys.stdin.fileno()
    modes = termios.tcgetattr(terminal)
    termios.tcsetattr(terminal, termios.TCSANOW, [*modes[:3], modes[3] & ~termios.ECHO, *modes[4:]])
    try:
        sys.stdout.write("\r\x1b[K")  # removes what the terminal has shown already
        sys.stdout.flush()
        yield
    finally:
        with suppress(termios.error):  # it was closed
            termios.tcsetattr(terminal, termios.TCSANOW, modes)


def _frontend() -> ChatFrontend:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        from .pipe import Lines

        return Lines()
    from sliphook.files.paths import state_home

    from .screen import Screen  # prompt_toolkit is needed for a terminal only

    return Screen(state_home() / "history")
