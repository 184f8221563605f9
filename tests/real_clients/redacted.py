"""examples/redact in a real agent: the model never reads a secret, and a tool gets it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.adapters.attached.fake_agent import wait_for

from .world import World

_PLUGIN: Final = Path(__file__).resolve().parents[2] / "examples" / "redact" / "redact.py"
_SECRET: Final = "ghp_" + "a1B2" * 10
_PLACEHOLDER: Final = "REDACTED_GITHUB_TOKEN_cb9026c0ddf0"
"""What stands for it with a key of zeros."""


def redacted(world: World) -> None:
    """A token goes from one file to another, and a prompt with one is denied."""
    call = world.client.call
    data = world.home / ".local" / "share" / "sliphook" / "data" / "redact"
    data.mkdir(parents=True)
    (data / "key").write_bytes(bytes(32))
    # the Python that has the SDK is the plugin's from now on
    world.sliphook("install", str(_PLUGIN), "--yes", path=world.path)
    world.sliphook("attach", world.client.name, "--yes", "--without", "redact")
    (world.project / "env.txt").write_text(f"TOKEN={_SECRET}\n")
    copy = f"echo {_PLACEHOLDER} > copy.txt"
    code = world.run(call("cat env.txt"), call(copy), call("cat copy.txt"))
    assert code == 0, world.out[-600:]
    world.awaits_end()
    assert (world.project / "copy.txt").read_text() == f"{_SECRET}\n"
    assert f"TOKEN={_PLACEHOLDER}" in world.asked
    assert "stands for a secret that you must not see" in world.asked
    world.run(text=f"log in with {_SECRET}")
    wait_for(world.is_over)
    assert _SECRET not in world.asked, "the model read it"
