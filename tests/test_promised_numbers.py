"""Numbers that a document or a help text promises and the host alone keeps, as literals.

Those of the protocol are in the table of protocol.md, which is generated.
"""

from __future__ import annotations

from sliphook.agent import loop
from sliphook.agent.chat import channel
from sliphook.settings import MOST_MODEL_CALLS
from sliphook.trace import background_sink, file_sink
from sliphook_sdk.protocol import limits


def test_the_hosts_own() -> None:
    assert file_sink.FILE_BYTES == 100_000_000
    assert file_sink.OLD_FILES == 3
    assert (background_sink.MAX_WAITING, background_sink.MAX_WAITING_BYTES) == (10_000, 33_554_432)
    assert channel.MAX_WAITING == 16
    assert loop.MAX_MODEL_CALLS == 50
    assert MOST_MODEL_CALLS == 10_000


def test_those_that_an_author_counts_on() -> None:
    """The table in protocol.md follows a change here, and so would not notice it."""
    assert (limits.HOOK_TIMEOUT_S, limits.TOOL_TIMEOUT_S, limits.COMMAND_TIMEOUT_S) == (5, 30, 30)
    assert (limits.SHUTDOWN_TIMEOUT_S, limits.EXIT_GRACE_S, limits.TERM_GRACE_S) == (1.5, 2, 2)
    assert (limits.MAX_NOTIFY_PER_MINUTE, limits.MAX_LOG_PER_SECOND) == (10, 100)
    assert (limits.MAX_INJECTS_WAITING, limits.MAX_INJECT_BYTES) == (16, 65_536)
    assert (limits.MAX_PLUGIN_REQUESTS, limits.QUEUE_MESSAGES) == (64, 1_024)
    assert limits.MAX_CONTINUES_PER_TURN == 8
