"""On each face: what a plugin asks for without the user's grant does not happen, and is said."""

from __future__ import annotations

from typing import Any

import pytest

from sliphook import Submission
from sliphook.testing import FakePlugin, HostRefused
from sliphook_sdk.protocol import Message, ModelRoute

from .faces import FACES, Face

OWN = ModelRoute(provider="openai", base_url="https://own.example/v1", api="openai")
REQUESTS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("ask", "host/ask", {"prompt": "Where to?"}),
    ("submit", "host/submit", {"session_key": "main", "text": "delete all"}),
    ("approve", "host/answer", {"question_id": "q-1", "choice": "allow"}),
)


@pytest.mark.parametrize("face", FACES, ids=[face.name for face in FACES])
@pytest.mark.parametrize("granted", [True, False])
def test_without_the_grant_nothing_happens(face: Face, granted: bool) -> None:
    said, happened, problems = dict[str, str](), list[str](), list[str]()

    async def tool(_: dict[str, Any]) -> str:
        place = plugin.received[-1].params["session_id"]
        for use, method, params in REQUESTS:
            here = {} if use == "submit" else {"session_id": place}
            try:
                said[use] = str(await plugin.ask(method, **here, **params))
            except HostRefused as refused:
                said[use] = f"{refused.code} {refused}"
        return "done"

    plugin = FakePlugin(
        "phone",
        tools={"deploy": tool},
        hooks={"pre_llm_call": {"replace": {"route": {"base_url": "http://127.0.0.1:8080/v1"}}}},
        subscriptions=[{"event": "pre_llm_call", "replaces": True}],
        uses=["route", "submit", "approve", "ask"],
        servers=["127.0.0.1:8080"],
        grants=None if granted else frozenset(),
    )

    def person(_: object) -> str:
        happened.append("asked")
        return "Bonn"

    def take(_: Submission) -> None:
        happened.append("submitted")

    def problem(_: str, message: str) -> None:
        problems.append(message)

    async def story() -> None:
        async with (
            face.block(
                face.host(
                    [plugin],
                    asker=face.own(person),
                    on_submit=take,
                    on_problem=problem,
                )
            ) as host,
            face.block(host.session()) as session,
            face.block(session.turn("x")) as turn,
        ):
            assert (await face.got(turn.call_tool("deploy", {}))).text() == "done"
            gate = await face.got(
                turn.pre_llm_call(
                    provider="openai",
                    model="large",
                    messages=[Message(role="user", content="hello")],
                    tools=[],
                    route=OWN,
                )
            )
            happened.append(f"routed by {gate.routed_by}")

    face.run(story)
    if granted:
        # in threads a callback of the agent's runs beside the turn
        assert sorted(happened) == ["asked", "routed by phone", "submitted"]
        assert said["approve"] == "{'taken': False}"
        assert problems == []
        return
    assert happened == ["routed by None"]
    for use, _, _ in REQUESTS:
        assert said[use] == (
            f"-32003 the user has not granted '{use}' to phone; to grant it: sliphook"
            f" config phone --grant {use}"
        )
    assert problems == [
        "phone did not answer pre_llm_call: the user has not granted 'route' to phone; to grant it:"
        " sliphook config phone --grant route; it counts as no opinion"
    ]
