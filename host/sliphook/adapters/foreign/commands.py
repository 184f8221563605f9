"""One command of a configuration: its environment, its folder, its shell, and how it ended."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Final

import msgspec

from sliphook.adapters.dialects.hosted.handler import Handler
from sliphook.adapters.dialects.hosted.hosted import Ended, Hosted
from sliphook_sdk.command.awaited import run_in_thread
from sliphook_sdk.command.kept_output import LEFT_OUT
from sliphook_sdk.command.running import Command
from sliphook_sdk.errors import CommandError

MAX_OUTPUT_BYTES: Final = 1024 * 1024
"""Of what a command writes to standard output, and as much to standard error."""
MAX_VARIABLE_BYTES: Final = 16 * 1024
"""Of stdin in a variable; with more the system might start no command."""
_OF_ENVIRONMENT: Final = re.compile(r"\$\{env\.([A-Za-z_][A-Za-z0-9_]*)\}")


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a hook runs, and for what.

    Attributes:
        project: the project's folder; None if the agent has none.
        base: the folder that takes its place then.
        root, data: of a plugin's folder; None if there is none.
        env_file: the file that a hook may write variables to; None if there is none.
        session: the session's id.
        event, tool: what it is for.
        traceparent: the agent's span.
    """

    project: str | None
    base: str
    session: str
    event: str
    root: str | None = None
    data: str | None = None
    env_file: str | None = None
    tool: str = ""
    traceparent: str | None = None

    @property
    def folder(self) -> str:
        """The folder that a command runs in if it names none."""
        return self.project or self.base


async def run_command(
    system: Hosted, handler: Handler, place: Place, stdin: bytes, timeout_s: float
) -> Ended:
    """Run it to its end; a cancel of the task ends it, with all that it has started.

    What it leaves behind is ended with it.
    """
    variables = environment(system, handler, place, stdin)
    command = Command(
        _arguments(system, handler, variables),
        cwd=_folder(handler, place),
        env=variables,
        timeout_s=timeout_s,
        max_bytes=MAX_OUTPUT_BYTES,
        stdin=stdin,
    )
    try:
        result = await run_in_thread(command, _silent)
    except CommandError as error:
        return Ended(exit_code=None, failure=str(error))
    return Ended(
        exit_code=None if result.timed_out else result.status,
        stdout=_begun(result.stdout) if result.stdout_cut else result.stdout,
        stderr=result.stderr,
        is_cut=result.stdout_cut,
        failure=f"took longer than {timeout_s:g} s" if result.timed_out else None,
    )


def _begun(stdout: str) -> str:
    """An output that was cut; empty if it begins with white space alone."""
    return stdout if stdout.partition(LEFT_OUT)[0].replace("\ufeff", "").strip() else ""


def environment(system: Hosted, handler: Handler, place: Place, stdin: bytes) -> dict[str, str]:
    """The variables that a command has beside those of the plugin's process."""
    values: Mapping[str, str | None] = {
        "project": place.folder,
        "session": place.session,
        "root": place.root,
        "data": place.data,
        "env_file": place.env_file,
        "event": place.event,
        "tool": place.tool,
        "traceparent": place.traceparent,
        "stdin": _in_a_variable(stdin),
    }
    variables: dict[str, str] = {}
    for name, template in system.environment.items():
        value = values[template[1:-1]] if template.startswith("{") else template
        if value is not None:
            variables[name] = value
        elif template == "{stdin}":
            variables[f"{name}_TRUNCATED"] = "1"
    for name, value in handler.env.items():
        variables[name] = _OF_ENVIRONMENT.sub(lambda one: os.environ.get(one[1], ""), value)
    return variables


def _in_a_variable(stdin: bytes) -> str | None:
    if len(stdin) > MAX_VARIABLE_BYTES or b"\0" in stdin:
        return None
    return stdin.decode("utf-8", "replace").rstrip("\n")


def _arguments(system: Hosted, handler: Handler, variables: Mapping[str, str]) -> list[str]:
    if handler.args is not None:
        return [_filled(word, variables) for word in (handler.command, *handler.args)]
    if handler.shell is not None:
        return [handler.shell, "-c", handler.command]
    shell, *options = system.shell
    return [shell or os.environ.get("SHELL") or "/bin/sh", *options, handler.command]


def _filled(word: str, variables: Mapping[str, str]) -> str:
    """A word of a command without a shell, with its `${NAME}` filled in."""
    for name, value in variables.items():
        word = word.replace(f"${{{name}}}", value)
    return word


def _folder(handler: Handler, place: Place) -> str:
    if handler.cwd is None:
        return place.folder
    return os.path.join(place.folder, os.path.expandvars(os.path.expanduser(handler.cwd)))


def _silent(line: str) -> None:
    """Its output is no progress of the call."""
