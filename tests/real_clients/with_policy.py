"""examples/guard in the real agents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from .world import World

_NO_TREES: Final = """
default = "allow"
unknown = "deny"
[[rule]]
decision = "deny"
kind = "shell"
command = "rm"
options = "-r|-R|--recursive"
reason = "trees are not for agents"
"""


def policy(world: World) -> None:
    """A command in disguise, what only the run would show, and one that is fine."""
    file = world.home / "policy.toml"
    file.write_text(_NO_TREES)
    guard = Path(__file__).parents[2] / "examples" / "guard" / "guard.py"
    words = ("--name", "policy", "--config", f"policy={file}", "--yes")
    world.sliphook("install", str(guard), *words, path=world.path)
    world.sliphook("attach", world.client.name, "--yes")
    (world.project / "build").mkdir()
    call = world.client.call
    world.run(call("echo `r''m -r build`"), call("x=rm; $x -r build"), call("echo it-was-fine"))
    world.awaits_end()
    assert (world.project / "build").is_dir()
    statuses = [status for _, status in world.posts()]
    assert statuses == ["denied", "denied", "ok"], world.posts()
    assert "trees are not for agents" in world.asked
    (log,) = world.home.rglob("decisions.jsonl")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [one["decision"] for one in lines] == ["deny", "deny", "allow"], lines
    assert {one["kind"] for one in lines} == {"shell"}, lines
