"""`make real-clients`: our plugins in the real agents, offline, against a scripted model.

    python -m tests.real_clients [AGENT] [SCENARIO] ...

npm installs the agents. All else is done in a network namespace that has loopback only.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

from . import scenarios
from .clients import CLIENTS, install
from .world import opened

_INSIDE = "SLIPHOOK_NO_NETWORK"


def main(words: list[str]) -> int:
    """The exit code: 0 if every scenario went well."""
    known = {*CLIENTS, *scenarios.ALL}
    if unknown := set(words) - known:
        print(f"there is no {', '.join(sorted(unknown))}; there is {', '.join(sorted(known))}")
        return 2
    if _INSIDE not in os.environ:
        install()
        inside = 'ip link set lo up && exec "$@"'
        again = [sys.executable, "-m", "tests.real_clients", *words]
        unshare = ["unshare", "--net", "--map-root-user", "sh", "-c", inside, "sh", *again]
        return subprocess.run(unshare, env={**os.environ, _INSIDE: "1"}, check=False).returncode
    base = Path(tempfile.mkdtemp(prefix="sh-", dir="/tmp"))  # a socket's path has to be short
    failed = 0
    for agent, client in CLIENTS.items():
        for name, (run, agents) in scenarios.ALL.items():
            wanted = all(one in (agent, name) for one in words) or {agent, name} <= set(words)
            if agent not in agents or not wanted:
                continue
            begun_s = time.monotonic()
            said = "ok"
            folder = base / f"{agent}-{name}"
            try:
                with opened(client, folder) as world:
                    run(world)
            except Exception:
                failed += 1
                said = f"FAILED, see {folder}\n{traceback.format_exc()}"
            took_s = time.monotonic() - begun_s
            label = f"{client.name} {client.version}"
            print(f"{label:20}  {name:14}  {took_s:5.1f} s  {said}", flush=True)
    if not failed:
        shutil.rmtree(base, ignore_errors=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
