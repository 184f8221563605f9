"""Says why a program cannot be started: by checks before the spawn, and from the spawn's error."""

from __future__ import annotations

import errno
import os
import platform
import re
import stat
from collections.abc import Sequence
from pathlib import Path

from sliphook.files.regular import open_regular
from sliphook.files.search_path import which
from sliphook.quoting import quote

from .interpreter import SHEBANG_BYTES, wanted_of_env

_ELF_MACHINES = {
    0x03: "i386",
    0x28: "arm",
    0x3E: "x86_64",
    0xB7: "aarch64",
    0xF3: "riscv64",
    0x16: "s390x",
    0x15: "ppc64le",
}
# the magic numbers of 64-bit, universal and 32-bit binaries
_MACH_O = (b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\xce\xfa\xed\xfe")

_NODE = re.compile(r"Node\.js v[\d.]+")
_NODE_STACK = re.compile(r"^ +at (?:[^\n(]*\()?(?:file://)?(/[^()\n:]+:\d+):\d+\)?", re.MULTILINE)
_PYTHON_PLACE = re.compile(r'^ +File "(/[^"]+)", line (\d+)', re.MULTILINE)
_LIBRARIES = re.compile(r"/site-packages/|/sliphook_sdk/|/lib(64)?/python3[.\d]*/")
_NODE_SOURCE = re.compile(r"^(?:file://)?(/[^:\n]*:\d+)$", re.MULTILINE)


def why_not_startable(path: Path) -> str | None:
    """One line that says why `path` cannot be executed and what to do, or None.

    Reads only the first bytes of the file.
    """
    shown = quote(str(path))
    try:
        info = path.stat()
    except ValueError:
        return f"{shown} is not a valid path: it has a character that no path can have"
    except FileNotFoundError:
        if path.is_symlink():
            return f"{shown} is a symbolic link to {quote(os.readlink(path))}, which does not exist"
        return f"{shown} does not exist; check the path"
    except OSError as error:
        if error.errno == errno.ELOOP:
            return f"{shown} is a loop of symbolic links"
        return f"{shown} cannot be reached: {error.strerror}"
    # before the test of X_OK, which most folders pass
    if stat.S_ISDIR(info.st_mode):
        return f"{shown} is a directory; name the executable inside it"
    if not stat.S_ISREG(info.st_mode):
        return f"{shown} is no regular file"
    if not os.access(path, os.X_OK):
        if info.st_mode & 0o111 and (mount := _noexec_mount(path)) is not None:
            return (
                f"{shown} cannot be executed where it is: {quote(mount)} is mounted noexec;"
                " put the file into another folder"
            )
        return f"{shown} is not executable; run: chmod +x {shown}"
    if info.st_size == 0:
        return f"{shown} is empty"
    try:
        with open(path, "rb", opener=open_regular) as file:
            head = file.read(SHEBANG_BYTES)
    except PermissionError:
        return None  # a program may be executable and not readable: only the spawn can tell
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            return None  # not the file's fault; the spawn fails for the same reason and says so
        return f"{shown} cannot be read: {error.strerror}"
    return _why_not_head(shown, head)


def _noexec_mount(path: Path) -> str | None:
    """The mount point of a file system on which no file may be executed; None if it may."""
    try:
        if not os.statvfs(path).f_flag & os.ST_NOEXEC:
            return None
    except OSError:
        return None
    folder = path.resolve()
    while not folder.is_mount():
        folder = folder.parent
    return str(folder)


def _why_not_head(shown: str, head: bytes) -> str | None:
    if head.startswith(b"#!"):
        return _why_not_script(shown, head)
    if b"\0" in head or head.startswith((b"\x7fELF", *_MACH_O)):
        return None  # a binary: only the kernel knows whether it can run it, perhaps by an emulator
    return (
        f"{shown} has no #! line, so the system cannot tell how to run it;"
        " begin it with, for example, #!/usr/bin/env python3"
    )


def _why_not_script(shown: str, head: bytes) -> str | None:
    line = head[2:].split(b"\n", 1)[0]
    # else the interpreter would seem to be missing, by a name that ends in an invisible CR
    if line.endswith(b"\r"):
        return (
            f"{shown} has Windows line endings (CRLF) in its #! line;"
            f" convert it to LF, for example with: sed -i 's/\\r$//' {shown}"
        )
    words = line.decode("utf-8", "replace").split()
    if not words:
        return f"{shown} has an empty #! line"
    interpreter = words[0]
    # for this the system reports ENOENT of the script, which does exist
    if not os.path.exists(interpreter):
        return f"{shown} needs the interpreter {quote(interpreter)}, which does not exist"
    if not os.access(interpreter, os.X_OK):
        return f"{shown} needs the interpreter {quote(interpreter)}, which is not executable"
    if os.path.basename(interpreter) == "env":
        wanted = wanted_of_env(words)
        if wanted and which(wanted) is None:
            return f"{shown} needs the interpreter {quote(wanted)}, which is not on PATH"
    return None


def last_words(lines: Sequence[str]) -> str:
    """The line on stderr that says best why a program ended.

    It is the last one, with the place where Python or Node say that the error is. Python names that
    above, the last one that is no library's counts. Node ends a report with its version, below the
    stack; there it is the line of the error, with the place that Node names first.

    Args:
        lines: the last lines, at least one.
    """
    if not _NODE.fullmatch(lines[-1]):
        return lines[-1] + _python_place(lines)
    # the stack, the error's own fields and empty lines
    said = [at for at, line in enumerate(lines[:-1]) if line.strip(" }") and line[0] != " "]
    if not said:
        return lines[-1]
    stack = "\n".join(lines[said[-1] + 1 :])
    above = "\n".join(lines[: said[-1]])
    place = _NODE_STACK.search(stack) or _NODE_SOURCE.search(above)
    return lines[said[-1]] + (f" ({place[1]})" if place else "")


def _python_place(lines: Sequence[str]) -> str:
    """Where a traceback at the end of the lines leads, as ` (FILE:LINE)`; "" if there is none."""
    if lines[-1].startswith(" "):
        return ""
    places = _PYTHON_PLACE.findall("\n".join(lines[:-1]))
    own = [place for place in places if not _LIBRARIES.search(place[0])]
    return " ({}:{})".format(*(own or places)[-1]) if places else ""


def advice_for(last_words: str) -> str | None:
    """What to do about a program that ended with these `last_words`, or None."""
    if "No such device or address" in last_words and re.search(
        r"/dev/(stdin|stdout|fd/[01])\b", last_words
    ):
        return (
            "its standard input and output are sockets, which cannot be opened by path:"
            " use them as they are, in a shell by <&0 and >&1"
        )
    if re.search(r"No module named '(sliphook_sdk|msgspec)'", last_words):
        return (
            "the Python that its #! line finds has no sliphook-sdk, or not all that it needs;"
            " install it there, or activate the environment that has it"
        )
    if re.search(r"Cannot find (package|module) 'sliphook-sdk", last_words):
        return (
            "no node_modules folder beside the plugin's file or above it has sliphook-sdk;"
            " install it there: npm install sliphook-sdk"
        )
    return None


def explain_spawn_error(path: Path, error: OSError) -> str:
    """One line for an error of the spawn itself, if `why_not_startable` has found nothing."""
    shown = quote(str(path))
    # Popen names the folder if it could not change to it
    if error.filename is not None and str(error.filename) != str(path.absolute()):
        folder = quote(str(error.filename))
        return f"{shown} cannot be started in the folder {folder}: {error.strerror}"
    if error.errno == errno.ENOEXEC:
        other = _built_for_another(shown, path)
        return other or f"{shown} is not a program that this system can run"
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return f"{shown} cannot be started: the agent has no file descriptors left"
    if error.errno in (errno.EAGAIN, errno.ENOMEM):
        return f"{shown} cannot be started: the system has no room for another process"
    if error.errno == errno.ETXTBSY:
        return f"{shown} is still being written by another program"
    return f"{shown} cannot be started: {error.strerror}"


def _built_for_another(shown: str, path: Path) -> str | None:
    """Say for which machine or system a binary is built, or None if that is unknown."""
    try:
        with open(path, "rb", opener=open_regular) as file:
            head = file.read(SHEBANG_BYTES)
    except OSError:
        return None
    if head.startswith(b"\x7fELF"):
        # e_machine of the ELF header; byte 5 tells its byte order
        number = int.from_bytes(head[18:20], "little" if head[5:6] == b"\x01" else "big")
        machine = _ELF_MACHINES.get(number, "another machine")
        if machine == platform.machine():
            return (
                f"{shown} is built for this machine, but this system cannot run it;"
                " the file may be incomplete or damaged"
            )
        return f"{shown} is built for {machine}, this machine is {platform.machine()}"
    if head.startswith(_MACH_O) and platform.system() != "Darwin":
        return f"{shown} is built for macOS, this machine runs {platform.system()}"
    return None
