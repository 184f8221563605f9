"""`sliphook call`: calls one tool of a plugin by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

from sliphook.cli.common import (
    EXIT_FAILED,
    EXIT_OK,
    EXIT_PLUGIN,
    comment,
    complain,
    did_you_mean,
    json_option,
    print_json,
    read_object,
    timeout_option,
)
from sliphook.cli.options.plugin import plugin_options, tried_files, watch_option
from sliphook.cli.report import FAILED_TO_START, says, says_json, see_log, why_not_started
from sliphook.cli.tracing import Tracing, trace_options
from sliphook.cli.watching import again_on_change
from sliphook_sdk.protocol import Part, ToolCallParams
from sliphook_sdk.protocol.parts import shown

from .by_hand import named_plugins, payload_with

if TYPE_CHECKING:
    from sliphook.host.host import PluginHost
    from sliphook.plugin.spec import PluginSpec, PluginStatus

NO_SUCH_TOOL = "no_such_tool"


class CallReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of the call, as `--json` shows it."""

    tool: str
    plugin: str | None
    status: str
    content: str | None = None
    is_error: bool | None = None
    data: Any = None
    parts: list[Part] | None = None
    elapsed_ms: float | None = None
    error: str | None = None


@click.command("call")
@click.argument("tool")
@click.option(
    "--args",
    "arguments",
    metavar="JSON|@FILE",
    help="The tool's arguments, an object.  [default: {}]",
)
@plugin_options
@watch_option
@timeout_option
@json_option
@trace_options
def command(
    tool: str,
    arguments: str | None,
    plugins: tuple[PluginSpec, ...],
    watch: bool,
    timeout_s: float | None,
    as_json: bool,
    tracing: Tracing,
) -> int:
    """Call the tool TOOL, once, and show its answer.

    Starts only the plugins of --plugin, --mcp and --hooks; an installed one gets what you have
    granted it.
    What a plugin asks meanwhile (`host/ask`) is put to you at a terminal; else it is answered
    `nobody`, and a line says so.

    `--json` prints {"tool", "plugin", "status", "content",
    "is_error", "data", "parts", "elapsed_ms", "error"}; the status is answered, error (the
    plugin sent an error in place of a result), timed_out, crashed, protocol_error, refused_answer,
    failed_to_start or no_such_tool. A result with is_error has the status answered.

    Exit status: 0 the tool answered, 1 no plugin offers the tool, 3 a plugin did not answer as it
    should or did not start.
    """
    if not plugins:
        raise click.UsageError(
            "give at least one plugin: --plugin PATH|NAME, --mcp COMMAND or --hooks PATH"
        )
    given = {"name": tool, "arguments": read_object(arguments, "--args")}
    params = payload_with(given, ToolCallParams, of="tool/call", option="--args")

    from sliphook.cli.running import Interruptible, run_trio

    async def call(running: Interruptible) -> int:
        async with named_plugins(plugins, tracing, running) as host:
            statuses = host.plugins
            report = await call_once(host, params, timeout_s)
        if as_json:
            print_json(report)
        else:
            _show(report)
        for status in statuses:
            if status.name == report.plugin and report.status not in ("answered", FAILED_TO_START):
                comment(f"{says(status.name)} {report.status}{see_log(status)}")
        missing = [status for status in statuses if why_not_started(status) is not None]
        for status in missing:
            complain(
                f"{says(status.name)} did not start: {says(why_not_started(status) or '')}"
                f"{see_log(status)}"
            )
        if missing or (report.status not in ("answered", NO_SUCH_TOOL)):
            return EXIT_PLUGIN
        return EXIT_FAILED if report.status == NO_SUCH_TOOL else EXIT_OK

    def once() -> int:
        return run_trio(call)

    return again_on_change(tried_files(plugins), once) if watch else once()


async def call_once(
    host: PluginHost, params: ToolCallParams, timeout_s: float | None
) -> CallReport:
    """Call a tool of the host's plugins, in `timeout_s` or the time that the tool has.

    Raises:
        click.UsageError: the arguments do not fit the tool.
    """
    from sliphook.schemas import why_arguments_do_not_fit

    offers = {offer.name: offer for offer in host.tools()}
    if params.name not in offers:
        return _not_offered(params.name, list(offers), host.plugins)
    offer = offers[params.name]
    unfit = why_arguments_do_not_fit(params.arguments, offer.input_schema)
    if unfit is not None:
        raise click.UsageError(f"--args: they do not fit the tool {says(offer.name)}: {unfit}")
    timed = msgspec.structs.replace(
        params, timeout_s=offer.timeout_s if timeout_s is None else timeout_s
    )
    answer = await host.call_plugin_tool(offer.name, timed)
    result = answer.result if answer.status == "answered" else None
    return CallReport(
        tool=params.name,
        plugin=answer.plugin,
        status=answer.status,
        content=None if result is None else result.content,
        is_error=None if result is None else result.is_error,
        data=None if result is None else result.data,
        parts=(result.parts or None) if result is not None else None,
        elapsed_ms=answer.elapsed_ms,
        error=answer.error,
    )


def _not_offered(tool: str, offered: Sequence[str], plugins: Sequence[PluginStatus]) -> CallReport:
    for plugin in plugins:
        why = why_not_started(plugin)
        if why is not None:  # this plugin may be the one with the tool
            return CallReport(tool=tool, plugin=plugin.name, status=FAILED_TO_START, error=why)
    names = f"there are: {', '.join(sorted(offered))}" if offered else "they offer none"
    return CallReport(
        tool=tool,
        plugin=None,
        status=NO_SUCH_TOOL,
        error=f"no plugin here offers a tool {tool!r}; {did_you_mean(tool, offered, names)}",
    )


def _show(report: CallReport) -> None:
    from sliphook.trace.render import duration

    took = "" if report.elapsed_ms is None else f" after {duration(report.elapsed_ms)}"
    who = "" if report.plugin is None else f" of {says(report.plugin)}"
    verdict = "answered an error" if report.is_error else report.status
    why = "" if report.error is None else f": {says(report.error)}"
    click.echo(f"{says(report.tool)}{who}: {verdict}{took}{why}")
    for line in (report.content or "").splitlines():
        click.echo(f"  {says(line)}")
    for part in report.parts or ():
        click.echo(f"  [{says(shown(part))}]")
    if report.data is not None:
        click.echo(f"  data: {says_json(report.data)}")
