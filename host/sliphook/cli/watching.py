"""`--watch`: what is done again when the file of a plugin has changed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

import click

from sliphook.files.edition import edition_of
from sliphook.quoting import quote

from .common import Failed, comment, complain

__all__ = ["again_on_change", "editions", "names_of", "wait_for_change"]

_QUIET_MS: Final = 100
"""A change counts when nothing has followed for so long: an editor writes in several steps."""
_LOOK_AGAIN_MS: Final = 1_000
"""How often the files are looked at in any case, for a change between two waits."""


def editions(programs: Iterable[Path]) -> dict[Path, str | None]:
    """The files as they are now (see `edition_of`)."""
    return {program: edition_of(program) for program in programs}


def wait_for_change(
    before: Mapping[Path, str | None], stop: threading.Event | None = None
) -> list[Path]:
    """Wait until one of the files has changed and is there.

    Args:
        before: the files as they were.
        stop: ends the wait.

    Returns:
        Those that have changed; empty after `stop`.

    Raises:
        Failed: the system cannot watch their folders.
    """
    from watchfiles import watch

    looks = watch(
        *{program.absolute().parent for program in before},
        watch_filter=None,
        recursive=False,
        step=_QUIET_MS,
        rust_timeout=_LOOK_AGAIN_MS,
        yield_on_timeout=True,
        stop_event=stop,
    )
    try:
        for _ in looks:
            now = editions(before)
            changed = [one for one in before if now[one] not in (before[one], None)]
            if changed:
                return changed
    except OSError as error:
        raise Failed(f"the files cannot be watched: {error.strerror or error}") from None
    finally:
        looks.close()
    return []


def again_on_change(programs: Iterable[Path], work: Callable[[], int]) -> int:
    """Do the work, and again after each change of the files, until Ctrl+C.

    Returns:
        The last exit status of the work.

    Raises:
        click.UsageError: there is no file to watch.
    """
    watched = list(programs)
    if not watched:
        raise click.UsageError("--watch looks at the plugins of --plugin PATH: give one")
    while True:
        before = editions(watched)
        try:
            status = work()
        except click.UsageError:
            raise
        except click.ClickException as error:  # it may be what the author is about to mend
            complain(error.format_message())
            status = error.exit_code
        if status > 128:  # by a signal
            return status
        try:
            comment(f"--watch: waits for a change of {names_of(watched)}; Ctrl+C ends it")
            changed = wait_for_change(before)
        except KeyboardInterrupt:  # the way out
            return status
        comment(f"--watch: {names_of(changed)} has changed")


def names_of(programs: Iterable[Path]) -> str:
    """The files by their names, safe to print."""
    return ", ".join(quote(program.name, 80) for program in programs)
