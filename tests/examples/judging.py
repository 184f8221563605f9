"""The guard of examples/guard by the harness: what it decides, without a process."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sliphook_sdk.testing import Harness, load_plugin

GUARD = Path(__file__).resolve().parents[2] / "examples" / "guard" / "guard.py"
SAMPLE = GUARD.with_name("policy.toml")
NO_TREES = """
default = "allow"
unknown = "ask"
[[rule]]
decision = "deny"
kind = "shell"
command = "rm"
options = ["-r|-R|--recursive"]
reason = "no trees"
"""


class Judge:
    """Asks the guard; the policy is its file's text.

    Attributes:
        data: the plugin's data folder.
        project: the folder that the agent works in.
        harness: the host.
    """

    def __init__(self, harness: Harness, data: Path, project: Path) -> None:
        self.harness, self.data, self.project = harness, data, project

    def says(
        self, policy: str, arguments: dict[str, Any], kind: str | None = "shell", tool: str = "t"
    ) -> tuple[str, str]:
        """Its decision, or `abstains`, and the reason."""
        file = self.data / "policy.toml"
        if not file.exists() or file.read_text() != policy:
            file.write_text(policy)
        answer = self.harness.fire(
            "pre_tool_call", tool_name=tool, tool_kind=kind, arguments=arguments
        )
        return ("abstains", "") if answer is None else (str(answer.decision), answer.reason or "")

    def decides(self, policy: str, command: str) -> str:
        return self.says(policy, {"command": command})[0]


@contextmanager
def judging(folder: Path) -> Generator[Judge]:
    """A guard with folders of its own."""
    data, project = folder / "data", folder / "project"
    data.mkdir()
    project.mkdir()
    with Harness(load_plugin(GUARD), data_dir=data, cwd=project) as harness:
        yield Judge(harness, data, project)
