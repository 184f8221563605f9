"""`sliphook man`: the manual page, from the same text as every `--help`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import click

from .common import EXIT_OK

__all__ = ["command", "page"]


@click.command("man")
@click.pass_context
def command(ctx: click.Context) -> int:
    """Print the manual page of `sliphook` and all its commands, for `man`.

    \b
      sliphook man | man -l -
      sliphook man > ~/.local/share/man/man1/sliphook.1
    """  # noqa: D301 - click takes the character for "as it stands"
    root = ctx.find_root()
    text = page(root)
    # as bytes: the page is UTF-8 whatever the terminal's encoding is
    click.echo(text.encode(), file=sys.stdout, nl=False)
    return EXIT_OK


def page(root: click.Context) -> str:
    """The page in the language of `man`."""
    from sliphook.plugin.launch import own_version

    group = root.command
    assert isinstance(group, click.Group)
    lines = [
        f'.TH SLIPHOOK 1 "" "sliphook {own_version()}" "Sliphook"',
        ".SH NAME",
        f"sliphook \\- {_escaped(_first(group))}",
        ".SH SYNOPSIS",
        ".B sliphook",
        "COMMAND [OPTIONS] [ARGUMENTS]",
        ".SH COMMANDS",
    ]
    for name in group.list_commands(root):
        one = group.get_command(root, name)
        assert one is not None
        lines += _of_command(one, click.Context(one, info_name=name, parent=root))
    lines += [".SH EXIT STATUS", *_paragraphs(str(group.epilog or ""))]
    return "\n".join(lines) + "\n"


def _of_command(command: click.Command, ctx: click.Context) -> Iterator[str]:
    usage = " ".join(command.collect_usage_pieces(ctx))
    yield f'.SS "{_escaped(f"{ctx.command_path} {usage}".strip())}"'
    yield from _paragraphs(command.help or "")
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is not None:
            yield from (".TP", f".B {_escaped(record[0])}", *_filled(record[1]))
    yield from _paragraphs(command.epilog or "")


def _first(command: click.Command) -> str:
    return (command.help or "").strip().partition("\n")[0].rstrip(".")


def _paragraphs(text: str) -> Iterator[str]:
    """A help text; a paragraph that is marked for it keeps its lines, as in `--help`."""
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        if paragraph.startswith("\b"):
            yield from (".PP", ".nf", *_filled(paragraph.lstrip("\b\n"), keep=True), ".fi")
        elif paragraph:
            yield from (".PP", *_filled(paragraph))


def _filled(text: str, *, keep: bool = False) -> Iterator[str]:
    for line in text.splitlines():
        shown = _escaped(line if keep else line.strip())
        # a dot or a quote at the beginning would be a request
        yield f"\\&{shown}" if shown.startswith((".", "'")) else shown


def _escaped(text: str) -> str:
    return text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
