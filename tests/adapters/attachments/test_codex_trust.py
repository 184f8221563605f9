"""What Codex's user has accepted; the hashes are those that Codex 0.171.0 told of these hooks."""

from __future__ import annotations

from pathlib import Path

import pytest

from sliphook.adapters.attachments.codex_trust import hash_of, skipped
from sliphook.adapters.attachments.configs import HookLine

CASES: dict[tuple[str, str, str, int | None], str] = {
    ("pre_tool_use", "*", "/bin/true codex PreToolUse --closed", 65): (
        "sha256:694e76be32b6766598f5290a61983406f2cf31c23a75c031591ff0f65e631f5a"
    ),
    ("session_end", "*", "/bin/true codex SessionEnd", 65): (
        "sha256:b703c482e48e7446faedab2fca5d1203bdcd4b206cb0831595fcf98168443143"
    ),
    ("pre_tool_use", "", "/bin/true é", 65): (
        "sha256:ed23c78ccaf50c67ef10e7287652d554815f517cecf4b9b207342e3d6601cab9"
    ),
    ("user_prompt_submit", "*", "/bin/true u", None): (
        "sha256:e85efe4562dbaba199d4d7bb0f4d2e616b50e1eb684b5c03b5d4316bbd35d21e"
    ),
    ("subagent_start", "*", "/bin/true u", None): (
        "sha256:2c994a40e5f82c42bcbc41ab3d7a1ef513b75d5ef1a8e009c6b5051002a9c509"
    ),
    ("stop", "*", "/bin/true u", None): (
        "sha256:3a190793bcb47d85662570f384ad933d501f57fd47fd0b56ad38624d5fd6e448"
    ),
    ("interrupt", "*", "/bin/true u", 65): (
        "sha256:f5284c32380c686b8017efe8451818c91865c3b17e89ce5e537ee1bd404f74d3"
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_hash_is_codexs(case: tuple[str, str, str, int | None]) -> None:
    event, matcher, command, timeout = case
    handler: dict[str, object] = {"type": "command", "command": command}
    if timeout is not None:
        handler["timeout"] = timeout
    assert hash_of(event, matcher, handler) == CASES[case]


LINE = HookLine(
    "PreToolUse",
    ("/bin/true", "codex", "PreToolUse", "--closed"),
    (1, 0),
    {"type": "command", "command": "/bin/true codex PreToolUse --closed", "timeout": 65},
    "*",
)
GOOD = CASES["pre_tool_use", "*", "/bin/true codex PreToolUse --closed", 65]


@pytest.mark.parametrize(
    ("config", "why"),
    [
        (None, "not accepted"),
        ("", "not accepted"),
        (f'KEY:0:0"]\ntrusted_hash = "{GOOD}"', "not accepted"),
        (f'KEY:1:0"]\ntrusted_hash = "{GOOD}"', None),
        (f'KEY:1:0"]\ntrusted_hash = "{GOOD}"\nenabled = true', None),
        (f'KEY:1:0"]\ntrusted_hash = "{GOOD}"\nenabled = false', "switched off"),
        ('KEY:1:0"]\ntrusted_hash = "sha256:00"', "changed since they were accepted"),
    ],
)
def test_why_a_hook_is_skipped(tmp_path: Path, config: str | None, why: str | None) -> None:
    file, path = tmp_path / "hooks.json", tmp_path / "config.toml"
    if config is not None:
        key = f'model = "m"\n[hooks.state."{file}:pre_tool_use'
        path.write_text(config.replace("KEY", key) if config else "")
    assert skipped(path, file, [LINE]) == ({} if why is None else {"PreToolUse": why})
