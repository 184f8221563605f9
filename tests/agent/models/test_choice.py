"""Which model is meant by `--model` and `--base-url`, and what is said where none can be used."""

from __future__ import annotations

import itertools
import json
from contextlib import aclosing
from pathlib import Path

import pytest
import trio

from sliphook.agent.models.base import Model, ModelError, TextDelta
from sliphook.agent.models.choice import Models
from sliphook.agent.models.pool import ClientPool, ServedModel
from sliphook.agent.models.script import ScriptError
from sliphook.agent.models.scripted import ScriptedModel
from sliphook.settings import Provider
from sliphook_sdk.protocol import Message
from tests.agent.loopback import Answer, LoopbackServer, text


def listing(*names: str) -> Answer:
    return Answer(
        [json.dumps({"data": [{"id": name} for name in names]}).encode()],
        content_type="application/json",
    )


async def said_by(model: Model) -> str:
    """What the model says to a greeting."""
    with trio.fail_after(120):
        async with model.stream([Message(role="user", content="hello")], []) as pieces:
            return "".join([piece.text async for piece in pieces if isinstance(piece, TextDelta)])


def choose_model(name: str | None, base_url: str | None, environ: dict[str, str]) -> Model:
    return Models({}, environ, base_url).first(name)


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
    assert isinstance(model, ServedModel)
    assert (model.name, model.provider) == ("m-1", "openai")
    assert model.endpoint.base_url == "http://127.0.0.1:1/v1/"


async def test_the_servers_address_from_the_environment() -> None:
    model = choose_model("m-1", None, {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"})
    assert isinstance(model, ServedModel)
    assert model.endpoint.base_url == "http://127.0.0.1:1/v1"


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
        async with aclosing(Models({}, environ, server.base_url)) as models:
            model = models.first(None)
            assert (model.name, server.requests) == ("", [])
            assert await said_by(model) == "ok"
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
        async with aclosing(Models(base_url=server.base_url)) as models:
            with pytest.raises(ModelError) as caught:
                await said_by(models.first(None))
    assert str(caught.value).endswith(says)
    assert server.base_url in str(caught.value)


@pytest.mark.parametrize(
    ("name", "base_url", "environ", "api", "asked", "address"),
    [
        (
            "anthropic/m-1",
            None,
            {"ANTHROPIC_API_KEY": "k"},
            "anthropic",
            "m-1",
            "https://api.anthropic.com/v1",
        ),
        (
            "anthropic/m-1",
            None,
            {"ANTHROPIC_BASE_URL": "http://a.example/"},
            "anthropic",
            "m-1",
            "http://a.example/v1",
        ),
        (
            "m-1",
            "https://api.anthropic.com",
            {"SLIPHOOK_API_KEY": "k"},
            "anthropic",
            "m-1",
            "https://api.anthropic.com/v1",
        ),
        (
            "m-1",
            "https://a.example/anthropic/",
            {},
            "anthropic",
            "m-1",
            "https://a.example/anthropic/v1",
        ),
        (
            "m-1",
            "http://127.0.0.1:1/v1/messages",
            {},
            "anthropic",
            "m-1",
            "http://127.0.0.1:1/v1",
        ),
        (
            "anthropic/m-1",
            "https://router.example/api/v1",
            {},
            "openai",
            "anthropic/m-1",
            "https://router.example/api/v1",
        ),
        (
            "anthropic/m-1",
            "https://a.example/anthropic",
            {},
            "anthropic",
            "anthropic/m-1",
            "https://a.example/anthropic/v1",
        ),
        (
            "m-1",
            None,
            {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "l"},
            "openai",
            "m-1",
            "https://api.openai.com/v1",
        ),
    ],
)
async def test_which_api_is_spoken(
    name: str,
    base_url: str | None,
    environ: dict[str, str],
    api: str,
    asked: str,
    address: str,
) -> None:
    async with aclosing(ClientPool()) as pool:
        model = choose_model(name, base_url, environ)
        assert isinstance(model, ServedModel)
        assert (model.name, model.provider, model.endpoint.api) == (asked, api, api)
        async with pool.client(model.endpoint) as client:
            assert (client.provider, client.base_url) == (api, address)


async def test_anthropic_itself_needs_a_key() -> None:
    with pytest.raises(ModelError) as caught:
        choose_model("anthropic/m-1", None, {"OPENAI_API_KEY": "k"})
    assert str(caught.value) == (
        "model 'm-1' at https://api.anthropic.com/v1 needs a key: "
        "set SLIPHOOK_API_KEY or ANTHROPIC_API_KEY, or name another server with --base-url"
    )


async def test_anthropics_server_says_what_it_has() -> None:
    with LoopbackServer(listing("m-7"), Answer([b"{}"], status=500)) as server:
        address = f"{server.base_url}/messages"
        async with aclosing(Models({}, {"ANTHROPIC_API_KEY": "k"}, address)) as models:
            model = models.first(None)
            with pytest.raises(ModelError):
                await said_by(model)
    assert model.name == "m-7"
    assert (server.requests[0].path, server.requests[0].headers["x-api-key"]) == ("/v1/models", "k")


HAS = "there are: local, router, paid"
FORMS = " model of OpenAI is openai/NAME, one of Anthropic anthropic/NAME"
PROVIDERS = {
    "local": Provider(base_url="http://127.0.0.1:1/v1"),
    "router": Provider(
        base_url="https://router.example/api",
        api="anthropic",
        key_env="ROUTER_KEY",
        model="qwen3",
        parameters={"temperature": 0.5},
    ),
    "paid": Provider(base_url="https://api.openai.com/v1"),
}


@pytest.mark.parametrize(
    ("name", "provider", "model", "address", "key"),
    [
        ("local", "local", "", "http://127.0.0.1:1/v1", None),
        ("local/", "local", "", "http://127.0.0.1:1/v1", None),
        ("local/a/b.json", "local", "a/b.json", "http://127.0.0.1:1/v1", None),
        ("router", "router", "qwen3", "https://router.example/api", "theirs"),
        ("router/big", "router", "big", "https://router.example/api", "theirs"),
        ("openai/gpt-5", "openai", "gpt-5", "https://api.openai.com/v1", "mine"),
    ],
)
async def test_a_provider_has_its_own_key_and_no_other(
    name: str, provider: str, model: str, address: str, key: str | None
) -> None:
    environ = {"SLIPHOOK_API_KEY": "mine", "OPENAI_API_KEY": "mine", "ROUTER_KEY": "theirs"}
    chosen = Models(PROVIDERS, environ).first(name)
    assert isinstance(chosen, ServedModel)
    assert (chosen.provider, chosen.name) == (provider, model)
    assert (chosen.endpoint.base_url, chosen.endpoint.api_key) == (address, key)
    assert key is None or key not in repr(chosen.endpoint)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("router", "providers.router has its key in the variable ROUTER_KEY, which is not set"),
        (
            "paid/gpt-5",
            "providers.paid at https://api.openai.com/v1 needs a key: set key_env to the name of "
            "the variable that holds it",
        ),
        (
            "rooter/qwen3",
            f"there is no provider 'rooter'; {HAS}; did you mean router? A{FORMS}",
        ),
        ("groq/qwen3", f"there is no provider 'groq'; {HAS}. A{FORMS}"),
    ],
)
def test_a_provider_that_cannot_be_used(name: str, says: str) -> None:
    models = Models(PROVIDERS, {})
    for choose in (models.first, models.named):
        with pytest.raises(ModelError) as caught:
            choose(name)
        assert str(caught.value) == says


def test_a_mistyped_provider_takes_no_other_server() -> None:
    models = Models(PROVIDERS, {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://127.0.0.1:3/v1"})
    for choose, name in itertools.product((models.first, models.named), ("locl", "locl/m")):
        with pytest.raises(ModelError) as caught:
            choose(name)
        assert str(caught.value) == (
            f"there is no provider 'locl'; {HAS}; did you mean local? A{FORMS}"
        )
    with pytest.raises(ModelError, match="scripts are not taken here"):
        models.named("slow.json")
    for name in ("openai/gpt-5", "openai/a/b"):
        assert models.named(name).name == name.removeprefix("openai/") == models.first(name).name


def test_without_providers_the_error_says_how_to_name_one() -> None:
    with pytest.raises(ModelError) as caught:
        Models({}, {"OPENAI_API_KEY": "k"}).first("groq/qwen3")
    assert str(caught.value) == (
        "there is no provider 'groq'; there are: none; [providers.NAME] in config.toml adds one."
        f" A{FORMS}"
    )


async def test_an_address_beats_a_provider_at_the_start_and_not_later(tmp_path: Path) -> None:
    models = Models(PROVIDERS, {}, "http://127.0.0.1:2/v1")
    first, later = models.first("local/m"), models.named("local/m")
    assert (first.provider, first.name) == ("openai", "local/m")
    assert (later.provider, later.name) == ("local", "m")
    assert models.named("scripted").provider == "scripted"
    # no file is read for a name that somebody far away has typed
    (tmp_path / "script.json").write_text("{}")
    with pytest.raises(ModelError, match="scripts are not taken here"):
        models.named(str(tmp_path / "script.json"))


async def test_errors_of_a_provider_name_its_keys_in_the_settings() -> None:
    with LoopbackServer(Answer([b"{}"], status=401), Answer([b"{}"], status=404)) as server:
        providers = {"local": Provider(base_url=server.base_url, model="m-1")}
        async with aclosing(Models(providers)) as models:
            for says in (
                f"the model server at {server.base_url} refused the key (401); set "
                "providers.local.key_env",
                f"no model 'm-1' at {server.base_url} (404); check --model local/NAME and "
                "providers.local.base_url",
            ):
                with pytest.raises(ModelError) as caught:
                    await said_by(models.first("local"))
                assert str(caught.value) == says
