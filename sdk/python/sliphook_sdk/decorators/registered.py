"""All decorators of a plugin: those of hooks and events, and those of all else."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any, TypeVar, overload

from sliphook_sdk.errors import RegistrationError
from sliphook_sdk.registration.handlers import CommandHandler
from sliphook_sdk.registration.life import LifeHandler
from sliphook_sdk.registration.tools import Tool

from .hooks import Asked

if TYPE_CHECKING:
    from collections.abc import Callable

    from sliphook_sdk.registration.life import Moment

    from .handler_types import CommandFunction, EndFunction, StartFunction

FunctionT = TypeVar("FunctionT", bound="Callable[..., Any]")
NamedT = TypeVar("NamedT", Tool, CommandHandler)


class Registered(Asked):
    """The functions of a plugin.

    Attributes:
        tools: the tools of the manifest by their names.
        commands: the slash commands by their names.
        life: the functions for its start and its end.
    """

    def __init__(self) -> None:
        super().__init__()
        self.tools: dict[str, Tool] = {}
        self.commands: dict[str, CommandHandler] = {}
        self.life: dict[Moment, LifeHandler] = {}

    @overload
    def tool(self, function: FunctionT, /) -> FunctionT: ...

    @overload
    def tool(
        self,
        function: None = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        timeout_s: float | None = None,
        schema: dict[str, Any] | None = None,
    ) -> Callable[[FunctionT], FunctionT]: ...

    def tool(
        self,
        function: FunctionT | None = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        timeout_s: float | None = None,
        schema: dict[str, Any] | None = None,
    ) -> FunctionT | Callable[[FunctionT], FunctionT]:
        """Register a function as a tool of the model. See `Tool` for arguments and exceptions."""
        _check_no_name(function, "tool")

        def register(function: FunctionT) -> FunctionT:
            tool = Tool(
                function, name=name, description=description, timeout_s=timeout_s, schema=schema
            )
            self.declare_tool(tool)
            return function

        return register if function is None else register(function)

    def declare_tool(self, tool: Tool) -> None:
        """Add a tool to the manifest.

        Raises:
            RegistrationError: there is one of that name, or the plugin runs.
        """
        self._check_in_time(
            tool, in_on_start=False, instead=", or by plugin.add_tool() when it runs"
        )
        _add(self.tools, tool, "tool")

    @overload
    def command(self, function: CommandFunction, /) -> CommandFunction: ...

    @overload
    def command(
        self, function: None = None, /, *, name: str | None = None, description: str | None = None
    ) -> Callable[[CommandFunction], CommandFunction]: ...

    def command(
        self,
        function: CommandFunction | None = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
    ) -> CommandFunction | Callable[[CommandFunction], CommandFunction]:
        """Register a function as a slash command: `(arguments: str, *, ctx) -> str`.

        It may be an `async def`, and `ctx` may be left out.

        Args:
            function: the function.
            name: the command's name, without the slash; the function's name if None.
            description: one line for `/help`; the docstring's first paragraph if None.

        Raises:
            RegistrationError: the name or the function is not allowed; the message has the
                function's file and line.
        """
        _check_no_name(function, "command")

        def register(function: CommandFunction) -> CommandFunction:
            command = CommandHandler(function, name, description)
            self._check_in_time(command, in_on_start=True)
            _add(self.commands, command, "command")
            return function

        return register if function is None else register(function)

    @overload
    def on_start(self, function: StartFunction, /) -> StartFunction: ...

    @overload
    def on_start(
        self, function: None = None, /, *, when_installed: bool = False
    ) -> Callable[[StartFunction], StartFunction]: ...

    def on_start(
        self, function: StartFunction | None = None, /, *, when_installed: bool = False
    ) -> StartFunction | Callable[[StartFunction], StartFunction]:
        """Register the function that prepares the plugin: `(*, ctx) -> Disabled | None`.

        It is called once, with the settings and the data folder, before the host is answered that
        the plugin is ready; not when the plugin is only installed. It may be an `async def`, whose
        tasks go on in the plugin's event loop. If it raises, the plugin fails to start, and the
        user reads why, with file and line. It has 9 s.

        Args:
            function: the function.
            when_installed: call it at the installation too, since it finds what the manifest says;
                the plugin is ended as soon as that is read.

        Raises:
            RegistrationError: the function is not allowed, or there is one already.
        """

        def register(function: StartFunction) -> StartFunction:
            self._at("on_start", function)
            self.life["on_start"].when_installed = when_installed
            return function

        return register if function is None else register(function)

    def on_shutdown(self, function: EndFunction) -> EndFunction:
        """Register the function that cleans up: `(*, ctx) -> None`.

        It is called once if the plugin has started: after the last events when the host ends it,
        and at once when the host is gone or SIGTERM comes; `ctx.deadline` says how long it has.
        Only `kill -9` and a crash leave it out. It may be an `async def`.

        Raises:
            RegistrationError: the function is not allowed, or there is one already.
        """
        return self._at("on_shutdown", function)

    def _at(self, moment: Moment, function: FunctionT) -> FunctionT:
        handler = LifeHandler(function, moment)
        self._check_in_time(handler, in_on_start=moment == "on_shutdown")
        if moment in self.life:
            other = self.life[moment]
            raise handler.wrong(f"cannot be {moment}: {other.name}() at {other.where} is")
        self.life[moment] = handler
        return function


def _check_no_name(function: object, decorator: str) -> None:
    if isinstance(function, str):
        # the caller of the decorator: there is no function yet whose place could be told
        caller = traceback.extract_stack(limit=3)[0]
        raise RegistrationError(
            f"{caller.filename}:{caller.lineno}: @plugin.{decorator}({function!r}): "
            f"a name is given by name: @plugin.{decorator}(name={function!r})"
        )


def _add(known: dict[str, NamedT], handler: NamedT, kind: str) -> None:
    name = handler.spec.name
    if name in known:
        other = known[name]
        raise handler.wrong(f"cannot be the {kind} {name!r}: {other.name}() at {other.where} is")
    known[name] = handler
