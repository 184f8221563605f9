"""Ports of this machine on which nothing listens."""

from __future__ import annotations

import socket


def free_port() -> int:
    """A port that was free just now."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port
