"""The suite: the list of checks for a plugin, and the loop that runs them."""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import trio

from sliphook.plugin.manifest import ReadManifest
from sliphook.plugin.route import Route
from sliphook.process.diagnosis import why_not_startable
from sliphook.trace.record import TraceSink

from . import call_rules, end_rules, wire_rules
from .call_rules import CommandRule, EventRule, HookRule, ToolRule
from .finding import CheckFailed, CheckFinding, Lapse, Report, Skip, Verdict
from .session import Bench

CHECK_S: Final = 60.0
"""The limit for one check. All its waits are shorter, so reaching it is a bug of the suite."""


class Check(NamedTuple):
    """One check; `section` is a heading of protocol.md."""

    name: str
    section: str
    run: Callable[[Bench], Awaitable[str]]


_START: Final = Check("handshake", "Start", wire_rules.handshake)
_WIRE: Final = (
    Check("ping", "Host to plugin", wire_rules.ping),
    Check("versions", "Start", wire_rules.versions),
    Check("byte-by-byte", "Framing", wire_rules.byte_by_byte),
    Check("many-at-once", "Framing", wire_rules.at_once),
    Check("large-message", "Framing", wire_rules.large),
    Check("misleading-text", "Framing", wire_rules.misleading_text),
    Check("largest-id", "Envelope", wire_rules.largest_id),
    Check("unknown-request", "Envelope", wire_rules.unknown_request),
    Check("unknown-notification", "Envelope", wire_rules.unknown_notification),
)
_END: Final = (
    Check("shutdown", "End", end_rules.shutdown),
    Check("exit", "End", end_rules.exit_alone),
    Check("end-of-input", "End", end_rules.end_of_input),
    Check("sigterm", "End", end_rules.sigterm),
)
_CONDUCT: Final[dict[str, tuple[str, str, Verdict, str]]] = {
    "stdout": (
        "stdout-clean",
        "Framing",
        "failed",
        "write only messages to standard output; send prints and children's output elsewhere",
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
    "left": (
        "no-process-left",
        "The process",
        "warned",
        "end the processes that you start before you end; else the host kills them",
    ),
}
"""Rules watched during all checks. By breach: name, section, verdict if it occurs, advice."""


async def check_plugin(
    path: Path,
    *,
    on_finding: Callable[[CheckFinding], object] = lambda finding: None,
    trace: TraceSink | None = None,
) -> Report:
    """Run the suite against an executable.

    It is started several times, and its tools and commands are really called.

    Args:
        path: the executable.
        on_finding: gets each finding as it is made.
        trace: records the messages, or None.
    """
    findings: list[CheckFinding] = []

    def found(finding: CheckFinding) -> None:
        findings.append(finding)
        on_finding(finding)

    why = why_not_startable(path)
    if why is not None:
        found(
            CheckFinding(
                name="starts",
                section="The process",
                verdict="failed",
                sent="nothing",
                came=why,
                advice="make it a program",
            )
        )
        return Report(path=str(path), name=None, findings=tuple(findings))
    with tempfile.TemporaryDirectory(
        prefix="sliphook-check-", ignore_cleanup_errors=True
    ) as folder:
        async with trio.open_nursery() as nursery:
            bench = Bench(path, Path(folder), nursery, trace)
            found(await _run(_START, bench))
            manifest = bench.manifest
            if manifest is not None:
                try:
                    for check in (*_checks(manifest), *_END):
                        found(await _run(check, bench))
                finally:
                    await bench.drop()
            # Last: any check may have seen such a breach.
            for finding in _conduct(bench):
                found(finding)
            nursery.cancel_scope.cancel()
    return Report(
        path=str(path), name=manifest.name if manifest else None, findings=tuple(findings)
    )


def _checks(manifest: ReadManifest) -> Iterator[Check]:
    """The checks between the start and the end."""
    yield from _WIRE
    if manifest.wire.disabled is not None:
        return  # a disabled plugin gets nothing
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
            partial(call_rules.cancelled_hook, rule=rule),
        )
    for tool in map(ToolRule, manifest.tools):
        name = tool.tool.name
        yield Check(f"tool {name}", "tool/call", tool)
        yield Check(f"tool {name}, wrong arguments", "tool/call", tool.wrong)
        yield Check(f"cancel tool {name}", "Cancel and interrupt", tool.cancelled)
        if asked:
            yield Check(f"hooks during {name}", "Envelope", tool.overlapped)
    if manifest.tools:
        models_take = partial(call_rules.models_take, tools=manifest.tools)
        yield Check("tools-for-models", "ToolSpec", models_take)
        yield Check("unknown-tool", "tool/call", call_rules.unknown_tool)
    for command in manifest.commands:
        yield Check(f"command {command.name}", "command/run", CommandRule(command))


def _which(route: Route, routes: list[Route]) -> str:
    """The subscription's number, if there are several for one name."""
    return f" #{route.index + 1}" if sum(other.entry is route.entry for other in routes) > 1 else ""


async def _run(check: Check, bench: Bench) -> CheckFinding:
    began = trio.current_time()

    def finding(
        verdict: Verdict, note: str = "", sent: str = "", came: str = "", advice: str = ""
    ) -> CheckFinding:
        took_ms = 1000 * (trio.current_time() - began)
        return CheckFinding(
            name=check.name,
            section=check.section,
            verdict=verdict,
            note=note,
            sent=sent,
            came=came,
            advice=advice,
            elapsed_ms=took_ms,
        )

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
    except Exception as error:  # a bug of the suite, not of the plugin
        await bench.drop()
        return finding(
            "broken",
            "this check failed by itself, which is a fault of sliphook check:"
            f" {type(error).__name__}: {error}",
        )


def _conduct(bench: Bench) -> Iterator[CheckFinding]:
    for rule, (name, section, verdict, advice) in _CONDUCT.items():
        seen = list(dict.fromkeys(what for broken, what in bench.breaches if broken == rule))
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
