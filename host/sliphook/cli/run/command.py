"""`sliphook run`: runs an agent on one prompt."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import click

from sliphook.cli.common import Failed
from sliphook.cli.options.model import model_options
from sliphook.cli.options.plugin import plugin_options, tried_files, watch_option
from sliphook.cli.options.shell import ShellOption, shell_options
from sliphook.cli.tracing import Tracing, trace_options
from sliphook.cli.watching import again_on_change
from sliphook_sdk.protocol.limits import MAX_HOST_MESSAGE_BYTES

if TYPE_CHECKING:
    from sliphook.plugin.spec import PluginSpec


json_lines_option: Final = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON objects, one a line, for programs."
)


@click.command("run")
@click.argument("prompt")
@model_options
@plugin_options
@watch_option
@json_lines_option
@shell_options
@trace_options
def command(
    prompt: str,
    model: str | None,
    base_url: str | None,
    plugins: tuple[PluginSpec, ...],
    watch: bool,
    as_json: bool,
    shell: ShellOption,
    tracing: Tracing,
) -> int:
    """Give PROMPT to an agent and print what the model says. PROMPT `-` is read from stdin.

    All installed and enabled plugins are started, and those of --plugin and --mcp. If neither
    --model nor the settings name a model, the scripted model answers; it needs no network and no
    key. The key of a server is taken from the environment: SLIPHOOK_API_KEY, else OPENAI_API_KEY
    or ANTHROPIC_API_KEY.

    The conversation is recorded (see: sliphook sessions); `sliphook chat --resume` continues it.

    The model's text goes to stdout; tool calls, their progress, denials and notices go to stderr.
    A pipe gets the text as it is, a terminal with escapes for what would steer it or be hidden.
    With --json, stdout has one object a line instead, with its "type": text, call, result, denied,
    notice, progress, child, reply, and at the end outcome, with the usage.

    Ctrl+C interrupts the turn, a second Ctrl+C leaves at once. Exit status: 0 the turn was
    completed, 1 it was not or stdout did not take the answer, 130 after Ctrl+C.
    """
    if prompt == "-":
        prompt = _read_stdin()
    if not prompt.strip():
        raise click.UsageError("the prompt is empty")
    try:
        prompt.encode()
    except UnicodeEncodeError:
        raise Failed("the prompt is no UTF-8 text; check the encoding of the terminal") from None

    import trio

    from sliphook import HostError
    from sliphook.agent.models.base import ModelError
    from sliphook.agent.models.script import ScriptError

    from .one_turn import run_one_turn
    from .setup import set_up

    def turn() -> int:
        setup = set_up(model, base_url, plugins, shell=shell)
        with tracing.open() as sink:
            try:
                return trio.run(run_one_turn, prompt, setup, sink, tracing.live, as_json)
            except (HostError, ModelError, ScriptError) as error:
                raise Failed(str(error)) from None

    return again_on_change(tried_files(plugins), turn) if watch else turn()


def _read_stdin() -> str:
    """The whole of stdin.

    Raises:
        Failed: it cannot be read, is no UTF-8, or is too long for a message to plugins.
    """
    try:
        data = sys.stdin.buffer.read(MAX_HOST_MESSAGE_BYTES + 1)
    except OSError as error:
        raise Failed(f"stdin cannot be read: {error.strerror}") from None
    if len(data) > MAX_HOST_MESSAGE_BYTES:
        raise Failed(f"the prompt is over {MAX_HOST_MESSAGE_BYTES // 2**20} MiB")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Failed("the prompt on stdin is no UTF-8 text") from None
