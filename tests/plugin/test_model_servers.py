"""To which servers a plugin may have model calls sent: each rule of the grant, alone."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook.plugin.model_servers import (
    ModelServers,
    RouteRefused,
    allowed_route,
    is_among,
    server_of,
    why_no_server,
)
from sliphook_sdk.protocol import ModelRoute
from tests.docs.protocol_sentences.says import limit, says

PROVIDERS = {
    "openai": "https://api.openai.com/v1",
    "fast": "https://user:word@fast.example/v1",
    "scripted": None,
}


def rights(**changes: Any) -> ModelServers:
    given: dict[str, Any] = {
        "plugin": "switch",
        "wanted": True,
        "granted": True,
        "servers": ("127.0.0.1:8080", "gpu.lan", "[::1]:9"),
        "variables": frozenset({"SWITCH_KEY"}),
        "providers": PROVIDERS,
    }
    return ModelServers(**{**given, **changes})


def refused(route: ModelRoute, **changes: Any) -> str:
    with pytest.raises(RouteRefused) as caught:
        allowed_route(route, rights(**changes))
    return str(caught.value)


LOCAL = ModelRoute(base_url="http://127.0.0.1:8080/v1", api="openai", key_env="SWITCH_KEY")


def test_all_that_a_plugin_may_say() -> None:
    assert allowed_route(LOCAL, rights()) == LOCAL
    only_parameters = ModelRoute(parameters={"temperature": 0})
    assert allowed_route(only_parameters, rights()) == only_parameters
    assert allowed_route(ModelRoute(), rights()) == ModelRoute()
    assert allowed_route(ModelRoute(provider="openai"), rights(servers=())) == ModelRoute(
        provider="openai", base_url="https://api.openai.com/v1"
    )
    assert allowed_route(ModelRoute(provider="scripted"), rights()) == ModelRoute(
        provider="scripted"
    )


def test_without_the_grant_no_route_is_taken() -> None:
    for route in (LOCAL, ModelRoute(), ModelRoute(provider="openai")):
        assert refused(route, wanted=False) == "replace.route needs 'route' in the manifest's uses"
        assert refused(route, granted=False) == (
            "the user has not granted 'route' to switch;"
            " to grant it: sliphook config switch --grant route"
        )


@pytest.mark.parametrize(
    ("base_url", "server"),
    [
        ("http://127.0.0.1:8081/v1", "127.0.0.1:8081"),
        ("https://127.0.0.1", "127.0.0.1:443"),
        ("http://gpu.lan.example/v1", "gpu.lan.example:80"),
        ("https://example.com/127.0.0.1:8080", "example.com:443"),
        ("http://[::1]:8080", "[::1]:8080"),
    ],
)
def test_another_server_than_was_granted(base_url: str, server: str) -> None:
    assert refused(ModelRoute(base_url=base_url)) == (
        f"the user has not let switch send model calls to {server};"
        f" to let it: sliphook config switch --server {server}"
    )


@says("`HOST` in `servers` is all its ports, and providers need no grant of their own.")
def test_a_server_without_a_port_is_all_its_ports() -> None:
    for base_url in ("http://gpu.lan", "https://GPU.lan:8443/v1", "http://[::1]:9/v1"):
        assert allowed_route(ModelRoute(base_url=base_url), rights()).base_url == base_url


def test_the_server_of_a_provider_needs_no_other_grant() -> None:
    for base_url in ("https://api.openai.com/v2", "https://API.OpenAI.com:443/v1"):
        route = ModelRoute(base_url=base_url)
        assert allowed_route(route, rights(servers=())) == route


@says("What goes to a provider by `https` does not go there by `http`.")
def test_what_a_provider_gets_encrypted_is_not_sent_to_it_in_the_clear() -> None:
    assert "has not let switch send model calls to api.openai.com:443" in refused(
        ModelRoute(base_url="http://api.openai.com:443/v1")
    )


@pytest.mark.parametrize(
    "base_url",
    [
        "",
        "127.0.0.1:8080",
        "ftp://127.0.0.1:8080",
        "http://",
        "http://user:word@127.0.0.1:8080",
        "http://127.0.0.1:8080@evil.example",
        "http://evil.example\\@127.0.0.1:8080",
        "http://127.0.0.1:8080/v1?to=evil",
        "http://127.0.0.1:8080/v1#x",
        "http://127.0.0.1:8080\n.evil.example",
        "http://127.0.0.1:0/v1",
        "http://127.0.0.1:80800/v1",
        "http://gpu。lan/v1",
        "http://gpu.lan /v1",
    ],
)
def test_what_programs_could_read_in_two_ways_is_no_address(base_url: str) -> None:
    assert "is no address: write http://HOST:PORT/PATH" in refused(ModelRoute(base_url=base_url))


@given(st.text("htps:/@\\.%?#[]1a \n\t0", max_size=24))
def test_whatever_is_taken_names_its_server_plainly(rest: str) -> None:
    address = f"http://{rest}"
    server = server_of(address)
    if server is not None:
        host = server.rpartition(":")[0]
        assert address.lower().startswith(f"http://{host}")
        behind = address[len(f"http://{host}") :]
        assert behind == "" or behind[0] in ":/"
        assert "@" not in behind.partition("/")[0]


def test_the_case_of_a_server_is_not_looked_at() -> None:
    assert is_among("GPU.lan:8080", ["gpu.LAN"])
    assert is_among("GPU.lan", ["gpu.lan"])
    assert not is_among("GPU.lan", ["gpu.lan:8080"])


def test_a_provider_that_is_not_configured() -> None:
    assert refused(ModelRoute(provider="opnai")) == (
        "route.provider: there is no provider 'opnai'; did you mean openai?"
    )
    assert refused(ModelRoute(provider="x\x1b")) == (
        r"route.provider: there is no provider 'x\x1b'; the providers are fast, openai, scripted"
    )
    assert refused(ModelRoute(provider="x"), providers={}) == (
        "route.provider: there is no provider 'x'; there are none"
    )


def test_a_provider_and_an_address_that_differ() -> None:
    both = ModelRoute(provider="openai", base_url="http://127.0.0.1:8080/v1")
    assert refused(both) == (
        "route: the provider openai is at another server than base_url says; name one of both"
    )
    assert refused(ModelRoute(provider="scripted", base_url="http://gpu.lan")).startswith("route:")
    same = ModelRoute(provider="openai", base_url="https://api.openai.com/v1/")
    assert allowed_route(same, rights()).base_url == "https://api.openai.com/v1"


def test_to_go_on_where_the_call_goes_anyway_needs_no_server() -> None:
    now = ModelRoute(provider="mine", base_url="http://mine.example/v1", api="openai")
    again = ModelRoute(
        provider="mine", base_url="http://mine.example/v1", parameters={"temperature": 0}
    )
    assert allowed_route(again, rights(), now) == again
    for other, why in (
        ({"base_url": "http://mine.example/v2"}, "there is no provider 'mine'"),
        ({"provider": None}, "to mine.example:80"),
        ({"api": "anthropic"}, "there is no provider 'mine'"),
        ({"key_env": "SWITCH_KEY"}, "there is no provider 'mine'"),
    ):
        with pytest.raises(RouteRefused, match=why):
            allowed_route(msgspec.structs.replace(again, **other), rights(), now)
    with pytest.raises(RouteRefused, match="needs 'route'"):
        allowed_route(again, rights(wanted=False), now)


def test_the_login_in_a_provider_s_address_is_not_told() -> None:
    assert allowed_route(ModelRoute(provider="fast"), rights()) == ModelRoute(provider="fast")


def test_a_key_that_was_not_given_to_the_plugin() -> None:
    other = ModelRoute(base_url="http://gpu.lan", key_env="OPENAI_API_KEY")
    assert refused(other) == (
        "route.key_env: switch is not given the variable 'OPENAI_API_KEY',"
        " or it is not set where the agent runs"
    )
    assert refused(ModelRoute(provider="openai", key_env="SWITCH_KEY")) == (
        "route.key_env is given together with the provider openai, which has its own key"
    )
    # else the key would go to whatever server the agent has
    assert refused(ModelRoute(key_env="SWITCH_KEY")) == (
        "route.key_env needs a base_url, the server that the key is for"
    )


@says(
    "`parameters` may name nothing that the client writes: `model`, `messages`, `tools`,"
    " `tool_choice`, `system`, `stream`, `stream_options`."
)
@pytest.mark.parametrize(
    "name",
    ["model", "messages", "tools", "tool_choice", "system", "stream", "stream_options"],
)
def test_parameters_may_not_be_what_the_client_writes(name: str) -> None:
    assert refused(ModelRoute(provider="openai", parameters={name: []})) == (
        f"route.parameters may not have '{name}': the agent writes that"
    )


@limit("`parameters` of a route")
def test_parameters_are_few_and_small() -> None:
    most: dict[str, Any] = {f"p{number}": 0 for number in range(64)}
    assert allowed_route(ModelRoute(parameters=most), rights()).parameters == most
    assert refused(ModelRoute(parameters={**most, "one": 1})) == (
        "route.parameters has 65 names; at most 64 are allowed"
    )
    longest = {"p": "x" * (8192 - len('{"p":""}'))}
    assert allowed_route(ModelRoute(parameters=longest), rights()).parameters == longest
    assert refused(ModelRoute(parameters={"p": longest["p"] + "x"})) == (
        "route.parameters has over 8,192 bytes"
    )


def test_names_of_servers() -> None:
    for name in ("localhost", "127.0.0.1:8080", "gpu-1.lan", "[::1]", "[fe80::1]:80"):
        assert why_no_server(name) is None
    for name in ("", "http://x", "x/y", "x:0", "x:y", "*.lan", "a@b", "x\n", "::1", "x:65536"):
        assert why_no_server(name) == (
            "is no server: write HOST or HOST:PORT, such as 127.0.0.1:8080"
        )
    assert is_among("gpu.lan:1", ["GPU.lan"])
    assert not is_among("gpu.lan", ["gpu.lan:1"])


def test_a_plugin_that_is_tried_names_its_servers_itself() -> None:
    rights = ModelServers(
        plugin="switch", wanted=True, granted=True, is_installed=False, servers=("gpu.lan",)
    )
    with pytest.raises(RouteRefused) as caught:
        allowed_route(ModelRoute(base_url="http://127.0.0.1:8080/v1"), rights)
    assert str(caught.value) == (
        "switch may not send model calls to 127.0.0.1:8080, which its manifest does not list;"
        ' to let it: add "127.0.0.1:8080" to its servers'
    )
