"""Results with parts in the requests of both APIs, for models that take images and others."""

from __future__ import annotations

from typing import Any

import pytest

from sliphook.agent.models.address import Endpoint, SetBy
from sliphook.agent.models.anthropic_request import message_request
from sliphook.agent.models.echoed_fields import EchoedFieldStore
from sliphook.agent.models.openai_wire import request_body
from sliphook.agent.models.request import as_text
from sliphook_sdk.protocol import Message, Part, Resource, ToolCallRequest
from tests.docs.protocol_sentences.says import says

IMAGE = Part(type="image", mime_type="image/png", data="iVBORw0KGgo=")
BEFORE = Part(type="text", text="before")
NOTE = Part(type="text", text="[note] mind it")
OTHERS = [
    Part(type="audio", mime_type="audio/wav", data="UklGRg=="),
    Part(type="resource_link", uri="file:///log", name="log", description="of today"),
    Part(type="resource", resource=Resource(uri="file:///log", text="all is well")),
    Part(type="resource", resource=Resource(uri="a:b", mime_type="application/pdf", blob="AAAA")),
]
OTHERS_IN_WORDS = [
    "[audio audio/wav, 4 bytes: this model takes no audio]",
    "[link log file:///log: of today]",
    "[resource file:///log]\nall is well",
    "[resource a:b application/pdf, 3 bytes: this model takes no files]",
]
NO_IMAGE = "[image image/png, 8 bytes: this model takes no images]"


def conversation(*results: list[Part] | None) -> list[Message]:
    """A conversation with one answer that called so many tools, and a text of the user."""
    calls = [
        ToolCallRequest(call_id=f"c{at}", name="look", arguments={}) for at in range(len(results))
    ]
    return [
        Message(role="user", content="look"),
        Message(role="assistant", content=None, tool_calls=calls),
        *(
            Message(role="tool", content=f"page {at}", call_id=f"c{at}", parts=parts)
            for at, parts in enumerate(results)
        ),
        Message(role="user", content="and?"),
    ]


def anthropic(messages: list[Message], **more: Any) -> list[Any]:
    """What the results hold."""
    body = message_request("m", messages, [], **more)
    return [
        block["content"]
        for message in body["messages"]
        for block in message["content"]
        if block["type"] == "tool_result"
    ]


def openai(messages: list[Message], **more: Any) -> list[dict[str, Any]]:
    """The messages behind the calls."""
    body = request_body("m", messages, [], EchoedFieldStore(), **more)
    return list(body["messages"])[2:]


def test_anthropic_gets_the_images_where_they_stand() -> None:
    results = anthropic(conversation([BEFORE, IMAGE, NOTE], None, [*OTHERS, IMAGE]))
    image = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
    }
    assert results == [
        [
            {"type": "text", "text": "before"},
            image,
            {"type": "text", "text": "[note] mind it"},
        ],
        "page 1",
        [*({"type": "text", "text": text} for text in OTHERS_IN_WORDS), image],
    ]


def test_a_text_of_white_space_is_left_out() -> None:
    (result,) = anthropic(conversation([Part(type="text", text=" \n"), IMAGE]))
    assert [block["type"] for block in result] == ["image"]


def test_without_images_anthropic_gets_one_text() -> None:
    assert anthropic(conversation([BEFORE, *OTHERS])) == ["\n".join(["page 0", *OTHERS_IN_WORDS])]
    assert anthropic(conversation([IMAGE]), images=False) == [f"page 0\n{NO_IMAGE}"]


def test_openai_gets_the_images_behind_all_results() -> None:
    messages = openai(conversation([BEFORE, IMAGE], None, [IMAGE]), images=True)
    url = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    shown = "[image image/png, 8 bytes: shown behind the results]"
    assert messages == [
        {"role": "tool", "content": f"page 0\n{shown}", "tool_call_id": "c0"},
        {"role": "tool", "content": "page 1", "tool_call_id": "c1"},
        {"role": "tool", "content": f"page 2\n{shown}", "tool_call_id": "c2"},
        {"role": "user", "content": [url, url, {"type": "text", "text": "and?"}]},
    ]
    last = openai(conversation([IMAGE])[:-1], images=True)
    assert last[-1] == {"role": "user", "content": [url]}
    answer = Message(role="assistant", content="a page")
    went_on = openai([*conversation([IMAGE])[:-1], answer], images=True)
    assert [message["role"] for message in went_on] == ["tool", "user", "assistant"]


@says(
    "`content` is then for people, and for models that take no images: they read beside it a line"
    " about each part that is no text."
)
def test_a_server_that_takes_no_images_gets_a_text_that_says_so() -> None:
    (result, user) = openai(conversation([BEFORE, IMAGE, *OTHERS]))
    assert result["content"] == "\n".join(["page 0", NO_IMAGE, *OTHERS_IN_WORDS])
    assert user == {"role": "user", "content": "and?"}


def test_a_result_that_is_only_an_image_still_says_so() -> None:
    assert as_text(Message(role="tool", content="", parts=[IMAGE])) == NO_IMAGE


@pytest.mark.parametrize(
    ("api", "base_url", "images", "takes"),
    [
        ("openai", "https://api.openai.com/v1", None, True),
        ("openai", "https://api.openai.com/v1", False, False),
        ("openai", "https://api.openai.com.example/v1", None, False),
        ("openai", "http://127.0.0.1:8080/v1", None, False),
        ("openai", "http://127.0.0.1:8080/v1", True, True),
        ("anthropic", "http://127.0.0.1:8080/anthropic", None, True),
        ("anthropic", "https://api.anthropic.com", False, False),
    ],
)
def test_who_takes_images(api: Any, base_url: str, images: bool | None, takes: bool) -> None:
    endpoint = Endpoint(
        api=api, base_url=base_url, api_key=None, set_by=SetBy(key="k"), images=images
    )
    assert endpoint.takes_images is takes
