"""Runs a plugin without a network and with a read-only file system, by bubblewrap (on Linux).

`sandbox_command` is the command that is started instead of the plugin. bubblewrap is the leader of
the process group and ends with the plugin's status, so the host treats the group like any other.
Two things are special:

- The SIGTERM that asks a group to end would kill bubblewrap at once, and with it the plugin, which
  has two seconds to end. So a shell starts bubblewrap with the signal ignored. Ignored signals are
  inherited, so a few lines of Python inside the sandbox give the plugin the default back.
- `--die-with-parent` is not used: it means the thread that started the process, and the host's
  threads end while the plugin lives. The reaper does this instead. If bubblewrap's second process
  dies, which is the first one inside the sandbox, the system ends all processes inside.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from sliphook.files.search_path import which
from sliphook.quoting import quote

PRIVATE: Final = (Path("/run"), Path("/tmp"))
"""Folders that are empty inside: their sockets could make programs outside act for the plugin."""

_TRIAL_S: Final = 5.0
_TRIAL_PROGRAM: Final = Path("/bin/sh")
"""Without arguments and without input it ends at once."""

_IGNORE_SIGTERM: Final = ("/bin/sh", "-c", 'trap "" TERM; exec "$@"', "sh")
_DEFAULT_SIGTERM: Final = """\
import os, signal, sys
signal.signal(signal.SIGTERM, signal.SIG_DFL)
try:
    os.execv(sys.argv[1], sys.argv[1:])
except OSError as error:
    sys.exit(f"{sys.argv[1]}: {error.strerror}")
"""


def sandbox_command(
    path: Path,
    target: Path,
    data_dir: Path,
    *,
    bwrap: str,
    python: str,
    prefixes: Sequence[Path] = (),
) -> list[str]:
    """The argv that runs a plugin in a sandbox. Pure.

    Args:
        path: the plugin's executable, absolute.
        target: the same path with symbolic links resolved.
        data_dir: the plugin's folder, the only one to which it can write; it must exist.
        bwrap: bubblewrap's executable.
        python: a Python interpreter.
        prefixes: the folders that this interpreter needs, absolute.
    """
    # the order counts: a later mount covers an earlier one
    command = [*_IGNORE_SIGTERM, bwrap, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for folder in PRIVATE:
        command += ["--tmpfs", str(folder)]
    # after the empty folders, which would cover them
    for needed in dict.fromkeys(_hidden((path, target), prefixes)):
        command += ["--ro-bind", str(needed), str(needed)]
    command += [
        "--bind",
        str(data_dir),
        str(data_dir),
        "--chdir",
        str(data_dir),
        # the agent's TMPDIR may be a folder that is read-only or empty inside
        "--setenv",
        "TMPDIR",
        "/tmp",
    ]
    command += ["--unshare-net", "--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL"]
    # -I: Python imports nothing from the plugin's folder; -S: it starts faster
    return [*command, "--", python, "-I", "-S", "-c", _DEFAULT_SIGTERM, str(path)]


def _hidden(files: Sequence[Path], folders: Sequence[Path]) -> Iterator[Path]:
    """Yield the needed paths that lie in a folder which is empty inside.

    For a file it is the whole folder, as programs read files beside them.
    """
    for needed in (*(file if file.parent in PRIVATE else file.parent for file in files), *folders):
        if any(folder in needed.parents for folder in PRIVATE):
            yield needed


def command_for(path: Path, data_dir: Path) -> list[str]:
    """`sandbox_command` on this machine.

    Args:
        path: the plugin's executable.
        data_dir: its folder; it must exist.
    """
    return sandbox_command(
        path.absolute(),
        path.resolve(),
        data_dir.resolve(),
        bwrap=which("bwrap") or "bwrap",
        python=sys.executable,
        # the folders from which this Python imports: most plugins in Python run with the same one
        prefixes=[
            Path(folder)
            for folder in (sys.prefix, sys.base_prefix, *sys.path)
            if os.path.isabs(folder) and os.path.isdir(folder)
        ],
    )


def why_no_sandbox(data_dir: Path) -> str | None:
    """One line that says why no sandbox works on this machine and what to do, or None.

    Starts an empty program in a sandbox, which takes about 50 ms: call it in a thread.

    Args:
        data_dir: a folder for the trial; it must exist.
    """
    if sys.platform != "linux":
        return "a sandbox needs Linux"
    if which("bwrap") is None:
        return (
            "a sandbox needs bubblewrap, and there is no bwrap on PATH;"
            " install it, for example with: apt install bubblewrap"
        )
    try:
        trial = subprocess.run(
            command_for(_TRIAL_PROGRAM, data_dir),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd="/",
            env={},  # it can be read by every process of the user, as long as the trial lives
            timeout=_TRIAL_S,
            start_new_session=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"bubblewrap did not start an empty program within {_TRIAL_S:g} s"
    except OSError as error:
        return f"bubblewrap cannot be started: {error.strerror}"
    if trial.returncode == 0:
        return None
    last = trial.stderr.strip().rpartition(b"\n")[2]
    return (
        f"bubblewrap cannot make a sandbox here: {quote(last, 200)};"
        " this system may not allow user namespaces"
    )


def status_of(returncode: int) -> int:
    """The plugin's status as `subprocess` gives it; bubblewrap reports signal N as 128 + N.

    There are 64 signals: 255 is a status, that of `ssh` and of `exit -1`.
    """
    return 128 - returncode if 128 < returncode <= 128 + 64 else returncode
