"""An event for many plugins: equal wishes get equal messages; a change of plugins is noticed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import FrameType
from typing import Any, cast

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

import sliphook
import sliphook.testing
from sliphook import PluginHost, Session
from sliphook.dispatch.audience import Subscriber
from sliphook.dispatch.broadcast import listeners_among, tell
from sliphook.plugin.manifest import read_manifest
from sliphook.plugin.supervision import Plugin
from sliphook.testing import FakePlugin
from sliphook.transport.outbox import Item
from sliphook_sdk.protocol import CATALOGUE, Payload
from sliphook_sdk.protocol.describe import example_of

HOST = str(Path(sliphook.__file__).parent)
FAKES = str(Path(sliphook.testing.__file__).parent)
MODEL_CALL = CATALOGUE["pre_llm_call"]
ABOUT = msgspec.convert(example_of(MODEL_CALL.payload), MODEL_CALL.payload)


class Ear:
    """A plugin that is there, and the conversation with it."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.connection = self

    def tell(self, item: Item) -> None:
        self.heard.append(item.frame)


def subscriber(name: str, *subscriptions: dict[str, Any]) -> Subscriber:
    declared = [{"event": "pre_llm_call", "mode": "event", **fields} for fields in subscriptions]
    manifest = read_manifest(
        json.dumps({"protocol_version": 1, "name": name, "subscriptions": declared}).encode()
    )
    return Subscriber(plugin=name, order=0, routes=manifest.routes["pre_llm_call"])


def heard(subscribers: list[Subscriber], payload: Payload) -> dict[str, list[bytes]]:
    """The messages that each was told; those who were said to be told are those who were."""
    ears = {one.plugin: Ear() for one in subscribers}
    told = tell(MODEL_CALL, payload, listeners_among(subscribers, cast("dict[str, Plugin]", ears)))
    assert sorted(told) == sorted(name for name, ear in ears.items() if ear.heard)
    return {name: ear.heard for name, ear in ears.items()}


wish = st.fixed_dictionaries(
    {},
    optional={
        "match": st.sampled_from(
            [
                {"model": "a*"},
                {"model": ["a*", "b"]},
                {"model": ["b", "a*"]},
                {"provider": "a*"},
                {"model": "b"},
            ]
        ),
        "include": st.sampled_from(
            [["tools"], ["messages"], ["messages", "tools"], ["tools", "messages"]]
        ),
        "subagents": st.booleans(),
        "priority": st.integers(0, 1),
    },
)


@example(
    wishes=[
        [{"match": {"model": "a*"}}],
        [{"match": {"provider": "a*"}}],
        [{"match": {"model": "b"}}],
    ],
    model="a",
    depth=0,
)
@given(
    wishes=st.lists(st.lists(wish, min_size=1, max_size=3), max_size=8),
    model=st.sampled_from("abc"),
    depth=st.integers(0, 1),
)
def test_among_others_each_hears_what_it_would_hear_alone(
    wishes: list[list[dict[str, Any]]], model: str, depth: int
) -> None:
    payload = msgspec.structs.replace(ABOUT, model=model, agent_depth=depth)
    subscribers = [subscriber(f"p{index}", *wished) for index, wished in enumerate(wishes)]
    alone: dict[str, list[bytes]] = {}
    for one in subscribers:
        alone |= heard([one], payload)
    assert heard(subscribers, payload) == alone


def test_those_who_wish_the_same_share_the_bytes() -> None:
    frames = heard(
        [
            subscriber("a", {}),
            subscriber("b", {"include": ["tools"]}),
            subscriber("c", {"timeout_s": 1, "priority": 3}),
        ],
        ABOUT,
    )
    assert frames["a"][0] is frames["c"][0]
    assert frames["a"] != frames["b"]


async def test_who_is_there_is_known_anew_when_it_changes(autojump_clock: MockClock) -> None:
    plugin, other = (
        FakePlugin("plugin", hears=["notification"]),
        FakePlugin("other", hears=["notification"]),
    )

    async def alert(session: Session, message: str) -> None:
        session.notification("warning", message)
        await wait_all_tasks_blocked()

    async with PluginHost([plugin, other]) as host, host.session() as session:
        await alert(session, "both")
        plugin.crash()
        await alert(session, "one is dying")
        await plugin.hears("initialize", times=2)
        await wait_all_tasks_blocked()
        await alert(session, "it is back")
        await host.disable("plugin")
        await alert(session, "it is disabled")
        await host.enable("plugin")
        await alert(session, "it is enabled")
        await host.restart("plugin")
        await alert(session, "it is new")
    assert [one.message for one in plugin.payloads("notification")] == [
        "both",
        "it is back",
        "it is enabled",
        "it is new",
    ]
    assert [one.message for one in other.payloads("notification")] == [
        "both",
        "one is dying",
        "plugin exited with status 1; it is started again",
        "it is back",
        "it is disabled",
        "it is enabled",
        "it is new",
    ]


async def test_the_work_of_telling_one_plugin_more_in_function_calls(
    autojump_clock: MockClock,
) -> None:
    """Function calls are counted, as time differs by machine.

    Each write wakes a process, and the code that runs after it finds cold caches.
    """
    counted = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal counted
        path = frame.f_code.co_filename
        counted += event == "call" and path.startswith(HOST) and not path.startswith(FAKES)

    calls: dict[int, int] = {}
    for many in (10, 30):
        async with (
            PluginHost(
                [FakePlugin(f"p{index}", hears=["notification"]) for index in range(many)]
            ) as host,
            host.session() as session,
        ):
            session.notification("warning", "who is there is found out")
            await wait_all_tasks_blocked()
            counted = 0
            sys.setprofile(count)
            try:
                session.notification("warning", "and known")
            finally:
                sys.setprofile(None)
            calls[many] = counted
    assert (calls[30] - calls[10]) / 20 == 2
