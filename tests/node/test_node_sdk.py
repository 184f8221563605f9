"""The Node SDK: its own tests, its types, and a plugin of it under the real host."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from sliphook_sdk.protocol import CATALOGUE
from sliphook_sdk.protocol.patterns.domains import why_never
from sliphook_sdk.protocol.patterns.reach import Claim, Order

ROOT = Path(__file__).resolve().parents[2]
SDK = ROOT / "sdk" / "node"
NODE = shutil.which("node")
TOOL = CATALOGUE["pre_tool_call"]
TSC = shutil.which("tsc")

needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")

GUARD = """\
#!/usr/bin/env node
import { execSync } from "node:child_process";
import { Plugin, deny } from "sliphook-sdk";

const plugin = new Plugin("guard", { version: "1.0.0" });

const guarded = { match: { tool_name: ["shell"] }, onFailure: "closed" };
plugin.hook("pre_tool_call", guarded, async (call) => {
  console.log("asked about", call.tool_name);
  execSync("echo a child writes", { stdio: "inherit" });
  if (String(call.arguments.command).includes("rm -rf"))
    return deny("deleting whole trees is not for agents");
});
plugin.on("turn_end", () => {});
plugin.tool("add", { schema: { type: "object", required: ["a", "b"] } }, ({ a, b }) => a + b);

plugin.run();
"""


@pytest.fixture
def guard(tmp_path: Path) -> Path:
    """A plugin in a project that has the SDK installed."""
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "sliphook-sdk").symlink_to(SDK)
    path = tmp_path / "guard.mjs"
    path.write_text(GUARD)
    path.chmod(0o755)
    return path


def sliphook(*args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sliphook", *args]
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False
    )


TESTS = sorted((SDK / "test").glob("*.test.js"))


def test_it_has_tests() -> None:
    assert len(TESTS) == 9


@needs_node
@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.name)
def test_its_own_tests(path: Path) -> None:
    assert NODE is not None
    done = subprocess.run(
        [NODE, "--test", str(path)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    assert "# fail 0" in done.stdout


@needs_node
def test_a_fire_through_the_host(guard: Path) -> None:
    payload = json.dumps({"tool_name": "shell", "arguments": {"command": "rm -rf build"}})
    done = sliphook("fire", "pre_tool_call", "--payload", payload, "--plugin", str(guard), "--json")
    assert done.returncode == 0, done.stderr
    (plugin,) = json.loads(done.stdout)["plugins"]
    assert plugin["name"] == "guard"
    assert plugin["status"] == "answered"
    assert plugin["decision"] == "deny"
    assert "stderr: asked about shell" in done.stderr
    # the host's socket cannot be moved to another descriptor, so the SDK keeps it from children
    assert "guard: stderr: a child writes\n" in done.stderr


@needs_node
def test_a_tool_through_the_host(guard: Path) -> None:
    done = sliphook("call", "add", "--args", '{"a": 2, "b": 3}', "--plugin", str(guard), "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["content"] == "5"
    assert report["is_error"] is False
    assert report["data"] == 5


@needs_node
def test_it_keeps_to_the_protocol(guard: Path) -> None:
    done = sliphook("check", str(guard))
    assert done.returncode == 0, done.stdout
    assert " failed" not in done.stdout.splitlines()[-1]


@pytest.mark.skipif(TSC is None, reason="the TypeScript compiler (tsc) is not installed")
def test_the_types_take_what_is_right_and_refuse_what_is_wrong(tmp_path: Path) -> None:
    assert TSC is not None
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "sliphook-sdk").symlink_to(SDK)
    shutil.copy(Path(__file__).with_name("author.ts"), tmp_path / "author.mts")
    options = [
        "--module",
        "nodenext",
        "--target",
        "es2022",
        "--lib",
        "es2022,dom",
        "--strict",
        "--noEmit",
    ]
    done = subprocess.run(
        [TSC, *options, "author.mts"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@needs_node
def test_it_finds_the_same_subscription_in_the_way_as_the_python_sdk(tmp_path: Path) -> None:
    random = Random(7)

    def globs(field: str) -> list[str]:
        texts = ["".join(random.choices("a-:*?", k=random.randint(1, 3))) for _ in range(9)]
        fitting = [text for text in texts if why_never(TOOL, field, text) is None]
        return fitting[: random.randint(1, 2)] or ["*"]

    def claim() -> Claim:
        fields = random.sample(["tool_name", "origin", "session_key"], random.randint(0, 2))
        match = {field: globs(field) for field in fields}
        if random.random() < 0.3:
            match["tool_kind"] = random.choice([["shell"], ["s*", "read"], ["*"]])
        return Claim(match, random.random() < 0.7)

    cases = [[claim() for _ in range(random.randint(1, 4))] for _ in range(500)]
    expected = [Order(TOOL, case).in_the_way(len(case) - 1) for case in cases]
    program = tmp_path / "reach.mjs"
    program.write_text(f"""\
import {{ readFileSync }} from "node:fs";
import {{ inTheWay }} from {json.dumps(str(SDK / "src" / "reach.js"))};
const cases = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(cases.map((claims) => inTheWay("pre_tool_call", claims) ?? null)));
""")
    assert _run(program, [[one._asdict() for one in case] for case in cases]) == expected
    assert {None, 0, 1, 2} <= {*expected}, "every kind of case is among them"


@needs_node
def test_long_patterns_cost_it_as_many_steps_as_the_python_sdk(tmp_path: Path) -> None:
    own = ["?" * length for length in range(1016, 1023)]
    claims = [{"match": {"origin": globs}, "subagents": True} for globs in (["*:*"], own)]
    program = tmp_path / "steps.mjs"
    program.write_text(f"""\
import {{ readFileSync }} from "node:fs";
import {{ inTheWay }} from {json.dumps(str(SDK / "src" / "reach.js"))};
const claims = JSON.parse(readFileSync(0, "utf8"));
const before = process.cpuUsage();
const found = inTheWay("pre_tool_call", claims) ?? null;
const {{ user, system }} = process.cpuUsage(before);
console.log(JSON.stringify([found, (user + system) / 1000]));
""")
    found, cpu_ms = _run(program, claims)
    assert found is None
    assert cpu_ms < 100


@needs_node
def test_it_says_the_same_of_patterns_that_fit_nothing_as_the_python_sdk(tmp_path: Path) -> None:
    random = Random(7)
    globs = ["".join(random.choices("aA-:*?.|\\", k=random.randint(0, 3))) for _ in range(400)]
    globs += ["mcp", "agent", "x" * 65, "*" + "-" * 64, "x" * 1025, "*" + "x" * 1024, "\u00e9"]
    fields = ["tool_name", "origin", "session_key", "tool_kind"]
    cases = [(field, glob) for field in fields for glob in globs]
    expected = [why_never(TOOL, field, glob) for field, glob in cases]
    program = tmp_path / "domains.mjs"
    program.write_text(f"""\
import {{ readFileSync }} from "node:fs";
import {{ whyNever }} from {json.dumps(str(SDK / "src" / "domains.js"))};
const cases = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(cases.map((one) => whyNever("pre_tool_call", ...one) ?? null)));
""")
    # a character is quoted by each language in its own way
    assert [why and why.replace('"', "'") for why in _run(program, cases)] == expected
    assert len({*expected}) > 6


def _run(program: Path, given: Any) -> Any:
    assert NODE is not None
    done = subprocess.run(
        [NODE, str(program)],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return json.loads(done.stdout)
