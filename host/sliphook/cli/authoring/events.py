"""`sliphook events`: shows the catalogue of hooks and events."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from sliphook.cli.common import EXIT_OK, find_entry, json_option, print_json
from sliphook.cli.completion import event_names
from sliphook_sdk.protocol import CATALOGUE, Entry
from sliphook_sdk.protocol.describe import field_docs

if TYPE_CHECKING:
    from sliphook.adapters.dialects.dialect import DialectEntry

_AGENTS: Final = ("claude-code", "codex", "gemini", "copilot", "cursor")
"""As `DIALECTS` has them, which is imported only when it is asked for."""


@click.command("events")
@click.argument("name", required=False, shell_complete=event_names)
@click.option(
    "--for",
    "agent",
    type=click.Choice(_AGENTS),
    help="What there is of them in this agent: exact, approximate or impossible, and why.",
)
@json_option
def command(name: str | None, agent: str | None, as_json: bool) -> int:
    """Show all hooks and events, or the one called NAME in full.

    A hook asks a plugin and waits for its answer. An event tells it and does not wait.
    """
    if agent is not None:
        _show_agent(agent, name, as_json)
    elif name is not None:
        entry = find_entry(name)
        if as_json:
            print_json(_described(entry))
        else:
            click.echo(_page(entry))
    elif as_json:
        print_json([_described(entry) for entry in CATALOGUE.values()])
    else:
        click.echo("\n".join(_row(entry) for entry in CATALOGUE.values()))
        click.echo("\n`sliphook events NAME` shows the payload and what an answer may do.")
    return EXIT_OK


def _show_agent(agent: str, name: str | None, as_json: bool) -> None:
    from sliphook.adapters.dialects.known import DIALECTS

    dialect = DIALECTS[agent]
    entries = dialect.entries if name is None else (dialect.entry(find_entry(name).name),)
    if as_json:
        shown = [msgspec.to_builtins(entry) for entry in entries]
        print_json(shown if name is None else shown[0])
    else:
        click.echo("\n".join(_in_agent(entry) for entry in entries))


def _in_agent(entry: DialectEntry) -> str:
    made_of = f" from {', '.join(entry.theirs)}" if entry.theirs else ""
    lines = [f"{entry.ours:<20} {entry.how}{made_of}"]
    said = [entry.limits] if entry.limits else []
    said += [
        f"{answer}: {effect.how}{f'. {effect.limits}' if effect.limits else ''}"
        for answer, effect in entry.answers.items()
    ]
    indent = " " * 21
    lines += [
        textwrap.fill(text, 100, initial_indent=indent, subsequent_indent=indent) for text in said
    ]
    return "\n".join(lines)


def _row(entry: Entry) -> str:
    return textwrap.fill(
        entry.fires,
        100,
        initial_indent=f"{entry.name:<20} {entry.kind:<6} ",
        subsequent_indent=" " * 28,
    )


def _page(entry: Entry) -> str:
    kind = "a hook" if entry.kind == "hook" else "an event"
    lines = [f"{entry.name}: {kind}, fires {entry.fires}", "", "payload"]
    for name, meta in field_docs(entry.payload).items():
        example = _one_line_json(meta.examples[0] if meta.examples else None)
        lines.append(
            textwrap.fill(
                f"{meta.description}; like {example}",
                100,
                initial_indent=f"  {name:<22} ",
                subsequent_indent=" " * 25,
            )
        )
    if entry.answer_fields:
        lines += [
            "",
            "an answer may hold",
            *(f"  {field:<22} {_answer_words(entry, field)}" for field in entry.answer_fields),
        ]
        counts_as = "a deny" if entry.on_failure == "closed" else "no opinion"
        lines += ["", f"if the subscription does not say, a failed answer counts as {counts_as}"]
    if entry.heavy:
        lines += ["", f"null unless the subscription includes it: {', '.join(entry.heavy)}"]
    if entry.pair is not None:
        lines += ["", f"its pair, which fires at the end: {entry.pair}"]
    return "\n".join(lines).replace("`", "")


def _answer_words(entry: Entry, field: str) -> str:
    match field:
        case "decision":
            return ", ".join(entry.decisions)
        case "replace":
            return f"an object with {', '.join(entry.replace)}"
        case "substitute":
            return f"an object with {', '.join(entry.substitute)}, which replaces what would happen"
        case "context":
            return f"a list of texts, which go {entry.context}"
        case "continue_with":
            return "go on, with this as the next message"
        case _:
            return "why, for the user and for the model"


def _described(entry: Entry) -> dict[str, Any]:
    payload = {
        name: {
            "description": meta.description,
            "example": meta.examples[0] if meta.examples else None,
        }
        for name, meta in field_docs(entry.payload).items()
    }
    return {
        "name": entry.name,
        "kind": entry.kind,
        "fires": entry.fires,
        "payload": payload,
        "answer": list(entry.answer_fields),
        "decisions": list(entry.decisions),
        "replace": list(entry.replace),
        "substitute": list(entry.substitute),
        "context": entry.context or None,
        "on_failure": entry.on_failure,
        "heavy": list(entry.heavy),
        "pair": entry.pair,
        "subagents": entry.subagents,
    }


def _one_line_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
