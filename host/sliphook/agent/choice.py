"""Which model is meant by what a user typed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from .model import Model, ModelError
from .openai import OPENAI_BASE_URL, OpenAIModel
from .scripted import ScriptedModel

SCRIPTED: Final = "scripted"

_MAX_LISTED: Final = 8


async def choose_model(name: str | None, base_url: str | None, environ: Mapping[str, str]) -> Model:
    """The model for `--model` and `--base-url`.

    Nothing at all, or `scripted`, is the scripted model without a script; a path to a file, or anything that ends in `.json`, is a
    script; every other name is a model of the server at `base_url`, by default `OPENAI_BASE_URL` of the environment or OpenAI's own.
    An address without a name asks the server what it has.

    Args:
        name: the name or path, or None.
        base_url: the server's address, or None.
        environ: holds the key, `SLIPHOOK_API_KEY` or else `OPENAI_API_KEY`.

    Raises:
        ModelError: the server, the address or the key cannot be used; the user's or the server's fault.
        ScriptError: the script cannot be used; the fault of who wrote it.
    """
    if base_url is None and name in (None, SCRIPTED):
        return ScriptedModel()
    if base_url is None and name is not None and _is_script(name):
        return ScriptedModel.from_file(Path(name))
    address = base_url or environ.get("OPENAI_BASE_URL") or OPENAI_BASE_URL
    key = environ.get("SLIPHOOK_API_KEY") or environ.get("OPENAI_API_KEY")
    if not key and address == OPENAI_BASE_URL:
        message = f"model {name!r} at {address} needs a key: set SLIPHOOK_API_KEY or OPENAI_API_KEY, or name another server with --base-url"
        raise ModelError("refused", message)
    model = OpenAIModel(name or "", base_url=address, api_key=key)
    if not name:
        try:
            model.name = _the_only(await model.offered(), model.base_url)
        except BaseException:
            await model.aclose()
            raise
    return model


def _is_script(name: str) -> bool:
    return name.endswith(".json") or Path(name).is_file()


def _the_only(offered: list[str], address: str) -> str:
    if len(offered) == 1:
        return offered[0]
    listed = ", ".join(offered[:_MAX_LISTED]) + (", …" if len(offered) > _MAX_LISTED else "")
    has = f"the server at {address} offers {listed}" if offered else f"the server at {address} does not say which models it offers"
    raise ModelError("http", f"{has}; say which with --model NAME")
