"""The folder of the installed plugins.

Reading never waits. Changes are atomic and made under a lock, so agents may run meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Final

from msgspec.structs import asdict, replace

from sliphook.files import paths
from sliphook.files.atomic import Busy, locked
from sliphook.files.ownership import why_unsafe
from sliphook.files.toml import TomlError, parse_toml, text_of
from sliphook.files.toml_edit import change_toml, same_json
from sliphook.plugin.spec import PluginSpec
from sliphook.quoting import quote
from sliphook_sdk.protocol import NAME_PATTERNS, nearest, why_no_plugin_name

from .errors import RegistryError
from .keys import PluginKeys, check_plugin_keys
from .record import Broken, Registered

_HEADING: Final = """\
# Installed by `sliphook install`. You may change all keys but those under [recorded], here or with
# `sliphook config`. `sliphook trust` renews what is recorded.
"""


class Registry:
    """The installed plugins.

    Args:
        folder: the folder of their files; by default `$XDG_DATA_HOME/sliphook/plugins`.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or paths.plugin_files()

    def file_of(self, name: str) -> Path:
        """The path of the plugin's file, whether or not the file exists.

        Raises:
            RegistryError: no plugin can have this name.
        """
        if not re.fullmatch(NAME_PATTERNS["plugin"], name):
            raise RegistryError(
                f"'{quote(name, 80)}' is no name of a plugin; names match {NAME_PATTERNS['plugin']}"
            )
        if (why := why_no_plugin_name(name)) is not None:
            raise RegistryError(f"'{name}' {why}")
        return self.folder / f"{name}.toml"

    def names(self) -> list[str]:
        """The names of all files in the folder, also of broken ones; sorted.

        Raises:
            RegistryError: the folder cannot be read.
        """
        try:
            return sorted(
                path.stem
                for path in self.folder.iterdir()
                if path.suffix == ".toml" and not path.name.startswith(".")
            )
        except OSError as error:
            # also below HOME=/dev/null; a file in place of the folder is not the same as none:
            # that would take every guard away
            if not os.path.lexists(self.folder):
                return []
            raise RegistryError(
                f"the installed plugins in {quote(str(self.folder))} cannot be read:"
                f" {error.strerror}"
            ) from None

    def read(self) -> list[Registered | Broken]:
        """Every installed plugin, in their order. A broken file affects only its plugin.

        Raises:
            RegistryError: the folder cannot be read.
        """
        found = [self._read_or_broken(name) for name in self.names()]
        return sorted(
            found,
            key=lambda one: (one.order, one.name) if isinstance(one, Registered) else (0, one.name),
        )

    def get(self, name: str) -> Registered:
        """The plugin of that name.

        Raises:
            RegistryError: there is none, or its file is broken.
        """
        return self._read(name)[0]

    def specs(self, environ: Mapping[str, str]) -> tuple[list[PluginSpec], list[Broken]]:
        """The enabled plugins as specs for a host, in their order; and the broken ones.

        Args:
            environ: has the values of the granted variables.

        Raises:
            RegistryError: the folder cannot be read.
        """
        all_of_them = self.read()
        plugins = [
            plugin.spec(environ)
            for plugin in all_of_them
            if isinstance(plugin, Registered) and plugin.enabled
        ]
        return plugins, [one for one in all_of_them if isinstance(one, Broken)]

    def check_free(self, name: str) -> None:
        """Check that a plugin can be installed under this name.

        Raises:
            RegistryError: a plugin has the name, or no plugin can have it.
        """
        # Not `exists`, which is false for a link that leads nowhere.
        if os.path.lexists(self.file_of(name)):
            raise RegistryError(
                f"a plugin named {name} is installed already;"
                " uninstall it first, or give another --name"
            )

    # -- changes

    def add(self, plugin: Registered) -> Registered:
        """Install the plugin, as the last in order.

        Returns:
            The plugin with its order.

        Raises:
            RegistryError: a plugin has that name, or the file cannot be written.
        """
        file = self.file_of(plugin.name)
        with self._change():
            # Under the lock, although `install` has checked before: while it asked the user,
            # another one may have taken the name.
            self.check_free(plugin.name)
            orders = [one.order for one in self.read() if isinstance(one, Registered)]
            placed = replace(plugin, order=max(orders, default=0) + 1)
            change_toml(file, None, placed.file_content(), heading=_HEADING)
        return placed

    def change(self, name: str, how: Callable[[Registered], Registered]) -> Registered:
        """Change the plugin of that name. Comments in its file survive.

        Args:
            name: the plugin's name.
            how: gets the plugin as it is in the file now, and returns the changed one.

        Returns:
            The changed plugin.

        Raises:
            RegistryError: there is no such plugin, its file is broken or cannot be written.
        """
        with self._change():
            old, text = self._read(name)
            new = how(old)
            if not same_json(new.file_content(), old.file_content()):
                change_toml(self.file_of(name), text, new.file_content())
        return new

    def remove(self, name: str) -> None:
        """Uninstall the plugin of that name, even if its file is broken.

        Raises:
            RegistryError: there is no such plugin, or its file cannot be removed.
        """
        file = self.file_of(name)
        with self._change():
            try:
                file.unlink()
            except FileNotFoundError:
                raise self._unknown(name) from None
            except (IsADirectoryError, PermissionError):  # Linux and macOS, for a folder
                if file.is_dir():
                    raise RegistryError(
                        f"{quote(str(file), 200)} is a folder; remove it by hand"
                    ) from None
                raise

    @contextlib.contextmanager
    def _change(self) -> Generator[None]:
        try:
            with locked(self.folder):
                # Only now, since `locked` makes the folder if it is missing.
                self._refuse_what_others_could_change(self.folder)
                yield
        except (Busy, TomlError) as error:
            raise RegistryError(str(error)) from None
        except OSError as error:
            raise RegistryError(
                f"the installed plugins in {quote(str(self.folder))} cannot be changed:"
                f" {error.strerror}"
            ) from None

    # -- one file

    def _read(self, name: str) -> tuple[Registered, str]:
        file = self.file_of(name)
        if file.is_symlink():
            raise RegistryError(
                f"{quote(str(file), 200)} is a symbolic link, which may lead anywhere;"
                " put the file itself there"
            )
        self._refuse_what_others_could_change(file)
        try:
            text = text_of(file)
            keys = parse_toml(text, PluginKeys, file, check_plugin_keys)
            return Registered(name=name, **asdict(keys)), text
        except FileNotFoundError:
            raise self._unknown(name) from None
        except TomlError as error:
            raise RegistryError(str(error)) from None

    def _read_or_broken(self, name: str) -> Registered | Broken:
        file = self.folder / f"{name}.toml"
        try:
            self.file_of(name)
        except RegistryError as error:
            return Broken(
                quote(name, 64), file, f"{error}; rename or remove {quote(str(file), 200)}"
            )
        try:
            return self._read(name)[0]
        except RegistryError as error:
            return Broken(name, file, str(error))

    def _refuse_what_others_could_change(self, path: Path) -> None:
        """A user who can write here can make an agent start any program."""
        why = why_unsafe(path)
        if why is not None:
            raise RegistryError(why)

    def _unknown(self, name: str) -> RegistryError:
        close = nearest(name, self.names())
        hint = f"did you mean {close}?" if close else "`sliphook list` shows what is installed"
        return RegistryError(f"no plugin named {name} is installed; {hint}")
