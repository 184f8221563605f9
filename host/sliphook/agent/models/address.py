"""Pure: where a model server is, what it speaks, and the key that it gets."""

from __future__ import annotations

import ipaddress
from typing import Literal

import httpx
import msgspec

from .base import ModelError

Api = Literal["openai", "anthropic"]
"""What a server speaks: OpenAI's chat completions, or Anthropic's messages API."""


class SetBy(msgspec.Struct, frozen=True, kw_only=True):
    """Where the user can set what an error is about, in words for people.

    Attributes:
        key: the key, such as the names of its environment variables.
        address: the address.
        model: the model's name.
    """

    key: str
    address: str = "--base-url"
    model: str = "--model NAME"


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A model server as one caller uses it.

    Attributes:
        api: what it speaks.
        base_url: its address as the client takes it.
        api_key: its key; None sends none. `repr` does not show it.
        set_by: for errors.
        images: its models take images; None: as far as the address tells.
    """

    api: Api
    base_url: str
    api_key: str | None
    set_by: SetBy
    images: bool | None = None

    def __repr__(self) -> str:
        key = "no key" if self.api_key is None else "a key"
        return f"Endpoint({self.api!r}, {self.url!r}, {key})"

    @property
    def takes_images(self) -> bool:
        """Whether images are sent: a server that does not know them refuses the conversation."""
        if self.images is not None:
            return self.images
        return self.api == "anthropic" or self.base_url.startswith("https://api.openai.com/")

    @property
    def url(self) -> str:
        """The address for people and plugins: without a login, and without a query."""
        return without_login(self.base_url.partition("?")[0])


def guessed_api(address: str) -> Api:
    """What a server speaks, as far as its address tells."""
    host, _, path = address.partition("://")[2].partition("/")
    is_anthropic = host == "api.anthropic.com" or f"/{path}".rstrip("/").endswith(
        ("/anthropic", "/anthropic/v1", "/messages")
    )
    return "anthropic" if is_anthropic else "openai"


def usable_key(api_key: str | None, set_by: str) -> str:
    """The key in the form that a header can hold; an empty string for no key.

    Raises:
        ModelError: the key holds characters that no key has. The user's fault.
    """
    key = (api_key or "").strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ModelError(
            "refused", f"the API key holds characters that no key has; set {set_by} anew"
        )
    return key


def without_login(address: str) -> str:
    """The address without a user name and a password, for errors."""
    try:
        url = httpx.URL(address)
        return str(url.copy_with(username=None, password=None)) if url.userinfo else address
    except (httpx.InvalidURL, ValueError):  # as in `host_of`
        return address


def host_of(address: str) -> str:
    """The host in an address, in lower case; an empty string if it has none."""
    try:
        return httpx.URL(address).host
    except (httpx.InvalidURL, ValueError):  # it lets out what others say about some hosts
        return ""


def is_loopback(base_url: str) -> bool:
    """The server is on this machine."""
    host = host_of(base_url)
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
