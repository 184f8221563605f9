"""`make real-clients`: our plugins in the real agents, offline, against a scripted model.

    python -m tests.real_clients [--keep] [AGENT] [SCENARIO] ...

npm installs the agents, in the versions of `package-lock.json`. All else is done in a network
namespace that has loopback only. A home for each scenario is left with `--keep`, and if it failed.
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
from .clients import CLIENTS, ClientsMissing, install
from .world import opened

_INSIDE = "SLIPHOOK_NO_NETWORK"
_UNSHARE = ["unshare", "--net", "--map-root-user"]


def main(words: list[str]) -> int:
    """The exit code: 0 if every scenario went well."""
    keep = "--keep" in words
    words = [word for word in words if word != "--keep"]
    known = {*CLIENTS, *scenarios.ALL}
    if unknown := set(words) - known:
        print(f"there is no {', '.join(sorted(unknown))}; there is {', '.join(sorted(known))}")
        return 2
    if _INSIDE not in os.environ:
        try:
            install()
            _try_namespace()
        except ClientsMissing as error:
            print(f"nothing was tried: {error}")
            return 1
        inside = 'ip link set lo up && exec "$@"'
        again = [sys.executable, "-m", "tests.real_clients", *words]
        again += ["--keep"] if keep else []
        words = [*_UNSHARE, "sh", "-c", inside, "sh", *again]
        return subprocess.run(words, env={**os.environ, _INSIDE: "1"}, check=False).returncode
    base = Path(tempfile.mkdtemp(prefix="sh-", dir="/tmp"))  # a socket's path has to be short
    failed = 0
    for agent, client in CLIENTS.items():
        for name, (run, agents) in scenarios.ALL.items():
            wanted = all(one in (agent, name) for one in words) or {agent, name} <= set(words)
            if agent not in agents or not wanted:
                continue
            label = f"{client.name} {client.version}"
            if name in scenarios.ON_SCREEN and shutil.which("tmux") is None:
                failed += 1
                print(f"{label:20}  {name:14}  NOT TRIED: tmux is missing", flush=True)
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
            print(f"{label:20}  {name:14}  {took_s:5.1f} s  {said}", flush=True)
    if keep:
        print(f"kept, with traces: {base}")
    elif not failed:
        shutil.rmtree(base, ignore_errors=True)
    return int(failed > 0)


def _try_namespace() -> None:
    """Raises ClientsMissing if the agents could reach a network."""
    try:
        words = [*_UNSHARE, "ip", "link", "set", "lo", "up"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as error:
        raise ClientsMissing(f"without unshare the agents could reach a network: {error}") from None
    if done.returncode != 0:
        raise ClientsMissing(f"no namespace without a network here: {done.stderr.strip()}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
