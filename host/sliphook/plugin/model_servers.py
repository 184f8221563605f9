"""Pure: to which servers a plugin may have model calls sent, and with which key.

What a plugin's answer says about that is compared with what the user has granted it. Every doubt is
a refusal: an address is taken only in a form that all programs read alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from sliphook.errors import SliphookError
from sliphook.quoting import quote
from sliphook.wire import envelope
from sliphook_sdk.protocol import ModelRoute, nearest
from sliphook_sdk.protocol.limits import MAX_PARAMETERS, MAX_PARAMETERS_BYTES

_HOST: Final = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\]"
_SERVER: Final = re.compile(rf"(?P<host>{_HOST})(?::(?P<port>[0-9]{{1,5}}))?")
_BASE_URL: Final = re.compile(
    rf"(?P<scheme>https?)://(?P<host>{_HOST})(?::(?P<port>[0-9]{{1,5}}))?"
    r"(?:/[A-Za-z0-9._~!$&'()*+,;=:@%/-]{0,1000})?"
)
_PORTS: Final = {"http": 80, "https": 443}

WRITTEN_BY_THE_CLIENT: Final = frozenset(
    {
        "model",
        "messages",
        "tools",
        "tool_choice",
        "system",
        "stream",
        "stream_options",
    }
)
"""Fields of a request that are no `parameters`: they would replace what the plugins have seen."""


class RouteRefused(SliphookError):
    """The model call may not be sent there. str() is one line that says what to do."""


class ModelServers(msgspec.Struct, frozen=True, kw_only=True):
    """What one plugin may say about where model calls go.

    Attributes:
        plugin: its name.
        wanted: its manifest has `route` in `uses`.
        granted: the user has granted that.
        is_installed: the user may let it do more; else its manifest alone decides.
        servers: those that it may name, `HOST` or `HOST:PORT`.
        variables: names of the environment variables that it is given and that are set.
        providers: the agent's own and the user's, by name, with their addresses; None: the agent
            asks no server.
    """

    plugin: str
    wanted: bool = False
    granted: bool = False
    is_installed: bool = True
    servers: tuple[str, ...] = ()
    variables: frozenset[str] = frozenset()
    providers: Mapping[str, str | None] = {}


def why_no_server(name: str) -> str | None:
    """Why `name` is no server, as words behind it; None if it is one."""
    found = _SERVER.fullmatch(name)
    if found is None or not _is_port(found["port"]):
        return "is no server: write HOST or HOST:PORT, such as 127.0.0.1:8080"
    return None


def server_of(base_url: str) -> str | None:
    """`HOST:PORT` of an address; None for what is none, has a login, a query or odd characters."""
    found = _BASE_URL.fullmatch(base_url)
    if found is None or not _is_port(found["port"]):
        return None
    return f"{found['host'].lower()}:{int(found['port'] or _PORTS[found['scheme']])}"


def is_among(server: str, granted: Iterable[str]) -> bool:
    """True if `HOST:PORT` is one of the granted servers; one without a port is all its ports."""
    server = server.lower()
    host = server.rpartition(":")[0]
    return any(one.lower() in (server, host) for one in granted)


def allowed_route(
    route: ModelRoute, rights: ModelServers, now: ModelRoute | None = None
) -> ModelRoute:
    """The route that a plugin's answer asks for, with the address of a provider that it names.

    Args:
        route: what the plugin says.
        rights: what it may say.
        now: where the call goes anyway: to say that again, with other parameters, is no new place.

    Raises:
        RouteRefused: the plugin may not send the call there, or not with that key or those
            parameters.
    """
    if not rights.wanted:
        raise RouteRefused("replace.route needs 'route' in the manifest's uses")
    if not rights.granted:
        raise RouteRefused(
            f"the user has not granted 'route' to {rights.plugin};"
            f" to grant it: sliphook config {rights.plugin} --grant route"
        )
    if (why := why_no_parameters(route.parameters or {})) is not None:
        raise RouteRefused(f"route.parameters {why}")
    if route.key_env is None and now is not None and _is_same_place(route, now):
        return route
    if route.provider is not None:
        return _of_provider(route, route.provider, rights)
    if route.base_url is not None:
        _check_server(route.base_url, rights)
    if route.key_env is not None:
        if route.base_url is None:
            raise RouteRefused("route.key_env needs a base_url, the server that the key is for")
        if route.key_env not in rights.variables:
            raise RouteRefused(
                f"route.key_env: {rights.plugin} is not given the variable"
                f" '{quote(route.key_env, 80)}', or it is not set where the agent runs"
            )
    return route


def _is_same_place(route: ModelRoute, now: ModelRoute) -> bool:
    places = {(one.provider, one.base_url) for one in (route, now)}
    return len(places) == 1 and route.api in (None, now.api)


def _of_provider(route: ModelRoute, name: str, rights: ModelServers) -> ModelRoute:
    if name not in rights.providers:
        known = sorted(rights.providers)
        close = nearest(name, known)
        hint = f"did you mean {close}?" if close else _those(known)
        raise RouteRefused(f"route.provider: there is no provider '{quote(name, 40)}'; {hint}")
    address = rights.providers[name]
    if route.base_url is not None and route.base_url.rstrip("/") != (address or "").rstrip("/"):
        raise RouteRefused(
            f"route: the provider {name} is at another server than base_url says; name one of both"
        )
    if route.key_env is not None:
        raise RouteRefused(
            f"route.key_env is given together with the provider {name}, which has its own key"
        )
    # an address with a login is not told
    told = address if address is not None and server_of(address) is not None else None
    return msgspec.structs.replace(route, base_url=told)


def _those(known: Sequence[str]) -> str:
    if not known:
        return "there are none"
    return f"the {'only one is' if len(known) == 1 else 'providers are'} {', '.join(known)}"


def _check_server(base_url: str, rights: ModelServers) -> None:
    server = server_of(base_url)
    if server is None:
        raise RouteRefused(
            f"route.base_url '{quote(base_url, 80)}' is no address: write http://HOST:PORT/PATH"
            " or https://, without a login or a query"
        )
    # in the clear, what is sent reaches more than that server
    encrypted = base_url.startswith("https")
    configured = [
        server_of(address)
        for address in rights.providers.values()
        if address and (encrypted or not address.startswith("https"))
    ]
    if server not in configured and not is_among(server, rights.servers):
        if not rights.is_installed:
            raise RouteRefused(
                f"{rights.plugin} may not send model calls to {server}, which its manifest does"
                f' not list; to let it: add "{server}" to its servers'
            )
        raise RouteRefused(
            f"the user has not let {rights.plugin} send model calls to {server};"
            f" to let it: sliphook config {rights.plugin} --server {server}"
        )


def why_no_parameters(parameters: Mapping[str, Any]) -> str | None:
    """Why a request may not have these parameters, as words behind them; None if it may."""
    if len(parameters) > MAX_PARAMETERS:
        return f"has {len(parameters):,} names; at most {MAX_PARAMETERS} are allowed"
    for name in parameters:
        if name in WRITTEN_BY_THE_CLIENT:
            return f"may not have '{name}': the agent writes that"
    if len(envelope.encode(parameters)) > MAX_PARAMETERS_BYTES:
        return f"has over {MAX_PARAMETERS_BYTES:,} bytes"
    return None


def _is_port(text: str | None) -> bool:
    return text is None or 0 < int(text) < 2**16
