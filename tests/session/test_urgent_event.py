"""What an interrupt tells: large values are put in as they are, and many events are one piece."""

from __future__ import annotations

import logging
from typing import Any, cast

import msgspec
import pytest
import trio

from sliphook import Session
from sliphook.dispatch.audience import Subscriber
from sliphook.dispatch.broadcast import Broadcast, Listeners
from sliphook.plugin.route import Route
from sliphook.session.urgent.bundles import Bundles
from sliphook.session.urgent.event import UrgentEvent
from sliphook.transport.connection import Connection
from sliphook.transport.outbox import Item
from sliphook.wire import envelope
from sliphook_sdk.protocol import CATALOGUE
from tests.programs import Program, Workshop, case_of

from .interrupting import conversation

ENTRY = CATALOGUE["post_tool_call"]
ANY = Subscriber(
    plugin="one",
    order=0,
    routes=(
        Route(
            entry=ENTRY,
            mode="event",
            patterns=(),
            timeout_s=5.0,
            on_failure="open",
            priority=0,
            replaces=False,
            include=frozenset(),
            subagents=False,
            index=0,
        ),
    ),
)


def payload(meta: object, arguments: object) -> Any:
    fields: dict[str, Any] = {
        "event_id": "e",
        "seq": 1,
        "time": "",
        "session_id": "s",
        "session_key": None,
        "platform": ',"meta":0',
        "user_id": ',\\"meta":0',
        "cwd": "/",
        "turn_id": "t",
        "agent_id": "a",
        "parent_agent_id": None,
        "agent_depth": 0,
        "meta": meta,
        "call_id": "c",
        "model_call_id": None,
        "tool_name": ',"arguments":0,"result":null',
        "origin": "agent",
        "started": True,
        "status": "cancelled",
        "duration_ms": None,
        "substituted_by": None,
        "arguments": arguments,
        "result": None,
    }
    return ENTRY.payload(**fields)


def whole(item: Item | None) -> bytes:
    assert item is not None
    written = b"".join(item.parts())
    assert item.size == len(written)
    return written


LARGE: dict[str, object] = {"a": '\x01"' * 3_000, "arguments": 0, "meta": 0, "b": [1, None]}
SMALL: dict[str, object] = {"arguments": 0, "meta": 0, 'x,"arguments': 0}


@pytest.mark.parametrize("span", [None, "00-11-22-01"])
@pytest.mark.parametrize("meta", [None, SMALL, LARGE])
@pytest.mark.parametrize("arguments", [SMALL, LARGE])
def test_it_is_written_as_it_would_be_encoded(
    meta: object, arguments: object, span: str | None
) -> None:
    made = payload(msgspec.Raw(envelope.encode(meta)), msgspec.Raw(envelope.encode(arguments)))
    expected = whole(Broadcast(ENTRY, payload(meta, arguments), span).item_for(ANY))
    event = UrgentEvent(ENTRY, made, span)
    assert whole(event.item_for(ANY)) == expected
    assert event.item_for(ANY) is event.item_for(ANY)


def test_a_large_text_is_not_copied() -> None:
    text = envelope.encode(LARGE)
    item = UrgentEvent(ENTRY, payload(None, msgspec.Raw(text))).item_for(ANY)
    assert item is not None
    assert [len(part) for part in item.more] == [len(text), len(b',"result":null}}\n')]
    assert isinstance(item.more[0], memoryview)


def test_what_is_too_large_is_told_to_none(caplog: pytest.LogCaptureFixture) -> None:
    def item(count: int) -> Item | None:
        event = UrgentEvent(ENTRY, payload(None, msgspec.Raw(b'"%b"' % (b"x" * count))))
        assert event.item_for(ANY) is event.item_for(ANY)
        return event.item_for(ANY)

    # as many as a message that is encoded may have
    beside = len(envelope.encode(payload(None, "")))
    with caplog.at_level(logging.WARNING):
        assert item(4 * 1024 * 1024 - 256 - beside) is not None
        assert not caplog.messages
        assert item(4 * 1024 * 1024 - 255 - beside) is None
    assert caplog.messages == [
        "post_tool_call is 4,194,049 bytes, over 4,194,048; no plugin is told of it"
    ]


class Told:
    """Stands for a connection."""

    def __init__(self) -> None:
        self.items: list[Item] = []

    def tell_urgently(self, item: Item) -> None:
        self.items.append(item)


def test_small_ones_for_the_same_plugins_are_one_piece() -> None:
    one, two, three = Told(), Told(), Told()

    def group(*told: Told) -> Listeners:
        return Listeners(ANY, [""] * len(told), [cast("Connection", each) for each in told])

    ends, turns = (group(one, two), group(three)), group(two, three)
    for joined in (True, False):
        bundles = Bundles(joined=joined)
        expected: dict[Told, bytes] = dict.fromkeys((one, two, three), b"")

        def add(
            name: str, to: Listeners, item: Item, bundles: Bundles, expected: dict[Told, bytes]
        ) -> None:
            bundles.add(CATALOGUE[name], to, item)
            for told in to.connections:
                expected[cast("Told", told)] += whole(item)

        for number in range(100):
            item = Item(b"<%d>" % number, "event/post_tool_call", session_id="s")
            if number == 50:
                item = Item(b"<50", "event/post_tool_call", rest=memoryview(b"x" * 9_000))
            add("post_tool_call", ends[number % 3 == 0], item, bundles, expected)
        add("turn_end", turns, Item(b"<end>", "event/turn_end"), bundles, expected)
        bundles.send()
        for told in expected:
            assert b"".join(map(whole, told.items)) == expected[told]
        lengths = [len(told.items) for told in (one, two, three)]
        assert lengths == ([3, 4, 2] if joined else [66, 67, 35])
        for told in expected:
            told.items.clear()


HEARS = ("agent_loop_stopped", "post_tool_call", "turn_end")


async def interrupted(
    monkeypatch: pytest.MonkeyPatch, session: Session, arguments: dict[str, Any]
) -> int:
    """Interrupt a turn with three calls of the agent's own tool; how many bytes were encoded."""
    encoded = 0
    encode = envelope.encode

    def counted(value: object) -> bytes:
        nonlocal encoded
        body = encode(value)
        encoded += len(body)
        return body

    running = 0
    all_run = trio.Event()

    async def run(_: dict[str, Any]) -> None:
        nonlocal running
        running += 1
        if running == 3:
            all_run.set()
        await trio.sleep_forever()

    async with session.turn("x") as turn, trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(lambda: turn.call_tool("shell", arguments, run=run))
        await all_run.wait()
        monkeypatch.setattr(envelope, "encode", counted)
        session.interrupt()
        monkeypatch.undo()
    return encoded


def ends_of(program: Program) -> list[Any]:
    return [
        message["params"]["arguments"]
        for message in program.messages()
        if message["method"] == "event/post_tool_call"
    ]


async def test_large_arguments_and_meta_are_not_encoded_in_an_interrupt(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = {"command": "\x01" * 20_000, "arguments": 0}
    meta = {"notes": '"' * 50_000}
    hears = shop.program(hears=HEARS)
    async with conversation(hears) as (host, _), host.session(meta=meta) as session:
        assert await interrupted(monkeypatch, session, arguments) < 20_000
    assert ends_of(hears) == [arguments] * 3
    told = [m for m in hears.messages() if m.get("method", "").removeprefix("event/") in HEARS]
    assert [message["params"]["meta"] == meta for message in told] == [True] * 5


async def test_arguments_that_a_plugin_has_replaced_are_told(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    replaces = shop.program(
        on=case_of(
            "hook/pre_tool_call", 'return {"replace": {"arguments": {"b": "\\\\" * 20_000}}}'
        ),
        hears=HEARS,
        subscriptions=[{"event": "pre_tool_call", "replaces": True}],
    )
    async with conversation(replaces) as (_, session):
        assert await interrupted(monkeypatch, session, {"a": "x" * 9_000}) < 20_000
    assert ends_of(replaces) == [{"b": "\\" * 20_000}] * 3


async def test_a_meta_that_changes_is_told_as_it_was_when_the_turn_began(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    hears = shop.program(hears=HEARS)
    meta = {"notes": "x" * 5_000}
    async with conversation(hears) as (host, _), host.session(meta=meta) as session:
        meta["notes"] = "y" * 6_000
        await interrupted(monkeypatch, session, {})
        meta["notes"] = "z"
        await interrupted(monkeypatch, session, {})
    ends = [m["params"]["meta"] for m in hears.messages() if m["method"] == "event/turn_end"]
    assert ends == [{"notes": "y" * 6_000}, {"notes": "z"}]
