"""One tool call inside a turn, from `pre_tool_call` to `post_tool_call`, and whether it runs on."""

from __future__ import annotations

from typing import Any, Literal, cast

import msgspec
import trio

from sliphook.transport.call import Call
from sliphook.wire.json_value import copied
from sliphook_sdk.protocol import ToolKind, ToolResult

ToolStatus = Literal["ok", "error", "denied", "cancelled", "timed_out"]


class OpenTool:
    """A tool call whose `pre_tool_call` has been fired and whose `post_tool_call` has not.

    Attributes:
        call_id: unique, unlike `model_call_id`, which may be missing.
        origin: whose the tool is, as guards read it.
        owner: the plugin that offers the tool; None: the agent.
        text: `arguments` in JSON, until the call is over; None if that is not kept.
    """

    def __init__(
        self,
        call_id: str,
        model_call_id: str | None,
        name: str,
        kind: ToolKind | None,
        origin: str,
        arguments: dict[str, Any],
        owner: str | None = None,
    ) -> None:
        self.call_id = call_id
        self.model_call_id = model_call_id
        self.name = name
        self.kind = kind
        self.origin = origin
        self.arguments = arguments
        self.owner = owner
        self.text: bytes | None = None
        self.started = False
        self.substituted_by: str | None = None
        self.request: Call | None = None
        self._began_s = 0.0
        self._ended_s: float | None = None

    def begin(self) -> None:
        """The tool begins to run."""
        self.started = True
        self._began_s = trio.current_time()

    @property
    def still_running(self) -> bool:
        """Its plugin was told to stop it, and it has not ended: it may still act."""
        return self.request is not None and self.request.goes_on

    @property
    def has_begun(self) -> bool:
        """The tool did begin to run; False if its plugin was never sent the call."""
        return self.started and (self.request is None or self.request.written)

    def end(self) -> None:
        """The tool has run."""
        self._ended_s = trio.current_time()

    def duration_ms(self) -> float | None:
        """How long the tool has run; None if it has not begun."""
        if not self.has_begun:
            return None
        return round(((self._ended_s or trio.current_time()) - self._began_s) * 1000, 3)

    def copy_of_arguments(self) -> dict[str, Any]:
        """The arguments as the tool may change them."""
        text = self.text
        copy = copied(self.arguments) if text is None else msgspec.json.decode(text)
        return cast("dict[str, Any]", copy)

    def before(self) -> dict[str, Any]:
        """The fields of `pre_tool_call`."""
        return {
            "call_id": self.call_id,
            "model_call_id": self.model_call_id,
            "tool_name": self.name,
            "tool_kind": self.kind,
            "origin": self.origin,
            "arguments": self.arguments,
        }

    def asked_about(self) -> dict[str, Any]:
        """The fields of `user_input_required` that say what the person is asked about."""
        named = ("tool_name", "tool_kind", "origin", "arguments")
        before = self.before()
        return {name: before[name] for name in named}

    def over(self, status: ToolStatus, result: ToolResult | None) -> dict[str, Any]:
        """The fields of `post_tool_call`; of a cancelled call, `arguments` may be `Raw`."""
        before = self.before()
        if status == "cancelled" and self.text is not None:
            before["arguments"] = msgspec.Raw(self.text)
        self.text = None  # megabytes, and a turn remembers its calls
        return {
            **before,
            "started": self.has_begun,
            "status": status,
            "still_running": self.still_running,
            "duration_ms": self.duration_ms(),
            "substituted_by": self.substituted_by,
            "result": result,
        }
