"""Faults in a plugin by hand, in Perl: each is seen, by the checks that are about it alone.

Several are put into one plugin if they have no check in common and no code: a run takes up to a
minute, most of it waiting. So what is seen is what each of them shows, and no more.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

import pytest
import trio

from sliphook.check import Report, check_plugin

SOUND: Final = (Path(__file__).parent / "programs" / "by_hand.pl").read_text(encoding="utf-8")

pytestmark = [
    pytest.mark.usefixtures("short_patience"),
    pytest.mark.skipif(shutil.which("perl") is None, reason="perl is not installed"),
]


class Fault(NamedTuple):
    """What stands in the sound plugin, what takes its place, and the checks that see it."""

    right: str
    wrong: str
    seen: set[str]


FAULTS: Final = {
    "a cancel is ignored": Fault("sub { cancel($_[0]{id}) }", "sub { }", {"cancel-while-running"}),
    "a cancelled call is answered twice": Fault(
        "if delete $timers{$id}",
        "if $timers{$id} and $timers{$id}[0] = time + 0.05",
        {"one-reply-each"},
    ),
    "tools run where messages are read": Fault(
        'later($id, $seconds, sub { answer($id, "$text") });',
        'sleep $seconds; answer($id, "$text");',
        {
            "cancel-while-running",
            "ping-while-running",
            "request-while-running",
            "hook-while-running",
            "shutdown-while-running",
            "exit-while-running",
            "end-of-input-while-running",
        },
    ),
    "hooks wait for tools": Fault(
        "my $command =",
        "return later('hook', 9, sub { answer($id, undef) }) if grep { /^\\d/ } keys %timers;"
        " my $command =",
        {"hook-while-running"},
    ),
    "shutdown does not wait for events": Fault(
        "push @waits_for_events, sub { answer($id, undef) };",
        "answer($id, undef);",
        {"shutdown-after-events"},
    ),
    "UTF-8 is read as Latin-1": Fault(
        "$json->decode($body)", "JSON::PP->new->decode($body)", {"utf-8"}
    ),
    "any version is taken": Fault(
        "if any { $_ == 1 } @{ $params->{protocol_versions} };", ";", {"versions"}
    ),
    "ids have 31 bits": Fault(
        "sub answer { my ($id, $result) = @_;",
        "sub answer { my ($id, $result) = @_; $id &= 0x7fffffff;",
        {"largest-id", "one-reply-each"},
    ),
    "64 KiB are kept of what was read": Fault(
        "or last;\n",
        "or last;\n        $buffer = substr($buffer, 0, 65536);\n",
        {"large-message", "many-at-once"},
    ),
    "lengths are counted in characters, reading": Fault(
        "last if length($buffer) < $start + $length;",
        "utf8::decode($buffer);\n            last if length($buffer) < $start + $length;",
        {"length-in-bytes"},
    ),
    "lengths are counted in characters, writing": Fault(
        'length($text) . "\\r',
        'do { my $decoded = $text; utf8::decode($decoded); length $decoded } . "\\r',
        {"stdout-clean"},
    ),
    "unknown notifications are answered": Fault(
        "$told->($message->{params}) if $told;",
        "$told ? $told->($message->{params}) : refuse(undef, -32601, 'unknown');",
        {"unknown-notification"},
    ),
    "a last word on stdout": Fault(
        "exit                  => sub { $ends = 1 },",
        "exit                  => sub { $ends = 1; syswrite STDOUT, qq(bye\\n) },",
        {"stdout-clean"},
    ),
}


TOGETHER: Final = (
    {
        "a cancel is ignored",
        "hooks wait for tools",
        "shutdown does not wait for events",
        "UTF-8 is read as Latin-1",
        "any version is taken",
        "ids have 31 bits",
        "unknown notifications are answered",
        "a last word on stdout",
    },
    {"lengths are counted in characters, reading", "a cancelled call is answered twice"},
    {
        "tools run where messages are read",
        "lengths are counted in characters, writing",
        "64 KiB are kept of what was read",
    },
)


def written(folder: Path, faults: Iterable[Fault] = ()) -> Path:
    text = SOUND
    for fault in faults:
        assert SOUND.count(fault.right) == text.count(fault.right) == 1
        text = text.replace(fault.right, fault.wrong)
    path = folder / "by_hand.pl"
    path.write_text(text, encoding="utf-8")
    path.chmod(0o700)
    return path


async def checked(path: Path) -> Report:
    with trio.fail_after(600):
        return await check_plugin(path)


async def test_without_a_fault_every_check_passes(tmp_path: Path) -> None:
    report = await checked(written(tmp_path))
    assert [finding for finding in report.findings if finding.verdict != "passed"] == []


def test_each_fault_is_in_one_plugin_and_has_its_checks_alone() -> None:
    assert sorted(name for names in TOGETHER for name in names) == sorted(FAULTS)
    for names in TOGETHER:
        seen = [check for name in names for check in FAULTS[name].seen]
        assert len(seen) == len(set(seen))


@pytest.mark.parametrize("names", TOGETHER)
async def test_each_fault_is_seen(tmp_path: Path, names: set[str]) -> None:
    faults = [FAULTS[name] for name in sorted(names)]
    report = await checked(written(tmp_path, faults))
    seen = {one.name for one in report.findings if one.verdict in ("failed", "warned")}
    assert seen == {check for fault in faults for check in fault.seen}, report
