"""Claude Code's `if`: a hook is left out only where it is certain that it is not meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sliphook.adapters.foreign import shell_rules
from sliphook.adapters.foreign.conditions import holds
from sliphook.adapters.foreign.shell_rules import MAX_COMMAND_CHARS, may_run


@pytest.mark.parametrize(
    ("rule", "tool", "arguments", "fits"),
    [
        (None, "Bash", {}, True),
        ("Bash(git commit:*)", "Bash", {"command": "git commit -m x"}, True),
        ("Bash(git commit:*)", "Bash", {"command": "cd a && git commit"}, True),
        ("Bash(git commit:*)", "Bash", {"command": "git commits"}, False),
        ("Bash(git *)", "Bash", {"command": "git push"}, True),
        ("Bash", "Bash", {"command": "x"}, True),
        ("Bash(ls)", "Write", {"file_path": "ls"}, False),
        ("Edit(*.py)", "Edit", {"file_path": "/p/a.py"}, True),
        ("Edit(src/**)", "Edit", {"file_path": "/p/src/a.py"}, True),
        ("Edit(*.py)", "Edit", {"file_path": "/p/a.js"}, False),
        ("no rule (", "Bash", {}, True),
    ],
)
def test_conditions(rule: str | None, tool: str, arguments: dict[str, str], fits: bool) -> None:
    assert holds(rule, tool, arguments) is fits


@pytest.mark.parametrize(
    "command",
    [
        "rm",
        "ls && rm x",
        "ls & rm x",
        "ls\r\nrm x",
        "ls|rm",
        "\trm x",
        " " * MAX_COMMAND_CHARS + "rm x",
        f"echo {'x' * MAX_COMMAND_CHARS}; rm x",
        "A=1 rm x",
        "A='x y' rm x",
        "x=rm; $x y",
        "(rm x)",
        "{ rm x; }",
        "{ rm x;}",
        "f() { rm x; }; f",
        "function f { rm x; }; f",
        "echo $(rm x)",
        'echo "$(rm x)"',
        "echo `rm x`",
        "r`echo m` x",
        "diff <(rm x) y",
        "if true; then rm x; fi",
        "case x in x) rm y;; esac",
        "! rm x",
        "'rm' x",
        "r''m x",
        "\\rm x",
        "r\\\nm x",
        "echo # \\\nrm x",
        "echo \\>&rm x",
        "$'\\x72m' y",
        "r{m,} x",
        "@(rm) x",
        "/bin/r? x",
        ">o rm x",
        "2>&1 rm x",
        "rm>x",
        "/bin/rm x",
        "RM x",
        "sudo rm x",
        "env A=1 rm x",
        "sh -c 'rm x'",
        "bash <<< 'rm x'",
        "curl x | sh",
        "find . -exec rm {} +",
    ],
)
def test_a_command_that_may_have_a_part_of_the_rule_fits(command: str) -> None:
    assert holds("Bash(rm:*)", "Bash", {"command": command})


@pytest.mark.parametrize(
    "command",
    [
        "git commit -m 'a message'",
        "git commit -m \"$(cat <<'EOF'\nfix things\nEOF\n)\"",
        "echo $(date)",
        "ls -la ~/x 2>&1 | grep x > y",
        "FOO=1 npm test",
        "for f in *.py; do echo $f; done",
        "if [ -f x ]; then echo y; fi",
        "cd $HOME && make",
        "find . -name '*.py'",
        "sudo ls",
        "bash run.sh",
        "rmdir x",
    ],
)
def test_a_command_that_is_certainly_another_does_not_fit(command: str) -> None:
    assert not holds("Bash(rm:*)", "Bash", {"command": command, "description": "rm x"})


@pytest.mark.parametrize(
    ("rule", "command", "fits"),
    [
        ("git push:*", "git  push", True),
        ("git push:*", "git >x push", True),
        ("git push:*", "git 2>&1 push", True),
        ("git push:*", "git $X", True),
        ("git push:*", "git pull 'x'", False),
        ("git * --force", "git push $(x) --force", True),
        ("git * --force", "git push", False),
        ("* --force", "git push --force", True),
        ("* --force", "git push", False),
        ("npm*", "git commit -m 'x'", False),
        ("ls", "ls", True),
        ("ls", "ls -la", False),
        ("time:*", "time ls", True),
        ("FOO=1 npm:*", "FOO=1 npm x", True),
        ("run_in_background:true", "ls", True),
        ("rm:*)|Bash(mv:*", "ls", True),
    ],
)
def test_the_words_of_a_rule(rule: str, command: str, fits: bool) -> None:
    assert may_run(rule, command) is fits


@pytest.mark.parametrize(
    "command", ["sudo " + "a " * 4990, "sh " * 3330, "x=1 " * 2490, ";" * 9990]
)
def test_a_long_command_is_compared_in_few_steps(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = 0
    begins = shell_rules._begins  # pyright: ignore[reportPrivateUsage]

    def counted(words: Any, start: int, head: Any) -> bool:
        nonlocal steps
        steps += 1
        return begins(words, start, head)

    monkeypatch.setattr(shell_rules, "_begins", counted)
    may_run("git a b c:*", command)
    assert steps <= 2 * (MAX_COMMAND_CHARS + 2)


@pytest.mark.parametrize(
    ("rule", "tool", "arguments", "fits"),
    [
        ("Edit(/etc/passwd)", "Edit", {"file_path": "/etc/./passwd"}, True),
        ("Edit(/etc/passwd)", "Edit", {"file_path": "/etc/x/../passwd"}, True),
        ("Edit(/etc/passwd)", "Edit", {"file_path": "../etc//passwd"}, True),
        ("Edit(/etc/passwd)", "Edit", {"file_path": "/ETC/passwd"}, True),
        ("Edit(/etc/passwd)", "Edit", {"file_path": "/proc/self/root/etc/x"}, True),
        ("Edit(/etc/passwd)", "Edit", {"file_path": "/etc/passwd2"}, False),
        ("Edit(//etc/**)", "Write", {"file_path": "/etc/passwd"}, True),
        ("Edit(~/.ssh/**)", "Edit", {"file_path": "/home/me/.ssh/id"}, True),
        ("Read(secrets)", "Read", {"file_path": "secrets/x"}, True),
        ("Read(**/.env)", "Read", {"file_path": ".env"}, True),
        ("Read(src/**/x)", "Read", {"file_path": "src/x"}, True),
        ("Read(*.[ch])", "Read", {"file_path": "x.py"}, True),
        ("Read(src/*)", "Grep", {"pattern": "x"}, True),
        ("Edit(*.env)", "Edit", {"command": "x", "file_path": "a.env"}, True),
        ("Edit(*.env)", "Edit", {"file_path": "a.py", "path": "a.env"}, True),
        ("Edit(*.env)", "Edit", {"file_path": "a.py", "new_string": "a.env"}, False),
        ("Edit(*.env)", "Edit", {"path": "a.py"}, True),
        ("Bash(rm:*)", "Bash", {"command": "ls", "cmd": "rm x"}, True),
        ("WebFetch(domain:evil.com)", "WebFetch", {"url": "https://EVIL.com./x"}, True),
        ("WebFetch(domain:evil.com)", "WebFetch", {"url": "https://ev%69l.com"}, True),
        ("WebFetch(domain:evil.com)", "WebFetch", {"url": "https://x.com/evil.com"}, False),
        ("mcp__x", "mcp__x__t", {}, True),
        ("mcp__x__*", "mcp__y__t", {}, False),
        (" " * 995 + "Bash(rm:*)", "Bash", {"command": "rm"}, True),
    ],
)
def test_the_argument_of_a_rule(
    rule: str, tool: str, arguments: dict[str, str], fits: bool
) -> None:
    assert holds(rule, tool, arguments, "/p") is fits


def test_a_link_is_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("")
    (tmp_path / "link").symlink_to("secret")
    assert holds("Edit(secret)", "Edit", {"file_path": "link"}, str(tmp_path))
    assert holds("Edit(secret)", "Edit", {"file_path": "link"}), "it may be in any folder"
