"""What every function of the author knows of its plugin, and the `ctx` of its start and its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

from .host import BaseHost

if TYPE_CHECKING:
    from pathlib import Path

    from typing_extensions import TypeVar

    from sliphook_sdk.protocol import Level

    from .state import Runtime

    ConfigT = TypeVar("ConfigT", default=Any)
else:
    from typing import TypeVar

    ConfigT = TypeVar("ConfigT")


class PluginContext(Generic[ConfigT]):
    """The plugin's settings, its folder and its log."""

    __slots__ = ("_runtime",)

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    @property
    def config(self) -> ConfigT:
        """The user's settings for the plugin: the author's Struct, or a dict without one."""
        config: ConfigT = self._runtime.config
        return config

    @property
    def data_dir(self) -> Path:
        """The plugin's own folder."""
        from pathlib import Path  # imported here, since it would slow every plugin's start

        return Path(self._runtime.data_dir)

    def log(self, level: Level, message: str, **fields: Any) -> None:
        """Write a line to the plugin's log, with values beside the message."""
        BaseHost(self._runtime).log(level, message, **fields)


class LifeContext(PluginContext[ConfigT]):
    """`ctx` of `on_start` and `on_shutdown`.

    Attributes:
        deadline: when the SDK stops waiting for the function, on `time.monotonic()`.
        manifest_only: the host only reads the manifest, as at an installation.
    """

    __slots__ = ("deadline", "manifest_only")

    def __init__(self, runtime: Runtime, deadline: float) -> None:
        super().__init__(runtime)
        self.deadline = deadline
        self.manifest_only = runtime.manifest_only
