"""The directions between modules, as a table. Nothing reaches upward, pure code stays pure, and modules stay of a size to read."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

# From the bottom to the top. A module may import what stands in a lower row, and what stands under its own name in its own.
# "agent" is agent and agent.*; the longest name that fits counts.
LAYERS: Final[dict[str, tuple[tuple[str, ...], ...]]] = {
    "sliphook": (
        (
            "quoting",
            "errors",
            "exits",
            "places",
            "stamps",
            "usage",
            "spec",
            "lifecycle",
            "supervisor",
            "sessionhost",
            "deadlines",
            "pipes",
            "rates",
            "keeper",
            "keeper_main",
            "callbacks",
            "signals",
            "trace.record",
            "undecodable",
            "vigil",
        ),
        ("environment",),
        (
            "filechange",
            "integrity",
            "ownership",
            "trace",
            "pluginlog",
            "wire",
            "diagnose",
            "sandbox",
            "stderr",
            "outcome",
            "manifest",
            "schemas",
            "confidential",
        ),
        ("framing", "rpc", "approval", "call", "dispatch", "portal", "process", "tomlfile", "tools"),
        ("openblock", "launch", "overrides", "delivery", "outbox", "witness", "observer", "trace.otel"),
        ("writer",),
        ("reader", "hang"),
        ("connection",),
        ("ending", "waiting"),
        ("instance",),
        ("plugin",),
        ("telling", "admission"),
        ("fire",),
        ("lonefire",),
        ("interrupt", "toolcall", "hostcalls", "pluginwork"),
        ("turn",),
        ("session",),
        ("backstage",),
        ("host",),
        ("faces", "testing", "trace.player"),
        ("aio", "blocking", "trace.replay"),
        ("sliphook",),  # the package itself: what an agent imports
        ("registry",),
        ("settings",),
        ("doctor",),
        ("check",),
        ("agent",),
        ("demo_plugins",),
        ("cli",),
        ("__main__",),
    ),
    "sliphook_sdk": (
        ("protocol",),
        ("errors", "encoding", "schema", "streams", "gates", "backlog", "signals", "sessions", "framing", "call", "log"),
        ("matching", "answers", "ending", "early", "rpc"),
        ("handlers",),
        ("tools",),
        ("contexts",),
        ("service",),
        ("plugin",),
        ("testing",),
        ("engine",),
        ("engine_threads", "engine_asyncio"),
        ("run",),
        ("sliphook_sdk",),  # the package itself: what an author imports
    ),
}
UPWARD: Final = {
    ("sliphook_sdk.plugin", "sliphook_sdk.run"),  # `plugin.run()` is the author's last line; the engine is loaded then, not before
}

PURE: Final = {
    "sliphook": (
        "quoting",
        "trace.record",
        "trace.lines",
        "trace.filter",
        "trace.bodies",
        "trace.complete",
        "trace.reading",
        "trace.turns",
        "trace.exchanges",
        "trace.summary",
        "trace.spans",
        "trace.story",
        "trace.perfetto",
        "trace.timeline",
        "trace.script",
        "trace.differences",
        "spec",
        "confidential",
        "lifecycle",
        "wire",
        "framing",
        "rpc",
        "outcome",
        "manifest",
        "delivery",
        "dispatch",
        "environment",
        "approval",
        "overrides",
        "agent.repeats",
        "agent.written_calls",
        "check.finding",
        "check.samples",
        "doctor.finding",
        "doctor.rules",
        "outbox",
        "stderr",
        "tools",
        "usage",
        "undecodable",
    ),
    "sliphook_sdk": ("protocol", "errors", "schema", "framing", "backlog", "matching", "answers", "sessions"),
}
IMPURE: Final = frozenset({"trio", "asyncio", "time", "os", "subprocess", "threading", "signal", "select", "socket", "concurrent"})

SHARED: Final = ("protocol", "framing")
"""What the host may import of the SDK."""

SHORTEST, LONGEST = 50, 350
SMALL: Final = {
    "sliphook": (
        "__main__",
        "agent",
        "cli",
        "admission",
        "demo_plugins",
        "environment",
        "errors",
        "exits",
        "pipes",
        "places",
        "quoting",
        "rates",
        "stamps",
        "testing",
        "trace",
        "undecodable",
        "usage",
        "vigil",
        "waiting",
    ),
    "sliphook_sdk": ("call", "early", "encoding", "ending", "errors", "log", "matching", "protocol", "sessions", "signals"),
}
"""Modules that say one small thing, whole."""


def folder_of(package: str) -> Path:
    """Where the package under test lies, in the tree or installed."""
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def modules_of(package: str, folder: Path) -> dict[str, Path]:
    """Every module by its dotted name; a package has the name of its folder."""
    found: dict[str, Path] = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        found[".".join((package, *(parts[:-1] if parts[-1] == "__init__" else parts)))] = path
    return found


def _running(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those that only type checkers see."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            continue
        yield child
        yield from _running(child)


def imports_of(module: str, path: Path, known: dict[str, Path]) -> set[str]:
    """What the module imports when it runs, also inside functions, as dotted names of modules."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    found: set[str] = set()
    for node in _running(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names = {f"{base}.{alias.name}" for alias in node.names}
            modules = names & known.keys()
            found |= modules
            if names - modules:
                found.add(base)
    return found


def place(package: str, module: str) -> tuple[int, str]:
    """The row of the module, and the name under which it stands there."""
    inside = package if module == package else module.removeprefix(package + ".")
    fits = [(row, name) for row, names in enumerate(LAYERS[package]) for name in names if inside == name or inside.startswith(name + ".")]
    assert fits, f"{module} stands in no row: say in LAYERS where it belongs"
    return max(fits, key=lambda fit: len(fit[1]))


def reaches_upward(package: str, modules: dict[str, Path]) -> list[str]:
    """Each import that goes against the table, as `module -> module`."""
    wrong: list[str] = []
    for module, path in modules.items():
        row, name = place(package, module)
        for other in sorted(imports_of(module, path, modules) & modules.keys()):
            other_row, other_name = place(package, other)
            if other_row >= row and other_name != name and (module, other) not in UPWARD:
                wrong.append(f"{module} -> {other}")
    return wrong


@pytest.mark.parametrize("package", LAYERS)
def test_nothing_reaches_upward(package: str) -> None:
    modules = modules_of(package, folder_of(package))
    assert len(modules) > 20
    assert reaches_upward(package, modules) == []


@pytest.mark.parametrize(("package", "name"), [(package, name) for package, names in PURE.items() for name in names])
def test_pure_modules_know_no_clock_and_no_process(package: str, name: str) -> None:
    modules = modules_of(package, folder_of(package))
    mine = {module: path for module, path in modules.items() if f"{module}.".startswith(f"{package}.{name}.")}
    assert mine, f"{package}.{name} is gone"
    assert {
        module: bad for module, path in mine.items() if (bad := {i.split(".")[0] for i in imports_of(module, path, modules)} & IMPURE)
    } == {}


@pytest.mark.parametrize("package", LAYERS)
def test_what_says_that_it_is_pure_is_held_to_it(package: str) -> None:
    says = {
        module.removeprefix(f"{package}.")
        for module, path in modules_of(package, folder_of(package)).items()
        if path.read_text(encoding="utf-8").startswith('"""Pure: ')
    }
    assert len(says) > 30 or package == "sliphook_sdk"  # there, none says so
    assert {name for name in says if not any(f"{name}.".startswith(f"{pure}.") for pure in PURE[package])} == set()


@pytest.mark.parametrize("package", LAYERS)
def test_one_module_alone_knows_the_rpc_library(package: str) -> None:
    modules = modules_of(package, folder_of(package))
    users = [m for m, path in modules.items() if any(i.split(".")[0] == "pylsp_jsonrpc" for i in imports_of(m, path, modules))]
    assert users == [f"{package}.rpc"]


def test_the_sdk_knows_neither_the_host_nor_trio() -> None:
    modules = modules_of("sliphook_sdk", folder_of("sliphook_sdk"))
    for module, path in modules.items():
        assert not {i.split(".")[0] for i in imports_of(module, path, modules)} & {"sliphook", "trio"}, module


def test_the_host_takes_from_the_sdk_only_what_both_sides_share() -> None:
    modules = modules_of("sliphook", folder_of("sliphook"))
    taken = {
        imported.split(".")[1] if "." in imported else imported
        for module, path in modules.items()
        if not module.startswith("sliphook.demo_plugins")
        for imported in imports_of(module, path, modules_of("sliphook_sdk", folder_of("sliphook_sdk")))
        if imported.split(".")[0] == "sliphook_sdk"
    }
    assert taken == set(SHARED)


@pytest.mark.parametrize("package", LAYERS)
def test_modules_are_of_a_size_to_read(package: str) -> None:
    odd: dict[str, int] = {}
    for module, path in modules_of(package, folder_of(package)).items():
        lines = len(path.read_text(encoding="utf-8").splitlines())
        small = any(f"{module}.".startswith(f"{package}.{name}.") for name in SMALL[package])
        if path.name != "__init__.py" and not (1 if small else SHORTEST) <= lines <= LONGEST:
            odd[module] = lines
    assert odd == {}


@pytest.mark.parametrize(
    ("module", "text", "wrong"),
    [
        ("wire", "from .plugin import x", ["sliphook.wire -> sliphook.plugin"]),
        ("wire", "from . import plugin", ["sliphook.wire -> sliphook.plugin"]),
        ("wire", "def f():\n    import sliphook.plugin", ["sliphook.wire -> sliphook.plugin"]),
        ("framing", "from . import call", ["sliphook.framing -> sliphook.call"]),
        ("trace.writer", "from ..plugin import x", ["sliphook.trace.writer -> sliphook.plugin"]),
        ("wire", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .plugin import x", []),
        ("plugin", "from .wire import x\nfrom .trace.record import y", []),
        ("trace.writer", "from .record import x", []),
    ],
)
def test_the_check_sees_every_way_to_import(tmp_path: Path, module: str, text: str, wrong: list[str]) -> None:
    for name in ("wire", "plugin", "framing", "call", "trace/record", "trace/writer", "trace/__init__", "__init__"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.py").write_text("")
    (tmp_path / f"{module.replace('.', '/')}.py").write_text(text)
    assert reaches_upward("sliphook", modules_of("sliphook", tmp_path)) == wrong
