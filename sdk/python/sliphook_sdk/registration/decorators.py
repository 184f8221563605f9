"""The decorators that register an author's functions."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any, TypeVar, overload

from sliphook_sdk.errors import RegistrationError
from sliphook_sdk.protocol import CATALOGUE, Kind, OnFailure, Subscription

from .handlers import CommandHandler, HookHandler
from .life import LifeHandler
from .subscriptions import check_reachable
from .tools import Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .life import Moment

FunctionT = TypeVar("FunctionT", bound="Callable[..., Any]")
NamedT = TypeVar("NamedT", Tool, CommandHandler)


class Registered:
    """The functions of a plugin.

    Attributes:
        hooks: the handlers of hooks and events, in the order of their definition.
        tools: the tools of the manifest by their names.
        commands: the slash commands by their names.
        life: the functions for its start and its end.
    """

    def __init__(self) -> None:
        self.hooks: list[HookHandler] = []
        self.tools: dict[str, Tool] = {}
        self.commands: dict[str, CommandHandler] = {}
        self.life: dict[Moment, LifeHandler] = {}

    def hook(
        self,
        name: str,
        *,
        match: Mapping[str, str | list[str]] | None = None,
        timeout_s: float | None = None,
        on_failure: OnFailure | None = None,
        priority: int | None = None,
        replaces: bool = False,
        include: Sequence[str] = (),
        subagents: bool | None = None,
        attempts: bool = False,
        optional: bool = False,
    ) -> Callable[[FunctionT], FunctionT]:
        """Register a function that answers a hook: `(payload, *, ctx) -> Answer | None`.

        It may be an `async def`, and `ctx` may be left out.

        Args:
            name: the hook, such as `pre_tool_call`.
            match: fields of the payload, each with a pattern (`*` and `?`) or a list of patterns;
                the function is asked only if all fields fit.
            timeout_s: seconds to answer, 0.05 to 600; 5 if None.
            on_failure: `closed`: a failed answer denies; `open`: it abstains; if None, the hook's
                default.
            priority: plugins with a high priority are asked first.
            replaces: the answers may `replace` and `substitute`.
            include: heavy fields of the payload to fill in.
            subagents: ask for child agents too; if None, the hook's default.
            attempts: in `pre_llm_call`: ask before each attempt, with the `failure` of the last.
            optional: if the host does not know the hook, it is no error.

        Raises:
            RegistrationError: an argument or the function is not allowed; the message has the
                function's file and line.
        """
        subscription = Subscription(
            event=name,
            match=dict(match) if match else None,
            timeout_s=timeout_s,
            on_failure=on_failure,
            priority=priority,
            replaces=replaces or None,
            include=list(include) or None,
            subagents=subagents,
            attempts=attempts or None,
            optional=optional or None,
        )
        return self._subscriber(subscription, "hook")

    def on(
        self,
        name: str,
        *,
        match: Mapping[str, str | list[str]] | None = None,
        include: Sequence[str] = (),
        subagents: bool | None = None,
        optional: bool = False,
    ) -> Callable[[FunctionT], FunctionT]:
        """Register a function that is told of an event: `(payload, *, ctx)`.

        It may be an `async def`, and `ctx` may be left out. Its return value is ignored. Several
        functions may be told of one event, one after the other, in the order of the messages; none
        is told of a hook that another function of this plugin is asked about.

        Args:
            name: an event, such as `turn_end`, or a hook that the plugin observes without
                answering it.
            match: as in `hook`.
            include: as in `hook`.
            subagents: as in `hook`.
            optional: as in `hook`.

        Raises:
            RegistrationError: an argument or the function is not allowed; the message has the
                function's file and line.
        """
        entry = CATALOGUE.get(name)
        subscription = Subscription(
            event=name,
            mode="event" if entry is not None and entry.kind == "hook" else None,
            match=dict(match) if match else None,
            include=list(include) or None,
            subagents=subagents,
            optional=optional or None,
        )
        return self._subscriber(subscription, "event")

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
        """Add a tool to the manifest. Raises RegistrationError if there is one of that name."""
        _add(self.tools, tool, "tool")

    @overload
    def command(self, function: FunctionT, /) -> FunctionT: ...

    @overload
    def command(
        self, function: None = None, /, *, name: str | None = None, description: str | None = None
    ) -> Callable[[FunctionT], FunctionT]: ...

    def command(
        self,
        function: FunctionT | None = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
    ) -> FunctionT | Callable[[FunctionT], FunctionT]:
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

        def register(function: FunctionT) -> FunctionT:
            _add(self.commands, CommandHandler(function, name, description), "command")
            return function

        return register if function is None else register(function)

    @overload
    def on_start(self, function: FunctionT, /) -> FunctionT: ...

    @overload
    def on_start(
        self, function: None = None, /, *, when_installed: bool = False
    ) -> Callable[[FunctionT], FunctionT]: ...

    def on_start(
        self, function: FunctionT | None = None, /, *, when_installed: bool = False
    ) -> FunctionT | Callable[[FunctionT], FunctionT]:
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

        def register(function: FunctionT) -> FunctionT:
            self._at("on_start", function)
            self.life["on_start"].when_installed = when_installed
            return function

        return register if function is None else register(function)

    def on_shutdown(self, function: FunctionT) -> FunctionT:
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
        if moment in self.life:
            other = self.life[moment]
            raise handler.wrong(f"cannot be {moment}: {other.name}() at {other.where} is")
        self.life[moment] = handler
        return function

    def _subscriber(
        self, subscription: Subscription, kind: Kind
    ) -> Callable[[FunctionT], FunctionT]:
        def register(function: FunctionT) -> FunctionT:
            handler = HookHandler(function, subscription, kind)
            check_reachable(handler, self.hooks)
            self.hooks.append(handler)
            return function

        return register


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
