"""`sliphook fire`: fires one hook or event at plugins by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

from sliphook.cli.common import (
    EXIT_OK,
    EXIT_PLUGIN,
    comment,
    find_entry,
    json_option,
    print_json,
    read_object,
    timeout_option,
)
from sliphook.cli.completion import event_names
from sliphook.cli.options.plugin import plugin_options, tried_files, watch_option
from sliphook.cli.report import (
    AS_IT_SHOULD,
    FAILED_TO_START,
    says,
    says_json,
    see_log,
    why_not_started,
)
from sliphook.cli.tracing import Tracing, trace_options
from sliphook.cli.watching import again_on_change
from sliphook_sdk.protocol import Answer

from .by_hand import named_plugins, payload_with

if TYPE_CHECKING:
    from sliphook.dispatch.outcome import Outcome, Part
    from sliphook.plugin.spec import PluginSpec, PluginStatus


class PluginReport(msgspec.Struct, frozen=True, kw_only=True):
    """One plugin's part in the fire, as `--json` shows it."""

    name: str
    path: str
    status: str
    decision: str | None = None
    reason: str | None = None
    elapsed_ms: float | None = None
    error: str | None = None
    answer: Answer | None = None


@click.command("fire")
@click.argument("event", shell_complete=event_names)
@click.option(
    "--payload",
    metavar="JSON|@FILE",
    help="Some fields of the payload; the other fields get sample values.",
)
@plugin_options
@watch_option
@click.option(
    "--repeat",
    type=click.IntRange(1, 100_000),
    default=1,
    metavar="N",
    help="Fire it N times at the same processes, one after the other.",
)
@timeout_option
@json_option
@trace_options
def command(
    event: str,
    payload: str | None,
    plugins: tuple[PluginSpec, ...],
    watch: bool,
    repeat: int,
    timeout_s: float | None,
    as_json: bool,
    tracing: Tracing,
) -> int:
    """Fire the hook or event EVENT at plugins and show their answers.

    Starts only the plugins of --plugin, --mcp and --hooks; an installed one gets what you have
    granted it.
    What a plugin asks meanwhile (`host/ask`) is put to you at a terminal; else it is answered
    `nobody`, and a line says so.

    `sliphook events EVENT` shows the fields of the payload.

    The status of a plugin is answered, told (an event), not_subscribed, timed_out, not_asked,
    crashed, protocol_error, refused_answer or failed_to_start. Exit status: 0 all plugins have one
    of the first three, 3 a plugin has another one.
    """
    entry = find_entry(event)
    if not plugins:
        raise click.UsageError(
            "give at least one plugin: --plugin PATH|NAME, --mcp COMMAND or --hooks PATH"
        )
    full = payload_with(
        read_object(payload, "--payload"), entry.payload, of=entry.name, option="--payload"
    )

    from sliphook.cli.running import Interruptible, run_trio

    async def fire(running: Interruptible) -> int:
        good = True
        async with named_plugins(plugins, tracing, running) as host:
            for _ in range(repeat):
                statuses = host.plugins
                outcome = await host.fire(entry.name, full, timeout_s=timeout_s)
                reports = reports_of(statuses, outcome.parts)
                for status, report in zip(statuses, reports, strict=True):
                    if report.status not in AS_IT_SHOULD:
                        good = False
                        comment(f"{says(status.name)} {report.status}{see_log(status)}")
                if as_json:
                    print_json(
                        {
                            "event": entry.name,
                            "plugins": reports,
                            "outcome": outcome_json(outcome),
                        }
                    )
                else:
                    click.echo(_for_people(entry.name, reports, outcome))
        return EXIT_OK if good else EXIT_PLUGIN

    def once() -> int:
        return run_trio(fire)

    return again_on_change(tried_files(plugins), once) if watch else once()


def reports_of(plugins: Sequence[PluginStatus], parts: Sequence[Part]) -> list[PluginReport]:
    """Every plugin's part in a fire, in the order of `plugins`, also if it had none."""
    by_name = {part.plugin: part for part in parts}
    return [_report(plugin, by_name.get(plugin.name)) for plugin in plugins]


def _report(plugin: PluginStatus, part: Part | None) -> PluginReport:
    why = why_not_started(plugin)
    # a refused plugin may have the name of one that runs, whose part it must not get
    if part is not None and why is None:
        return PluginReport(
            name=plugin.name,
            path=str(plugin.path),
            status=part.status,
            decision=part.decision,
            reason=part.reason,
            elapsed_ms=part.elapsed_ms,
            error=part.error,
            answer=part.answer,
        )
    return PluginReport(
        name=plugin.name,
        path=str(plugin.path),
        status="not_subscribed" if why is None else FAILED_TO_START,
        error=why,
    )


def outcome_json(outcome: Outcome) -> dict[str, Any]:
    """What the answers came to, as `--json` shows it."""
    return {
        "decision": outcome.decision,
        "reasons": [reason.text for reason in outcome.reasons],
        "payload": msgspec.to_builtins(outcome.payload),
        "context": [context.labelled() for context in outcome.context],
        "substitute": outcome.substitute,
        "beside": outcome.beside,
        "substituted_by": outcome.substituted_by,
        "routed_by": outcome.routed_by,
        "continue_with": outcome.continue_with,
    }


def _for_people(event: str, reports: Sequence[PluginReport], outcome: Outcome) -> str:
    width = max(len(says(report.name)) for report in reports)
    lines = [event, *(f"  {says(report.name):<{width}}  {_words(report)}" for report in reports)]
    replaced = sorted(
        {
            name
            for report in reports
            if report.answer is not None
            for name in report.answer.replace or {}
        }
    )
    lines.append(f"outcome: {outcome.decision or _without_decision(outcome, replaced)}")
    lines += [
        f"  because: {says(reason.plugin)}: {says(reason.text)}" for reason in outcome.reasons
    ]
    lines += [f"  for the model: {says(context.labelled())}" for context in outcome.context]
    if outcome.substituted_by is not None:
        lines.append(
            f"  {says(outcome.substituted_by)} answers instead: {says_json(outcome.substitute)}"
        )
        lines += [f"    with {name}: {says_json(value)}" for name, value in outcome.beside.items()]
    if outcome.continue_with is not None:
        lines.append(f"  goes on with: {says(outcome.continue_with)}")
    lines += [
        f"  {says(name)} is now {says_json(getattr(outcome.payload, name, None))}"
        for name in replaced
    ]
    return "\n".join(lines)


def _without_decision(outcome: Outcome, replaced: Sequence[str]) -> str:
    """What the answers came to, if none of them decides."""
    came = [
        f"{says(', '.join(replaced))} replaced" if replaced else "",
        "context for the model" if outcome.context else "",
        "an answer in its place" if outcome.substituted_by is not None else "",
        "goes on" if outcome.continue_with is not None else "",
    ]
    return ", ".join(filter(None, came)) or "no opinion"


def _words(report: PluginReport) -> str:
    from sliphook.trace.render import duration

    words = [
        f"{report.status:<15}",
        f"{'' if report.elapsed_ms is None else duration(report.elapsed_ms):>8}",
    ]
    if report.decision is not None:
        words.append(report.decision)
    if report.error is not None:
        words.append(says(report.error))
    elif report.reason is not None:
        words.append(says(report.reason))
    return "  ".join(words).rstrip()
