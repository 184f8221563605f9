"""The broker: how it is reached, and what its keys are called."""

from __future__ import annotations

import getpass
import os
import time
from typing import Any, Optional
from urllib.parse import urlsplit

import msgspec
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

EVENTS = "fleet:events"  # a stream: what happened in all sessions
CONTROL = "fleet:control"  # a stream: what operators want of all agents
POLICY = "fleet:policy"  # a JSON text, see policy.py
AGENT = "fleet:agent:"  # one key for each living agent, which lapses by itself
REPLIES = "fleet:replies:"  # one stream for each stop: what it came to

FAILURES = (redis.RedisError, OSError)
"""What a call of the broker raises if it cannot be reached, or refuses."""
CONNECT_S = 2.0
ANSWER_S = 5.0  # longer than any XREAD here blocks
WANTS_S = 1.0  # how long one blocks
_LOOKS = 5  # at the broker's clock: the quickest counts, as any may be late on a busy machine


Client = Any  # redis.Redis, whose annotations are those of its asyncio client too


class Server(msgspec.Struct):
    """Where the broker is. The password is no part of it: it comes from the environment."""

    url: str = "redis://127.0.0.1:6379"
    user: Optional[str] = None
    ca_file: Optional[str] = None
    cert_file: Optional[str] = None
    key_file: Optional[str] = None


def clock_of(client: Client) -> float:
    """The broker's clock less `time.monotonic()`, in seconds."""
    looks = []
    for _ in range(_LOOKS):
        asked_s = time.monotonic()
        seconds, micros = client.time()
        answered_s = time.monotonic()
        looks.append((answered_s - asked_s, seconds + micros / 1e6 - answered_s))
    return min(looks)[1]


def connect(server: Server, password: str | None) -> Client:
    """A client that has not connected yet and repeats nothing by itself.

    Raises ValueError, for people, if the settings cannot be used. It never quotes the address: a
    password may be in it.
    """
    try:
        url = urlsplit(server.url)
        unwanted = url.username or url.password or url.query or url.fragment
    except ValueError:
        raise ValueError("url is no address") from None
    if url.scheme not in {"redis", "rediss", "unix"}:
        raise ValueError("url begins with redis://, rediss:// (TLS) or unix://")
    if unwanted:
        raise ValueError("url is an address alone: the name is `user`, the password FLEET_PASSWORD")
    tls = {
        "ssl_ca_certs": server.ca_file,
        "ssl_certfile": server.cert_file,
        "ssl_keyfile": server.key_file,
    }
    if url.scheme != "rediss" and any(tls.values()):
        raise ValueError("ca_file, cert_file and key_file are for rediss://")
    options = {} if url.scheme == "unix" else {"socket_keepalive": True}
    if url.scheme == "rediss":
        options = {**options, **tls, "ssl_check_hostname": True}
    library: Any = redis.Redis
    return library.from_url(
        server.url,
        username=server.user,
        password=password,
        socket_timeout=ANSWER_S,
        socket_connect_timeout=CONNECT_S,
        retry=Retry(NoBackoff(), 0),
        **options,
    )


def control_of(agent: str) -> str:
    """The stream of what operators want of one agent. So the others need not wake."""
    return f"{CONTROL}:{agent}"


def replies_to(stream: str, entry: bytes) -> str:
    """The stream of the answers to what stands in CONTROL, or in that of one agent."""
    return f"{REPLIES}{stream}:{entry.decode()}"


def own_user() -> str:
    """Whose agent this is, if the agent does not say."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # no name, as in a container
        return str(os.getuid())


def place(server: Server) -> str:
    """Where the broker is, for logs: without what an address may have besides."""
    url = urlsplit(server.url)
    return url.path if url.scheme == "unix" else url.netloc.rpartition("@")[2]


def millis(entry: bytes) -> int:
    """When an entry was added to a stream, by the broker's clock."""
    return int(entry.partition(b"-")[0])
