"""A `Plugin`: what it declares, and what it may do while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NoReturn, get_args

import msgspec

from .decorators.registered import Registered
from .errors import RegistrationError
from .protocol import EnvWant, Manifest, Uses, limits, why_no_plugin_name
from .registration.arguments import fit
from .registration.subscriptions import subscriptions_of
from .registration.tools import Tool
from .runtime.host import AsyncHost, Host
from .runtime.sessions import Sessions, StateT
from .wire.given import check_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .registration.tools import ToolFunction
    from .runtime.state import Runtime


class Plugin(Registered, Generic[StateT]):
    """A plugin: its functions, and what the host must know about them.

    Attributes:
        name: the plugin's name.
        uses: the grants that it asks for.
        sessions: the state of each session, if `sessions=` was given.
        host: requests to the host that block, from any thread.
        async_host: requests to the host that are awaited, in any task.
    """

    def __init__(
        self,
        name: str,
        *,
        version: str | None = None,
        description: str | None = None,
        uses: Sequence[Uses] = (),
        env: Sequence[EnvWant | str] = (),
        servers: Sequence[str] = (),
        config: type[msgspec.Struct] | None = None,
        sessions: Callable[[], StateT] | None = None,
        disabled: str | None = None,
    ) -> None:
        """Create a plugin that has no handlers yet.

        Args:
            name: `[a-z0-9][a-z0-9_-]{0,63}`.
            version: the plugin's own version.
            description: one line for people.
            uses: what it asks of the host: `notify`, `tools`, `inject`, `interrupt`, `submit`,
                `route`, `approve`, `ask`.
                The user must grant them.
            env: environment variables that it wants; one given as a bare name is not required.
            servers: `HOST` or `HOST:PORT` of the servers that it sends model calls to; needs the
                use `route`.
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
        if servers and "route" not in uses:
            raise RegistrationError(f"the plugin {name} has servers, which needs uses=['route']")
        super().__init__()
        self.name = name
        self.uses = tuple(uses)
        self.sessions: Sessions[StateT] = Sessions(sessions)
        self.host = Host()
        self.async_host = AsyncHost()
        self._version = version
        self._description = description
        self._env = [EnvWant(name=want) if isinstance(want, str) else want for want in env]
        self._servers = list(servers)
        self._config = config
        self._disabled = disabled
        # states and tools of a session are dropped at its end, so the plugin must be told of it
        self._ends_sessions = sessions is not None or "tools" in uses

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
            servers=self._servers or None,
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
        handlers = (
            *self.hooks,
            *self.tools.values(),
            *self.commands.values(),
            *self.life.values(),
        )
        return any(handler.is_async for handler in handlers)

    def set_tools(
        self, tools: Iterable[Tool | ToolFunction], *, session_id: str | None = None
    ) -> None:
        """Replace the plugin's tools of one session, or of all if `session_id` is None.

        Needs `uses=["tools"]`. Without a session, the tools of the decorator go too unless they are
        among the new ones, and the log says so; `add_tool` leaves them.

        It blocks until the host has answered, and may be called in any thread. In an `async def`
        await the one of `ctx` or of `plugin.async_host` instead.

        Args:
            tools: functions, or `Tool`s to give more than the function says. Either all of them
                take effect or none.
            session_id: the session that they belong to; they are removed when it ends.

        Raises:
            HostRefused: it is not granted, or a name is taken; the old tools stay.
            NotConnected: the plugin does not run.
        """
        self.host.set_tools(tools, session_id=session_id)

    def add_tool(
        self,
        tool: Tool | ToolFunction,
        *,
        name: str | None = None,
        description: str | None = None,
        timeout_s: float | None = None,
        schema: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> None:
        """Add a tool to those of one session, or of all if `session_id` is None.

        Until the plugin has started, in `on_start` too, it is declared as by the decorator `tool`.
        After that it needs `uses=["tools"]`, and blocks until the host has answered, in any thread;
        in an `async def` await the one of `plugin.async_host` instead.

        Args:
            tool: a function, or a `Tool`.
            name: as in `Tool`; of a function.
            description: as in `Tool`; of a function.
            timeout_s: as in `Tool`; of a function.
            schema: as in `Tool`; of a function.
            session_id: the session that it belongs to; it is removed when that ends.

        Raises:
            RegistrationError: the function cannot be a tool, or there is one of that name.
            HostRefused: it is not granted, or the name is taken; the tools stay as they were.
            NotConnected: the plugin has ended, or it is for one session and this is `on_start`.
        """
        if not isinstance(tool, Tool):
            tool = Tool(
                tool, name=name, description=description, timeout_s=timeout_s, schema=schema
            )
        if self._runs:
            self.host.add_tool(tool, session_id=session_id)
        else:
            self.declare_tool(tool)

    def remove_tool(self, name: str, *, session_id: str | None = None) -> None:
        """Remove one of the tools of one session, or of all if `session_id` is None.

        What the decorator has added can be removed too. For when and where see `add_tool`.

        Raises:
            LookupError: there is none of that name.
            HostRefused: it is not granted; the tools stay as they were.
            NotConnected: the plugin has ended, or it is for one session and this is `on_start`.
        """
        check_text("name", name)
        if self._runs:
            self.host.remove_tool(name, session_id=session_id)
        elif self.tools.pop(name, None) is None:
            raise LookupError(f"the plugin {self.name} has no tool {name!r}")

    def attach(self, runtime: Runtime) -> None:
        """Connect the plugin with its state while it runs."""
        self._runs = True
        self.host.attach(runtime)
        self.async_host.attach(runtime)

    def run(self) -> NoReturn:
        """Serve the host on standard input and output until it sends `exit`. Never returns."""
        from .run import run  # importing a plugin does not need what serving needs

        run(self)
