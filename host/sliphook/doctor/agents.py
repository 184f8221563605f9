"""Rules about other agents, in which plugins can run."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from sliphook.adapters.attachments.examine import attachments
from sliphook.adapters.attachments.records import remembered
from sliphook.files.regular import open_regular
from sliphook.files.search_path import which
from sliphook.quoting import quote

from .finding import Finding, Scene

# no YAML library is among what Sliphook needs, and only Hermes's own environment has one: the
# patterns read what `hermes plugins enable` writes
_IGNORED: Final = re.compile(r"(?m)#.*$|^\s*\n")
_PLUGINS: Final = re.compile(r"(?m)^plugins:[ \t]*\n((?:[ \t-].*\n?)*)")
"""The section of Hermes's config.yaml, without remarks and empty lines."""
_ENABLED: Final = re.compile(r"(?m)^[ \t]+enabled:[ \t]*(\[[^][]*\]|(?:\n[ \t]*-.*)*)")
"""Its list, in one line or in several."""


def others(environ: Mapping[str, str]) -> bool:
    """Whether plugins run in other agents than Sliphook's own."""
    return bool(remembered()) or (_bridged(environ) and _is_enabled(_home(environ)))


def attached(scene: Scene) -> Iterator[Finding]:
    """Whether agents that plugins are attached to still run the hooks that these need."""
    for one in attachments(scene.plugins, scene.settings):
        for fault in one.faults:
            yield Finding(
                area="agents", level=fault.level, about=one.agent, what=fault.what, do=fault.do
            )
        if not one.faults:
            what = f"{quote(one.file, 200)} has the hooks that the plugins need"
            yield Finding(area="agents", level="ok", about=one.agent, what=what)


def hermes(scene: Scene) -> Iterator[Finding]:
    """Whether there is a Hermes Agent, and whether the bridge is in it and switched on."""
    home = _home(scene.environ)
    here = importlib.util.find_spec("hermes_cli") is not None
    command = which("hermes", scene.environ)
    if not (here or command or (home / "config.yaml").is_file()):
        return
    if not _bridged(scene.environ):
        yield _note(
            "there is a Hermes, and no bridge in its environment or in its folder",
            "pip install 'sliphook[hermes]' in the environment of Hermes (docs/hermes.md)",
        )
    elif not _is_enabled(home):
        yield _note(
            "there is a Hermes with the bridge, which is not switched on",
            "hermes plugins enable sliphook --no-allow-tool-override",
        )
    else:
        what = "the installed plugins run in Hermes"
        yield Finding(area="agents", level="ok", about="hermes", what=what)


def _home(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("HERMES_HOME") or os.path.expanduser("~/.hermes"))


def _bridged(environ: Mapping[str, str]) -> bool:
    here = importlib.util.find_spec("hermes_cli") is not None
    return here or (_home(environ) / "plugins" / "sliphook").is_dir()


def _is_enabled(home: Path) -> bool:
    try:
        with open(home / "config.yaml", encoding="utf-8", opener=open_regular) as file:
            text = file.read()
    except (OSError, UnicodeDecodeError):
        return False
    sections = _PLUGINS.findall(_IGNORED.sub("", _IGNORED.sub("", text)))
    found = [names for section in sections for names in _ENABLED.findall(section)]
    return any("sliphook" in re.findall(r"[\w./-]+", names) for names in found)


def _note(what: str, do: str) -> Finding:
    return Finding(area="agents", level="note", about="hermes", what=what, do=do)
