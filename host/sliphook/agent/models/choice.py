"""Chooses the model client for the name and the address that the user gives."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from sliphook_sdk.protocol import Message, ModelTool

from .anthropic import ANTHROPIC_BASE_URL, AnthropicModel
from .base import Model, ModelError, Piece
from .openai import OPENAI_BASE_URL, OpenAIModel
from .scripted import ScriptedModel

SCRIPTED: Final = "scripted"
ANTHROPIC: Final = "anthropic/"
"""The names of Anthropic's models begin with this."""

_MAX_LISTED: Final = 8


def choose_model(name: str | None, base_url: str | None, environ: Mapping[str, str]) -> Model:
    """The model for `--model` and `--base-url`, or for the same two settings.

    Without an address:

    - no name, or `scripted`, is the scripted model without a script;
    - a path to a file, or a name that ends in `.json`, is a script;
    - `anthropic/NAME` is a model of Anthropic;
    - every other name is a model of OpenAI.

    With an address, the name is a model of that server in any case; without a name, the server is
    asked for its models at the first call: a plugin may start it before. The server speaks
    Anthropic's API if the address is Anthropic's or its path ends in `/anthropic` or `/messages`,
    else OpenAI's.

    Args:
        name: the name or path, or None.
        base_url: the server's address; None takes `OPENAI_BASE_URL` or `ANTHROPIC_BASE_URL` of the
            environment.
        environ: holds the key: `SLIPHOOK_API_KEY`, else `OPENAI_API_KEY` or `ANTHROPIC_API_KEY`.

    Raises:
        ModelError: the address or the key cannot be used. The fault of the user.
        ScriptError: the script cannot be used. The fault of its author.
    """
    if base_url is None and name in (None, SCRIPTED):
        return ScriptedModel()
    if base_url is None and name is not None and _is_script(name):
        return ScriptedModel.from_file(Path(name))
    model = _of_a_server(name or "", base_url, environ)
    return model if name else TheOnlyModel(model)


class TheOnlyModel:
    """The only model of a server, which is asked for its name at the first call.

    Args:
        model: a client of the server.

    Attributes:
        name: see `Model`; empty until the server has been asked.
        provider: see `Model`.
    """

    def __init__(self, model: OpenAIModel | AnthropicModel) -> None:
        self.name = ""
        self.provider = model.provider
        self._model = model

    @asynccontextmanager
    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ModelTool], *, model: str | None = None
    ) -> AsyncGenerator[AsyncIterator[Piece]]:
        """See `Model`.

        Raises:
            ModelError: on entry, also if the server offers several models, or does not say.
        """
        if not (model or self.name):
            self.name = _the_only(await self._model.offered(), self._model.base_url)
        async with self._model.stream(messages, tools, model=model or self.name) as pieces:
            yield pieces

    async def aclose(self) -> None:
        """See `Model`."""
        await self._model.aclose()


def says_where(name: str) -> bool:
    """The name alone tells the place: the scripted model, a script or a model of Anthropic."""
    return name == SCRIPTED or name.startswith(ANTHROPIC) or _is_script(name)


def _of_a_server(
    name: str, base_url: str | None, environ: Mapping[str, str]
) -> OpenAIModel | AnthropicModel:
    if base_url is None and name.startswith(ANTHROPIC):
        address, name = (
            environ.get("ANTHROPIC_BASE_URL") or ANTHROPIC_BASE_URL,
            name.removeprefix(ANTHROPIC),
        )
        return AnthropicModel(
            name, base_url=address, api_key=_key(name, address, environ, "ANTHROPIC_API_KEY")
        )
    if base_url is not None and _speaks_anthropic(base_url):
        return AnthropicModel(
            name, base_url=base_url, api_key=_key(name, base_url, environ, "ANTHROPIC_API_KEY")
        )
    address = base_url or environ.get("OPENAI_BASE_URL") or OPENAI_BASE_URL
    return OpenAIModel(
        name, base_url=address, api_key=_key(name, address, environ, "OPENAI_API_KEY")
    )


def _key(name: str, address: str, environ: Mapping[str, str], variable: str) -> str | None:
    key = environ.get("SLIPHOOK_API_KEY") or environ.get(variable)
    # only there is a key certain to be needed: a local server takes none
    if not key and address in (OPENAI_BASE_URL, ANTHROPIC_BASE_URL):
        raise ModelError(
            "refused",
            f"model {name!r} at {address} needs a key: set SLIPHOOK_API_KEY or {variable},"
            " or name another server with --base-url",
        )
    return key


def _speaks_anthropic(address: str) -> bool:
    host, _, path = address.partition("://")[2].partition("/")
    return host == "api.anthropic.com" or f"/{path}".rstrip("/").endswith(
        ("/anthropic", "/anthropic/v1", "/messages")
    )


def _is_script(name: str) -> bool:
    return name.endswith(".json") or Path(name).is_file()


def _the_only(offered: list[str], address: str) -> str:
    if len(offered) == 1:
        return offered[0]
    listed = ", ".join(offered[:_MAX_LISTED]) + (", …" if len(offered) > _MAX_LISTED else "")
    has = (
        f"the server at {address} offers {listed}"
        if offered
        else f"the server at {address} does not say which models it offers"
    )
    raise ModelError("http", f"{has}; say which with --model NAME")
