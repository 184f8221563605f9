"""A reply to a plugin's request that is given later, exactly once."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from sliphook.agent_log import agent_log

from .envelope import encode

_log = agent_log(__name__)

Send = Callable[[dict[str, object]], None]
"""Sends `result` or `error` as the reply to the request."""


class DeferredReply:
    """What a handler returns that answers later.

    Args:
        withdrawn: called once if the plugin does not wait any more: it has withdrawn the request,
            or its connection has ended. Not called after an answer.
    """

    def __init__(self, withdrawn: Callable[[], object]) -> None:
        self._withdrawn: Callable[[], object] | None = withdrawn
        self._send: Send | None = None

    def answer(self, result: msgspec.Struct) -> None:
        """Reply with a result. Does nothing if the reply has been given or is not waited for.

        Not before the handler has returned.
        """
        send = self._over()[0]
        if send is not None:
            send({"result": msgspec.Raw(encode(result))})

    # -- for the engine

    def begin(self, send: Send) -> None:
        """The handler has returned this."""
        self._send = send

    def withdraw(self) -> None:
        """The plugin does not wait any more; never raises."""
        withdrawn = self._over()[1]
        if withdrawn is not None:
            try:
                withdrawn()
            except Exception:
                _log.exception("a handler of the host failed")

    def _over(self) -> tuple[Send | None, Callable[[], object] | None]:
        # both go: what they hold may hold this
        held = self._send, self._withdrawn
        self._send = self._withdrawn = None
        return held
