"""A process that has forbidden dumps cannot be read by the user's other processes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.programs import Workshop, output_of

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has this protection")
PR_GET_DUMPABLE = 3


def said_by(program: str) -> list[str]:
    """What a program says in a process of its own: forbidding cannot be undone."""
    return output_of(program).split()


@LINUX
def test_it_is_not_dumpable_and_what_it_starts_is() -> None:
    dumpable = f"import ctypes; print(ctypes.CDLL(None).prctl({PR_GET_DUMPABLE}))"
    assert said_by(
        f"""
        import subprocess, sys
        from sliphook.dumpable import forbid_dumps
        {dumpable}
        print(forbid_dumps())
        {dumpable}
        sys.stdout.flush()
        subprocess.run([sys.executable, "-c", {dumpable!r}])
        """
    ) == ["1", "True", "0", "1"]


@LINUX
@pytest.mark.parametrize("command", ["run hi --plugin", "call ping --plugin", "install --yes"])
def test_each_command_is_closed_before_a_plugin_starts(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for home in ("DATA", "STATE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{home}_HOME", str(tmp_path / home))
    probe = Workshop(tmp_path).program(tools=["ping"]).path
    said = said_by(
        f"""
        import ctypes, subprocess
        from sliphook.cli.main import main
        start = subprocess.Popen.__init__
        at_starts = []
        def starts(popen, *args, **options):
            if {str(probe)!r} in str(args):
                at_starts.append(ctypes.CDLL(None).prctl({PR_GET_DUMPABLE}))
            start(popen, *args, **options)
        subprocess.Popen.__init__ = starts
        main({[*command.split(), str(probe)]!r})
        print("dumpable:", *at_starts)
        """
    )
    at_starts = said[said.index("dumpable:") + 1 :]
    assert at_starts
    assert set(at_starts) == {"0"}


@LINUX
@pytest.mark.skipif(os.geteuid() != 0, reason="another user is needed")
def test_a_binary_runs_by_its_path_where_proc_is_closed(tmp_path: Path) -> None:
    """The plugin's process could not go through `/proc` of this one, as an ordinary user."""
    assert said_by(
        """
        import os
        from pathlib import Path
        from sliphook.files.held_file import HeldFile
        from sliphook.dumpable import forbid_dumps
        held = HeldFile(Path("/bin/true"))
        print(held.by_descriptor is not None)
        os.seteuid(65534)
        forbid_dumps()
        print(held.by_descriptor)
        """
    ) == ["True", "None"]
