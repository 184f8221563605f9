"""`python -m tests.torture [-1] [WORD…]`: plays the cases whose title has one of the words.

Without a word it plays all; -1 plays them one by one.
"""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table

from tests.torture.case import Verdict
from tests.torture.cases import CASES
from tests.torture.runner import SIDE_BY_SIDE, in_a_folder_of_its_own


def main(arguments: list[str]) -> int:
    """Print the table; returns 1 where a promise was broken."""
    words = [word for word in arguments if word != "-1"]
    cases = [case for case in CASES if not words or any(word in case.title for word in words)]
    if not cases:
        print(f"no case has {' or '.join(words)} in its title", file=sys.stderr)
        return 2
    console = Console(stderr=True)
    with console.status("") as status:
        left = len(cases)

        def done(verdict: Verdict) -> None:
            nonlocal left
            left -= 1
            status.update(f"{left} cases are left")

        verdicts, seconds = in_a_folder_of_its_own(
            cases, limit=1 if "-1" in arguments else SIDE_BY_SIDE, done=done
        )
    Console(width=None if sys.stdout.isatty() else 170).print(_table(verdicts))
    broken = [verdict for verdict in verdicts if verdict.faults]
    for verdict in broken:
        print(f"\n{verdict.case.title}: " + "\n  ".join(verdict.faults))
    skipped = sum(verdict.skipped is not None for verdict in verdicts)
    longest = max(verdicts, key=lambda verdict: verdict.held.longest_ms)
    interrupt = max(verdicts, key=lambda verdict: verdict.held.interrupt_ms)
    print(
        f"\nThe loop was held for {longest.held.longest_ms:.1f} ms of CPU at most "
        f"({longest.case.title}), by interrupt() for {interrupt.held.interrupt_ms:.1f} ms "
        f"({interrupt.case.title})."
    )
    print(
        f"{len(verdicts)} cases, {len(verdicts) - len(broken) - skipped} kept, {len(broken)} "
        f"broken, {skipped} skipped, {seconds:.0f} s"
    )
    return 1 if broken else 0


def _table(verdicts: list[Verdict]) -> Table:
    table = Table("case", "promise", "expected", "seen", "verdict", "s", pad_edge=False)
    for title in ("held ms", "int. ms"):
        table.add_column(title, justify="right")
    kind = ""
    for verdict in verdicts:
        case = verdict.case
        if case.kind != kind:
            table.add_section()
            kind = case.kind
        expected = "as promised" if case.scene is not None else f"{case.status}, {case.state}"
        word = (
            "broken"
            if verdict.faults
            else f"skipped: {verdict.skipped}"
            if verdict.skipped
            else "kept"
        )
        style = "red" if verdict.faults else None
        table.add_row(
            f"{case.kind}: {case.name}",
            case.promise,
            expected,
            verdict.seen,
            word,
            f"{verdict.seconds:.1f}",
            f"{verdict.held.longest_ms:.1f}",
            f"{verdict.held.interrupt_ms:.1f}",
            style=style,
        )
    return table


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
