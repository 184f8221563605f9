"""Whether another user of the machine could change a file.

The file, and every folder and symbolic link on the way to it, must belong to the user or to root.
"""

from __future__ import annotations

import errno
import grp
import os
import pwd
import stat
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from sliphook.quoting import quote

_MAX_LINKS: Final = 40  # as many as Linux follows
_ROOT: Final = 0


class Step(NamedTuple):
    """One folder, link or file on the way from `/` to a file.

    Attributes:
        path: its path, with all symbolic links before it resolved.
        mode: mode and type, as `lstat` gives them.
        owner: the id of the user that it belongs to.
        shared: its group may write to it and has members beside the user and root.
    """

    path: str
    mode: int
    owner: int
    shared: bool


def why_others_could_change(steps: Sequence[Step], user: int) -> str | None:
    """What is wrong with the first step that another user could change, and what to do, in a line.

    Each step must belong to the user or to root. No step may be writable for everybody, or for a
    group with other members. A folder with the sticky bit may: in it, users can only change what is
    theirs. Pure.

    Args:
        steps: the way to the file.
        user: the id of the user.

    Returns:
        The line; None if only the user and root could change the file.
    """
    for step in steps:
        shown = quote(step.path, 200)
        if step.owner not in (user, _ROOT):
            return (
                f"{shown} belongs to {_name_of(step.owner)}, who could change it;"
                f" it must belong to you ({_name_of(user)}) or to root"
            )
        # a link's own mode means nothing: its folder decides whether it can be replaced
        if stat.S_ISLNK(step.mode) or (stat.S_ISDIR(step.mode) and step.mode & stat.S_ISVTX):
            continue
        mode = stat.filemode(step.mode)
        if step.mode & stat.S_IWOTH:
            return f"everybody may change {shown} ({mode}); run: chmod o-w {shown}"
        if step.mode & stat.S_IWGRP and step.shared:
            return (
                f"others may change {shown} ({mode}, its group has other members);"
                f" run: chmod g-w {shown}"
            )
    return None


def why_unsafe(path: Path) -> str | None:
    """`why_others_could_change` for a file of this machine and the user of this process.

    A path that leads nowhere is no fault here: opening it will fail.
    """
    try:
        return why_others_could_change(list(steps_to(path)), os.geteuid())
    except (OSError, ValueError):
        return None


def steps_to(path: Path) -> Iterator[Step]:
    """Each step on the way from `/` to `path`, through every symbolic link.

    Raises:
        OSError: the path leads nowhere, or its links form a circle.
    """
    here, links = "/", 0
    ahead = list(reversed(path.absolute().parts[1:]))
    yield _step(here)
    while ahead:
        name = ahead.pop()
        if name == "..":
            # right as text: `here` has no links in it any more
            here = os.path.dirname(here)
            continue
        found = os.path.join(here, name)
        step = _step(found)
        yield step
        if not stat.S_ISLNK(step.mode):
            here = found
            continue
        links += 1
        if links > _MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        target = Path(os.readlink(found))
        if target.is_absolute():
            here = "/"
        ahead += reversed(target.parts[1:] if target.is_absolute() else target.parts)


def _step(path: str) -> Step:
    info = os.lstat(path)
    return Step(
        path,
        info.st_mode,
        info.st_uid,
        # asked only if it matters: to list all users may take long, or ask a server
        bool(info.st_mode & stat.S_IWGRP) and _is_shared(info.st_gid, os.geteuid()),
    )


@cache
def _is_shared(group: int, user: int) -> bool:
    """Whether a group has members beside the user and root.

    Many systems make a group for each user, with no other member.
    """
    try:
        names = {pwd.getpwuid(one).pw_name for one in (user, _ROOT)}
        members = set(grp.getgrgid(group).gr_mem)
        # a group's own list leaves out the users whose first group it is
        members |= {one.pw_name for one in pwd.getpwall() if one.pw_gid == group}
    except KeyError:
        # what has no name cannot be looked up; the safe answer
        return True
    return not members <= names


def _name_of(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"
