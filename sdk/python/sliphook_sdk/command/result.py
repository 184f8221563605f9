"""Pure: what came of a command."""

from __future__ import annotations

import msgspec


class CommandResult(msgspec.Struct, frozen=True):
    """What came of a command.

    Attributes:
        status: its exit status, or minus the number of the signal that ended it.
        stdout: what it wrote to standard output; beyond the limit its begin and its end.
        stderr: the same of standard error.
        timed_out: it was ended since its time was up.
        stdout_cut, stderr_cut: there was more than was kept.
    """

    status: int
    stdout: str
    stderr: str
    timed_out: bool = False
    stdout_cut: bool = False
    stderr_cut: bool = False

    @property
    def ok(self) -> bool:
        """It ended by itself, with status 0."""
        return self.status == 0 and not self.timed_out
