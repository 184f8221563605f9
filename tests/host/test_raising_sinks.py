"""What the agent gives the host to be told of everything: it raises, and the plugins go on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
import trio

from sliphook import PluginHost
from sliphook.dispatch.hook_recorder import HookRecorder
from sliphook.session.session import Session
from sliphook.trace import Tee, TraceRecord
from sliphook.trace.record import SinkUntilItRaises, never_raising
from tests.dispatch.fires import payload
from tests.programs import WAIT_S, Workshop, group_lives
from tests.trace.made import Kept


class Raises:
    """A sink that raises at one call, and counts all."""

    def __init__(self, at: int, method: str = "record") -> None:
        self.at, self.method, self.calls = at, method, 0

    def record(self, record: TraceRecord) -> None:
        self._called("record")

    def hide(self, secrets: Iterable[str]) -> None:
        self._called("hide")

    def _called(self, method: str) -> None:
        if method == self.method:
            self.calls += 1
            if self.calls == self.at:
                raise ValueError("disk full")


class RaisingSpans:
    """Spans of which one method raises, or gives what is no span."""

    def __init__(self, bad: str, gives: object = None) -> None:
        self.bad, self.gives = bad, gives

    def _called(self, name: str, well: Any = None) -> Any:
        if name == self.bad and self.gives is None:
            raise ValueError(name)
        return self.gives if name == self.bad else well

    def hook(self, name: str, payload: object) -> Any:
        return self._called("hook", self)

    def told(self, name: str, payload: object) -> Any:
        return self._called("told")

    def span_of(self, payload: object) -> Any:
        return self._called("span_of")

    @property
    def traceparent(self) -> Any:
        return self._called("traceparent")

    def asked(self, plugin: str) -> Any:
        return self._called("asked")

    def over(self, outcome: object) -> None:
        self._called("over")


async def two_turns(shop: Workshop, **settings: Any) -> list[str]:
    """Of each turn: how a call of a guarded tool ended."""
    guards = [
        shop.program(name, hears=["session_start", "pre_tool_call", "turn_end"], tools=[tool])
        for name, tool in (("one", "look"), ("two", "see"))
    ]
    statuses: list[str] = []
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([guard.path for guard in guards], **settings) as host,
            host.session() as session,
        ):
            for _ in range(2):
                async with session.turn("hello") as turn:
                    statuses.append((await turn.call_tool("look", {})).status)
            groups = [plugin.pid for plugin in host.plugins]
    assert len(groups) == 2
    assert not any(group_lives(group) for group in groups if group is not None)
    return statuses


@pytest.mark.parametrize("at", [1, 5, 12, 20, 30, 40])
async def test_a_sink_that_raises_is_logged_once_and_called_no_more(
    shop: Workshop, at: int, caplog: pytest.LogCaptureFixture
) -> None:
    sink = Raises(at)
    assert await two_turns(shop, trace=sink) == ["ok", "ok"]
    assert sink.calls == at
    assert [record.message for record in caplog.records if record.exc_info] == [
        "what the agent gave as `trace` (Raises) failed and is not called any more"
    ]


async def test_a_sink_that_cannot_hide_a_secret_gets_no_record(shop: Workshop) -> None:
    class Open(Kept):
        def hide(self, secrets: Iterable[str]) -> None:
            raise ValueError("not now")

    sink = Open()
    assert await two_turns(shop, trace=sink) == ["ok", "ok"]
    assert sink.records == []


async def test_of_several_sinks_the_others_go_on(shop: Workshop) -> None:
    whole, broken = Kept(), Raises(5)
    assert await two_turns(shop, trace=Tee([broken, whole])) == ["ok", "ok"]
    assert broken.calls == 5
    assert len(whole.of_kind("exit")) == 2


async def test_a_tee_keeps_out_what_its_sinks_raise_and_one_derived_from_it_is_kept_out_too(
    shop: Workshop,
) -> None:
    class RaisingTee(Tee):
        def record(self, record: TraceRecord) -> None:
            raise ValueError("not these")

    plain, derived = Tee([Kept()]), RaisingTee([Kept()])
    assert never_raising(plain) is plain
    assert isinstance(never_raising(derived), SinkUntilItRaises)
    assert await two_turns(shop, trace=derived) == ["ok", "ok"]


@pytest.mark.parametrize(
    ("bad", "gives"),
    [
        *((name, None) for name in ("hook", "told", "span_of", "asked", "over")),
        *((name, 7) for name in ("hook", "told", "span_of", "asked")),
    ],
)
async def test_spans_that_raise_or_are_no_spans_are_logged_once(
    shop: Workshop, bad: str, gives: object, caplog: pytest.LogCaptureFixture
) -> None:
    assert await two_turns(shop, spans=RaisingSpans(bad, gives)) == ["ok", "ok"]
    assert [record.message for record in caplog.records if record.exc_info] == [
        "what the agent gave as `spans` (RaisingSpans) failed and is not called any more"
    ]


def test_a_hook_whose_span_raises_has_none(caplog: pytest.LogCaptureFixture) -> None:
    spans = RaisingSpans("traceparent")
    record = HookRecorder(None, spans).hook("stop", payload("stop"))
    assert record.traceparent is None
    assert len(caplog.records) == 1


async def test_a_fault_while_the_host_is_closed_leaves_no_process(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fault(*_: object) -> None:
        raise ValueError("a fault of the host")

    host = PluginHost([shop.program().path])
    with trio.fail_after(WAIT_S):
        await host.__aenter__()
        group = host.plugins[0].pid
        await host.session().__aenter__()
        monkeypatch.setattr(Session, "close", fault)
        with pytest.raises(ValueError, match="a fault of the host"):
            await host.__aexit__(None, None, None)
    assert group is not None
    assert not group_lives(group)
