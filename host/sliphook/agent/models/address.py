"""Pure: where a model server is, and the key that it gets."""

from __future__ import annotations

import ipaddress

import httpx

from .base import ModelError


def usable_key(api_key: str | None, key_names: str) -> str:
    """The key in the form that a header can hold; an empty string for no key.

    Raises:
        ModelError: the key holds characters that no key has. The user's fault.
    """
    key = (api_key or "").strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ModelError(
            "refused", f"the API key holds characters that no key has; set {key_names} anew"
        )
    return key


def without_login(address: str) -> str:
    """The address without a user name and a password, for errors."""
    try:
        url = httpx.URL(address)
        return str(url.copy_with(username=None, password=None)) if url.userinfo else address
    except httpx.InvalidURL:
        return address


def is_loopback(base_url: str) -> bool:
    """The server is on this machine."""
    try:
        host = httpx.URL(base_url).host
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except (httpx.InvalidURL, ValueError):
        return False
