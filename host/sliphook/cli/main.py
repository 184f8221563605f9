"""`sliphook`: the list of commands, and the exit status of each."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TextIO, cast

import click

from .common import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_USAGE,
    LEAVE_S,
    complain,
    leave_within,
    stay,
)

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = ["main", "sliphook"]


class _Lazy(NamedTuple):
    module: str
    help: str
    attribute: str = "command"


_COMMANDS: Final = {
    "demo": _Lazy(
        "demo.command", "Watch an agent whose plugins deny, answer, hang and crash: ten seconds."
    ),
    "run": _Lazy("run.command", "Run an agent on one prompt."),
    "chat": _Lazy("chat.command", "Talk with an agent."),
    "sessions": _Lazy("sessions", "List, show and remove recorded conversations."),
    "install": _Lazy("plugins.install", "Install an executable as a plugin."),
    "uninstall": _Lazy("plugins.enable", "Remove an installed plugin.", "uninstall"),
    "list": _Lazy("plugins.list", "List the installed plugins, or those on PATH."),
    "enable": _Lazy("plugins.enable", "Start an installed plugin with agents again.", "enable"),
    "disable": _Lazy("plugins.enable", "Do not start an installed plugin with agents.", "disable"),
    "trust": _Lazy("plugins.trust", "Accept a plugin whose file or whose wishes have changed."),
    "upgrade": _Lazy("plugins.upgrade", "Bring new versions of plugins with pip or npm."),
    "config": _Lazy("plugins.config", "Show or change the settings of an installed plugin."),
    "logs": _Lazy("plugins.logs", "Show the log of a plugin: what it wrote, and what came of it."),
    "attach": _Lazy(
        "attached.attach", "Have the installed plugins work in another agent.", "attach"
    ),
    "detach": _Lazy("attached.attach", "Remove the plugins from another agent.", "detach"),
    "mcp": _Lazy("attached.mcp", "Serve the installed plugins to an MCP client."),
    "hook": _Lazy("attached.hook", "Put one hook of another agent to the plugins."),
    "fire": _Lazy("authoring.fire", "Fire one hook or event at plugins, and show their answers."),
    "call": _Lazy("authoring.call", "Call one tool of a plugin."),
    "check": _Lazy(
        "authoring.check", "Run the conformance suite against a plugin in any language."
    ),
    "inspect": _Lazy("inspector.command", "Try one plugin by hand, on a page in the browser."),
    "new": _Lazy("authoring.new", "Write a new plugin that works, with a test and a README."),
    "trace": _Lazy("trace.command", "Show a trace file, draw it, or replay it against a plugin."),
    "doctor": _Lazy("doctor", "Find problems, and say what to do about them."),
    "events": _Lazy("authoring.events", "Show the hooks and events of the protocol."),
    "man": _Lazy("man", "Print the manual page."),
    "completion": _Lazy("completion", "Print the completion script for bash, zsh or fish."),
}
"""A command's module is imported when the command runs, so that `sliphook --help` is fast."""


class _Group(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def invoke(self, ctx: click.Context) -> Any:
        """End stderr's line after an interrupt, but only on a terminal, which has written `^C`."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            if sys.stderr.isatty():
                click.echo(err=True)
            raise click.Abort from None

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"{__package__}.{_COMMANDS[cmd_name].module}")
        command: click.Command = getattr(module, _COMMANDS[cmd_name].attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in _COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            import difflib

            close = difflib.get_close_matches(name.lower(), list(_COMMANDS), n=1)
            ctx.fail(
                f"there is no command {name!r}{f'; did you mean {close[0]!r}?' if close else ''}"
            )
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete from the table of commands: click would import each one for its help."""
        from click.shell_completion import CompletionItem

        items = [
            CompletionItem(name, help=lazy.help)
            for name, lazy in _COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return items + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, lazy.help) for name, lazy in _COMMANDS.items()])


def _print_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        from importlib import metadata

        click.echo(f"sliphook {metadata.version('sliphook')}")
        ctx.exit()


@click.group(
    cls=_Group,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit status: 0 it worked, 1 the operation failed, 2 wrong usage, 3 a plugin did not"
    " answer as it should.",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)
@click.pass_context
def sliphook(ctx: click.Context) -> None:
    """Plugins for LLM agents that run outside the agent and cannot hold it."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
        ctx.exit(EXIT_USAGE)


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        args: the arguments without the program's name; None takes those of the process.

    Returns:
        The exit status: 0 it worked, 1 the operation failed, 2 wrong usage, 3 a plugin did not
            answer as it should, 130 on Ctrl+C.
    """
    # Streams that were closed at the start lead nowhere; opened in this order, each gets its own
    # descriptor, and no other file gets it.
    answers = sys.stdout is not None  # pyright: ignore[reportUnnecessaryComparison]
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115 - open to the end
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if not answers:
        complain("cannot go on: standard output is closed")
        return EXIT_FAILED
    for stream in (sys.stdout, sys.stderr):
        # a terminal that cannot show a character gets its number instead of a traceback
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        return _run(args)
    except (MemoryError, RuntimeError) as error:
        return _without_room(error)
    except OSError as error:
        return _without_output(error)
    except BaseExceptionGroup as group:
        # nurseries wrap what they raise; any other error inside is a bug to be shown
        if group.subgroup((MemoryError, RuntimeError)) is not None:
            return _without_room(group)
        failed = group.subgroup(OSError)
        if failed is None or group.split(OSError)[1] is not None:
            raise
        return _without_output(failed)
    finally:
        _flush_or_drop(sys.stderr, 2)


def _run(args: Sequence[str] | None) -> int:
    try:
        status = sliphook.main(
            args=None if args is None else list(args), prog_name="sliphook", standalone_mode=False
        )
        # here, where an error has a handler: at the interpreter's end it would be a traceback
        sys.stdout.flush()
        return int(status or 0)
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx is not None else "sliphook"
        complain(f"{error.format_message().rstrip('.')} (see: {path} --help)")
        return EXIT_USAGE
    except click.ClickException as error:
        complain(error.format_message())
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        # neither stream may have a reader that reads
        leave_within(LEAVE_S, EXIT_INTERRUPTED)
        with contextlib.suppress(KeyboardInterrupt):
            complain("interrupted")
        _flush_or_drop(sys.stdout, 1)
        _flush_or_drop(sys.stderr, 2)
        stay()
        return EXIT_INTERRUPTED


def _without_room(error: BaseException) -> int:
    """Stop because the system gives no more memory or no more threads; raises any other error."""
    first = error
    while isinstance(first, BaseExceptionGroup):
        first = cast("BaseExceptionGroup[BaseException]", first).exceptions[0]
    if not isinstance(first, MemoryError) and "can't start new thread" not in str(first):
        raise error
    what = "memory" if isinstance(first, MemoryError) else "threads"
    complain(f"cannot go on: the system has no more {what} for this process")
    return EXIT_FAILED


def _flush_or_drop(stream: TextIO, descriptor: int) -> None:
    """Forget what a stream does not take: else the interpreter's own end would be a failure.

    So does Ctrl+C while no one reads it; the exit status stays as it is.
    """
    try:
        stream.flush()
    except (OSError, KeyboardInterrupt):
        _lead_nowhere(descriptor)


def _lead_nowhere(descriptor: int) -> None:
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
    except OSError:  # no descriptor is left: its own becomes free
        os.close(descriptor)
        nowhere = os.open(os.devnull, os.O_WRONLY)
    if nowhere != descriptor:
        os.dup2(nowhere, descriptor)
        os.close(nowhere)


def _without_output(error: BaseException) -> int:
    """Stop because stdout takes nothing more; say why, unless its reader has gone."""
    if isinstance(error, BaseExceptionGroup):
        return _without_output(cast("BaseExceptionGroup[BaseException]", error).exceptions[0])
    # else the interpreter complains again when it flushes at its end
    _lead_nowhere(1)
    if not isinstance(error, BrokenPipeError):
        complain(f"cannot go on: {error.strerror if isinstance(error, OSError) else error}")
    return EXIT_FAILED
