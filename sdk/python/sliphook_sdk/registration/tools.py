"""Tools: functions that the model may call, those of the manifest and those that come and go at run time."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from sliphook_sdk.errors import AnswerError, RpcError, ToolError, describe, text_of
from sliphook_sdk.protocol import NAME_PATTERNS, ErrorCode, ToolResult, ToolSpec
from sliphook_sdk.wire.encoding import to_json

from .handlers import Handler
from .schema import SchemaError, arguments_struct, description_of, input_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from typing_extensions import TypeAlias

    ToolFunction: TypeAlias = "Callable[..., Any]"


class Tool(Handler):
    """A function as a tool.

    Attributes:
        spec: what the host is told.
    """

    def __init__(
        self,
        function: ToolFunction,
        *,
        name: str | None = None,
        description: str | None = None,
        timeout_s: float | None = None,
        schema: dict[str, Any] | None = None,
    ) -> None:
        """Make a tool of a function.

        Args:
            function: `(city: str, days: int = 3, *, ctx) -> str` or the like, sync or async. It may
                return a text, any value that JSON holds (the model reads it as JSON), a
                `ToolResult`, or None.
            name: what the model calls it; the function's name if None.
            description: what the model reads to decide; the docstring if None.
            timeout_s: seconds that one call may take, 0.05 to 600; 30 if None.
            schema: JSON Schema of the arguments, an object, where it does not come from the
                signature. The function then takes all arguments as one dict.

        Raises:
            RegistrationError: it cannot be a tool; the message has the line.
        """
        super().__init__(function)
        tool_name = self.name if name is None else name
        if not re.fullmatch(NAME_PATTERNS["tool"], tool_name):
            raise self.wrong(f"cannot be the tool {tool_name!r}: names are {NAME_PATTERNS['tool']}")
        self.check_timeout(timeout_s)
        self._arguments: type[msgspec.Struct] | None = None
        if schema is None:
            try:
                self._arguments = arguments_struct(function, self.signature)
                schema = input_schema(self._arguments)
            except SchemaError as exc:
                raise self.wrong(str(exc)) from None
        else:
            self.take_one("the arguments as one dict")
        self.spec = ToolSpec(
            name=tool_name,
            description=description_of(function) if description is None else description,
            input_schema=schema,
            timeout_s=timeout_s,
        )

    def bind(self, arguments: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The positional and named arguments of the function.

        Raises:
            ToolError: they do not fit the signature; the message is for the model.
        """
        if self._arguments is None:
            return (arguments,), {}
        try:
            typed = msgspec.convert(arguments, self._arguments)
        except msgspec.ValidationError as exc:
            raise ToolError(f"the arguments do not fit: {exc}") from None
        return (), {name: getattr(typed, name) for name in typed.__struct_fields__}

    def finish(self, returned: Any) -> Any:
        """The result of what the function returned."""
        if isinstance(returned, ToolResult):
            return returned
        if returned is None or isinstance(returned, str):
            return ToolResult(content=returned or "")
        try:
            content = to_json(returned).decode()
        except Exception as exc:  # whatever a value's own conversion raises
            raise AnswerError(
                f"returned {type(returned).__name__}, which JSON cannot hold: {describe(exc)}"
            ) from None
        return ToolResult(content=content, data=msgspec.Raw(content.encode()))

    def failed(self, exc: BaseException) -> Any:
        """A tool's failure is a result too: the model reads it."""
        return ToolResult(
            content=(isinstance(exc, ToolError) and text_of(exc)) or describe(exc), is_error=True
        )


class Toolbox:
    """The tools that the host may call now: those for every session, and each session's own."""

    def __init__(self, declared: dict[str, Tool]) -> None:
        self._tools: dict[str | None, dict[str, Tool]] = {None: dict(declared)}

    def find(self, name: str, session_id: str) -> Tool:
        """The tool of that name; the session's own goes first.

        Raises:
            RpcError: there is none.
        """
        tool = self._tools.get(session_id, {}).get(name) or self._tools[None].get(name)
        if tool is None:
            raise RpcError(ErrorCode.INVALID_PARAMS, f"there is no tool {name!r} here")
        return tool

    @contextmanager
    def changing(
        self, tools: Iterable[Tool | ToolFunction], session_id: str | None
    ) -> Generator[list[ToolSpec]]:
        """Around the request that replaces the tools of a scope: in it the old and the new can be called, and where it fails the old stay.

        Raises:
            ValueError: two of them have one name.
        """
        new: dict[str, Tool] = {}
        for tool in (tool if isinstance(tool, Tool) else Tool(tool) for tool in tools):
            if tool.spec.name in new:
                raise ValueError(f"two of the tools are called {tool.spec.name!r}")
            new[tool.spec.name] = tool
        old = self._tools.get(session_id, {})
        self._tools[session_id] = {**old, **new}
        try:
            yield [tool.spec for tool in new.values()]
        except BaseException:
            self._tools[session_id] = old
            raise
        self._tools[session_id] = new

    def forget(self, session_id: str) -> None:
        """The session is over."""
        self._tools.pop(session_id, None)
