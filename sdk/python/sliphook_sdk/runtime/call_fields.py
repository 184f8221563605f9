"""What a message of the host says of its call: whose it is, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sliphook_sdk.protocol import ToolCallParams
from sliphook_sdk.protocol.payloads import PreToolCall

from .requests import ask_params

if TYPE_CHECKING:
    from pathlib import Path

    from sliphook_sdk.protocol import AskParams, Payload


class CallFields:
    """The common fields of every payload, for tools and commands too."""

    __slots__ = ()
    _payload: Payload

    @property
    def session_id(self) -> str:
        """The session that the call belongs to."""
        return self._payload.session_id

    @property
    def session_key(self) -> str | None:
        """The agent's own name for the conversation: chat, thread, terminal."""
        return self._payload.session_key

    @property
    def platform(self) -> str | None:
        """Where the user is: `cli`, `api` and so on."""
        return self._payload.platform

    @property
    def user_id(self) -> str | None:
        """The user, as the agent names them."""
        return self._payload.user_id

    @property
    def cwd(self) -> Path | None:
        """The project's folder, absolute; the plugin's process runs in another one."""
        if self._payload.cwd is None:
            return None
        from pathlib import Path  # imported here, since it would slow every plugin's start

        return Path(self._payload.cwd)

    @property
    def turn_id(self) -> str | None:
        """The turn; None outside a turn."""
        return self._payload.turn_id

    @property
    def agent_id(self) -> str:
        """The agent that acts; a child agent has its own."""
        return self._payload.agent_id

    @property
    def parent_agent_id(self) -> str | None:
        """The agent whose child this one is; None for the root."""
        return self._payload.parent_agent_id

    @property
    def agent_depth(self) -> int:
        """0 is the root agent."""
        return self._payload.agent_depth

    @property
    def call_id(self) -> str | None:
        """The tool call that this is, or that the hook is about; else None.

        The same in `pre_tool_call`, in the tool itself, in `post_tool_call` and in `inflight.tools`
        of an interrupt.
        """
        call_id: str | None = getattr(self._payload, "call_id", None)
        return call_id

    @property
    def seq(self) -> int:
        """The number of the fire in its session; a tool and a command have that of the last one."""
        return self._payload.seq

    @property
    def meta(self) -> dict[str, Any] | None:
        """An object of the agent's own, opaque to Sliphook."""
        return self._payload.meta

    def _question(
        self, prompt: str, schema: dict[str, Any] | None, timeout_s: float | None
    ) -> AskParams:
        """The params of `host/ask` for a question of this call."""
        # behind the call of that id its end would end the question too
        is_open = isinstance(self._payload, (ToolCallParams, PreToolCall))
        call_id = self.call_id if is_open else None
        return ask_params(prompt, schema, self.session_id, self.turn_id, call_id, timeout_s)
