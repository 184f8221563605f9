"""The author's face: a `Plugin`, and decorators that say what its functions are for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar, get_args, overload

import msgspec

from .errors import HostRefused, RegistrationError
from .protocol import (
    CATALOGUE,
    NAME_PATTERNS,
    EnvWant,
    ErrorCode,
    Kind,
    Manifest,
    OnFailure,
    Subscription,
    Uses,
    limits,
)
from .registration.handlers import CommandHandler, HookHandler
from .registration.tools import Tool
from .runtime.sessions import Sessions, StateT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from .registration.tools import ToolFunction
    from .service import Service

FunctionT = TypeVar("FunctionT", bound="Callable[..., Any]")


class Plugin(Generic[StateT]):
    """A plugin: functions, and what the host must know about them.

    Attributes:
        name: its name.
        sessions: the state of each session, where `sessions=` was given.
        hooks: its handlers of hooks and events, in the order of their definition.
        tools: its tools of the manifest by their names.
        commands: its slash commands by their names.
    """

    def __init__(
        self,
        name: str,
        *,
        version: str | None = None,
        description: str | None = None,
        uses: Sequence[Uses] = (),
        env: Sequence[EnvWant | str] = (),
        config: type[msgspec.Struct] | None = None,
        sessions: Callable[[], StateT] | None = None,
        disabled: str | None = None,
    ) -> None:
        """Name the plugin.

        Args:
            name: `[a-z0-9][a-z0-9_-]{0,63}`.
            version: the plugin's own version.
            description: one line for people.
            uses: what it asks of the host: `notify`, `tools`, `inject`, `interrupt`. The user must
                grant it.
            env: environment variables that it wants; a bare name is one that it can do without.
            config: a Struct of the user's settings; handlers find them typed as `ctx.config`.
            sessions: makes the state of one session (`dict`, or a class of yours), for
                `plugin.sessions`.
            disabled: why the plugin shall be left out today; the user reads it.

        Raises:
            RegistrationError: the name or a use is none.
        """
        if not re.fullmatch(NAME_PATTERNS["plugin"], name):
            raise RegistrationError(
                f"{name!r} cannot be a plugin's name: names are {NAME_PATTERNS['plugin']}"
            )
        for use in uses:
            if use not in get_args(Uses):
                raise RegistrationError(
                    f"the plugin {name} uses {use!r}, which is not among {', '.join(get_args(Uses))}"
                )
        self.name = name
        self.sessions: Sessions[StateT] = Sessions(sessions)
        self.hooks: list[HookHandler] = []
        self.tools: dict[str, Tool] = {}
        self.commands: dict[str, CommandHandler] = {}
        self._version = version
        self._description = description
        self._uses = tuple(uses)
        self._env = [EnvWant(name=want) if isinstance(want, str) else want for want in env]
        self._config = config
        self._disabled = disabled
        self._ends_sessions = sessions is not None or "tools" in uses
        self._service: Service | None = None

    # -- decorators

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
        """Let the function be asked: `(payload, *, ctx) -> Answer | None`, sync or async; `ctx` may be left out.

        Args:
            name: the hook, such as `pre_tool_call`.
            match: fields of the payload with patterns (`*` and `?`) or lists of them; only what
                fits all of them is asked about.
            timeout_s: seconds to answer, 0.05 to 600; 5 if None.
            on_failure: `closed`: a failed answer denies; `open`: it abstains; None is the hook's
                own.
            priority: high is asked first.
            replaces: the answers may `replace` and `substitute`.
            include: heavy fields of the payload to fill in.
            subagents: child agents too; None is the hook's own.
            optional: no error where the host does not know the hook.

        Raises:
            RegistrationError: something of this cannot be; the message has the handler's line.
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
        """Let the function be told: `(payload, *, ctx)`, sync or async; `ctx` may be left out.

        What it returns is nobody's.

        Several functions may be told of one event. They run one after the other, in the order of
        the messages.

        Args:
            name: an event, such as `turn_end`, or a hook that the plugin wants to hear of but not
                to answer.
            match: as in `hook`.
            include: as in `hook`.
            subagents: as in `hook`.
            optional: as in `hook`.

        Raises:
            RegistrationError: something of this cannot be; the message has the handler's line.
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
        """Offer the function to the model. The arguments and `Raises` are those of `Tool`."""

        def register(function: FunctionT) -> FunctionT:
            tool = Tool(
                function, name=name, description=description, timeout_s=timeout_s, schema=schema
            )
            other = self.tools.get(tool.spec.name)
            if other is not None:
                raise tool.wrong(
                    f"cannot be the tool {tool.spec.name!r}: {other.name}() at {other.where} is"
                )
            self.tools[tool.spec.name] = tool
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
        """Make the function a slash command: `(arguments: str, *, ctx) -> str`, sync or async; `ctx` may be left out.

        Args:
            function: the function.
            name: what the user types behind the slash; the function's name if None.
            description: one line for `/help`; the docstring's first paragraph if None.

        Raises:
            RegistrationError: something of this cannot be; the message has the handler's line.
        """

        def register(function: FunctionT) -> FunctionT:
            handler = CommandHandler(function, name, description)
            other = self.commands.get(handler.spec.name)
            if other is not None:
                raise handler.wrong(
                    f"cannot be the command {handler.spec.name!r}: {other.name}() at {other.where} is"
                )
            self.commands[handler.spec.name] = handler
            return function

        return register if function is None else register(function)

    # -- what comes of them

    def manifest(self, *, disabled: str | None = None) -> Manifest:
        """What the host is told.

        Args:
            disabled: why the plugin shall be left out, where it has just turned out; else what the
                constructor was given.
        """
        return Manifest(
            protocol_version=limits.PROTOCOL_VERSIONS[-1],
            name=self.name,
            version=self._version,
            description=self._description,
            subscriptions=self._subscriptions() or None,
            tools=[tool.spec for tool in self.tools.values()] or None,
            commands=[command.spec for command in self.commands.values()] or None,
            uses=list(self._uses) or None,
            env=self._env or None,
            config_schema=None if self._config is None else msgspec.json.schema(self._config),
            disabled=disabled or self._disabled,
        )

    def read_config(self, config: dict[str, Any]) -> Any:
        """The user's settings as the author's Struct, or as they are where there is none.

        Raises:
            msgspec.ValidationError: they do not fit.
        """
        return config if self._config is None else msgspec.convert(config, self._config)

    @property
    def is_async(self) -> bool:
        """Any of the handlers is an `async def`."""
        handlers = (*self.hooks, *self.tools.values(), *self.commands.values())
        return any(handler.is_async for handler in handlers)

    def require(self, grant: Uses) -> None:
        """Check that the plugin has asked for a grant.

        Raises:
            HostRefused: it has not; the host would say the same, but not how to mend it.
        """
        if grant not in self._uses:
            raise HostRefused(
                ErrorCode.NOT_GRANTED,
                f"the plugin does not ask for it: Plugin(..., uses=[{grant!r}])",
            )

    def set_tools(
        self, tools: Iterable[Tool | ToolFunction], *, session_id: str | None = None
    ) -> None:
        """Replace the plugin's tools of one session, or of all where `session_id` is None.

        Needs `uses=["tools"]`.

        It blocks until the host has answered, from any thread; in an `async def` await
        `ctx.set_tools` instead.

        Args:
            tools: functions, or `Tool`s where a function alone does not say enough. All of them or
                none take effect.
            session_id: the session that they belong to; they go with it.

        Raises:
            HostRefused: it is not granted, or a name is taken; the old tools stay.
            RuntimeError: the plugin does not run.
        """
        self.require("tools")
        if self._service is None:
            raise RuntimeError(
                "set_tools() is for a plugin that runs; before that, use the decorator `tool`"
            )
        self._service.set_tools(tools, session_id)

    def attach(self, service: Service) -> None:
        """A service works for the plugin from now on."""
        self._service = service

    def run(self) -> NoReturn:
        """Serve the host on standard input and output until it says `exit`. Never returns."""
        from .run import run  # what serving needs is not needed to import a plugin

        run(self)

    # -- inside

    def _subscriber(
        self, subscription: Subscription, kind: Kind
    ) -> Callable[[FunctionT], FunctionT]:
        def register(function: FunctionT) -> FunctionT:
            handler = HookHandler(function, subscription, kind)
            for other in self.hooks:
                if (
                    other.asked
                    and handler.asked
                    and other.entry is handler.entry
                    and other.covers(handler)
                ):
                    raise handler.wrong(
                        f"would never be asked: {other.name}() at {other.where} takes every {handler.entry.name}"
                    )
            self.hooks.append(handler)
            return function

        return register

    def _subscriptions(self) -> list[Subscription]:
        found: list[Subscription] = []
        for handler in self.hooks:
            subscription = handler.subscription
            if not handler.asked:
                # one message tells all handlers of the event, so it must hold what any of them
                # wants
                wanted = {
                    field
                    for other in self.hooks
                    if other.entry is handler.entry and not other.asked
                    for field in other.subscription.include or ()
                }
                subscription = msgspec.structs.replace(subscription, include=sorted(wanted) or None)
            if subscription not in found:
                found.append(subscription)
        if self._ends_sessions and not any(_hears_every_end(handler) for handler in self.hooks):
            found.append(Subscription(event="session_end"))
        return found


def _hears_every_end(handler: HookHandler) -> bool:
    return handler.entry.name == "session_end" and not handler.subscription.match
