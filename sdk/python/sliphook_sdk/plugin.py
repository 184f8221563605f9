"""A `Plugin`, and the decorators that register its functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar, get_args, overload

import msgspec

from .errors import RegistrationError
from .protocol import (
    CATALOGUE,
    EnvWant,
    Kind,
    Manifest,
    OnFailure,
    Subscription,
    Uses,
    limits,
    why_no_plugin_name,
)
from .registration.arguments import fit
from .registration.handlers import CommandHandler, HookHandler
from .registration.subscriptions import check_reachable, subscriptions_of
from .registration.tools import Tool
from .runtime.sessions import Sessions, StateT
from .runtime.state import require

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from .registration.tools import ToolFunction
    from .runtime.state import Runtime

FunctionT = TypeVar("FunctionT", bound="Callable[..., Any]")
NamedT = TypeVar("NamedT", Tool, CommandHandler)


class Plugin(Generic[StateT]):
    """A plugin: its functions, and what the host must know about them.

    Attributes:
        name: the plugin's name.
        uses: the grants that it asks for.
        sessions: the state of each session, if `sessions=` was given.
        hooks: the handlers of hooks and events, in the order of their definition.
        tools: the tools of the manifest by their names.
        commands: the slash commands by their names.
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
        """Create a plugin that has no handlers yet.

        Args:
            name: `[a-z0-9][a-z0-9_-]{0,63}`.
            version: the plugin's own version.
            description: one line for people.
            uses: the requests that it makes to the host: `notify`, `tools`, `inject`, `interrupt`.
                The user must grant them.
            env: environment variables that it wants; one given as a bare name is not required.
            config: a Struct for the user's settings; handlers have them as `ctx.config`.
            sessions: creates the state of one session (`dict`, or your own class), for
                `plugin.sessions`.
            disabled: if given, the plugin does not take part; the user reads the reason.

        Raises:
            RegistrationError: the name is not allowed, or a use does not exist.
        """
        if (why := why_no_plugin_name(name)) is not None:
            raise RegistrationError(f"{name!r} {why}")
        for use in uses:
            if use not in get_args(Uses):
                known = ", ".join(get_args(Uses))
                raise RegistrationError(
                    f"the plugin {name} uses {use!r}, which is not among {known}"
                )
        self.name = name
        self.uses = tuple(uses)
        self.sessions: Sessions[StateT] = Sessions(sessions)
        self.hooks: list[HookHandler] = []
        self.tools: dict[str, Tool] = {}
        self.commands: dict[str, CommandHandler] = {}
        self._version = version
        self._description = description
        self._env = [EnvWant(name=want) if isinstance(want, str) else want for want in env]
        self._config = config
        self._disabled = disabled
        # states and tools of a session are dropped at its end, so the plugin must be told of it
        self._ends_sessions = sessions is not None or "tools" in uses
        self._runtime: Runtime | None = None

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

    def manifest(self, *, disabled: str | None = None) -> Manifest:
        """What the plugin declares to the host.

        Args:
            disabled: a reason not to take part that was found at the start; if None, the one given
                to the constructor.
        """
        return Manifest(
            protocol_version=limits.PROTOCOL_VERSIONS[-1],
            name=self.name,
            version=self._version,
            description=self._description,
            subscriptions=subscriptions_of(self.hooks, session_end=self._ends_sessions) or None,
            tools=[tool.spec for tool in self.tools.values()] or None,
            commands=[command.spec for command in self.commands.values()] or None,
            uses=list(self.uses) or None,
            env=self._env or None,
            config_schema=None if self._config is None else msgspec.json.schema(self._config),
            disabled=disabled or self._disabled,
        )

    def read_config(self, config: dict[str, Any]) -> Any:
        """The user's settings as the author's Struct, or unchanged if there is none.

        Raises:
            msgspec.ValidationError: the settings do not fit the Struct.
        """
        return config if self._config is None else fit(config, self._config)

    @property
    def is_async(self) -> bool:
        """True if any handler is an `async def`."""
        handlers = (*self.hooks, *self.tools.values(), *self.commands.values())
        return any(handler.is_async for handler in handlers)

    def set_tools(
        self, tools: Iterable[Tool | ToolFunction], *, session_id: str | None = None
    ) -> None:
        """Replace the plugin's tools of one session, or of all if `session_id` is None.

        Needs `uses=["tools"]`.

        It blocks until the host has answered, and may be called in any thread. In an `async def`
        await `ctx.set_tools` instead.

        Args:
            tools: functions, or `Tool`s to give more than the function says. Either all of them
                take effect or none.
            session_id: the session that they belong to; they are removed when it ends.

        Raises:
            HostRefused: it is not granted, or a name is taken; the old tools stay.
            RuntimeError: the plugin does not run.
        """
        require(self.uses, "tools")
        if self._runtime is None:
            raise RuntimeError(
                "set_tools() is for a plugin that runs; before that, use the decorator `tool`"
            )
        self._runtime.set_tools(tools, session_id)

    def attach(self, runtime: Runtime) -> None:
        """Connect the plugin with its state while it runs."""
        self._runtime = runtime

    def run(self) -> NoReturn:
        """Serve the host on standard input and output until it sends `exit`. Never returns."""
        from .run import run  # importing a plugin does not need what serving needs

        run(self)

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
