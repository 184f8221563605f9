"""A plugin's process from its start to its end."""

from __future__ import annotations

import json
import os
import sys
import traceback
from typing import TYPE_CHECKING, Any, NoReturn

from .process.streams import Output, take_over

if TYPE_CHECKING:
    from .engine.base import Engine
    from .plugin import Plugin


def run(plugin: Plugin[Any]) -> NoReturn:
    """Serve the host on standard input and output; explain the plugin if a person starts it."""
    multiprocessing = sys.modules.get("multiprocessing")
    # private, but nothing else is set while the child of "spawn" imports the plugin's file
    if getattr(multiprocessing and multiprocessing.current_process(), "_inheriting", False):
        raise RuntimeError(
            "plugin.run() was reached in a child of multiprocessing, which imports the plugin's "
            'file too; write it under `if __name__ == "__main__":`'
        )
    # the host starts a plugin without arguments and never on a terminal
    if sys.argv[1:] or os.isatty(0):
        sys.stderr.write(explain(plugin, sys.argv[0]))
        sys.exit(2)
    try:
        incoming, outgoing = take_over()
    except OSError as exc:
        sys.stderr.write(
            f"{plugin.name}: standard input and output must be open, "
            f"they are the way to the host: {exc}\n"
        )
        sys.exit(2)
    # imported here to start fast: the engines and Endpoint are needed only now
    from .process.exit import end_process
    from .runtime.log import send_logging

    try:
        engine = _engine(plugin, incoming, Output(outgoing))
        send_logging(engine.peer)
        engine.serve()
    except BaseException:
        # to standard error, which is the plugin's log: the way to the host may be what failed
        traceback.print_exc()
    end_process(1)


def _engine(plugin: Plugin[Any], incoming: int, output: Output) -> Engine:
    if plugin.is_async:
        from .engine.event_loop import AsyncEngine

        return AsyncEngine(plugin, incoming, output)
    from .engine.threads import ThreadEngine

    return ThreadEngine(plugin, incoming, output)


def explain(plugin: Plugin[Any], path: str) -> str:
    """The text for a person who starts the plugin by hand."""
    manifest = plugin.manifest()
    lines = [
        f"{manifest.name}{f' {manifest.version}' if manifest.version else ''} "
        "is a plugin for agents; Sliphook starts it and speaks to it.",
        *([manifest.description] if manifest.description else []),
        *(["", f"It is disabled: {manifest.disabled}"] if manifest.disabled else []),
        "",
    ]
    asked = list(dict.fromkeys(handler.entry.name for handler in plugin.hooks if handler.asked))
    told = list(dict.fromkeys(handler.entry.name for handler in plugin.hooks if not handler.asked))
    rows = (
        ("is asked", asked),
        ("is told", told),
        ("tools", list(plugin.tools)),
        ("commands", [f"/{name}" for name in plugin.commands]),
    )
    lines += [f"  {title:<9} {', '.join(names)}" for title, names in rows if names]
    where = path if os.sep in path else f"./{path}"
    tries = [f"sliphook fire {name} --plugin {where}" for name in (asked + told)[:1]]
    for name, tool in list(plugin.tools.items())[:1]:
        sample = _sample(tool.spec.input_schema or {})
        tries.append(f"sliphook call {name} --args '{json.dumps(sample)}' --plugin {where}")
    tries.append(f"sliphook check {where}")
    return "\n".join(
        [
            *lines,
            "",
            "Try it:",
            *(f"  {command}" for command in tries),
            "",
            "Install it:",
            f"  sliphook install {where}",
            "",
        ]
    )


def _sample(schema: dict[str, Any]) -> dict[str, Any]:
    samples: dict[str, Any] = {
        "string": "...",
        "integer": 1,
        "number": 1.0,
        "boolean": True,
        "array": [],
        "object": {},
    }
    properties: dict[str, Any] = schema.get("properties", {})
    return {name: samples.get(properties[name].get("type")) for name in schema.get("required", [])}
