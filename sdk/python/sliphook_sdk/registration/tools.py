"""Functions as tools of the model: their schema, arguments and results."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

import msgspec

from sliphook_sdk.errors import AnswerError, ToolError, describe, text_of
from sliphook_sdk.protocol import NAME_PATTERNS, ToolResult, ToolSpec, parts
from sliphook_sdk.wire.values import strict_json

from . import images
from .arguments import fit, with_value
from .handlers import Handler
from .schema import SchemaError, arguments_struct, description_of, input_schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import TypeAlias

    ToolFunction: TypeAlias = "Callable[..., Any]"


class Tool(Handler):
    """A function as a tool.

    Attributes:
        spec: the tool's entry in the manifest.
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
        """Turn a function into a tool.

        Args:
            function: for example `(city: str, days: int = 3, *, ctx) -> str`, sync or async. It
                returns a text, an `Image` or a list of texts and Images, a value that the model
                reads as JSON, a `ToolResult`, or None.
            name: the tool's name; the function's name if None.
            description: tells the model when to call it; the docstring if None.
            timeout_s: seconds that one call may take, 0.05 to 600; 30 if None.
            schema: JSON Schema of the arguments, an object, in place of the one made from the
                signature. The function then takes all arguments as one dict.

        Raises:
            RegistrationError: the function cannot be a tool; the message has its file and line.
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
            ToolError: the arguments do not fit the signature; the message is for the model.
        """
        if self._arguments is None:
            return (arguments,), {}
        try:
            typed = fit(arguments, self._arguments)
        except msgspec.ValidationError as exc:
            what = with_value(str(exc), arguments)
            raise ToolError(f"the arguments do not fit: {what}") from None
        return (), {name: getattr(typed, name) for name in typed.__struct_fields__}

    def finish(self, returned: Any) -> Any:
        """The tool's result, from what the function returned."""
        if returned is None or isinstance(returned, str):
            return ToolResult(content=returned or "")
        if isinstance(returned, ToolResult):
            content = cast("object", returned.content)  # a Struct takes anything
            if not isinstance(content, str):
                raise AnswerError(
                    f"returned a ToolResult whose content is {type(content).__name__}, not str"
                )
            if returned.data is not None:
                self._json(returned.data)
            return images.checked(returned)
        result = images.in_parts(returned)
        if result is not None:
            return result
        body = self._json(returned)
        return ToolResult(content=body.decode(), data=msgspec.Raw(body))

    def failed(self, exc: BaseException) -> Any:
        """The result if the function raised: the model reads the failure."""
        what = (isinstance(exc, ToolError) and text_of(exc)) or describe(exc)
        # what an AnswerError says has the function as its subject
        content = f"{self.name}: {what}" if isinstance(exc, AnswerError) else what
        return ToolResult(content=content, is_error=True)

    def _json(self, value: Any) -> bytes:
        try:
            return strict_json(value)
        except ValueError as exc:
            raise AnswerError(
                f"returned {type(value).__name__}, {parts.UNHOLDABLE}: {exc}"
            ) from None
