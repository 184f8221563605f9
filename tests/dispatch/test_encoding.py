"""One payload in the forms in which it is sent."""

from __future__ import annotations

import json
from typing import Any, TypeVar

import msgspec
import pytest

from sliphook.dispatch.encoding import Delivery, PayloadTooLarge
from sliphook.wire.shared_params import SharedParams
from sliphook_sdk.protocol import CATALOGUE, Message, Payload, ToolCallRequest
from sliphook_sdk.protocol.describe import example_of
from sliphook_sdk.protocol.payloads import PostLlmCall, PreLlmCall, PreToolCall

ALL = frozenset({"tools", "messages", "response"})
P = TypeVar("P", bound=Payload)


def sample(kind: type[P], **fields: Any) -> P:
    """A payload as the session stamps it: without what only a delivery knows."""
    builtins = {
        name: value
        for name, value in example_of(kind).items()
        if name not in ("timeout_s", "truncated")
    }
    return msgspec.structs.replace(msgspec.convert(builtins, kind), **fields)


def sent(
    delivery: Delivery, payload: Payload, include: frozenset[str], timeout_s: float | None
) -> dict[str, Any]:
    params = delivery.params(payload, include, timeout_s)
    whole = params.whole() if isinstance(params, SharedParams) else params
    assert len(params) == len(whole)
    fields: dict[str, Any] = json.loads(bytes(whole))
    return fields


def talk(text: str) -> list[Message]:
    return [Message(role="user", content=text)]


def test_heavy_fields_are_null_for_plugins_that_did_not_ask_for_them() -> None:
    payload = sample(PreLlmCall, messages=talk("hello"), tools=[])
    delivery = Delivery(CATALOGUE["pre_llm_call"])
    light = sent(delivery, payload, frozenset(), 5.0)
    assert light["messages"] is None
    assert light["tools"] is None
    assert light["model"] == "scripted"
    assert sent(delivery, payload, frozenset({"messages"}), 5.0)["messages"] == [
        {"role": "user", "content": "hello"}
    ]
    assert sent(delivery, payload, frozenset({"messages"}), 5.0)["tools"] is None
    assert sent(delivery, payload, frozenset({"tools"}), 5.0)["tools"] == []


def test_a_request_says_what_time_is_left_and_an_event_does_not() -> None:
    payload = sample(PreToolCall)
    delivery = Delivery(CATALOGUE["pre_tool_call"])
    assert sent(delivery, payload, frozenset(), 1.25)["timeout_s"] == 1.25
    assert "timeout_s" not in sent(delivery, payload, frozenset(), None)


def test_free_form_values_come_last_in_the_catalogue_s_order() -> None:
    payload = sample(PreLlmCall, messages=talk("hello"), tools=[])
    names = list(sent(Delivery(CATALOGUE["pre_llm_call"]), payload, ALL, 5.0))
    assert names[-10:] == [
        "meta",
        "call_index",
        "attempt",
        "provider",
        "timeout_s",
        "model",
        "failure",
        "route",
        "tools",
        "messages",
    ]


def test_nothing_is_said_to_be_truncated_where_nothing_was() -> None:
    payload = sample(PreLlmCall, messages=talk("x" * 4_000_000))
    fields = sent(Delivery(CATALOGUE["pre_llm_call"]), payload, ALL, 5.0)
    assert "truncated" not in fields
    assert len(fields["messages"][0]["content"]) == 4_000_000


def test_over_4_mib_the_included_heavy_fields_become_null_and_are_named() -> None:
    payload = sample(PreLlmCall, messages=talk("x" * (4 * 1024 * 1024)), tools=[])
    delivery = Delivery(CATALOGUE["pre_llm_call"])
    fields = sent(delivery, payload, ALL, 5.0)
    assert fields["messages"] is None
    assert fields["tools"] is None
    assert fields["truncated"] == ["tools", "messages"]
    assert sent(delivery, payload, frozenset({"messages"}), 5.0)["truncated"] == ["messages"]
    assert "truncated" not in sent(delivery, payload, frozenset(), 5.0)


@pytest.mark.parametrize(
    ("value", "cut"),
    [
        ("[" * 133 + "]" * 133, False),
        ("[" * 134 + "]" * 134, True),
        ("7" * 308, False),
        ("7" * 309, True),
    ],
)
def test_what_small_readers_cannot_read_is_cut_too(value: str, cut: bool) -> None:
    """The message, its params, the messages, one, its calls, one, its arguments are seven levels."""
    call = ToolCallRequest(call_id="c", name="shell", arguments={"a": json.loads(value)})
    payload = sample(
        PreLlmCall, messages=[Message(role="assistant", content=None, tool_calls=[call])]
    )
    fields = sent(Delivery(CATALOGUE["pre_llm_call"]), payload, ALL, 5.0)
    assert ("truncated" in fields) is cut
    assert (fields["messages"] is None) is cut


def test_a_conversation_of_too_many_halves_of_characters_is_cut_too() -> None:
    payload = sample(PreLlmCall, messages=talk("x\ud800") * 20_000, tools=[])
    delivery = Delivery(CATALOGUE["pre_llm_call"])
    assert sent(delivery, payload, frozenset({"messages"}), 5.0)["truncated"] == ["messages"]


def test_a_field_that_was_null_anyway_was_not_truncated() -> None:
    payload = sample(PreLlmCall, messages=talk("x" * (4 * 1024 * 1024)), tools=None)
    assert sent(Delivery(CATALOGUE["pre_llm_call"]), payload, ALL, 5.0)["truncated"] == ["messages"]


def test_an_event_goes_without_its_heavy_fields_too() -> None:
    payload = sample(
        PostLlmCall, response=Message(role="assistant", content="x" * (4 * 1024 * 1024))
    )
    fields = sent(Delivery(CATALOGUE["post_llm_call"]), payload, ALL, None)
    assert (fields["response"], fields["truncated"]) == (None, ["response"])


@pytest.mark.parametrize("timeout_s", [5.0, None])
def test_what_does_not_fit_even_then_is_payload_too_large(timeout_s: float | None) -> None:
    payload = sample(PreToolCall, arguments={"command": "x" * (4 * 1024 * 1024)})
    with pytest.raises(
        PayloadTooLarge, match=r"^pre_tool_call is 4,19[45],\d{3} bytes, over 4,194,048$"
    ):
        Delivery(CATALOGUE["pre_tool_call"]).params(payload, frozenset(), timeout_s)


def test_the_size_is_counted_in_bytes_with_room_for_the_envelope() -> None:
    delivery = Delivery(CATALOGUE["pre_llm_call"])
    room = (
        4 * 1024 * 1024
        - 256
        - len(delivery.params(sample(PreLlmCall, messages=talk("")), ALL, None))
    )
    assert "truncated" not in sent(
        delivery, sample(PreLlmCall, messages=talk("x" * room)), ALL, None
    )
    assert "truncated" in sent(
        delivery, sample(PreLlmCall, messages=talk("x" * (room + 1))), ALL, None
    )
    assert "truncated" in sent(
        delivery, sample(PreLlmCall, messages=talk("é" * (room // 2 + 1))), ALL, None
    )


def test_plugins_with_the_same_wishes_share_the_bytes_and_another_payload_does_not() -> None:
    delivery = Delivery(CATALOGUE["pre_llm_call"])
    first, second = sample(PreLlmCall, model="one"), sample(PreLlmCall, model="two")
    assert delivery.params(first, ALL, 5.0) is delivery.params(first, ALL, 5.0)
    assert sent(delivery, second, ALL, 5.0)["model"] == "two"
    assert sent(delivery, first, ALL, 5.0)["model"] == "one"


def test_what_json_cannot_say_is_still_sent() -> None:
    payload = sample(PreToolCall, arguments={"a": float("nan"), "b": "\ud800"})
    assert sent(Delivery(CATALOGUE["pre_tool_call"]), payload, frozenset(), 5.0)["arguments"] == {
        "a": None,
        "b": "�",
    }


def test_large_params_differ_by_their_timeout_and_share_the_rest() -> None:
    """However many plugins are asked, and whatever timeouts they want."""
    payload = sample(
        PreToolCall, meta={"timeout_s": 1, "a": {"timeout_s": 5.0}}, arguments={"x": "y" * 5_000}
    )
    delivery = Delivery(CATALOGUE["pre_tool_call"])
    first = delivery.params(payload, frozenset(), 5.0)
    second = delivery.params(payload, frozenset(), 0.25)
    assert isinstance(first, SharedParams)
    assert isinstance(second, SharedParams)
    assert second.rest is first.rest
    alone = Delivery(CATALOGUE["pre_tool_call"]).params(payload, frozenset(), 0.25)
    assert isinstance(alone, SharedParams)
    assert bytes(second.whole()) == bytes(alone.whole())
    assert sent(delivery, payload, frozenset(), 0.25)["timeout_s"] == 0.25
    # as an event, for a plugin that can only be told any more
    written = second.event("event/pre_tool_call", None) + second.rest + b"}\n"
    header, _, body = written.partition(b"\r\n\r\n")
    assert header == b"Content-Length: %d" % len(body)
    assert json.loads(body)["params"] == sent(delivery, payload, frozenset(), None)


def test_that_a_payload_is_too_large_is_found_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    payload = sample(PreToolCall, arguments={"command": "x" * (4 * 1024 * 1024)})
    delivery = Delivery(CATALOGUE["pre_tool_call"])
    with pytest.raises(PayloadTooLarge):
        delivery.params(payload, frozenset(), 5.0)
    monkeypatch.setattr("sliphook.dispatch.encoding.encode_params", None)
    with pytest.raises(PayloadTooLarge, match=r"over 4,194,048$"):
        delivery.params(payload, frozenset(), 1.0)


def test_a_conversation_that_is_too_long_is_found_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    payload = sample(PreLlmCall, messages=talk("\n" * (3 * 1024 * 1024)), tools=[])
    delivery = Delivery(CATALOGUE["pre_llm_call"])
    first = sent(delivery, payload, ALL, 5.0)
    assert first["truncated"] == ["tools", "messages"]
    monkeypatch.setattr("sliphook.dispatch.encoding.encode_params", None)
    assert sent(delivery, payload, ALL, 1.0) == first | {"timeout_s": 1.0}
