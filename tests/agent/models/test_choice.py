"""Which model is meant by `--model` and `--base-url`, and what is said where none can be used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sliphook.agent.models.anthropic import AnthropicModel
from sliphook.agent.models.base import Model, ModelError, TextDelta
from sliphook.agent.models.choice import choose_model
from sliphook.agent.models.openai import OpenAIModel
from sliphook.agent.models.script import ScriptError
from sliphook.agent.models.scripted import ScriptedModel
from sliphook_sdk.protocol import Message
from tests.agent.loopback import Answer, LoopbackServer, text


def listing(*names: str) -> Answer:
    return Answer(
        [json.dumps({"data": [{"id": name} for name in names]}).encode()],
        content_type="application/json",
    )


async def said_by(model: Model) -> str:
    """What the model says to a greeting."""
    async with model.stream([Message(role="user", content="hello")], []) as pieces:
        return "".join([piece.text async for piece in pieces if isinstance(piece, TextDelta)])


@pytest.mark.parametrize("name", [None, "scripted"])
async def test_the_default_needs_nothing(name: str | None) -> None:
    model = choose_model(name, None, {})
    assert isinstance(model, ScriptedModel)
    assert model.name == "scripted"


async def test_a_script_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "script").write_text('{"replies": []}')
    model = choose_model(str(tmp_path / "script"), None, {})
    assert (type(model), model.name) == (ScriptedModel, "script")
    with pytest.raises(ScriptError, match=r"none\.json: cannot read the script"):
        choose_model(str(tmp_path / "none.json"), None, {})


async def test_a_name_is_a_model_of_the_server() -> None:
    model = choose_model("m-1", "http://127.0.0.1:1/v1/", {})
    assert isinstance(model, OpenAIModel)
    assert (model.name, model.base_url) == ("m-1", "http://127.0.0.1:1/v1")
    await model.aclose()


async def test_the_servers_address_from_the_environment() -> None:
    model = choose_model("m-1", None, {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"})
    assert isinstance(model, OpenAIModel)
    assert model.base_url == "http://127.0.0.1:1/v1"
    await model.aclose()


async def test_openai_itself_needs_a_key() -> None:
    with pytest.raises(ModelError) as caught:
        choose_model("m-1", None, {})
    assert str(caught.value) == (
        "model 'm-1' at https://api.openai.com/v1 needs a key: "
        "set SLIPHOOK_API_KEY or OPENAI_API_KEY, or name another server with --base-url"
    )


@pytest.mark.parametrize(
    ("environ", "sent"),
    [
        ({"OPENAI_API_KEY": "one", "SLIPHOOK_API_KEY": "two"}, "Bearer two"),
        ({"OPENAI_API_KEY": "one"}, "Bearer one"),
        ({}, None),
    ],
)
async def test_the_only_model_of_a_server_and_whose_key_it_gets(
    environ: dict[str, str], sent: str | None
) -> None:
    with LoopbackServer(listing("m-7"), Answer([text("ok")])) as server:
        model = choose_model(None, server.base_url, environ)
        assert (model.name, server.requests) == ("", [])
        assert await said_by(model) == "ok"
    await model.aclose()
    assert model.name == "m-7"
    assert [request.path for request in server.requests] == ["/v1/models", "/v1/chat/completions"]
    assert server.requests[1].body["model"] == "m-7"
    assert server.requests[0].headers.get("authorization") == sent


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (listing("a", "b"), "offers a, b; say which with --model NAME"),
        (listing(*"abcdefghij"), "offers a, b, c, d, e, f, g, h, …; say which with --model NAME"),
        (Answer([b"[]"]), "does not say which models it offers; say which with --model NAME"),
        (
            Answer([b"{}"], status=401),
            "refused the key (401); set SLIPHOOK_API_KEY or OPENAI_API_KEY",
        ),
    ],
)
async def test_a_server_alone_does_not_always_do(answer: Answer, says: str) -> None:
    with LoopbackServer(answer) as server:
        model = choose_model(None, server.base_url, {})
        with pytest.raises(ModelError) as caught:
            await said_by(model)
        await model.aclose()
    assert str(caught.value).endswith(says)
    assert server.base_url in str(caught.value)


@pytest.mark.parametrize(
    ("name", "base_url", "environ", "kind", "asked", "address"),
    [
        (
            "anthropic/m-1",
            None,
            {"ANTHROPIC_API_KEY": "k"},
            AnthropicModel,
            "m-1",
            "https://api.anthropic.com/v1",
        ),
        (
            "anthropic/m-1",
            None,
            {"ANTHROPIC_BASE_URL": "http://a.example/"},
            AnthropicModel,
            "m-1",
            "http://a.example/v1",
        ),
        (
            "m-1",
            "https://api.anthropic.com",
            {"SLIPHOOK_API_KEY": "k"},
            AnthropicModel,
            "m-1",
            "https://api.anthropic.com/v1",
        ),
        (
            "m-1",
            "https://a.example/anthropic/",
            {},
            AnthropicModel,
            "m-1",
            "https://a.example/anthropic/v1",
        ),
        (
            "m-1",
            "http://127.0.0.1:1/v1/messages",
            {},
            AnthropicModel,
            "m-1",
            "http://127.0.0.1:1/v1",
        ),
        (
            "anthropic/m-1",
            "https://router.example/api/v1",
            {},
            OpenAIModel,
            "anthropic/m-1",
            "https://router.example/api/v1",
        ),
        (
            "anthropic/m-1",
            "https://a.example/anthropic",
            {},
            AnthropicModel,
            "anthropic/m-1",
            "https://a.example/anthropic/v1",
        ),
        (
            "m-1",
            None,
            {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "l"},
            OpenAIModel,
            "m-1",
            "https://api.openai.com/v1",
        ),
    ],
)
async def test_which_api_is_spoken(
    name: str,
    base_url: str | None,
    environ: dict[str, str],
    kind: type[OpenAIModel | AnthropicModel],
    asked: str,
    address: str,
) -> None:
    model = choose_model(name, base_url, environ)
    assert isinstance(model, OpenAIModel | AnthropicModel)
    assert type(model) is kind
    assert model.name == asked
    assert model.base_url == address
    await model.aclose()


async def test_anthropic_itself_needs_a_key() -> None:
    with pytest.raises(ModelError) as caught:
        choose_model("anthropic/m-1", None, {"OPENAI_API_KEY": "k"})
    assert str(caught.value) == (
        "model 'm-1' at https://api.anthropic.com/v1 needs a key: "
        "set SLIPHOOK_API_KEY or ANTHROPIC_API_KEY, or name another server with --base-url"
    )


async def test_anthropics_server_says_what_it_has() -> None:
    with LoopbackServer(listing("m-7"), Answer([b"{}"], status=500)) as server:
        model = choose_model(None, f"{server.base_url}/messages", {"ANTHROPIC_API_KEY": "k"})
        with pytest.raises(ModelError):
            await said_by(model)
    await model.aclose()
    assert model.name == "m-7"
    assert (server.requests[0].path, server.requests[0].headers["x-api-key"]) == ("/v1/models", "k")
