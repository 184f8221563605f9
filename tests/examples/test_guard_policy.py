"""examples/guard: policies, the tools of all agents, paths."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from .judging import NO_TREES, SAMPLE, Judge, judging


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    with judging(tmp_path_factory.mktemp("guard").resolve()) as judge:
        yield judge


@pytest.mark.parametrize(
    ("tool", "kind", "arguments", "decision"),
    [
        ("Bash", "shell", {"command": "rm -r x", "description": "tidy"}, "deny"),
        ("run_shell_command", "shell", {"command": "rm -r x", "dir_path": "a"}, "deny"),
        ("shell", "shell", {"command": ["bash", "-lc", "rm -r x"]}, "deny"),
        ("exec", "shell", {"cmd": "rm -r x"}, "deny"),
        ("Bash", None, {"command": "rm -r x"}, "deny"),
        ("powershell", "shell", {"command": "Remove-Item x"}, "ask"),
        ("write_stdin", "shell", {"session_id": 1, "chars": "rm -r x\n"}, "ask"),
        ("execute_code", "shell", {"code": "import os"}, "ask"),
        ("BashOutput", "shell", {"bash_id": "1"}, "abstains"),
        ("Bash", "shell", {"command": 7}, "deny"),
        ("Bash", "shell", {"command": "ls", "cmd": "rm -r x"}, "deny"),
        ("Bash", "shell", {"command": "ls", "chars": "rm -r x"}, "ask"),
        ("t", None, {"command": "rm -r x\n*** Update File: y"}, "deny"),
        ("mcp__x__run", "mcp", {"command": "rm -r x"}, "abstains"),
    ],
)
def test_the_shells_of_all_agents(
    tool: str, kind: str | None, arguments: dict[str, Any], decision: str, judge: Judge
) -> None:
    assert judge.says(NO_TREES, arguments, kind, tool)[0] == decision


def test_paths_are_resolved(judge: Judge) -> None:
    project = judge.project
    (project / "secret").mkdir()
    (project / "src").mkdir()
    (project / "src" / "link").symlink_to(project / "secret")
    policy = """
        default = "ask"
        unknown = "ask"
        [[rule]]
        decision = "deny"
        kind = ["read", "write", "edit", "shell", "search"]
        path = ["./secret/**", "~/.ssh/**"]
        [[rule]]
        decision = "allow"
        kind = ["read", "write", "edit", "search"]
        path = "./src/**"
        [[rule]]
        decision = "allow"
        kind = "shell"
        command = ["cat", "cd", "dd"]
        path = "./**"
        """

    def about(path: str, kind: str = "read") -> str:
        return judge.says(policy, {"file_path": path}, kind)[0]

    for path in ("secret/x", "./src/../secret/x", "src/link/x", f"{project}/secret", "~/.ssh/id"):
        assert about(path) == "deny", path
        assert about(path, "write") == "deny", path
        assert judge.decides(policy, f"cat {path}") == "deny", path
        assert judge.decides(policy, f"cat src/a >{path}") == "deny", path
        assert judge.decides(policy, f"dd of={path}") == "deny", path
    assert about("src/new/file", "write") == "allow"
    assert about("src/../other", "write") == "ask"
    assert about(".") == "ask", "the secret is in it"
    assert about("/proc/self/cwd/secret/x") == "ask"
    assert judge.says(policy, {"pattern": "x"}, "search")[0] == "ask", "without a path it is all"
    patch = "*** Begin Patch\n*** Update File: secret/x\n*** End Patch"
    assert judge.says(policy, {"command": patch}, "edit", "apply_patch")[0] == "deny"
    assert judge.says(policy, {"content": "x"}, "write")[0] == "ask", "where is not said"
    for command, decision in (
        ("cat src/a", "allow"),
        ("cd src && cat ../secret/x", "deny"),
        ("cd secret; cat x", "deny"),
        ("cd /tmp && cat a", "ask"),
        ("cat $X", "ask"),
        ("cat s*/x", "ask"),
        ("cat secret/*", "deny"),
        ("cat src/*", "ask"),
        ("cat src/*/x", "ask"),
        ("cat src/new/*", "allow"),
        ("./cat src/a", "ask"),
        ("echo src/a", "ask"),
        ("cat src/a > src/b", "allow"),
        ("cat src/a > b", "ask"),
        ("cat --show=secret/x", "deny"),
    ):
        assert judge.decides(policy, command) == decision, command


def test_what_is_in_a_folder_may_be_meant(judge: Judge) -> None:
    policy = """
        default = "allow"
        unknown = "ask"
        [[rule]]
        decision = "deny"
        kind = "shell"
        path = ["~/keys/*.pem", "./a/*/secret"]
        """
    (judge.project / "a" / "b").mkdir(parents=True)
    for command, decision in (
        ("cat ~/keys/x.pem", "deny"),
        ("cp -r ~/keys /tmp", "ask"),
        ("cd ~ && cat keys/x.pem", "deny"),
        ("cd ~/keys && cat x.pem", "deny"),
        ("cat ~/keys/readme", "abstains"),
        ("cat a/b/secret", "deny"),
        ("cp -r a/b /tmp", "ask"),
        ("cat a/c", "abstains"),
    ):
        assert judge.decides(policy, command) == decision, command


def test_other_tools_by_their_arguments(judge: Judge) -> None:
    policy = """
        default = "deny"
        unknown = "deny"
        [[rule]]
        decision = "allow"
        kind = "fetch"
        arguments = { url = ["https://docs.python.org/*"] }
        [[rule]]
        decision = "ask"
        tool = "mcp__mail__*"
        reason = "mail is read by people"
        """
    good, bad = {"url": "https://docs.python.org/3"}, {"url": "http://docs.python.org/3"}
    assert judge.says(policy, good, "fetch")[0] == "allow"
    assert judge.says(policy, bad, "fetch")[0] == "deny"
    assert judge.says(policy, good, None)[0] == "deny", "what it does is not known"
    said = judge.says(policy, {}, "mcp", "mcp__mail__send")
    assert said == ("ask", "mail is read by people (mcp__mail__send)")


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        ('default = "ask"\nunknown = "ask"\n[[rule]]\ndecison = "deny"', "line 4: a rule has no key 'decison'; did you mean decision?"),
        ('defalt = "ask"', "line 1: the policy has no key 'defalt'; did you mean default?"),
        ('default = "ask"', "line 1: unknown is missing; it must be ask or deny"),
        ('default = "ask"\nunknown = "allow"', "line 1: unknown is 'allow'; it must be ask or deny"),
        ('default = "ask"\nunknown = "ask"\n[[rule]]\ndecision = "deny"\nkind = "shel"', "line 5: kind names 'shel', which is none; did you mean shell?"),
        ('default = "ask"\nunknown = "ask"\n[[rule]]\ndecision = "deny"\ncommand = 7', "line 5: command must be a text or a list of texts, and not empty"),
        ('default = "ask"\nunknown = "ask"\n[[rule]]\ndecision = "deny"\nwords = "push"', "line 5: words needs command beside it"),
        ('default = "ask', "it is not TOML: "),
        ("# " + "x" * 70_000, "it has more than 65,536 bytes"),
    ],
)  # fmt: skip
def test_a_broken_policy_denies_and_says_where(policy: str, why: str, judge: Judge) -> None:
    assert judge.decides(NO_TREES, "ls") == "abstains"
    decision, reason = judge.says(policy, {"command": "ls"})
    assert (decision, why in reason) == ("deny", True), reason
    assert judge.decides(NO_TREES, "ls") == "abstains", "the next one is taken up"


def test_what_takes_too_long_is_denied(judge: Judge) -> None:
    rule = '[[rule]]\ndecision = "ask"\nkind = "shell"\npath = "./secret/a/**"\n'
    policy = 'default = "allow"\nunknown = "ask"\n' + rule * 500
    decision, reason = judge.says(policy, {"command": "cat b c d;" * 1_200})
    assert (decision, reason) == ("deny", "it takes too long to judge this")


def test_the_sample_can_be_used(judge: Judge) -> None:
    sample = SAMPLE.read_text()
    for command, decision in (
        ("git status --short", "allow"),
        ("make test", "allow"),
        ("git push --force", "deny"),
        ("git push", "ask"),
        ("cat ~/.ssh/id_rsa", "deny"),
        ("ls /", "ask"),
        ("find . -delete", "deny"),
    ):
        assert judge.decides(sample, command) == decision, command
