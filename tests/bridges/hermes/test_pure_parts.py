"""The tables, the conversions and the checks of signatures."""

# the shapes are those of another project
# pyright: basic

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sliphook.bridges import hermes as bridge
from sliphook.bridges.hermes import tool_results
from sliphook.bridges.hermes.apis.api import arguments_of
from sliphook.bridges.hermes.catalogue import ABILITY_ROWS, CATALOGUE_ROWS
from sliphook.bridges.hermes.reasons import REASONS, why_interrupted
from sliphook.bridges.hermes.seams import (
    DoesNotFit,
    check_middleware,
    check_names,
    wrap_agent,
    wrap_runs,
)
from sliphook.installed import Installed
from sliphook.plugin.spec import Override
from sliphook.registry import Broken
from sliphook.testing import FakePlugin
from sliphook_sdk.protocol import CATALOGUE
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


def test_results_of_tools() -> None:
    assert tool_results.result_of('{"error": "no"}').is_error
    assert not tool_results.result_of('{"error": null}').is_error
    assert not tool_results.result_of("{not json").is_error
    deep = '{"a":' + "[" * 100_000
    assert tool_results.result_of(deep).content == deep
    assert arguments_of(deep) == {}
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


@pytest.mark.parametrize("name", ["close", "clear_interrupt"])
def test_other_methods_of_the_agent_are_refused(name: str) -> None:
    class Agent:
        def interrupt(self, message: str) -> None: ...
        def close(self) -> None: ...
        def clear_interrupt(self) -> None: ...

    setattr(Agent, name, lambda self, force: None)
    with pytest.raises(DoesNotFit, match=rf"Agent\.{name} takes self, force"):
        wrap_agent(Agent, NO_SEAMS)
    setattr(Agent, name, None)
    with pytest.raises(DoesNotFit, match=rf"there is no Agent\.{name}"):
        wrap_agent(Agent, NO_SEAMS)


def test_another_way_to_call_middleware_is_refused() -> None:
    def run_llm_execution_middleware(request: Any, next_call: Any, **context: Any) -> None: ...
    def run_tool_execution_middleware(tool: Any, args: Any, next_call: Any) -> None: ...

    module = SimpleNamespace(
        run_llm_execution_middleware=run_llm_execution_middleware,
        run_tool_execution_middleware=run_tool_execution_middleware,
    )
    with pytest.raises(DoesNotFit, match="run_tool_execution_middleware takes tool, args, next"):
        check_middleware(module)


def test_missing_hooks_are_named() -> None:
    with pytest.raises(DoesNotFit, match="there is no hook b, c"):
        check_names(["a"], ["a", "c", "b"], "hook")


@pytest.mark.parametrize(
    ("heard", "user", "missing", "blocks"),
    [
        ({"event": "pre_tool_call"}, Override(), (), True),
        ({"event": "stop"}, Override(), (GONE,), True),
        ({"event": "stop"}, Override(), (), False),
        ({"event": "pre_tool_call", "on_failure": "open"}, Override(), (), False),
        ({"event": "pre_tool_call", "mode": "event"}, Override(), (), False),
        (
            {"event": "pre_tool_call", "on_failure": "open"},
            Override(on_failure="closed"),
            (),
            True,
        ),
        ({"event": "pre_tool_call"}, Override(on_failure="open"), (), False),
        ({"event": "pre_tool_call"}, Override(off=True), (), False),
    ],
)
def test_a_bridge_that_does_not_fit_blocks_tools_if_there_may_be_a_guard(
    monkeypatch: pytest.MonkeyPatch,
    heard: dict[str, str],
    user: Override,
    missing: tuple[Broken, ...],
    blocks: bool,
) -> None:
    settings = {"pre_tool_call": user}
    plugin = FakePlugin("probe", subscriptions=[heard], recorded=True, overrides=settings)
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
