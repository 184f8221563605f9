"""The decorators that register an author's functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from sliphook_sdk.protocol import CATALOGUE, Kind, OnFailure, Subscription

from .handlers import CommandHandler, HookHandler
from .subscriptions import check_reachable
from .tools import Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

FunctionT = TypeVar("FunctionT", bound="Callable[..., Any]")
NamedT = TypeVar("NamedT", Tool, CommandHandler)


class Registered:
    """The functions of a plugin.

    Attributes:
        hooks: the handlers of hooks and events, in the order of their definition.
        tools: the tools of the manifest by their names.
        commands: the slash commands by their names.
    """

    def __init__(self) -> None:
        self.hooks: list[HookHandler] = []
        self.tools: dict[str, Tool] = {}
        self.commands: dict[str, CommandHandler] = {}

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

        def register(function: FunctionT) -> FunctionT:
            tool = Tool(
                function, name=name, description=description, timeout_s=timeout_s, schema=schema
            )
            _add(self.tools, tool, "tool")
            return function

        return register if function is None else register(function)

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

        def register(function: FunctionT) -> FunctionT:
            _add(self.commands, CommandHandler(function, name, description), "command")
            return function

        return register if function is None else register(function)

    def _subscriber(
        self, subscription: Subscription, kind: Kind
    ) -> Callable[[FunctionT], FunctionT]:
        def register(function: FunctionT) -> FunctionT:
            handler = HookHandler(function, subscription, kind)
            check_reachable(handler, self.hooks)
            self.hooks.append(handler)
            return function

        return register


def _add(known: dict[str, NamedT], handler: NamedT, kind: str) -> None:
    name = handler.spec.name
    if name in known:
        other = known[name]
        raise handler.wrong(f"cannot be the {kind} {name!r}: {other.name}() at {other.where} is")
    known[name] = handler
