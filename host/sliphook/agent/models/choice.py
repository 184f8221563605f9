"""Which model is meant by the name and the address that the user gives, or that a plugin does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import msgspec

from sliphook.quoting import quote
from sliphook.settings import SCRIPTED, Provider
from sliphook_sdk.protocol import ModelRoute, nearest

from .address import Api, Endpoint, SetBy, guessed_api
from .anthropic import ANTHROPIC_BASE_URL
from .anthropic import SET_BY as ANTHROPIC_SET_BY
from .base import Model, ModelError
from .openai import OPENAI_BASE_URL
from .openai import SET_BY as OPENAI_SET_BY
from .pool import ClientPool, ServedModel, route_of
from .scripted import ScriptedModel

ANTHROPIC: Final = "anthropic/"
"""The names of Anthropic's models begin with this."""
OPENAI: Final = "openai/"
"""Those of OpenAI's may; where there are providers, they are taken in no other form."""
_NAME_CHARS: Final = 64


class Models:
    """The models of an agent, by their names, and their clients: `aclose()` it.

    Attributes:
        providers: the servers of the user's settings, by their names.
    """

    def __init__(
        self,
        providers: Mapping[str, Provider] = MappingProxyType({}),
        environ: Mapping[str, str] = MappingProxyType({}),
        base_url: str | None = None,
    ) -> None:
        """Nothing is sent yet.

        Args:
            providers: see above.
            environ: holds the keys: those that the providers name; for other servers
                `SLIPHOOK_API_KEY`, else `OPENAI_API_KEY` or `ANTHROPIC_API_KEY`.
            base_url: the server of the names that do not tell the place; None takes
                `OPENAI_BASE_URL` or `ANTHROPIC_BASE_URL` of the environment, else theirs.
        """
        self.providers = providers
        self._environ = environ
        self._base_url = base_url
        self._pool = ClientPool()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._pool.aclose()

    def first(self, name: str | None) -> Model:
        """The model for `--model`, or for that setting.

        Without an address:

        - no name, or `scripted`, is the scripted model without a script;
        - `PROVIDER/NAME` is a model of a provider, `PROVIDER` the one that the settings name for
          it;
        - a path to a file, or a name that ends in `.json`, is a script;
        - `anthropic/NAME` is a model of Anthropic, `openai/NAME` one of OpenAI;
        - every other name is a model of OpenAI, if there are no providers. With providers it is
          refused: a typo must not send a conversation elsewhere.

        With an address, the name is a model of that server in any case. It speaks Anthropic's
        API if the address is Anthropic's or its path ends in `/anthropic` or `/messages`, else
        OpenAI's.

        Without a name, a server is asked for its models at the first call: a plugin may start it
        before.

        Raises:
            ModelError: the address or the key cannot be used. The fault of the user.
            ScriptError: the script cannot be used. The fault of its author.
        """
        if self._base_url is not None:
            return self._of_a_server(name or "", self._base_url)
        if name is not None and not names_provider(name, self.providers) and _is_script(name):
            return ScriptedModel.from_file(Path(name))
        if not name or name == SCRIPTED or names_provider(name, self.providers):
            return self.named(name or SCRIPTED)
        return self._of_named_place(name)

    def named(self, name: str) -> Model:
        """The model for `/model`: as for `--model`, but a provider beats the address.

        It reads no script: the name may come from far away. With providers and without an
        address, the name has to tell the place: a typo must not send a conversation elsewhere.

        Raises:
            ModelError: there is no such provider, the key is missing, or it is a script.
        """
        if names_provider(name, self.providers):
            provider, _, model = name.partition("/")
            return self._of_provider(provider, model)
        if name == SCRIPTED:
            return ScriptedModel()
        if name.endswith(".json"):
            raise ModelError("refused", "scripts are not taken here; start with --model FILE.json")
        return self._of_named_place(name)

    def addresses(self, own: Model) -> dict[str, str | None]:
        """The servers that plugins may name, for `PluginHost(..., providers=...)`.

        They are those of the settings, and the agent's own: the server of `own`.
        """
        at = route_of(own)
        mine = {at.provider or "": at.base_url}
        return {**mine, **{name: one.base_url for name, one in self.providers.items()}}

    def routed(self, route: ModelRoute, own: Model, *, plugin: str, api_key: str | None) -> Model:
        """The model to which the route of a plugin leads; its name is that of the call.

        A server gets a key if it is the agent's own, a provider's with its key, or if the plugin
        has one for it.

        Args:
            route: what is left out in it is the agent's own choice for that server.
            own: the agent's own model.
            plugin: who gave the route, for errors.
            api_key: the plugin's key, for the route's address.

        Raises:
            ModelError: there is no such server, or its key is missing.
        """
        if api_key is None and _is_at(route, route_of(own)):
            return own
        if route.provider is not None:
            if route.provider not in self.providers:
                raise ModelError(
                    "refused",
                    f"{plugin} sends the model call to the provider"
                    f" '{quote(route.provider, _NAME_CHARS)}', which answers nothing now",
                )
            model = self._of_provider(route.provider, "")
            if route.api is not None:
                model.endpoint = msgspec.structs.replace(model.endpoint, api=route.api)
            return model
        if route.base_url is None:
            raise ModelError("refused", f"{plugin} says an api without naming a server for it")
        endpoint = Endpoint(
            api=route.api or guessed_api(route.base_url),
            base_url=route.base_url,
            api_key=api_key,
            set_by=SetBy(
                key=f"the key that {plugin} is given",
                address=f"the address that {plugin} names",
                model=f"the model that {plugin} names",
            ),
        )
        return ServedModel("", endpoint, self._pool)

    def _of_provider(self, name: str, model: str) -> ServedModel:
        provider = self.providers[name]
        where = f"providers.{name}"
        key = self._environ.get(provider.key_env or "")
        if provider.key_env is not None and not key:
            raise ModelError(
                "refused",
                f"{where} has its key in the variable {provider.key_env}, which is not set",
            )
        if key is None and provider.base_url in (OPENAI_BASE_URL, ANTHROPIC_BASE_URL):
            raise ModelError(
                "refused",
                f"{where} at {provider.base_url} needs a key: set key_env to the name of the"
                " variable that holds it",
            )
        return ServedModel(
            model or provider.model or "",
            Endpoint(
                api=provider.api or guessed_api(provider.base_url),
                base_url=provider.base_url,
                api_key=key,
                set_by=SetBy(
                    key=provider.key_env or f"{where}.key_env",
                    address=f"{where}.base_url",
                    model=f"--model {name}/NAME",
                ),
                images=provider.images,
            ),
            self._pool,
            provider=name,
            parameters=provider.parameters,
        )

    def _of_named_place(self, name: str) -> ServedModel:
        if self.providers and self._base_url is None and not name.startswith((OPENAI, ANTHROPIC)):
            raise self._no_provider(name)
        return self._of_a_server(name, self._base_url)

    def _of_a_server(self, name: str, base_url: str | None) -> ServedModel:
        if base_url is None and name.startswith(ANTHROPIC):
            name = name.removeprefix(ANTHROPIC)
            address = self._environ.get("ANTHROPIC_BASE_URL") or ANTHROPIC_BASE_URL
            api: Api = "anthropic"
        else:
            address = base_url or self._environ.get("OPENAI_BASE_URL") or OPENAI_BASE_URL
            api = "openai" if base_url is None else guessed_api(base_url)
            if base_url is None and name.startswith(OPENAI):
                name = name.removeprefix(OPENAI)
            elif "/" in name and address == OPENAI_BASE_URL:
                raise self._no_provider(name)
        set_by = ANTHROPIC_SET_BY if api == "anthropic" else OPENAI_SET_BY
        key = self._key(name, address, f"{api.upper()}_API_KEY", set_by)
        endpoint = Endpoint(api=api, base_url=address, api_key=key, set_by=set_by)
        return ServedModel(name, endpoint, self._pool)

    def _key(self, name: str, address: str, variable: str, set_by: SetBy) -> str | None:
        near = nearest(name.partition("/")[0], list(self.providers))
        key = self._environ.get("SLIPHOOK_API_KEY") or self._environ.get(variable)
        # only there is a key certain to be needed: a local server takes none
        if not key and address in (OPENAI_BASE_URL, ANTHROPIC_BASE_URL):
            meant = f", or did you mean {near}?" if near else ""
            raise ModelError(
                "refused",
                f"model '{quote(name, _NAME_CHARS)}' at {address} needs a key: set {set_by.key},"
                f" or name another server with {set_by.address}{meant}",
            )
        return key

    def _no_provider(self, name: str) -> ModelError:
        said = quote(name.partition("/")[0], _NAME_CHARS)
        near = nearest(said, list(self.providers))
        has = ", ".join(self.providers) or "none; [providers.NAME] in config.toml adds one"
        meant = f"; did you mean {near}? A" if near else ". A"
        return ModelError(
            "refused",
            f"there is no provider '{said}'; there are: {has}{meant}"
            " model of OpenAI is openai/NAME, one of Anthropic anthropic/NAME",
        )


def _is_at(route: ModelRoute, own: ModelRoute) -> bool:
    """The route leads to the agent's own server."""
    return (
        route.provider in (None, own.provider)
        and route.api in (None, own.api)
        and (route.base_url or own.base_url or "").rstrip("/") == (own.base_url or "").rstrip("/")
    )


def names_provider(name: str, providers: Mapping[str, Provider]) -> bool:
    """The name is that of a provider, or of a model there."""
    return name.partition("/")[0] in providers


def full_name(model: Model, asked: str | None = None) -> str:
    """The model's name for people: `PROVIDER/NAME` if the settings have its provider.

    Args:
        model: the model.
        asked: another name that it was asked by.
    """
    if not isinstance(model, ServedModel):
        return model.name or model.provider
    name = asked or model.name
    if model.is_configured:
        return f"{model.provider}/{name}".rstrip("/")
    return name or model.endpoint.url


def says_where(name: str, providers: Mapping[str, Provider]) -> bool:
    """The name alone tells the place: scripted, a provider, a script, or whose model it is."""
    return (
        name == SCRIPTED
        or names_provider(name, providers)
        or name.startswith((ANTHROPIC, OPENAI))
        or _is_script(name)
    )


def _is_script(name: str) -> bool:
    return name.endswith(".json") or Path(name).is_file()
