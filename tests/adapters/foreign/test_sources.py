"""Every format is recognised and read; what cannot run is refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sliphook.adapters.dialects.hosted.handler import Handler
from sliphook.adapters.foreign.approval import scripts
from sliphook.adapters.foreign.reach import dead_matchers
from sliphook.adapters.foreign.sources import SourceError, plugin_name, read_source
from sliphook.settings import ForeignSettings, Settings

from .made import command, script, settings_json

DOCKER = """\
agents:
  root:
    model: openai/gpt
    hooks:
      pre_tool_use:
        - matcher: "shell|edit_file"
          hooks:
            - type: command
              command: ./check.sh
              timeout: 7
              on_error: ignore
            - {type: builtin, command: redact_secrets}
        - matcher: "*"
          preempt_yolo: true
          hooks: [{type: command, command: ./first.sh}]
      session_start:
        - {type: command, command: "echo hi", working_dir: sub, env: {A: "yes"}}
      turn_start:
        - {type: builtin, command: add_date}
      post_tool_use:
        - hooks: [{type: model, prompt: "is it safe?", model: small}]
"""
AGENT_CODE = """\
[[hooks]]
event = "pre_tool_use"
tool_name = "Bash"
[hooks.action]
type = "shell"
command = "./check.sh"

[[hooks]]
event = "session_start"
[hooks.action]
type = "http"
url = "https://hooks.example.com/in"
method = "GET"
"""


def written(path: Path, text: str | dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if isinstance(text, str) else json.dumps(text))
    return path


def test_claude_code(tmp_path: Path) -> None:
    hooks = {
        "PreToolUse": [
            command("a", matcher="Bash", timeout=5, onFailure="block", **{"if": "Bash(git:*)"}),
            command("b", **{"async": True}, once=True),
        ],
        "Stop": [{"hooks": [{"type": "prompt", "prompt": "done?"}, {"type": "agent"}]}],
        "PreCompact": [command("c")],
        "UserPromptSubmit": [{"hooks": [{"type": "http", "url": "https://a.example/x"}]}],
        "Tomorrow": [command("d")],
    }
    source = read_source(str(settings_json(tmp_path, hooks)))
    assert source.system.name == "claude-code"
    assert source.handlers[:2] == (
        Handler(
            event="PreToolUse",
            matcher="Bash",
            condition="Bash(git:*)",
            command="a",
            timeout_s=5.0,
            on_failure="closed",
        ),
        Handler(event="PreToolUse", command="b", timeout_s=600.0, background=True, once=True),
    )
    assert [(one.event, one.what) for one in source.refused] == [
        ("Stop", "prompt: done?"),
        ("Stop", "agent: agent"),
    ]
    assert source.never == (
        "PreCompact: No hook or event here tells of it.",
        "Tomorrow: Claude Code has no event of that name that is known here.",
    )
    assert read_source(str(settings_json(tmp_path, hooks, disableAllHooks=True))).handlers == ()


def test_a_plugin_of_claude_code(tmp_path: Path) -> None:
    root = tmp_path / "Log It"
    run = script(root / "scripts" / "run.sh", "#!/bin/sh\n")
    hooks = {"Stop": [command("${CLAUDE_PLUGIN_ROOT}/scripts/run.sh")]}
    written(root / "hooks" / "hooks.json", {"description": "x", "hooks": hooks})
    for given in (root, root / "hooks" / "hooks.json"):
        (root / ".claude-plugin").mkdir(exist_ok=True)
        source = read_source(str(given))
        assert (source.is_plugin, source.root) == (True, root)
        assert scripts(source) == (run,)
        assert plugin_name(source) == "log-it-hooks"


def test_docker_agent(tmp_path: Path) -> None:
    pytest.importorskip("ruamel.yaml")
    source = read_source(str(written(tmp_path / "agent.yaml", DOCKER)))
    assert source.system.name == "docker-agent"
    pre, first, start = source.handlers
    assert (pre.matcher, pre.timeout_s, pre.on_failure) == ("shell|edit_file", 7.0, "closed")
    assert (first.matcher, first.early, first.timeout_s) == ("*", True, 60.0)
    assert (start.cwd, start.env, start.on_failure) == ("sub", {"A": "yes"}, "open")
    assert [one.what for one in source.refused] == [
        "builtin: redact_secrets",
        "builtin: add_date",
        "model: is it safe?",
    ]


def test_two_agents_of_docker_agent_are_not_one(tmp_path: Path) -> None:
    pytest.importorskip("ruamel.yaml")
    hook = "hooks: {stop: [{type: command, command: x}]}"
    text = f"agents:\n  a: {{{hook}}}\n  b: {{{hook}}}\n"
    with pytest.raises(SourceError, match="its agents 'a' and 'b' both have hooks"):
        read_source(str(written(tmp_path / "agent.yml", text)))


def test_agent_code(tmp_path: Path) -> None:
    source = read_source(str(written(tmp_path / ".agent" / "settings.toml", AGENT_CODE)))
    assert source.handlers == (
        Handler(
            event="pre_tool_use",
            matcher="Bash",
            command="./check.sh",
            timeout_s=30.0,
            on_failure="closed",
        ),
        Handler(
            event="session_start",
            url="https://hooks.example.com/in",
            method="GET",
            timeout_s=30.0,
            on_failure="ignore",
        ),
    )


def test_codex_gemini_copilot_and_cursor(tmp_path: Path) -> None:
    codex = written(tmp_path / ".codex" / "hooks.json", {"hooks": {"Stop": [command("x")]}})
    assert read_source(str(codex)).system.name == "codex"
    before = {"hooks": {"BeforeTool": [command("x", timeout=1500)]}}
    gemini = read_source(str(written(tmp_path / ".gemini" / "settings.json", before)))
    assert (gemini.system.name, gemini.handlers[0].timeout_s) == ("gemini", 1.5)
    ours = {"type": "command", "bash": "./scan.sh", "timeoutSec": 9, "env": {"A": "1"}}
    one = {"version": 1, "hooks": {"preToolUse": [ours]}}
    folder = written(tmp_path / ".github" / "hooks" / "a.json", one).parent
    written(folder / "b.json", {"version": 1, "hooks": {"Stop": [command("y")]}})
    copilot = read_source(str(folder))
    assert copilot.system.name == "copilot"
    assert [(h.event, h.timeout_s, h.on_failure) for h in copilot.handlers] == [
        ("preToolUse", 9.0, "closed"),
        ("Stop", 30.0, "open"),
    ]
    shell = {"version": 1, "hooks": {"beforeShellExecution": [{"command": "./a.sh"}]}}
    cursor = read_source(str(written(tmp_path / ".cursor" / "hooks.json", shell)))
    assert (cursor.system.name, cursor.handlers[0].timeout_s) == ("cursor", 60.0)
    said = read_source(f"codex:{written(tmp_path / 'x.json', {'hooks': {'Stop': []}})}")
    assert said.system.name == "codex"


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("a.json", "{", "cannot be read"),
        ("a.json", "[]", "is no table of settings"),
        ("a.json", '{"x": 1}', "has no hooks that are known here"),
        ("a.json", '{"hooks": {"Stop": 3}}', "is no configuration of Claude Code"),
        ("a.json", '{"hooks": {"Stop": [{"hooks": [{"type": "command"}]}]}}', "command is missing"),
        ("a.toml", "x = ", "cannot be read"),
        ("a.json", '{"hooks": {"Stop": [' + "0," * 60_000 + "0]}}", "more than 50,000 values"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, name: str, text: str, why: str) -> None:
    with pytest.raises(SourceError) as raised:
        read_source(str(written(tmp_path / name, text)))
    assert why in str(raised.value)


def test_an_action_without_a_type_is_refused(tmp_path: Path) -> None:
    source = read_source(str(written(tmp_path / "a.toml", '[[hooks]]\nevent = "stop"')))
    assert [one.why for one in source.refused] == ["its type '' is not known."]


def test_a_bomb_of_aliases_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("ruamel.yaml")
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    path = written(tmp_path / "bomb.yaml", "\n".join(lines))
    with pytest.raises(SourceError, match="more than 50,000 values"):
        read_source(str(path))


MERGES = {
    "each of the one before it twice": "a0: &a0 {k: v}\n"
    + "".join(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 20)),
    "one of the same a thousand times": "a: &a {"
    + ", ".join(f"k{n}: v" for n in range(100))
    + "}\nb: {<<: ["
    + ", ".join(["*a"] * 1_000)
    + "]}\n",
    "itself": "a: &a {<<: *a}\n",
}


@pytest.mark.parametrize("merges", MERGES)
def test_a_bomb_of_merged_keys_is_refused(merges: str, tmp_path: Path) -> None:
    pytest.importorskip("ruamel.yaml")
    path = written(tmp_path / "bomb.yaml", MERGES[merges])
    with pytest.raises(SourceError, match="cannot be read"):
        read_source(str(path))


def test_keys_are_merged(tmp_path: Path) -> None:
    pytest.importorskip("ruamel.yaml")
    hook = "{type: command, command: ./a.sh}"
    text = f"x: &x {{stop: [{hook}]}}\nagents:\n  root:\n    hooks: {{<<: *x}}\n"
    source = read_source(str(written(tmp_path / "agent.yaml", text)))
    assert [one.command for one in source.handlers] == ["./a.sh"]


def test_the_files_of_a_folder_have_their_limits_together(tmp_path: Path) -> None:
    folder = tmp_path / ".claude" / "hooks"
    one = {"hooks": {"Stop": [command("x")]}, "more": "a" * 600_000}
    written(folder / "a.json", one)
    assert len(read_source(str(folder)).handlers) == 1
    written(folder / "b.json", one)
    with pytest.raises(SourceError, match=r"b\.json and the files before it have more than 1 MiB"):
        read_source(str(folder))
    for name in ("a.json", "b.json"):
        written(folder / name, {"hooks": {}, "more": [0] * 30_000})
    with pytest.raises(SourceError, match=r"the files before it have more than 50,000 values"):
        read_source(str(folder))


def test_a_hook_of_two_files_counts_once_and_twice_in_one_file_twice(tmp_path: Path) -> None:
    folder = tmp_path / ".claude" / "hooks"
    for name in ("a.json", "b.json"):
        written(
            folder / name, {"hooks": {"Stop": [command("x", timeout=5), command("x", timeout=5)]}}
        )
    assert [one.command for one in read_source(str(folder)).handlers] == ["x", "x"]


def test_a_command_that_is_too_long_is_refused_and_the_others_run(tmp_path: Path) -> None:
    hooks = [command("1" * 32_769), command("1" * 32_768)]
    source = read_source(str(settings_json(tmp_path, {"Stop": hooks})))
    assert [len(one.command) for one in source.handlers] == [32_768]
    assert [one.why for one in source.refused] == ["its command has more than 32,768 characters."]


def test_what_others_could_change_is_refused(tmp_path: Path) -> None:
    path = settings_json(tmp_path, {"Stop": [command("x")]})
    path.chmod(0o666)
    with pytest.raises(SourceError, match=r"settings\.json"):
        read_source(str(path))


def test_the_scripts_that_commands_name(tmp_path: Path) -> None:
    check = script(tmp_path / "tools" / "check.py", "")
    other = script(tmp_path / "with space.sh", "")
    third = script(tmp_path / "third.sh", "")
    log = written(tmp_path / "log.txt", "x")
    hooks = {
        "Stop": [
            command('python3 "$CLAUDE_PROJECT_DIR"/tools/check.py --fast'),
            command(f"cat >> {log} && '{other}' 2> {log}"),
            command("if true; then ./third.sh; fi || echo 'never"),
            command("/bin/true"),
        ]
    }
    source = read_source(str(settings_json(tmp_path, hooks)))
    assert scripts(source) == (check, other, third)


def test_matchers_that_no_tool_may_fit(tmp_path: Path) -> None:
    hooks = {
        "PreToolUse": [
            command("a", matcher="TodoWrite"),
            command("b", matcher="Bash"),
            command("c", matcher="mcp__x__y"),
            command("d", matcher=".*"),
        ]
    }
    source = read_source(str(settings_json(tmp_path, hooks)))
    (line,) = dead_matchers(source, Settings())
    assert line.startswith("PreToolUse on TodoWrite: only a tool of that very name fits")
    tools = {"plan": {"as": "TodoWrite"}}
    assert dead_matchers(source, Settings(foreign=ForeignSettings(tools=tools))) == []


HOOK: dict[str, Any] = {"command": "a", "bash": "a"}
NO_HOOKS: dict[str, Any] = {"hooks": []}
MANY: list[tuple[str, dict[str, Any]]] = [
    ("settings.json", {"Stop": [{"hooks": [HOOK]}] * 257}),
    ("settings.json", {"Stop": [{"hooks": [HOOK] * 257}]}),
    ("settings.json", {"Stop": [NO_HOOKS] * 300 + [HOOK]}),
    ("hooks.json", {"beforeSubmitPrompt": [HOOK] * 257}),
    ("hooks.json", {"agentStop": [HOOK] * 257}),
]


@pytest.mark.parametrize(("name", "hooks"), MANY)
def test_no_hook_is_left_out_without_a_word(
    name: str, hooks: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(json.dumps({"hooks": hooks}))
    with pytest.raises(SourceError, match="hooks has more than 256 entries"):
        read_source(str(path))


def test_no_hook_of_toml_or_yaml_is_left_out_without_a_word(tmp_path: Path) -> None:
    toml = tmp_path / "settings.toml"
    one = '[[hooks]]\nevent = "stop"\n[hooks.action]\ntype = "shell"\ncommand = "a"\n'
    toml.write_text(one * 257)
    with pytest.raises(SourceError, match="hooks has more than 256 entries"):
        read_source(str(toml))
    yaml = tmp_path / "agent.yaml"
    hooks = {"stop": [{"command": "a"}] * 257}
    yaml.write_text(json.dumps({"agents": {"root": {"hooks": hooks}}}))
    with pytest.raises(SourceError, match="stop has more than 256 entries"):
        read_source(str(yaml))
