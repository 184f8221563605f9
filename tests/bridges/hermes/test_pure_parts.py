"""The tables, the conversions and the checks of signatures."""

# the shapes are those of another project
# pyright: basic

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sliphook.bridges import hermes as bridge
from sliphook.bridges.hermes import messages, tool_results
from sliphook.bridges.hermes.catalogue import ABILITY_ROWS, CATALOGUE_ROWS
from sliphook.bridges.hermes.reasons import REASONS, why_interrupted
from sliphook.bridges.hermes.seams import DoesNotFit, check_names, wrap_agent, wrap_runs
from sliphook.installed import Installed
from sliphook.registry import Broken
from sliphook.testing import FakePlugin
from sliphook_sdk.protocol import CATALOGUE, Message, ModelTool, ToolCallRequest
from tests.bridges.hermes.stand_in import Context, modules

GONE = Broken("guard", Path("guard.toml"), "its file is gone")


def test_each_hook_and_event_has_a_row() -> None:
    assert [row.what for row in CATALOGUE_ROWS] == list(CATALOGUE)


def test_what_is_impossible_has_no_seam_and_a_reason() -> None:
    for row in (*CATALOGUE_ROWS, *ABILITY_ROWS):
        assert row.note or row.how == "exact"
        assert row.how != "impossible" or (row.seam == "" and row.note)


@pytest.mark.parametrize("message", list(REASONS))
def test_reasons_are_words(message: str | None) -> None:
    reason, why = why_interrupted(message)
    assert reason in ("user_stop", "reset", "signal", "timeout", "shutdown")
    assert why == why.lower()


@pytest.mark.parametrize("message", ["", "Stop requested!", "received signal 15 or so", 7, b"x"])
def test_a_text_of_the_users_is_no_reason(message: object) -> None:
    assert why_interrupted(message) == ("new_message", "new_message")


RAW: list[dict[str, Any]] = [
    {"role": "system", "content": "be good"},
    {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image_url"}]},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "sh", "arguments": '{"a":1}'}}
        ],
    },
    {"role": "tool", "content": "done", "tool_call_id": "1"},
]


def test_messages_are_read() -> None:
    assert [messages.message_of(raw) for raw in RAW] == [
        Message(role="system", content="be good"),
        Message(role="user", content="look"),
        Message(
            role="assistant",
            content=None,
            tool_calls=[ToolCallRequest(call_id="1", name="sh", arguments={"a": 1})],
        ),
        Message(role="tool", content="done", call_id="1"),
    ]


def test_what_plugins_left_alone_stays_as_it_was() -> None:
    before = [messages.message_of(raw) for raw in RAW]
    after = [before[0], Message(role="user", content="other"), *before[2:]]
    put = messages.put_back(RAW, before, after)
    assert put == [RAW[0], {"role": "user", "content": "other"}, RAW[2], RAW[3]]


def test_changed_tools_are_put_back() -> None:
    raw = {"type": "function", "function": {"name": "a", "parameters": {}}, "strict": True}
    before = [messages.tool_of(raw)]
    added = ModelTool(name="b", description="", input_schema={})
    assert messages.tools_put_back([raw], before, [*before, added]) == [
        raw,
        {"type": "function", "function": {"name": "b", "description": "", "parameters": {}}},
    ]


def test_notes_make_no_two_messages_of_the_user_in_a_row() -> None:
    assert messages.with_notes([{"role": "user", "content": "a"}], ["b"]) == [
        {"role": "user", "content": "a\n\nb"}
    ]
    assert messages.with_notes(RAW[1:2], ["b"])[0]["content"][-1] == {"type": "text", "text": "b"}
    assert messages.with_notes(RAW, ["b"])[-1] == {"role": "user", "content": "b"}
    assert messages.with_system([], ["s"]) == [{"role": "system", "content": "s"}]


def test_an_answer_survives_the_way_there_and_back() -> None:
    call = ToolCallRequest(call_id="1", name="sh", arguments={"a": 1})
    said = Message(role="assistant", content=None, tool_calls=[call])
    reply = messages.reply_of(messages.completion("m", said))
    assert reply is not None
    assert (reply.message, reply.finish_reason, reply.model) == (said, "tool_calls", "m")
    assert messages.reply_of(SimpleNamespace(choices=None)) is None


@pytest.mark.parametrize("raw", ["[1]", "not json", None, 7, "null"])
def test_arguments_that_are_none_are_empty(raw: object) -> None:
    assert messages.arguments_of(raw) == {}


def test_results_of_tools() -> None:
    assert tool_results.result_of('{"error": "no"}').is_error
    assert not tool_results.result_of('{"error": null}').is_error
    assert not tool_results.result_of("{not json").is_error
    assert tool_results.result_of({"a": {1}}).content == '{"a": "{1}"}'


# -- a Hermes that does not fit


NO_SEAMS: Any = None  # nothing is called


def _other_run(agent: Any, messages: Any) -> None: ...


@pytest.mark.parametrize("run", [None, 7, _other_run, lambda agent, user_message: None])
def test_another_run_conversation_is_refused(run: Any) -> None:
    module = SimpleNamespace(run_conversation=run)
    with pytest.raises(DoesNotFit, match="run_conversation"):
        wrap_runs(module, NO_SEAMS)
    assert module.run_conversation is run


def test_another_interrupt_is_refused() -> None:
    class Agent:
        def interrupt(self, message: str, hard: bool) -> None: ...
        def close(self) -> None: ...

    with pytest.raises(DoesNotFit, match=r"Agent\.interrupt takes self, message, hard"):
        wrap_agent(Agent, NO_SEAMS)


def test_missing_hooks_are_named() -> None:
    with pytest.raises(DoesNotFit, match="there is no hook b, c"):
        check_names(["a"], ["a", "c", "b"], "hook")


@pytest.mark.parametrize(
    ("hooks", "missing", "blocks"),
    [({"pre_tool_call": None}, (), True), ({}, (GONE,), True), ({}, (), False)],
)
def test_a_bridge_that_does_not_fit_blocks_tools_if_there_may_be_a_guard(
    monkeypatch: pytest.MonkeyPatch,
    hooks: dict[str, None],
    missing: tuple[Broken, ...],
    blocks: bool,
) -> None:
    plugin = FakePlugin("probe", hooks=hooks, hears=["turn_end"], recorded=True)
    found = Installed(specs=(plugin,), missing=missing, ignored=())
    monkeypatch.setattr(bridge, "_bridges", [])
    monkeypatch.setattr(bridge, "read_installed", lambda: found)
    ctx = Context()
    with modules(_other_run), pytest.raises(DoesNotFit, match="run_conversation takes agent"):
        bridge.register(ctx)
    assert list(ctx.hooks) == (["pre_tool_call"] if blocks else [])
    for said in ctx.fire("pre_tool_call", tool_name="shell"):
        assert said["action"] == "block"
        assert "hermes plugins disable sliphook" in said["message"]
