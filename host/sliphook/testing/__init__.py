"""For embedders' tests: plugins that are Python objects, on the real host and any clock.

The messages are real: they go through the same connection, limits and timeouts as those of a child
process, over pipes inside this process. Only the start of a process is left out. Nothing here
touches the disk or needs a thread, so trio's `MockClock` can drive all of it.

Example:
    ```python
    async def test_a_denied_tool_does_not_run():
        deny = {"decision": "deny", "reason": "not today"}
        guard = FakePlugin("guard", hooks={"pre_tool_call": deny})
        async with (
            PluginHost([guard]) as host,
            host.session() as session,
            session.turn("tidy up") as turn,
        ):
            outcome = await turn.call_tool("shell", {"command": "ls"}, run=shell)
        assert outcome.status == "denied"
        assert guard.names() == ["pre_tool_call"]
    ```
"""

from __future__ import annotations

from .clock import run
from .fake import FakePlugin
from .received import HostRefused, Received
from .replies import CRASHES, HANGS, After, Fails, Raw, Reply

__all__ = [
    "CRASHES",
    "HANGS",
    "After",
    "Fails",
    "FakePlugin",
    "HostRefused",
    "Raw",
    "Received",
    "Reply",
    "run",
]
