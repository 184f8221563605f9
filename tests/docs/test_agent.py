"""What docs/agent.md tells to copy runs as it stands there, with a real plugin."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = (ROOT / "docs" / "agent.md").read_text(encoding="utf-8")


def test_the_agent_prints_what_the_page_says(tmp_path: Path) -> None:
    (program,) = re.findall(r"<!-- file: agent.py -->\n```python\n(.+?)```", PAGE, re.DOTALL)
    ((prompt, printed),) = re.findall(
        r"\$ python agent\.py '(.+?)' examples/guard\.py\n(.+?)```", PAGE, re.DOTALL
    )
    (tmp_path / "agent.py").write_text(program, encoding="utf-8")
    command = [sys.executable, "agent.py", prompt, ROOT / "examples" / "guard.py"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    assert re.sub(r"in \d+ ms", "in 0 ms", done.stdout) == printed


def test_the_gateway_serves_the_lines_of_several_channels(tmp_path: Path) -> None:
    (program,) = re.findall(r"<!-- file: gateway.py -->\n```python\n(.+?)```", PAGE, re.DOTALL)
    (tmp_path / "gateway.py").write_text(program, encoding="utf-8")
    command = [sys.executable, "gateway.py", str(ROOT / "examples" / "weather.py")]
    lines = '#oslo TOOL weather {"city":"Bergen"}\n#bergen hello\n#oslo /plugins\n'
    done = subprocess.run(
        command, cwd=tmp_path, input=lines, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "#oslo [command] weather  ready\n" in done.stdout
    assert (
        '#oslo [completed] weather: {"city":"Bergen","days":1,"sky":"rain","celsius":11}\n'
        in done.stdout
    )
    assert "#bergen [completed] Hello. I am the scripted model" in done.stdout
