"""How a model's server is connected to: certificates, timeouts and proxies, by its address."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from sliphook.agent.models.address import SetBy
from sliphook.agent.models.http import ModelServer


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What each client was made with."""
    kept: list[dict[str, Any]] = []

    class Client(httpx.AsyncClient):
        def __init__(self, **settings: Any) -> None:
            kept.append(settings)
            super().__init__(**settings)

    monkeypatch.setattr("sliphook.agent.models.http.httpx.AsyncClient", Client)
    return kept


@pytest.mark.parametrize(
    ("address", "verify", "trust_env"),
    [
        ("https://api.example.com/v1", True, True),
        ("http://api.example.com/v1", True, True),
        ("https://127.0.0.1:8443/v1", True, False),
        ("https://localhost/v1", True, False),
        ("http://127.0.0.1:8080/v1", False, False),
        ("http://[::1]:8080/v1", False, False),
    ],
)
async def test_certificates_are_left_out_only_where_there_are_none(
    made: list[dict[str, Any]], address: str, verify: bool, trust_env: bool
) -> None:
    server = ModelServer(address, headers={}, key="", set_by=SetBy(key=""))
    await server.aclose()
    (client,) = made
    assert (client["verify"], client["trust_env"]) == (verify, trust_env)


async def test_a_server_must_be_there_soon_and_may_think_for_long(
    made: list[dict[str, Any]],
) -> None:
    await ModelServer("http://127.0.0.1:8080/v1", headers={}, key="", set_by=SetBy(key="")).aclose()
    timeout: httpx.Timeout = made[0]["timeout"]
    assert (timeout.connect, timeout.read) == (10.0, 300.0)
