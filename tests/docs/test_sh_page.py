"""docs/sh.md: what its advice is worth."""

from __future__ import annotations

from pathlib import Path

import trio

from sliphook import PluginHost
from tests.programs import WAIT_S

ALERTS = """#!/bin/sh
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\\n' "$id" "$1"; }
manifest='{"protocol_version":1,"name":"alerts","subscriptions":[{"event":"turn_end"}]}'
while IFS= read -r line; do
  case $line in
    '{"jsonrpc":"2.0","id":'*) ;;
    '{"jsonrpc":"2.0","method":"event/turn_end"'*)
      (sleep 0.1; : > "@FLAG@") </dev/null >&2 & continue ;;
    '{"jsonrpc":"2.0","method":"exit"'*) wait; exit 0 ;;
    *) continue ;;
  esac
  id=${line#'{"jsonrpc":"2.0","id":'}; id=${id%%,*}
  case $line in *,'"method":"initialize"',*) answer "$manifest" ;; *) answer null ;; esac
done
"""


async def test_a_shell_waits_at_exit_for_what_it_runs_behind_itself(tmp_path: Path) -> None:
    script, alert = tmp_path / "alerts", tmp_path / "alert"
    script.write_text(ALERTS.replace("@FLAG@", str(alert)))
    script.chmod(0o755)
    with trio.fail_after(WAIT_S):
        async with PluginHost([script]) as host, host.session() as session:
            assert [plugin.state for plugin in host.plugins] == ["ready"]
            async with session.turn("hello"):
                pass
    assert alert.exists()
