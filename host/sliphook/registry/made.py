"""Plugins that an adapter makes of something else, such as an MCP server.

They are no executables of their own: this program's Python runs the adapter,
`python -I -m ADAPTER NAME WORDS...`, which speaks the protocol as any plugin does. All else is as
for other plugins: the user approves files by their hashes and a manifest, and a plugin of which a
file has changed is refused, with its closed entries denied.

A new kind is

- a row of `KINDS`, and its name in `Made.kind`;
- its adapter, which can be run so, and a function that makes a `Made` of what the user gives
  (`approve` hashes the files);
- an option beside `--mcp`: in `cli/made_plugins.py`, which `run`, `chat`, `fire`, `call`, `check`
  and `install` take it from.

`list`, `doctor`, `trust`, `enable` and `uninstall` know nothing of kinds.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from sliphook.files.held_file import Unreadable, sha256_of
from sliphook.files.ownership import why_unsafe
from sliphook.plugin.spec import MadeBy
from sliphook.quoting import quote
from sliphook_sdk.protocol.describe import doc

from .errors import RegistryError


class Kind(NamedTuple):
    """A kind of made plugins.

    Attributes:
        adapter: the module that is run.
        words: what it is for people, as in "the MCP server".
    """

    adapter: str
    words: str


KINDS: Final = {
    "mcp": Kind("sliphook.adapters.mcp", "MCP server"),
    "hooks": Kind("sliphook.adapters.foreign", "hooks"),
}


class Made(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a plugin is made of, as the user approved it."""

    kind: Annotated[Literal["mcp", "hooks"], doc("which adapter makes it", "mcp")]
    words: Annotated[list[str], doc("what the adapter is given", ["/usr/bin/mcp-server-time"])]
    files: Annotated[
        dict[str, str],
        doc("the approved files, each with the hash of its bytes: others are refused", {}),
    ] = msgspec.field(default_factory=dict[str, str])

    @property
    def program(self) -> Path:
        """What runs the adapter: this Python, wherever it is now."""
        return Path(sys.executable)

    @property
    def shown(self) -> str:
        """The words as a shell would take them, behind the kind."""
        return f"{KINDS[self.kind].words}: {shlex.join(self.words)}"

    @property
    def option(self) -> str:
        """What tries it, as a shell takes it: `--mcp 'COMMAND ARGS'`."""
        return f"--{self.kind} {shlex.quote(shlex.join(self.words))}"

    def by(self, name: str) -> MadeBy:
        """How the plugin of that name is started."""
        return MadeBy(
            name=name,
            arguments=("-I", "-m", KINDS[self.kind].adapter, name, *self.words),
            files={Path(path): sha256 for path, sha256 in self.files.items()},
            origin=f"{self.kind}:{name}",
        )

    def again(self) -> Made:
        """The same with the hashes that the files have now.

        Raises:
            RegistryError: a file cannot be read, or another user could change it.
        """
        return replace(self, files=approve(map(Path, self.files)))


def approved_files(path: str | None, sha256: str | None, made: Made | None) -> dict[str, str]:
    """The files that are approved with a plugin: its executable, or those that it is made of."""
    if made is not None:
        return made.files
    return {path: sha256} if path is not None and sha256 is not None else {}


def approve(files: Iterable[Path]) -> dict[str, str]:
    """The files' hashes, for `Made.files`.

    Args:
        files: absolute paths, as the adapter will use them: a link is followed at each start.

    Raises:
        RegistryError: one cannot be read, or another user could change it.
    """
    hashes: dict[str, str] = {}
    for file in files:
        why = why_unsafe(file)
        if why is not None:
            raise RegistryError(why)
        try:
            str(file).encode()  # the record is TOML, which can only hold UTF-8
            hashes[str(file)] = sha256_of(file)
        except UnicodeEncodeError:
            raise RegistryError(
                f"{quote(str(file), 200)} is no UTF-8 and cannot be recorded; rename it"
            ) from None
        except Unreadable as error:
            raise RegistryError(str(error)) from None
    return hashes
