"""`python -I -m sliphook.adapters.attached AGENT SOCKET PARENT`, which a client starts.

It listens before it imports what takes time: clients wait in the queue of the socket.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from .rendezvous import agent_of, claim, join_offered, join_wide

if TYPE_CHECKING:
    from .rendezvous import Claim


def main(words: list[str]) -> int:
    """The exit code: 0 if a daemon listens."""
    if len(words) != 3 or not words[2].isdigit():
        print("usage: python -m sliphook.adapters.attached AGENT SOCKET PARENT", file=sys.stderr)
        return 2
    agent, path = words[0], Path(words[1])
    pid = agent_of(int(words[2]))
    if pid is not None and join_offered(path, agent, pid):
        return 0
    if join_wide(path, agent):
        return 0
    claimed = claim(path)
    if claimed is None:
        return 0
    try:
        return _serve(agent, claimed)
    finally:
        claimed.drop()


def _serve(agent: str, claimed: Claim) -> int:
    import gc
    import logging

    from sliphook.errors import SliphookError
    from sliphook.settings import AgentSettings, read_settings

    from .daemon_log import log_to_file

    log_to_file(agent)
    try:
        settings = read_settings()
        chosen = settings.agents.get(agent, AgentSettings())
        if chosen.one_daemon and not claimed.widen(agent):
            return 0
        # only now what takes time
        import trio

        from sliphook.adapters.dialects.known import DIALECTS
        from sliphook.dumpable import forbid_dumps
        from sliphook.installed import read_installed

        from .daemon import Daemon

        daemon = Daemon(DIALECTS[agent], claimed, read_installed(settings), chosen)
    except (KeyError, OSError, SliphookError) as error:
        logging.getLogger(__name__).error("cannot serve %s: %s", agent, error)
        return 1
    forbid_dumps()
    gc.freeze()  # a collection that looks at all that was imported holds the loop for 15 ms
    try:
        trio.run(daemon.run)
    except Exception:
        # no one reads the standard error of a daemon
        logging.getLogger(__name__).exception("the daemon of %s failed", agent)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
