"""`env NAME` finds for a plugin what it finds for the agent, also behind a version manager's shim.

The shim here chooses as pyenv's does: by a variable, else by a file in the current folder.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import trio

from sliphook import Limits, PluginHost, PluginSpec
from sliphook.process import interpreter
from sliphook.process.interpreter import interpreter_of, own_python, path_with_interpreter
from tests.programs import WAIT_S, Workshop

SHIM = """\
#!/bin/sh
echo asked >> "{log}"
if [ -n "$PYENV_VERSION" ] || [ -e .python-version ]; then exec "{root}/chosen/python3" "$@"; fi
exec "{root}/usual/python3" "$@"
"""


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An agent whose first `python3` is a shim, in a folder that wants the chosen one."""
    interpreter.chosen_by.cache_clear()
    for name in ("chosen", "usual"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "python3").symlink_to(os.path.realpath(sys.executable))
    shim = SHIM.format(root=tmp_path, log=tmp_path / "asked")
    executable(tmp_path / "shims" / "python3", shim)
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / ".python-version").touch()
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("PATH", f"{tmp_path / 'shims'}:/usr/bin:/bin")
    return tmp_path


async def test_a_plugin_runs_in_the_python_that_the_agent_would_get(
    root: Path, shop: Workshop
) -> None:
    plugin = shop.program()
    text = plugin.path.read_text(encoding="utf-8").partition("\n")[2]
    told = f"import sys; open({str(root / 'ran')!r}, 'a').write(sys.executable + '\\n')\n"
    body = text.replace("import json\n", f"{told}import json\n", 1)
    executable(plugin.path, f"#!/usr/bin/env python3\n{body}")
    with trio.fail_after(WAIT_S):
        async with PluginHost([PluginSpec(plugin.path)]) as host:
            await host.restart("probe")
    assert (root / "ran").read_text().splitlines() == [str(root / "chosen" / "python3")] * 2
    # once, for both starts
    assert (root / "asked").read_text() == "asked\n"


@pytest.mark.parametrize(
    ("first_line", "found"),
    [
        ("#!/usr/bin/env python3", "chosen:shims"),
        ("#!/usr/bin/env -S python3 -u", "chosen:shims"),
        ("#!/usr/bin/env sh", "shims"),
        ("#!/usr/bin/env nothing", "shims"),
        ("#!/usr/bin/env -i python3", "shims"),
        ("#!/bin/sh", "shims"),
        ("", "shims"),
    ],
)
def test_the_path_of_each_kind_of_script(root: Path, first_line: str, found: str) -> None:
    plugin = executable(root / "plugin", f"{first_line}\n")
    search = f"/nowhere:{root / 'shims'}:/usr/bin:/bin"
    expected = ["/nowhere", *(str(root / name) for name in found.split(":")), "/usr/bin", "/bin"]
    assert path_with_interpreter(plugin, search).split(":") == expected


def test_a_variable_of_the_agent_chooses(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = executable(root / "plugin", "#!/usr/bin/env python3\n")
    monkeypatch.chdir("/")
    monkeypatch.setenv("PYENV_VERSION", "chosen")
    assert path_with_interpreter(plugin, os.environ["PATH"]).startswith(f"{root / 'chosen'}:")


@pytest.mark.parametrize("shim", ["exit 1", "echo relative/python3", "echo /nowhere/python3"])
def test_a_shim_that_does_not_tell(root: Path, shim: str) -> None:
    plugin = executable(root / "plugin", "#!/usr/bin/env python3\n")
    executable(root / "shims" / "python3", f"#!/bin/sh\n{shim}\n")
    assert path_with_interpreter(plugin, os.environ["PATH"]) == os.environ["PATH"]


def test_a_program_that_is_none_is_not_asked(root: Path) -> None:
    plugin = executable(root / "plugin", "#!/usr/bin/env python3\n")
    (root / "shims" / "python3").unlink()
    (root / "shims" / "python3").symlink_to(root / "usual" / "python3")
    assert path_with_interpreter(plugin, os.environ["PATH"]) == os.environ["PATH"]
    assert interpreter_of(plugin) == str(root / "shims" / "python3")


def test_a_link_to_a_program_of_another_name_is_asked(root: Path) -> None:
    plugin = executable(root / "plugin", "#!/usr/bin/env python3\n")
    (root / "shims" / "python3").unlink()
    executable(root / "mise", SHIM.format(root=root, log=root / "asked"))
    (root / "shims" / "python3").symlink_to(root / "mise")
    assert path_with_interpreter(plugin, os.environ["PATH"]).startswith(f"{root / 'chosen'}:")


@pytest.mark.parametrize(
    ("program", "frozen", "is_python"),
    [
        (sys.executable, False, True),
        ("/opt/app/Python", False, True),
        ("/usr/bin/pypy3.11", False, True),
        (sys.executable, True, False),
        ("/usr/sbin/uwsgi", False, False),
        ("", False, False),
        (None, False, False),
    ],
)
def test_only_a_python_is_started_as_one(
    program: str | None, frozen: bool, is_python: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inside of another program `sys.executable` is that, and would start the agent once more."""
    monkeypatch.setattr(sys, "executable", program)
    monkeypatch.setattr(sys, "frozen", frozen, raising=False)
    assert own_python() == (program if is_python else None)


def test_a_link_to_a_python_is_one(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = root / "agent"
    link.symlink_to(os.path.realpath(sys.executable))
    monkeypatch.setattr(sys, "executable", str(link))
    assert own_python() == str(link)


async def test_without_a_python_a_plugin_with_limits_is_refused(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugins = [
        PluginSpec(shop.program("limited").path, limits=Limits(open_files=100)),
        PluginSpec(shop.program("plain").path),
    ]
    monkeypatch.setattr(sys, "executable", "/usr/sbin/uwsgi")
    with trio.fail_after(WAIT_S):
        async with PluginHost(plugins, on_problem=lambda _plugin, _line: None) as host:
            limited, plain = host.plugins
    assert (limited.state, limited.why) == (
        "refused",
        "its limits and its sandbox are set by a Python, and the agent's program is none",
    )
    assert plain.state == "ready"
