"""Prepares its own process and then becomes the program of its arguments.

It is run as a script and uses the standard library alone: `starter_main.py WORD … -- PROGRAM`. A
word is `KEY=NUMBER`, with a key of `Limits`, or `signals`. No limit is raised above what the
process has.
"""

from __future__ import annotations

import os
import resource
import signal
import sys

CPU_GRACE_S = 2
"""A process that handles SIGXCPU is killed so many seconds of processor time later."""
_MIB = 1024 * 1024


def main(arguments: list[str]) -> None:
    """Do what the words say and execute the program; ends with status 127 if that fails."""
    end = arguments.index("--")
    command = arguments[end + 1 :]
    for word in arguments[:end]:
        key, _, number = word.partition("=")
        if key == "signals":
            _reset_signals()
        elif key == "memory_mib":
            # not RLIMIT_AS: Node, Java and Go reserve much more address space than they use
            _limit(resource.RLIMIT_DATA, int(number) * _MIB)
        elif key == "cpu_s":
            # first SIGXCPU, then SIGKILL
            _limit(resource.RLIMIT_CPU, int(number), CPU_GRACE_S)
        elif key == "processes":
            _limit(resource.RLIMIT_NPROC, _threads_of_user() + int(number))
        elif key == "open_files":
            _limit(resource.RLIMIT_NOFILE, int(number))
    try:
        os.execv(command[0], command)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        sys.exit(127)


def _reset_signals() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def _limit(which: int, value: int, grace: int = 0) -> None:
    hard = resource.getrlimit(which)[1]
    most = hard if hard != resource.RLIM_INFINITY else value + grace
    resource.setrlimit(which, (min(value, most), min(value + grace, most)))


def _threads_of_user() -> int:
    """How many threads the user has: the system counts them all, not those of the plugin."""
    total, user = 0, str(os.getuid())
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/status", encoding="utf-8", errors="replace") as file:
                fields = dict(line.split(":", 1) for line in file if ":" in line)
        except OSError:
            continue  # it has ended meanwhile
        if fields.get("Uid", "").split()[:1] == [user]:
            total += int(fields.get("Threads", "1"))
    return total


if __name__ == "__main__":
    main(sys.argv[1:])
