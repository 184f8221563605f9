"""The host for the requests of a plugin under test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sliphook_sdk.errors import HostRefused
from sliphook_sdk.protocol import METHOD_BY_NAME, AskParams, ErrorCode, LogParams, ProgressParams

from .person import why_no_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    import msgspec

    from sliphook_sdk.protocol import Manifest, Uses
    from sliphook_sdk.wire.call import Call

_RESULTS: Final[dict[str, dict[str, Any]]] = {
    "host/inject": {"queued": True},
    "host/interrupt": {"interrupted": True},
    "host/submit": {"message_id": "m-1", "status": "started"},
    "host/answer": {"taken": True},
}


class HarnessLink:
    """Keeps each message, and says yes to what is granted.

    Attributes:
        misfit: what `person` has answered that is no answer; the test is at fault.
        progress: what handlers have reported.
        report: called with each report of the call that runs, or None.

    Args:
        sent: gets the method and params of each message but lines of the log.
        logs: gets the lines of the log.
        granted: the uses that are granted.
        person: answers `host/ask`, or None.
    """

    def __init__(
        self,
        sent: list[tuple[str, msgspec.Struct]],
        logs: list[LogParams],
        granted: Collection[Uses],
        person: Callable[[AskParams], object] | None,
    ) -> None:
        self._sent = sent
        self._logs = logs
        self._granted = granted
        self._person = person
        self.misfit: ValueError | None = None
        self.progress: list[ProgressParams] = []
        self.report: Callable[[ProgressParams], object] | None = None

    def grants(self, use: Uses, manifest: Manifest) -> bool:
        """The plugin asks for it, and the user grants it."""
        return use in (manifest.uses or ()) and use in self._granted

    def notify(self, method: str, params: msgspec.Struct) -> None:
        """See `HostLink`."""
        if isinstance(params, LogParams):
            self._logs.append(params)
            return
        self._sent.append((method, params))
        if isinstance(params, ProgressParams):
            self.progress.append(params)
            if self.report is not None:
                self.report(params)

    def check(self, method: str, *, blocks: bool) -> None:
        """Every request can be made, in an event loop too."""

    def ask(self, method: str, params: msgspec.Struct, call: Call | None = None) -> Any:
        """See `HostLink`."""
        self._sent.append((method, params))
        grant = METHOD_BY_NAME[method].grant
        if grant is not None and grant not in self._granted:
            raise HostRefused(ErrorCode.NOT_GRANTED, f"{method} is not granted")
        if isinstance(params, AskParams):
            if self._person is None:
                return {"outcome": "nobody"}
            answer = self._person(params)
            if answer is None:
                return {"outcome": "declined"}
            why = why_no_answer(answer, params.schema)
            if why is not None:
                self.misfit = ValueError(f"person: the answer {answer!r} {why}")
                raise self.misfit
            return {"outcome": "answered", "answer": answer}
        return _RESULTS.get(method, {})

    async def ask_async(self, method: str, params: msgspec.Struct) -> Any:
        """See `HostLink`."""
        return self.ask(method, params)
