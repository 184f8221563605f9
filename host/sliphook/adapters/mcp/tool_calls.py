"""Calls of a server's tools: on its own pipes if it has some, else through the SDK's session."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

import mcp_types as types
import msgspec
from mcp import Client
from mcp.client import ClientRequestContext
from mcp.shared.exceptions import MCPError

from sliphook_sdk.protocol import ToolResult

from .output_schemas import OutputSchemas
from .results import tool_result
from .transports.own_calls import CallFailed, OwnCalls, Progress

MOST_ROUNDS: Final = 10
"""How often one call may ask for input; as in the SDK."""
MOST_INPUTS: Final = 32
"""What it may ask for at a time."""
_NO_RESULT: Final = "its answer is no result of a tool"
_AGAIN_S: Final = 0.1
"""The pause before a call is made again that asked for nothing."""


class CallResult(msgspec.Struct, frozen=True, rename="camel"):
    """What a server sends in answer to `tools/call`.

    Attributes:
        content: its blocks, or None.
        structured_content: any value, or unset.
        is_error: the tool has failed, or None.
        result_type: `input_required` if the call is not over; in the stateless protocol only.
    """

    content: list[msgspec.Raw] | None = None
    structured_content: Any = msgspec.UNSET
    is_error: bool | None = False
    result_type: str = "complete"

    def for_model(self) -> ToolResult:
        """The same as a plugin's result.

        Raises:
            CallFailed: it has no content of either kind.
        """
        structured = self.structured_content
        data = None if structured is msgspec.UNSET else structured
        if self.content is None and data is None:
            raise CallFailed(f"{_NO_RESULT}: it has no content")
        return tool_result(self.content or (), data, bool(self.is_error))


_RESULT: Final = msgspec.json.Decoder(CallResult)


class ServerCalls(Protocol):
    """One way to call tools."""

    async def call(self, name: str, arguments: dict[str, Any], on_progress: Progress) -> ToolResult:
        """Call a tool.

        Raises:
            CallFailed: there is no result, or not the one that the tool has promised.
            MCPError, ValidationError, RuntimeError: there is none, as the SDK says it.
        """
        ...


class SessionCalls:
    """Through the session.

    Args:
        client: the session's.
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    async def call(self, name: str, arguments: dict[str, Any], on_progress: Progress) -> ToolResult:
        """See `ServerCalls`."""

        async def report(progress: float, total: float | None, message: str | None) -> None:
            on_progress(progress, total, message)

        result = await self._client.call_tool(name, arguments, progress_callback=report)
        return _read(result.model_dump_json(by_alias=True, exclude_none=True).encode()).for_model()


class PipeCalls:
    """On the pipes, which the session shares; the session answers what the server asks meanwhile.

    Args:
        client: the session's, connected.
        own: the pipes.
        info: who the client is.
        timeout_s: what a call may take.
        outputs: what the tools have promised.
        list_tools: lists the tools, for `outputs`; may raise ConnectionError.
    """

    def __init__(
        self,
        client: Client,
        own: OwnCalls,
        info: types.Implementation,
        timeout_s: float,
        outputs: OutputSchemas,
        list_tools: Callable[[], Awaitable[object]],
    ) -> None:
        self._session = client.session
        self._own = own
        self._outputs = outputs
        self._list_tools = list_tools
        self._timeout_s = timeout_s
        self._is_stateless = client.session.initialize_result is None
        self._meta = _stateless_meta(client.protocol_version, info) if self._is_stateless else {}

    async def call(self, name: str, arguments: dict[str, Any], on_progress: Progress) -> ToolResult:
        """See `ServerCalls`."""
        params = {"name": name, "arguments": arguments, "_meta": self._meta}
        more: dict[str, Any] = {}
        for _ in range(MOST_ROUNDS + 1):
            raw = await self._own.request("tools/call", params | more, on_progress, self._timeout_s)
            result = _read(raw)
            if not self._is_stateless or result.result_type == "complete":
                break
            if result.result_type != "input_required":
                raise CallFailed(f"its result is of an unknown type: {result.result_type!r:.80}")
            more = await self._input(raw)
        else:
            raise CallFailed(f"it asked for input more than {MOST_ROUNDS} times in one call")
        made = result.for_model()
        if not made.is_error:
            await self._check(name, result.structured_content, made)
        return made

    async def _input(self, raw: msgspec.Raw) -> dict[str, Any]:
        """What the next call of the same tool takes along: answers, and what the server is to know.

        Raises:
            CallFailed: it asks for too much.
            MCPError: it asks for what is refused.
            ValidationError: it asks for what is nothing.
        """
        required = types.InputRequiredResult.model_validate_json(bytes(raw), by_name=False)
        asked = required.input_requests or {}
        if len(asked) > MOST_INPUTS:
            raise CallFailed(f"it asks for {len(asked)} inputs at a time; {MOST_INPUTS} may be")
        answers: dict[str, Any] = {}
        for key, request in asked.items():
            context = ClientRequestContext(session=self._session, request_id=key)
            answer = await self._session.dispatch_input_request(context, request)
            if isinstance(answer, types.ErrorData):
                raise MCPError.from_error_data(answer)
            answers[key] = answer.model_dump(mode="json", by_alias=True, exclude_none=True)
        if not answers:
            await asyncio.sleep(_AGAIN_S)
        more = {"inputResponses": answers or None, "requestState": required.request_state}
        return {name: value for name, value in more.items() if value is not None}

    async def _check(self, name: str, structured: Any, made: ToolResult) -> None:
        """Check the structured content, unless it is too large: then the result is without it.

        Raises:
            CallFailed: it is not what the tool has promised.
            ConnectionError: the tools cannot be listed.
        """
        outputs = self._outputs
        if not outputs.are_known:
            await self._list_tools()
        if not outputs.has(name):
            return
        if structured is msgspec.UNSET:
            raise CallFailed(f"{name} has an outputSchema, and gives no structured content")
        if structured is None or made.data is not None:
            why = outputs.why_not(name, structured)
            if why is not None:
                raise CallFailed(f"the structured content of {name} is refused: {why}")


def _stateless_meta(version: str, info: types.Implementation) -> dict[str, Any]:
    """What each request of the stateless protocol says of its client, as the session says it."""
    elicitation = types.ElicitationCapability(
        form=types.FormElicitationCapability(), url=types.UrlElicitationCapability()
    )
    said = {
        types.CLIENT_INFO_META_KEY: info,
        types.CLIENT_CAPABILITIES_META_KEY: types.ClientCapabilities(elicitation=elicitation),
    }
    return {types.PROTOCOL_VERSION_META_KEY: version} | {
        key: one.model_dump(mode="json", by_alias=True, exclude_none=True)
        for key, one in said.items()
    }


def _read(raw: bytes | msgspec.Raw) -> CallResult:
    try:
        return _RESULT.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise CallFailed(f"{_NO_RESULT}: {exc}") from None
