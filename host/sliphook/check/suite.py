"""The suite: the list of checks for a plugin, and the loop that runs them."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import trio

from sliphook.files.private import temporary_folder
from sliphook.plugin.manifest import ReadManifest
from sliphook.plugin.route import Route
from sliphook.plugin.spec import PluginSpec
from sliphook.process.diagnosis import why_not_startable
from sliphook.quoting import quote
from sliphook.registry.handshake import InterviewError, interview
from sliphook.trace.record import TraceSink

from . import call_rules, end_rules, hook_rules, text_rules, wire_rules
from .call_rules import CommandRule, ToolRule
from .finding import CheckFailed, CheckFinding, Lapse, Report, Skip, Verdict
from .hook_rules import EventRule, HookRule
from .running_rules import WhileRunning
from .session import Bench

CHECK_S: Final = 60.0
"""The limit for one check."""

ALL_S: Final = 900.0
"""The limit for all checks: what is left then is skipped."""

_MOST_EVENTS: Final = 16
_TEXT_CHARS: Final = 500


class Check(NamedTuple):
    """One check; `section` is a heading of protocol.md."""

    name: str
    section: str
    run: Callable[[Bench], Awaitable[str]]


_START: Final = Check("handshake", "Start", wire_rules.handshake)
_WIRE: Final = (
    Check("ping", "Host to plugin", wire_rules.ping),
    Check("versions", "Start", wire_rules.versions),
    Check("open-sessions", "Start", wire_rules.open_sessions),
    Check("byte-by-byte", "Framing", wire_rules.byte_by_byte),
    Check("many-at-once", "Framing", wire_rules.at_once),
    Check("length-in-bytes", "Framing", wire_rules.length_in_bytes),
    Check("large-message", "Framing", wire_rules.large),
    Check("misleading-text", "Framing", wire_rules.misleading_text),
    Check("numbers-and-nesting", "Framing", wire_rules.numbers_and_nesting),
    Check("largest-id", "Envelope", wire_rules.largest_id),
    Check("traceparent", "Envelope", wire_rules.traceparent),
    Check("unknown-request", "Envelope", wire_rules.unknown_request),
    Check("unknown-notification", "Envelope", wire_rules.unknown_notification),
    Check("unknown-cancel", "Cancel and interrupt", wire_rules.unknown_cancel),
)
_END: Final = (
    Check("shutdown", "End", end_rules.shutdown),
    Check("exit", "End", end_rules.exit_alone),
    Check("end-of-input", "End", end_rules.end_of_input),
    Check("half-a-message", "End", end_rules.half_a_message),
    Check("sigterm", "End", end_rules.sigterm),
)
_CONDUCT: Final[dict[str, tuple[str, str, Verdict, str]]] = {
    "stdout": (
        "stdout-clean",
        "Framing",
        "failed",
        "write only messages to standard output; send prints and children's output elsewhere",
    ),
    "invalid": (
        "valid-messages",
        "Envelope",
        "failed",
        "write whole messages one by one: a request, a notification, or a reply with its id and"
        " either a result or an error",
    ),
    "replies": (
        "one-reply-each",
        "Envelope",
        "failed",
        "answer each request once, with the id that came",
    ),
    "unasked": (
        "unasked-messages",
        "Plugin to host",
        "failed",
        "send only what the protocol has, with its params, and what `uses` lists",
    ),
    "near": (
        "near-misses",
        "Envelope",
        "warned",
        "name each field as the protocol does: what the host does not know, it ignores",
    ),
    "left": (
        "no-process-left",
        "The process",
        "warned",
        "end the processes that you start before you end; else the host kills them",
    ),
}
"""Rules watched during all checks. By breach: name, section, verdict if it occurs, advice."""


async def check_plugin(
    plugin: Path | PluginSpec,
    *,
    on_finding: Callable[[CheckFinding], object] = lambda finding: None,
    trace: TraceSink | None = None,
) -> Report:
    """Run the suite against an executable.

    It is started several times, and its tools and commands are really called.

    Args:
        plugin: the executable, or a spec: with the settings and variables that it is started with,
            or of one that an adapter makes.
        on_finding: gets each finding as it is made.
        trace: records the messages, or None.
    """
    findings: list[CheckFinding] = []

    def found(finding: CheckFinding) -> None:
        findings.append(finding)
        on_finding(finding)

    spec = plugin if isinstance(plugin, PluginSpec) else PluginSpec(plugin)
    why = why_not_startable(spec.path)
    if why is not None:
        found(_not_started(why, "make it a program"))
        return Report(path=str(spec.path), name=None, findings=tuple(findings))
    with temporary_folder("sliphook-check-") as folder:
        async with trio.open_nursery() as nursery:
            bench = Bench(spec, folder, nursery, trace)
            # what an adapter finds once, it knows in every check
            why = None if spec.made is None else await _why_of_no_use(spec, bench.data_dir)
            if why is not None:
                found(_not_started(why, "run what the plugin is made of by hand"))
            else:
                found(await _run(_START, bench, math.inf))
            manifest = bench.manifest
            if manifest is not None:
                ends_s = trio.current_time() + ALL_S
                try:
                    for check in (*_checks(manifest), *_END):
                        found(await _run(check, bench, ends_s))
                finally:
                    await bench.drop()
            # Last: any check may have seen such a breach.
            for finding in _conduct(bench) if why is None else ():
                found(finding)
            nursery.cancel_scope.cancel()
    own = spec.made.name if spec.made is not None else None
    name = manifest.name if manifest is not None else own
    return Report(path=str(spec.path), name=name, findings=tuple(findings))


async def _why_of_no_use(spec: PluginSpec, data_dir: Path) -> str | None:
    """Why nothing can be checked of a plugin that an adapter makes, or None."""
    try:
        manifest = await interview(spec, data_dir)
    except InterviewError as error:
        return str(error)
    return manifest.wire.disabled


def _not_started(why: str, advice: str) -> CheckFinding:
    return CheckFinding(
        name="starts",
        section="The process",
        verdict="failed",
        sent="nothing",
        came=quote(why, _TEXT_CHARS),
        advice=advice,
    )


def _checks(manifest: ReadManifest) -> Iterator[Check]:
    """The checks between the start and the end."""
    yield from _WIRE
    if manifest.wire.disabled is not None:  # a disabled plugin gets nothing
        yield from _texts([])
        return
    routes: list[Route] = sorted(
        (route for found in manifest.routes.values() for route in found),
        key=lambda route: route.index,
    )
    asked = [HookRule(route) for route in routes if route.mode == "hook"]
    for rule in asked:
        yield Check(
            f"hook {rule.route.entry.name}{_which(rule.route, routes)}",
            "Answers and how they merge",
            rule,
        )
    for route in routes:
        yield Check(
            f"event {route.entry.name}{_which(route, routes)}",
            "Hooks and events",
            EventRule(route),
        )
    for rule in asked[:1]:
        yield Check(
            f"cancel hook {rule.route.entry.name}",
            "Cancel and interrupt",
            partial(hook_rules.cancelled_hook, rule=rule),
        )
    for tool in map(ToolRule, manifest.tools):
        name = tool.tool.name
        yield Check(f"tool {name}", "tool/call", tool)
        yield Check(f"tool {name}, wrong arguments", "tool/call", tool.wrong)
        yield Check(f"cancel tool {name}", "Cancel and interrupt", tool.cancelled)
    if manifest.tools:
        running = WhileRunning(manifest.tools)
        yield Check("cancel-while-running", "Cancel and interrupt", running.cancelled)
        yield Check("ping-while-running", "ping", running.pinged)
        yield Check("request-while-running", "Envelope", running.asked)
        for rule in asked[:1]:
            hooked = partial(running.hooked, rule=rule)
            yield Check("hook-while-running", "Envelope", hooked)
        yield Check("shutdown-while-running", "shutdown", running.shut_down)
        yield Check("exit-while-running", "exit", running.told_to_end)
        yield Check("end-of-input-while-running", "End", running.told_nothing_more)
        models_take = partial(call_rules.models_take, tools=manifest.tools)
        yield Check("tools-for-models", "ToolSpec", models_take)
        yield Check("unknown-tool", "tool/call", call_rules.unknown_tool)
    for command in manifest.commands:
        yield Check(f"command {command.name}", "command/run", CommandRule(command))
    if manifest.commands:
        yield Check("unknown-command", "command/run", call_rules.unknown_command)
    yield from _texts(asked)
    if routes:
        waits = partial(end_rules.shutdown_after_events, events=routes[:_MOST_EVENTS])
        yield Check("shutdown-after-events", "shutdown", waits)


def _texts(hooks: list[HookRule]) -> Iterator[Check]:
    yield Check("utf-8", "Framing", partial(text_rules.utf8, hooks=hooks))
    yield Check("escapes", "Framing", partial(text_rules.escapes, hooks=hooks))


def _which(route: Route, routes: list[Route]) -> str:
    """The subscription's number, if there are several for one name."""
    return f" #{route.index + 1}" if sum(other.entry is route.entry for other in routes) > 1 else ""


async def _run(check: Check, bench: Bench, ends_s: float) -> CheckFinding:
    began = trio.current_time()

    def finding(
        verdict: Verdict, note: str = "", sent: str = "", came: str = "", advice: str = ""
    ) -> CheckFinding:
        took_ms = 1000 * (trio.current_time() - began)
        return CheckFinding(
            name=check.name,
            section=check.section,
            verdict=verdict,
            note=quote(note, _TEXT_CHARS),
            sent=quote(sent, _TEXT_CHARS),
            came=quote(came, _TEXT_CHARS),
            advice=quote(advice, _TEXT_CHARS),
            elapsed_ms=took_ms,
        )

    if began > ends_s:
        return finding("skipped", f"all checks together may take {ALL_S:g} s, which are over")
    try:
        with trio.fail_after(CHECK_S):
            return finding("passed", await check.run(bench))
    except Skip as skip:
        await bench.drop()  # the plugin may still be at work
        return finding("skipped", str(skip))
    except Lapse as lapse:
        return finding("warned", sent=lapse.sent, came=lapse.came, advice=lapse.advice)
    except CheckFailed as fault:
        await bench.drop()  # the next check needs a process without failures
        return finding("failed", sent=fault.sent, came=fault.came, advice=fault.advice)
    except trio.TooSlowError:
        await bench.drop()
        came = f"it was not over after {CHECK_S:g} s"
        return finding("failed", sent="this check", came=came, advice="answer in time")
    except Exception as error:  # a bug of the suite, not of the plugin
        await bench.drop()
        return finding(
            "broken",
            "this check failed by itself, which is a fault of sliphook check:"
            f" {type(error).__name__}: {error}",
        )


def _conduct(bench: Bench) -> Iterator[CheckFinding]:
    for rule, (name, section, verdict, advice) in _CONDUCT.items():
        seen = bench.breaches.get(rule, [])
        if not seen:
            yield CheckFinding(
                name=name, section=section, verdict="passed", note="through all checks"
            )
            continue
        more = f" (and {len(seen) - 1} more)" if len(seen) > 1 else ""
        yield CheckFinding(
            name=name,
            section=section,
            verdict=verdict,
            sent="all of the above",
            came=f"{seen[0]}{more}",
            advice=advice,
        )
