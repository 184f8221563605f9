"""The servers: where pip and npm get them, how each is started, and what is said to it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

FOLDER: Final = Path(__file__).parents[2] / ".real-servers"
_HERE: Final = Path(__file__).parent
_INSTALL_S: Final = 1800.0
_LOCKS: Final = ("package.json", "package-lock.json", "requirements.txt", "requirements-sdk1.txt")
FORBIDDEN: Final = "forbidden"
"""A call with this word in its arguments is denied by the guard."""
GUARD: Final = f"""
if method == "hook/pre_tool_call" and "{FORBIDDEN}" in json.dumps(params["arguments"]):
    return {{"decision": "deny", "reason": "not this"}}
"""
"""What the guard does."""


class ServersMissing(Exception):
    """The servers cannot be had here; str() says why."""


class Step(msgspec.Struct, frozen=True):
    """One call of the model, and what the answer has in it.

    Attributes:
        tool: its name here.
        arguments: as the model gives them.
        shows: what the chat shows of the result.
    """

    tool: str
    arguments: dict[str, Any]
    shows: str

    @property
    def prompt(self) -> str:
        """What has the scripted model make the call."""
        return f"TOOL {self.tool} {json.dumps(self.arguments)}"


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """One server.

    Attributes:
        words: the command, from the project's folder, for `sliphook install --mcp`.
        tools: all that it has, by their names here.
        steps: from the project's folder to the calls.
    """

    words: Callable[[Path], list[str]]
    tools: tuple[str, ...]
    steps: Callable[[Path], list[Step]]


def environment(home: Path) -> dict[str, str]:
    """That of `sliphook mcp` with our plugins, which run on this Python."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8"}


def node() -> Path:
    """The Node that was installed with them: the suite and the Inspector do not load on Node 20."""
    (found,) = FOLDER.glob("node_modules/node-*/bin/node")
    return found


def _python(program: str, *words: str, sdk: str = "python") -> list[str]:
    return [str(FOLDER / sdk / "bin" / program), *words]


def _node(package: str, *words: str) -> list[str]:
    main = FOLDER / "node_modules" / "@modelcontextprotocol" / package / "dist" / "index.js"
    return [str(shutil.which("node")), str(main), *words]


def _of_files(project: Path) -> list[Step]:
    file = str(project / "a.txt")
    return [
        Step("write_file", {"path": file, "content": "hello"}, "Successfully wrote"),
        Step("read_text_file", {"path": file}, "hello"),
        Step("list_directory", {"path": str(project)}, "[FILE] a.txt"),
        Step("read_text_file", {"path": "/etc/passwd"}, "Access denied"),
        Step("write_file", {"path": f"{project}/{FORBIDDEN}", "content": ""}, "not this"),
        Step("list_directory", {"path": str(project)}, "[FILE] a.txt"),
    ]


def _of_git(project: Path) -> list[Step]:
    at = {"repo_path": str(project)}
    return [
        Step("git_status", at, "seed.txt"),
        Step("git_add", {**at, "files": ["seed.txt"]}, "staged successfully"),
        Step("git_commit", {**at, "message": FORBIDDEN}, "not this"),
        Step("git_commit", {**at, "message": "the first"}, "committed successfully"),
        Step("git_log", at, "the first"),
    ]


def _of_sqlite(_: Path) -> list[Step]:
    return [
        Step("create_table", {"query": "CREATE TABLE t (a TEXT)"}, "Table created"),
        Step("write_query", {"query": "INSERT INTO t VALUES ('kept')"}, "affected_rows"),
        Step("write_query", {"query": f"INSERT INTO t VALUES ('{FORBIDDEN}')"}, "not this"),
        Step("read_query", {"query": "SELECT count(*) AS n, max(a) AS a FROM t"}, "'kept'"),
    ]


def _of_memory(_: Path) -> list[Step]:
    def entity(name: str) -> dict[str, Any]:
        return {"entities": [{"name": name, "entityType": "city", "observations": ["cold"]}]}

    return [
        Step("create_entities", entity("Oslo"), "Oslo"),
        Step("create_entities", entity(FORBIDDEN), "not this"),
        Step("search_nodes", {"query": "cold"}, "Oslo"),
    ]


def _of_time(_: Path) -> list[Step]:
    zones = {"source_timezone": "UTC", "target_timezone": "Asia/Tokyo"}
    return [
        Step("convert_time", {**zones, "time": "12:00"}, "+9.0h"),
        Step("convert_time", {**zones, "time": FORBIDDEN}, "not this"),
    ]


def _of_everything(_: Path) -> list[Step]:
    """Every tool that it has."""
    data = "data:text/plain;base64,aGVsbG8="
    return [
        Step("echo", {"message": "said"}, "Echo: said"),
        Step("echo", {"message": FORBIDDEN}, "not this"),
        Step("get-annotated-message", {"messageType": "error"}, "Error: Operation failed"),
        Step("get-env", {}, "PYTHONUTF8"),
        Step("get-resource-links", {"count": 2}, "Here are 2 resource links"),
        Step("get-resource-reference", {"resourceId": 1}, "reference for Resource 1"),
        Step("get-structured-content", {"location": "Chicago"}, "temperature"),
        Step("get-sum", {"a": 2, "b": 3}, "is 5"),
        Step("get-tiny-image", {}, "the image you requested"),
        Step("gzip-file-as-resource", {"name": "a.gz", "data": data}, "a.gz"),
        Step("simulate-research-query", {"topic": "rain"}, "requires task augmentation"),
        Step("toggle-simulated-logging", {}, "Started simulated"),
        Step("toggle-subscriber-updates", {}, "Started simulated"),
        Step("trigger-long-running-operation", {"duration": 1, "steps": 2}, "completed"),
        Step("everything_read_resource", {}, "demo://resource"),
    ]


SERVERS: Final[dict[str, Server]] = {
    "filesystem": Server(
        words=lambda project: _node("server-filesystem", str(project)),
        tools=(
            *("create_directory", "directory_tree", "edit_file", "get_file_info"),
            *("list_allowed_directories", "list_directory", "list_directory_with_sizes"),
            *("move_file", "read_file", "read_media_file", "read_multiple_files"),
            *("read_text_file", "search_files", "write_file"),
        ),
        steps=_of_files,
    ),
    "git": Server(
        words=lambda project: _python("mcp-server-git", "--repository", str(project)),
        tools=(
            *("git_add", "git_branch", "git_checkout", "git_commit", "git_create_branch"),
            *("git_diff", "git_diff_staged", "git_diff_unstaged", "git_log", "git_reset"),
            *("git_show", "git_status"),
        ),
        steps=_of_git,
    ),
    "sqlite": Server(
        words=lambda project: _python(
            *("mcp-server-sqlite", "--db-path", str(project / "a.db")), sdk="python-sdk1"
        ),
        tools=(
            *("append_insight", "create_table", "describe_table", "list_tables", "read_query"),
            *("sqlite_read_resource", "write_query"),
        ),
        steps=_of_sqlite,
    ),
    "memory": Server(
        words=lambda project: [f"MEMORY_FILE_PATH={project}/memory", *_node("server-memory")],
        tools=(
            *("add_observations", "create_entities", "create_relations", "delete_entities"),
            *("delete_observations", "delete_relations", "open_nodes", "read_graph"),
            "search_nodes",
        ),
        steps=_of_memory,
    ),
    "time": Server(
        words=lambda _: _python("mcp-server-time", "--local-timezone", "UTC"),
        tools=("convert_time", "get_current_time"),
        steps=_of_time,
    ),
    "everything": Server(
        words=lambda _: _node("server-everything"),
        tools=(
            *("echo", "everything_read_resource", "get-annotated-message", "get-env"),
            *("get-resource-links", "get-resource-reference", "get-structured-content"),
            *("get-sum", "get-tiny-image", "gzip-file-as-resource", "simulate-research-query"),
            *("toggle-simulated-logging", "toggle-subscriber-updates"),
            "trigger-long-running-operation",
        ),
        steps=_of_everything,
    ),
}


def install() -> None:
    """Have npm and pip get all of them, in the versions of the files beside this one.

    Raises:
        ServersMissing: they cannot.
    """
    stamp = FOLDER / "installed"
    wanted = "".join((_HERE / name).read_text() for name in _LOCKS)
    if stamp.exists() and stamp.read_text() == wanted:
        return
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        raise ServersMissing("npm and node are missing, which get and run some of the servers")
    print(f"npm and pip get the servers into {FOLDER} ...", flush=True)
    FOLDER.mkdir(exist_ok=True)
    for name in _LOCKS[:2]:
        shutil.copy(_HERE / name, FOLDER)
    try:
        _run(npm, "ci", "--no-fund", "--no-audit", "--ignore-scripts", "--loglevel=error")
        for sdk, name in (("python", "requirements.txt"), ("python-sdk1", "requirements-sdk1.txt")):
            _run(sys.executable, "-m", "venv", "--clear", str(FOLDER / sdk))
            pip = [str(FOLDER / sdk / "bin" / "pip"), "install", "-q", "-r", str(_HERE / name)]
            _run(*pip, "--disable-pip-version-check")
    except subprocess.SubprocessError as error:
        raise ServersMissing(f"the servers could not be had: {error}") from None
    stamp.write_text(wanted)


def _run(*words: str) -> None:
    subprocess.run(words, cwd=FOLDER, check=True, timeout=_INSTALL_S)
