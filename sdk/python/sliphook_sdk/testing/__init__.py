"""Test a plugin without a process: call its handlers as the host would, and see their answers.

Example:
    ```python
    from guard import plugin

    def test_trees_stay():
        answer = Harness(plugin).fire("pre_tool_call", arguments={"command": "rm -rf /"})
        assert answer is not None and answer.decision == "deny"
    ```
"""

from __future__ import annotations

from .harness import Harness
from .loading import load_plugin
from .running import CallCancelled, PluginError

__all__ = ["CallCancelled", "Harness", "PluginError", "load_plugin"]
