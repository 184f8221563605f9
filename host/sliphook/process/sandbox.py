"""A plugin's process without a network and with a file system that it can only read, by bubblewrap.

Linux only.

`sandbox_command` is the whole of it: what is started in the place of the plugin. bubblewrap stays
as the leader of the process group and ends with the plugin's status, so all that the host does with
a plugin's group it can do with this one. Two things are special:

- bubblewrap would die of the SIGTERM that asks its group to end, and take with it the plugin's time
  to do so. So it is started with the signal ignored, by a shell, and inside a few lines of Python
  give the plugin the default back.
- `--die-with-parent` is left out: it is bound to the thread that starts the process, and ours
  retire while the plugin lives. The reaper does it; and where bubblewrap's second process dies,
  which is the first one inside, the system ends all that is inside.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from sliphook.quoting import quote

PRIVATE: Final = (Path("/run"), Path("/tmp"))
"""Folders that are empty inside: in them are the sockets by which programs outside could be told to do what the plugin cannot."""

_TRIAL_S: Final = 5.0
_TRIAL_PROGRAM: Final = Path("/bin/sh")
"""Started without arguments and without input it ends at once."""

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
    """The argv that runs a plugin inside of a sandbox. Pure.

    Args:
        path: the plugin's executable, absolute.
        target: the same without symbolic links.
        data_dir: the plugin's folder, the only one that it can write; it must exist.
        bwrap: bubblewrap's executable.
        python: a Python interpreter.
        prefixes: folders that this interpreter needs; absolute.
    """
    command = [*_IGNORE_SIGTERM, bwrap, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for folder in PRIVATE:
        command += ["--tmpfs", str(folder)]
    for shown in dict.fromkeys(_hidden((path, target), prefixes)):
        command += ["--ro-bind", str(shown), str(shown)]
    command += [
        "--bind",
        str(data_dir),
        str(data_dir),
        "--chdir",
        str(data_dir),
        "--setenv",
        "TMPDIR",
        "/tmp",
    ]
    command += ["--unshare-net", "--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL"]
    return [*command, "--", python, "-I", "-S", "-c", _DEFAULT_SIGTERM, str(path)]


def _hidden(files: Sequence[Path], folders: Sequence[Path]) -> Iterator[Path]:
    """What the plugin needs and would not find, as it is in a folder that is empty inside.

    A file brings its neighbours along.
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
        bwrap=shutil.which("bwrap") or "bwrap",
        python=sys.executable,
        # what this Python imports from: a plugin in Python mostly runs with the same one
        prefixes=[
            Path(folder)
            for folder in (sys.prefix, sys.base_prefix, *sys.path)
            if os.path.isabs(folder) and os.path.isdir(folder)
        ],
    )


def why_no_sandbox(data_dir: Path) -> str | None:
    """Why no plugin can be put in a sandbox here: one line that says what to do, or None.

    Found by trying, in about 50 ms.

    Args:
        data_dir: a folder that the trial may use; it must exist.
    """
    if sys.platform != "linux":
        return "a sandbox needs Linux"
    if shutil.which("bwrap") is None:
        return "a sandbox needs bubblewrap, and there is no bwrap on PATH; install it, for example with: apt install bubblewrap"
    try:
        trial = subprocess.run(
            command_for(_TRIAL_PROGRAM, data_dir),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd="/",
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
    return f"bubblewrap cannot make a sandbox here: {quote(last, 200)}; this system may not allow user namespaces"


def status_of(returncode: int) -> int:
    """The plugin's own status from bubblewrap's, which tells a death by signal as shells do: 128 and the number."""
    return 128 - returncode if returncode > 128 else returncode
