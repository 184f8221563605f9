"""`sliphook new`: writes a small plugin that works, with its test and a README."""

from __future__ import annotations

import os
import re
from importlib import resources
from pathlib import Path
from typing import Final, NamedTuple

import click

from sliphook.cli.common import EXIT_OK, Failed
from sliphook.files.search_path import which

_GUARD: Final = "It keeps an agent's shell from deleting whole trees: `rm -rf` is denied."
_GATE: Final = "The agent may not stop before it has spoken of tests."
_FIRE: Final = """ --payload '{"tool_name": "shell", "arguments": {"command": "rm -rf build"}}'"""
_NO_SDK: Final = (
    'It needs no SDK; the section "Framing" of Sliphook\'s protocol.md says what such a small'
    " reader may rely on."
)
_SDK: Final = (
    "The first `python3` on PATH runs the plugin and its test; it must have `sliphook-sdk`, "
    "and for the test `pytest`: `python3 -m pip install pytest`."
)
_PYTEST: Final = (
    "[pytest]\n# This file is here so that pytest takes no settings from the folders above.\n"
)


def _shell_case(name: str, answer: str, command: str) -> str:
    """A line of a test in sh: a shell command, and a part of the answer to its hook."""
    params = f'{{"tool_name":"shell","timeout_s":5.0,"arguments":{{"command":"{command}"}}}}'
    return f"expect '{name}' '{answer}' hook/pre_tool_call '{params}'"


def _stop_case(name: str, answer: str, stop_count: int, said: str) -> str:
    """The same for the hook `stop`, after a message of the agent."""
    params = f'"timeout_s":5.0,"stop_count":{stop_count},"last_assistant_message":"{said}"'
    return f"expect '{name}' '{answer}' hook/stop '{{{params}}}'"


_CASES: Final = "\n".join(
    [
        _shell_case("trees stay", '"decision":"deny"', "rm -rf build"),
        _shell_case("the rest may run", '"result":null', "ls"),
    ]
)
_STOP_CASES: Final = "\n".join(
    [
        _stop_case("no stop without tests", '"continue_with":', 0, "It works."),
        _stop_case("tests were run", '"result":null', 0, "All tests pass."),
        _stop_case("once is enough", '"result":null', 1, "It works."),
    ]
)


class _Language(NamedTuple):
    """What differs between languages; `{0}` is the plugin's name.

    Attributes:
        suffix: the suffix of the plugin's file.
        needs: the program that runs or builds the plugin.
        test_file: the name of the test.
        test: the command that runs the test.
        template: the template of the test.
        build: the command that builds the plugin, or "".
        fires: the hook to which the plugin subscribes.
        payload: the options of the `sliphook fire` that shows what the plugin does.
        does: what the plugin does.
        reads: how the plugin reads the host's messages.
        cases: the cases of a test in sh.
    """

    suffix: str
    needs: str
    test_file: str = "test.sh"
    test: str = "sh test.sh"
    template: str = "shell_test"
    build: str = ""
    fires: str = "pre_tool_call"
    payload: str = _FIRE
    does: str = _GUARD
    reads: str = _NO_SDK
    cases: str = _CASES


_LANGUAGES: Final = {
    "python": _Language(
        ".py", "python3", "test_plugin.py", "python3 -m pytest", "python_test", reads=_SDK
    ),
    "node": _Language(".mjs", "node", "plugin.test.mjs", "node --test", "node_test"),
    "sh": _Language(".sh", "sh"),
    "c": _Language(".c", "cc", build="cc -O2 -o {0} {0}.c"),
    "rust": _Language(
        ".rs",
        "rustc",
        build="rustc -O -o {0} {0}.rs",
        fires="stop",
        payload="",
        does=_GATE,
        cases=_STOP_CASES,
    ),
}


@click.command("new")
@click.argument("name")
@click.option(
    "--lang",
    "language",
    type=click.Choice(list(_LANGUAGES)),
    default="python",
    show_default=True,
    help="The language of the plugin.",
)
def command(name: str, language: str) -> int:
    """Write a new plugin called NAME, into a folder of that name, with a test and a README.

    The plugin works and passes `sliphook check`. It is a guard that denies `rm -rf` in the agent's
    shell; in Rust it keeps the agent from stopping before it has spoken of tests. In Python it uses
    the SDK, in the other languages only the standard library.
    """
    from sliphook_sdk.protocol import why_no_plugin_name

    if (why := why_no_plugin_name(name)) is not None:
        raise click.UsageError(f"{name!r} {why}")
    chosen = _LANGUAGES[language]
    texts = _texts(name, language, chosen)
    folder = Path(name)
    try:
        folder.mkdir()
        # `install` takes nothing that others could change
        folder.chmod(folder.stat().st_mode & 0o755 | 0o700)
        for file, text in texts.items():
            (folder / file).write_text(text, encoding="utf-8", newline="\n")
            if text.startswith("#!"):
                os.chmod(folder / file, 0o755)
    except FileExistsError:
        raise Failed(f"{folder} is there already; choose another name, or move it away") from None
    except OSError as error:
        raise Failed(f"cannot write {folder}: {error.strerror or error}") from None
    click.echo(f"wrote {', '.join(f'{name}/{file}' for file in texts)}")
    click.echo(chosen.does)
    click.echo("\nTry it:")
    for line in (f"cd {name}", *_tries(name, chosen), chosen.test):
        click.echo(f"  {line}")
    if language == "python":
        click.echo(f"\n{_SDK}")
    if which(chosen.needs) is None:
        click.echo(f"\nIt needs {chosen.needs}, which is not on PATH.")
    return EXIT_OK


def _runs(name: str, chosen: _Language) -> str:
    return name if chosen.build else f"{name}{chosen.suffix}"


def _tries(name: str, chosen: _Language) -> list[str]:
    runs = f"./{_runs(name, chosen)}"
    build = [chosen.build.format(name)] if chosen.build else []
    return [
        *build,
        f"sliphook check {runs}",
        f"sliphook fire {chosen.fires}{chosen.payload} --plugin {runs}",
    ]


def _texts(name: str, language: str, chosen: _Language) -> dict[str, str]:
    """The files of the new folder: their names and contents."""
    marks = {
        "NAME": name,
        "FILE": f"{name}{chosen.suffix}",
        "TEST_FILE": chosen.test_file,
        "RUNS": _runs(name, chosen),
        "BUILD": f"{chosen.build.format(name)} || exit 1" if chosen.build else "",
        "CASES": chosen.cases,
        "DOES": chosen.does,
        "READS": chosen.reads,
        "FIRES": chosen.fires,
        "TRY": "\n".join(f"$ {line}" for line in _tries(name, chosen)),
        "TEST": f"$ {chosen.test}",
    }
    templates = {marks["FILE"]: language, chosen.test_file: chosen.template, "README.md": "readme"}
    texts = {file: _filled(template, marks) for file, template in templates.items()}
    return texts | ({"pytest.ini": _PYTEST} if language == "python" else {})


def _filled(template: str, marks: dict[str, str]) -> str:
    text = (
        resources.files("sliphook.cli.authoring")
        .joinpath("templates", f"{template}.txt")
        .read_text(encoding="utf-8")
    )
    return re.sub("@([A-Z_]+)@", lambda mark: marks[mark[1]], text)
