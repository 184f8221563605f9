"""The folders are the floors: the order of packages, the pure code, the size of modules."""

from __future__ import annotations

import ast
import graphlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

# From the bottom to the top. A module may import from lower rows and from its own package.
# "sliphook" is the package itself: what an agent imports.
ORDER: Final[dict[str, tuple[tuple[str, ...], ...]]] = {
    "sliphook": (
        ("quoting", "errors", "ids", "agent_log", "lazy_names", "moved_paths"),
        ("forks",),
        ("files",),
        ("wire",),
        ("trace",),
        ("transport",),
        ("process",),
        ("schemas",),
        ("plugin",),
        ("dispatch",),
        ("session",),
        ("host",),
        ("dumpable", "otel", "signals"),
        ("portal", "testing"),
        ("blocking", "aio"),
        ("sliphook",),
        ("registry",),
        ("settings",),
        ("installed",),
        ("check",),
        ("adapters",),
        ("doctor",),
        ("agent",),
        ("bridges",),
        ("cli",),
        ("__main__",),
    ),
    "sliphook_sdk": (
        ("protocol",),
        ("errors", "framing", "forked", "ending", "spin_wait"),
        ("wire",),
        ("command",),
        ("registration",),
        ("runtime",),
        ("decorators",),
        ("plugin",),
        ("service",),
        ("process",),
        ("testing", "early", "engine"),
        ("run",),
        ("sliphook_sdk",),
    ),
}
UPWARD: Final = {
    (
        "sliphook_sdk.plugin",
        "sliphook_sdk.run",
    ),  # `plugin.run()` is the author's last line; the engine is loaded then, not before
}

PURE: Final = {
    "sliphook": ("quoting", "wire", "trace.views"),
    "sliphook_sdk": ("protocol", "errors", "framing", "registration", "decorators"),
}
"""Pure as a whole. A module elsewhere is pure if its docstring begins with `Pure:`."""
IMPURE: Final = frozenset(
    {
        "trio",
        "asyncio",
        "time",
        "os",
        "subprocess",
        "threading",
        "signal",
        "select",
        "socket",
        "concurrent",
    }
)

SHARED: Final = ("protocol", "framing", "spin_wait")
"""What the host may import of the SDK."""

PLUGINS: Final = (
    "sliphook.cli.demo.plugins.",
    "sliphook.adapters.foreign.__main__",
    "sliphook.adapters.foreign.commands",
    "sliphook.adapters.foreign.plugin",
    "sliphook.adapters.foreign.running",
    "sliphook.adapters.mcp.connection",
    "sliphook.adapters.mcp.plugin",
    "sliphook.adapters.mcp.progress",
    "sliphook.adapters.mcp.questions",
)
"""Modules that run as a plugin's process, and so import what authors of plugins do."""

PROGRAMS: Final = ("sliphook.adapters.", "sliphook.doctor.", "sliphook.cli.")
"""Packages of programs of ours: no agent shares their threads."""
LOGGERS_OF_OTHERS: Final = {
    "'mcp'",
    "'httpx2'",
    "'client'",
    "'pylsp_jsonrpc'",
    "'pylsp_jsonrpc.endpoint'",
}
"""Those of libraries, of which only the level or a filter is set."""

LONGEST: Final = 350
"""Lines of a module."""
LARGEST: Final = 16
"""Modules of a folder, without `__init__`."""


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


def imports_of(module: str, path: Path, known: dict[str, Path]) -> set[str]:
    """What the module imports, as dotted names; inside functions and for type checkers too."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = (
                package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            )
            base = ".".join([*above, *([node.module] if node.module else [])])
            names = {f"{base}.{alias.name}" for alias in node.names}
            modules = names & known.keys()
            found |= modules
            if names - modules:
                found.add(base)
    return found


def row_of(package: str, module: str) -> tuple[int, str]:
    """The row of the module, and the name under which it stands there."""
    name = package if module == package else module.removeprefix(f"{package}.").split(".")[0]
    rows = [row for row, names in enumerate(ORDER[package]) if name in names]
    assert rows, f"{module} stands in no row: say in ORDER where {name} belongs"
    return rows[0], name


def reaches_upward(package: str, modules: dict[str, Path]) -> list[str]:
    """Each import against the order, as `module -> module`."""
    wrong: list[str] = []
    for module, path in modules.items():
        row, name = row_of(package, module)
        for other in sorted(imports_of(module, path, modules) & modules.keys()):
            other_row, other_name = row_of(package, other)
            if other_row >= row and other_name != name and (module, other) not in UPWARD:
                wrong.append(f"{module} -> {other}")
    return wrong


def circle_among(package: str, modules: dict[str, Path], *, folders: bool) -> list[str]:
    """One circle of imports, of modules or of folders; empty if there is none."""

    def node(module: str) -> str:
        return (
            module
            if not folders or modules[module].name == "__init__.py"
            else module.rpartition(".")[0]
        )

    graph: dict[str, set[str]] = {}
    for module, path in modules.items():
        if module == package or path.name == "__init__.py" or (folders and node(module) == package):
            continue  # a package's own names come from its modules
        others = {
            other
            for other in imports_of(module, path, modules) & modules.keys()
            if (module, other) not in UPWARD
        }
        graph.setdefault(node(module), set()).update(
            node(other) for other in others if other != package
        )
        graph[node(module)].discard(node(module))
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.parametrize("package", ORDER)
def test_nothing_reaches_upward(package: str) -> None:
    modules = modules_of(package, folder_of(package))
    assert len(modules) > 20
    assert reaches_upward(package, modules) == []


@pytest.mark.parametrize("folders", [False, True], ids=["modules", "folders"])
@pytest.mark.parametrize("package", ORDER)
def test_there_is_no_circle(package: str, folders: bool) -> None:
    assert circle_among(package, modules_of(package, folder_of(package)), folders=folders) == []


def says_pure(path: Path) -> bool:
    return path.read_text(encoding="utf-8").startswith('"""Pure: ')


@pytest.mark.parametrize("package", ORDER)
def test_pure_modules_know_no_clock_and_no_process(package: str) -> None:
    modules = modules_of(package, folder_of(package))
    for name in PURE[package]:
        assert any(f"{module}.".startswith(f"{package}.{name}.") for module in modules), (
            f"{name} is gone"
        )
    pure = {
        module: path
        for module, path in modules.items()
        if says_pure(path)
        or any(f"{module}.".startswith(f"{package}.{name}.") for name in PURE[package])
    }
    assert len(pure) > 20
    found = {
        module: {name.split(".")[0] for name in imports_of(module, path, modules)} & IMPURE
        for module, path in pure.items()
    }
    assert {module: bad for module, bad in found.items() if bad} == {}


@pytest.mark.parametrize(
    ("package", "module"),
    [("sliphook", "sliphook.wire.rpc"), ("sliphook_sdk", "sliphook_sdk.wire.rpc")],
)
def test_one_module_alone_knows_the_rpc_library(package: str, module: str) -> None:
    modules = modules_of(package, folder_of(package))
    users = [
        m
        for m, path in modules.items()
        if any(i.split(".")[0] == "pylsp_jsonrpc" for i in imports_of(m, path, modules))
    ]
    assert users == [module]


def _calls(path: Path) -> Iterator[ast.Call]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def test_every_logger_of_the_host_is_one_that_raises_nothing() -> None:
    modules = modules_of("sliphook", folder_of("sliphook"))
    own = {
        module
        for module, path in modules.items()
        for call in _calls(path)
        if ast.unparse(call.func) == "logging.getLogger"
        and ast.unparse(call.args[0]) not in LOGGERS_OF_OTHERS
    }
    # the second is a process of ours, with a log of its own
    assert own == {"sliphook.agent_log", "sliphook.adapters.attached.__main__"}


def test_the_host_takes_no_thread_of_the_agents() -> None:
    modules = modules_of("sliphook", folder_of("sliphook"))
    takes = {
        module
        for module, path in modules.items()
        if not module.startswith(PROGRAMS)
        for call in _calls(path)
        if ast.unparse(call.func) in ("trio.to_thread.run_sync", "trio.CapacityLimiter")
    }
    assert takes == {"sliphook.process.own_threads"}


def test_the_sdk_knows_neither_the_host_nor_trio() -> None:
    modules = modules_of("sliphook_sdk", folder_of("sliphook_sdk"))
    for module, path in modules.items():
        assert not {i.split(".")[0] for i in imports_of(module, path, modules)} & {
            "sliphook",
            "trio",
        }, module


def test_the_host_takes_from_the_sdk_only_what_both_sides_share() -> None:
    modules = modules_of("sliphook", folder_of("sliphook"))
    sdk = modules_of("sliphook_sdk", folder_of("sliphook_sdk"))
    taken = {
        imported.split(".")[1] if "." in imported else imported
        for module, path in modules.items()
        if not module.startswith(PLUGINS)
        for imported in imports_of(module, path, sdk)
        if imported.split(".")[0] == "sliphook_sdk"
    }
    assert taken == set(SHARED)


@pytest.mark.parametrize("package", ORDER)
def test_modules_and_folders_are_of_a_size_to_read(package: str) -> None:
    modules = modules_of(package, folder_of(package))
    lines = {
        module: len(path.read_text(encoding="utf-8").splitlines())
        for module, path in modules.items()
    }
    assert {module: count for module, count in lines.items() if count > LONGEST} == {}
    folders: dict[Path, int] = {}
    for path in modules.values():
        folders[path.parent] = folders.get(path.parent, 0) + (path.name != "__init__.py")
    crowded = {folder.name: count for folder, count in folders.items() if count > LARGEST}
    assert crowded == {}


def _docstring_of(path: Path) -> str | None:
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("package", ORDER)
def test_every_package_says_what_it_knows(package: str) -> None:
    folder = folder_of(package)
    silent: Iterator[Path] = (
        path.parent
        for path in folder.rglob("*.py")
        if path.parent.name != "plugins" or path.parent.parent.name != "demo"  # those ship as data
        if not (path.parent / "__init__.py").exists()
        or not _docstring_of(path.parent / "__init__.py")
    )
    assert set(silent) == set()


@pytest.mark.parametrize(
    ("module", "text", "wrong"),
    [
        (
            "wire/rpc",
            "from sliphook.plugin.spec import x",
            ["sliphook.wire.rpc -> sliphook.plugin.spec"],
        ),
        ("wire/rpc", "from ..plugin.spec import x", ["sliphook.wire.rpc -> sliphook.plugin.spec"]),
        ("wire/rpc", "from ..plugin import spec", ["sliphook.wire.rpc -> sliphook.plugin.spec"]),
        (
            "wire/rpc",
            "def f():\n    import sliphook.plugin.spec",
            ["sliphook.wire.rpc -> sliphook.plugin.spec"],
        ),
        (
            "wire/rpc",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n"
            "    from sliphook.plugin.spec import x",
            ["sliphook.wire.rpc -> sliphook.plugin.spec"],
        ),
        ("quoting", "from . import errors", ["sliphook.quoting -> sliphook.errors"]),
        ("plugin/spec", "from sliphook.wire.rpc import x\nfrom .tools import y", []),
    ],
)
def test_the_check_sees_every_way_to_import(
    tmp_path: Path, module: str, text: str, wrong: list[str]
) -> None:
    for name in (
        "wire/rpc",
        "wire/__init__",
        "plugin/spec",
        "plugin/tools",
        "plugin/__init__",
        "quoting",
        "errors",
        "__init__",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.py").write_text("")
    (tmp_path / f"{module}.py").write_text(text)
    assert reaches_upward("sliphook", modules_of("sliphook", tmp_path)) == wrong


def test_the_check_sees_a_circle(tmp_path: Path) -> None:
    for name in (
        "wire/rpc",
        "wire/envelope",
        "wire/inner/low",
        "wire/__init__",
        "wire/inner/__init__",
        "__init__",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{name}.py").write_text("")
    modules = modules_of("sliphook", tmp_path)
    (tmp_path / "wire/rpc.py").write_text("from .inner.low import x")
    assert circle_among("sliphook", modules, folders=False) == []
    assert circle_among("sliphook", modules, folders=True) == []
    (tmp_path / "wire/inner/low.py").write_text("from sliphook.wire.envelope import x")
    assert circle_among("sliphook", modules, folders=False) == []
    assert circle_among("sliphook", modules, folders=True) != []
    (tmp_path / "wire/envelope.py").write_text("def f():\n    from .rpc import x")
    assert circle_among("sliphook", modules, folders=False) != []
    (tmp_path / "wire/envelope.py").write_text("if TYPE_CHECKING:\n    from .rpc import x")
    assert circle_among("sliphook", modules, folders=False) != []
