"""Programs that cannot be started, or look as if they could not."""

from __future__ import annotations

import os
import struct
import sys
import threading
from pathlib import Path

from tests.torture.agents import run_agent
from tests.torture.case import Case, Make, Workshop, nothing, plain, python, sh

_GOOD = "greet()\nserve()"


def _missing(shop: Workshop) -> Path:
    return shop.folder / "nowhere" / "bad"


def _directory(shop: Workshop) -> Path:
    (shop.folder / "bad").mkdir()
    return shop.folder / "bad"


def _pipe(shop: Workshop) -> Path:
    os.mkfifo(shop.folder / "bad", 0o755)
    return shop.folder / "bad"


def _elf(machine: int, *, size: int = 64) -> bytes:
    big = machine == 0x16  # s390x writes the high byte first
    ident = b"\x7fELF\x02" + (b"\x02" if big else b"\x01") + b"\x01" + bytes(9)
    return (ident + struct.pack(">HHI" if big else "<HHI", 2, machine, 1)).ljust(size, b"\0")


def _own_machine() -> int:
    return int.from_bytes(Path(sys.executable).resolve().read_bytes()[18:20], sys.byteorder)


def _no_data_folder(shop: Workshop) -> Path:
    shop.write("data/bad", "a file where the folder should be", 0o600)
    return python(_GOOD)(shop)


def _dangling(shop: Workshop) -> Path:
    (shop.folder / "bad").symlink_to(shop.folder / "moved-away")
    return shop.folder / "bad"


def _loop(shop: Workshop) -> Path:
    (shop.folder / "bad").symlink_to(shop.folder / "other")
    (shop.folder / "other").symlink_to(shop.folder / "bad")
    return shop.folder / "bad"


def _links(shop: Workshop) -> Path:
    python(_GOOD)(shop).rename(shop.folder / "real")
    (shop.folder / "first").symlink_to("real")
    (shop.folder / "bad").symlink_to(shop.folder / "first")
    return shop.folder / "bad"


def _renamed(name: str) -> Make:
    def make(shop: Workshop) -> Path:
        path = shop.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return python(_GOOD)(shop).rename(path)

    return make


def _busy(for_s: float) -> Make:
    """A program that another process has open for writing."""

    def make(shop: Workshop) -> Path:
        path = python(_GOOD)(shop)
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        timer = threading.Timer(for_s, os.close, (descriptor,))
        timer.start()
        shop.later(timer.join)
        return path

    return make


def _case(name: str, make: Make, says: str) -> Case:
    return Case(
        "spawn",
        name,
        "told why it cannot start, not tried again",
        make,
        None,
        "failed",
        says,
        restarts=0,
    )


def _starts(name: str, make: Make) -> Case:
    return Case("spawn", name, "starts all the same", make)


async def _no_descriptors(shop: Workshop) -> None:
    await run_agent(shop, "descriptors", python(_GOOD))


async def _no_processes(shop: Workshop) -> None:
    await run_agent(shop, "processes", python(_GOOD))


CASES = (
    _case("missing", _missing, "does not exist"),
    _case("not executable", plain("#!/bin/sh\n", 0o644), r"not executable; run: chmod \+x"),
    _case("directory", _directory, "is a directory"),
    _case("named pipe", _pipe, "is no regular file"),
    _case(
        "interpreter missing",
        plain("#!/nowhere/python\n"),
        "interpreter /nowhere/python, which does not exist",
    ),
    _case(
        "interpreter not on PATH",
        plain("#!/usr/bin/env no-such-python\n"),
        "no-such-python, which is not on PATH",
    ),
    _case("interpreter is a directory", plain("#!/tmp\n"), "/tmp.*(directory|Permission denied)"),
    _case(
        "interpreter not executable",
        plain("#!/etc/passwd\n"),
        "/etc/passwd, which is not executable",
    ),
    _case(
        "interpreter with CRLF", plain("#!/bin/sh\r\nexit 0\r\n"), r"Windows line endings \(CRLF\)"
    ),
    _case("empty interpreter", plain("#!\nexit 0\n"), "empty #! line"),
    _case("no interpreter line", plain("print('hello')\n"), "has no #! line"),
    _case(
        "interpreter line of 5,000",
        plain("#!/" + "x" * 5_000 + "\n"),
        "cannot be started|does not exist",
    ),
    _case("empty", plain(b""), "is empty"),
    _case("another architecture", plain(_elf(0x16)), "built for s390x"),
    _case(
        "cut binary",
        plain(_elf(_own_machine())),
        "this system cannot run it|cannot be started",
    ),
    _case("zeros", plain(bytes(4_096)), "not a program that this system can run"),
    _case("bad working directory", _no_data_folder, "data folder .* cannot be created"),
    _case("NUL in the path", lambda shop: shop.folder / "b\0d", "is not a valid path"),
    _case(
        "name of 300",
        lambda shop: shop.folder / ("b" * 300),
        "cannot be reached: File name too long",
    ),
    _case("link to nothing", _dangling, "symbolic link to .*moved-away, which does not exist"),
    _case("links in a loop", _loop, "loop of symbolic links"),
    _case("busy for ever", _busy(3.5), "still being written"),
    _case(
        "path that steers a terminal",
        lambda shop: shop.folder / "b\x1b[2J\nd",
        r"b\\x1b\[2J\\nd does not exist",
    ),
    _starts("busy for a moment", _busy(0.5)),
    _starts("links to a program", _links),
    _starts("spaces in the path", _renamed("a folder/bad one")),
    _starts("unicode in the path", _renamed("ordner-ü/schlëcht-語")),
    _starts("quotes and a line end in the path", _renamed('it\'s "bad"\n$(exit)')),
    Case(
        "spawn",
        "exits with a shell's 127",
        "its own words are shown",
        sh("nosuchcommand"),
        None,
        "failed",
        "exited with status 127.*not found",
    ),
    Case(
        "spawn",
        "no descriptors left",
        "told why, and the healthy one goes on",
        nothing,
        scene=_no_descriptors,
    ),
    Case(
        "spawn",
        "no processes left",
        "told why, and the healthy one goes on",
        nothing,
        scene=_no_processes,
    ),
)
