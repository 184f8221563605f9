"""Why a program cannot be started, said before anybody has to guess."""

from __future__ import annotations

import errno
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sliphook.process.diagnosis import (
    advice_for,
    explain_spawn_error,
    last_words,
    why_not_startable,
)


def program(folder: Path, content: bytes, *, mode: int = 0o755, name: str = "plug in") -> Path:
    path = folder / name
    path.write_bytes(content)
    path.chmod(mode)
    return path


def elf(machine: int) -> bytes:
    return (
        b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00" + machine.to_bytes(2, "little") + bytes(44)
    )


@pytest.mark.parametrize(
    "content",
    [
        b"#!/bin/sh\nexit 0\n",
        b"#! /bin/sh -u\n",
        b"#!/bin/sh",
        b"#!/usr/bin/env sh\n",
        b"#!/usr/bin/env -S sh -u\n",
        b"#!/usr/bin/env -S A=b sh\n",
        b"\0binary",
    ],
)
def test_what_can_be_started_has_no_reason(tmp_path: Path, content: bytes) -> None:
    assert why_not_startable(program(tmp_path, content)) is None


def test_an_option_of_env_is_never_taken_for_the_interpreter(tmp_path: Path) -> None:
    assert why_not_startable(program(tmp_path, b"#!/usr/bin/env -u NOT_A_PROGRAM sh\n")) is None
    assert why_not_startable(program(tmp_path, b"#!/usr/bin/env -S -u NOT_A_PROGRAM sh\n")) is None


@pytest.mark.parametrize("machine", [0x03, 0x28, 0x3E, 0xB7, 0xF3])
def test_a_binary_is_left_to_the_kernel_as_an_emulator_may_run_it(
    tmp_path: Path, machine: int
) -> None:
    assert why_not_startable(program(tmp_path, elf(machine))) is None


def test_missing(tmp_path: Path) -> None:
    assert why_not_startable(tmp_path / "none") == f"{tmp_path}/none does not exist; check the path"
    link = tmp_path / "link"
    link.symlink_to("gone")
    assert why_not_startable(link) == f"{link} is a symbolic link to gone, which does not exist"
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    assert why_not_startable(loop) == f"{loop} is a loop of symbolic links"
    file = program(tmp_path, b"#!/bin/sh\n")
    assert why_not_startable(file / "below") == f"{file}/below cannot be reached: Not a directory"
    assert str(why_not_startable(tmp_path / ("x" * 300))).endswith(
        "cannot be reached: File name too long"
    )


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_no_path_at_all(tmp_path: Path, name: str) -> None:
    assert str(why_not_startable(tmp_path / name)).endswith(
        "is not a valid path: it has a character that no path can have"
    )


def test_a_directory_and_other_things_that_are_no_file(tmp_path: Path) -> None:
    assert (
        why_not_startable(tmp_path) == f"{tmp_path} is a directory; name the executable inside it"
    )
    os.mkfifo(tmp_path / "pipe")
    assert why_not_startable(tmp_path / "pipe") == f"{tmp_path}/pipe is no regular file"


def test_not_executable(tmp_path: Path) -> None:
    path = program(tmp_path, b"#!/bin/sh\n", mode=0o644, name="plugin")
    assert why_not_startable(path) == f"{path} is not executable; run: chmod +x {path}"


def test_empty(tmp_path: Path) -> None:
    assert str(why_not_startable(program(tmp_path, b""))).endswith("plug in is empty")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (
            b"print('hello')\n",
            "has no #! line, so the system cannot tell how to run it; begin it with, for "
            "example, #!/usr/bin/env python3",
        ),
        (
            b"\n#!/bin/sh\n",
            "has no #! line, so the system cannot tell how to run it; begin it with, for "
            "example, #!/usr/bin/env python3",
        ),
        (b"#!\n", "has an empty #! line"),
        (b"#!   \nx", "has an empty #! line"),
        (
            b"#!/no/such/python3 -u\n",
            "needs the interpreter /no/such/python3, which does not exist",
        ),
        (b"#!/etc/passwd\n", "needs the interpreter /etc/passwd, which is not executable"),
        (
            b"#!/usr/bin/env no-such-python\n",
            "needs the interpreter no-such-python, which is not on PATH",
        ),
        (
            b"#!/usr/bin/env -S no-such-python -u\n",
            "needs the interpreter no-such-python, which is not on PATH",
        ),
        (b"#!/no/\x1b[2J\n", "needs the interpreter /no/\\x1b[2J, which does not exist"),
    ],
)
def test_scripts(tmp_path: Path, content: bytes, why: str) -> None:
    path = program(tmp_path, content)
    assert why_not_startable(path) == f"{path} {why}"


def test_windows_line_ends_are_named_and_how_to_be_rid_of_them(tmp_path: Path) -> None:
    why = str(why_not_startable(program(tmp_path, b"#!/bin/sh\r\nexit 0\r\n")))
    assert "has Windows line endings (CRLF) in its #! line; convert it to LF" in why
    assert "sed -i 's/\\r$//'" in why


def test_a_line_for_people_is_one_line_whatever_the_path(tmp_path: Path) -> None:
    why = str(why_not_startable(tmp_path / "new\nline\x1b[2J"))
    assert why.isprintable()
    assert "new\\nline\\x1b[2J does not exist" in why


# -- what the spawn itself says
# ------------------------------------------------------------------------------------


def spawn_error(path: Path, cwd: Path) -> OSError:
    with pytest.raises(OSError) as caught:  # noqa: PT011 - which one is what is asked
        subprocess.Popen([str(path)], cwd=cwd).wait(120)
    return caught.value


def test_a_bad_working_directory_is_not_taken_for_a_bad_program(tmp_path: Path) -> None:
    path, cwd = program(tmp_path, b"#!/bin/sh\n"), tmp_path / "gone"
    assert (
        explain_spawn_error(path, spawn_error(path, cwd))
        == f"{path} cannot be started in the folder {cwd}: No such file or directory"
    )


def test_a_program_for_another_machine_is_named(tmp_path: Path) -> None:
    foreign, name = (0x16, "s390x") if platform.machine() != "s390x" else (0x3E, "x86_64")
    path = program(tmp_path, elf(foreign))
    assert (
        explain_spawn_error(path, spawn_error(path, tmp_path))
        == f"{path} is built for {name}, this machine is {platform.machine()}"
    )
    path = program(tmp_path, elf(0x7777))
    assert (
        explain_spawn_error(path, spawn_error(path, tmp_path))
        == f"{path} is built for another machine, this machine is {platform.machine()}"
    )


@pytest.mark.skipif(platform.system() == "Darwin", reason="there it is no foreign format")
def test_a_program_for_macos_is_named(tmp_path: Path) -> None:
    path = program(tmp_path, b"\xcf\xfa\xed\xfe" + bytes(60))
    assert (
        explain_spawn_error(path, spawn_error(path, tmp_path))
        == f"{path} is built for macOS, this machine runs {platform.system()}"
    )


def test_an_unknown_format(tmp_path: Path) -> None:
    path = program(tmp_path, b"\0\1\2\3 something")
    assert (
        explain_spawn_error(path, spawn_error(path, tmp_path))
        == f"{path} is not a program that this system can run"
    )


@pytest.mark.parametrize(
    ("number", "why"),
    [
        (errno.EMFILE, "cannot be started: the agent has no file descriptors left"),
        (errno.ENFILE, "cannot be started: the agent has no file descriptors left"),
        (errno.EAGAIN, "cannot be started: the system has no room for another process"),
        (errno.ENOMEM, "cannot be started: the system has no room for another process"),
        (errno.ETXTBSY, "is still being written by another program"),
        (errno.EACCES, "cannot be started: Permission denied"),
    ],
)
def test_other_errors_of_the_spawn(number: int, why: str) -> None:
    assert (
        explain_spawn_error(Path("/plugin"), OSError(number, os.strerror(number)))
        == f"/plugin {why}"
    )
    assert (
        explain_spawn_error(Path("/plugin"), OSError(number, os.strerror(number), "/plugin"))
        == f"/plugin {why}"
    )


def test_a_missing_sdk_is_explained() -> None:
    assert advice_for("ModuleNotFoundError: No module named 'sliphook_sdk'") == (
        "the Python that its #! line finds has no sliphook-sdk, or not all that it needs; install"
        " it there, or "
        "activate the environment that has it"
    )
    assert advice_for("ModuleNotFoundError: No module named 'requests'") is None
    assert "install it there" in str(advice_for("ImportError: No module named 'msgspec' (/a:3)"))


@pytest.mark.parametrize("what", ["package", "module"])
def test_a_missing_sdk_for_node_is_explained(what: str) -> None:
    assert advice_for(f"Error: Cannot find {what} 'sliphook-sdk' imported from /a/g.mjs") == (
        "no node_modules folder beside the plugin's file or above it has sliphook-sdk;"
        " install it there: npm install sliphook-sdk"
    )
    assert advice_for(f"Error: Cannot find {what} 'left-pad' imported from /a/g.mjs") is None


THROWN = """\
file:///home/ada/guard.mjs:5
  setTimeout(() => { throw new TypeError("no such thing"); }, 10);
                     ^

TypeError: no such thing
    at Timeout._onTimeout (file:///home/ada/guard.mjs:5:28)
    at listOnTimeout (node:internal/timers:581:17)

Node.js v20.20.2"""
SYNTAX = """\
file:///home/ada/guard.mjs:3
const = 3;
      ^

SyntaxError: Unexpected token '='
    at compileSourceTextModule (node:internal/modules/esm/utils:346:16)

Node.js v20.20.2"""
MISSING = """\
node:internal/modules/run_main:123
    triggerUncaughtException(
    ^

Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'sliphook-sdk' imported from /home/ada/guard.mjs
    at Object.getPackageJSONURL (node:internal/modules/package_json_reader:256:9) {
  code: 'ERR_MODULE_NOT_FOUND'
}

Node.js v20.20.2"""


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("one\nlast", "last"),
        ("Node.js v20.20.2", "Node.js v20.20.2"),
        ("\n    at x\nNode.js v20.20.2", "Node.js v20.20.2"),
        (THROWN, "TypeError: no such thing (/home/ada/guard.mjs:5)"),
        (SYNTAX, "SyntaxError: Unexpected token '=' (/home/ada/guard.mjs:3)"),
        (
            MISSING,
            "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'sliphook-sdk' imported from "
            "/home/ada/guard.mjs",
        ),
    ],
)
def test_the_last_words_of_node_are_the_line_of_the_error(said: str, words: str) -> None:
    assert last_words(said.split("\n")) == words


def test_a_mount_that_runs_no_programs_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "plugin"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    real = os.statvfs(path)
    noexec = os.statvfs_result((*real[:8], real.f_flag | os.ST_NOEXEC, real.f_namemax))

    def statvfs(_: object) -> os.statvfs_result:
        return noexec

    def access(*_: object) -> bool:
        return False

    monkeypatch.setattr(os, "statvfs", statvfs)
    monkeypatch.setattr(os, "access", access)
    why = why_not_startable(path)
    assert why is not None
    assert why.endswith("is mounted noexec; put the file into another folder")


ON_NOEXEC = """\
mount -t tmpfs -o noexec none "$1" &&
printf '#!/bin/sh\\n' >"$1/plugin" && chmod +x "$1/plugin" &&
exec "$2" -m sliphook check "$1/plugin"
"""


@pytest.mark.skipif(shutil.which("unshare") is None, reason="only Linux mounts for one process")
def test_check_names_a_real_mount_that_runs_no_programs(tmp_path: Path) -> None:
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount anything, even in a namespace of its own")
    ran = subprocess.run(
        ["unshare", "-rm", "sh", "-c", ON_NOEXEC, "sh", tmp_path, sys.executable],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert f"{tmp_path} is mounted noexec; put the file into another folder" in ran.stdout


PYTHON_SYNTAX = """\
  File "/home/ada/guard.py", line 26
    x y
      ^
SyntaxError: invalid syntax"""
IN_A_LIBRARY = """\
Traceback (most recent call last):
  File "/home/ada/guard.py", line 4, in <module>
    plugin = Plugin("agent")
  File "/v/lib/python3.11/site-packages/sliphook_sdk/plugin.py", line 40, in __init__
    raise ValueError(why)
  File "/usr/lib/python3.11/random.py", line 40, in x
ValueError: no plugin may have that name"""
IN_LIBRARIES_ALONE = """\
Traceback (most recent call last):
  File "/usr/lib64/python3.11/runpy.py", line 8, in run
OSError: gone"""
INDENTED = """\
  File "/home/ada/guard.py", line 4
  and this is its own text"""


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (PYTHON_SYNTAX, "SyntaxError: invalid syntax (/home/ada/guard.py:26)"),
        (IN_A_LIBRARY, "ValueError: no plugin may have that name (/home/ada/guard.py:4)"),
        (IN_LIBRARIES_ALONE, "OSError: gone (/usr/lib64/python3.11/runpy.py:8)"),
        (INDENTED, "  and this is its own text"),
        ("one line", "one line"),
    ],
)
def test_the_last_words_of_python_name_the_place(said: str, words: str) -> None:
    assert last_words(said.split("\n")) == words
