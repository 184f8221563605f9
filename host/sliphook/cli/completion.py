"""`sliphook completion`: what makes a shell complete commands, options and names."""

from __future__ import annotations

import sys

import click

from .common import EXIT_OK

__all__ = ["command"]


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> int:
    """Print the script that makes SHELL complete `sliphook`: commands, options, files, and the names of plugins and hooks.

    In ~/.bashrc (bash 4.4 or newer) or ~/.zshrc (below `compinit`) it is one line; fish reads it from a file:

    \b
      eval "$(sliphook completion bash)"
      eval "$(sliphook completion zsh)"
      sliphook completion fish > ~/.config/fish/completions/sliphook.fish
    """  # noqa: D301 - click takes the character for "as it stands"
    from click.shell_completion import get_completion_class

    completion = get_completion_class(shell)
    assert completion is not None, "click knows the shells of the choice"
    script = completion(ctx.find_root().command, {}, "sliphook", "_SLIPHOOK_COMPLETE").source()
    # bytes: whatever the encoding of the terminal, the script is as click wrote it
    click.echo(script.encode(), file=sys.stdout)
    return EXIT_OK
