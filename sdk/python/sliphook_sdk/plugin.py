"""A `Plugin`: what it declares, and what it may do while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NoReturn, get_args

import msgspec

from .errors import RegistrationError
from .protocol import EnvWant, Manifest, Uses, limits, why_no_plugin_name
from .registration.arguments import fit
from .registration.decorators import Registered
from .registration.subscriptions import subscriptions_of
from .runtime.sessions import Sessions, StateT
from .runtime.state import require

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .registration.tools import Tool, ToolFunction
    from .runtime.state import Runtime


class Plugin(Registered, Generic[StateT]):
    """A plugin: its functions, and what the host must know about them.

    Attributes:
        name: the plugin's name.
        uses: the grants that it asks for.
        sessions: the state of each session, if `sessions=` was given.
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
        super().__init__()
        self.name = name
        self.uses = tuple(uses)
        self.sessions: Sessions[StateT] = Sessions(sessions)
        self._version = version
        self._description = description
        self._env = [EnvWant(name=want) if isinstance(want, str) else want for want in env]
        self._config = config
        self._disabled = disabled
        # states and tools of a session are dropped at its end, so the plugin must be told of it
        self._ends_sessions = sessions is not None or "tools" in uses
        self._runtime: Runtime | None = None

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
