"""What the checks share: the plugin's path, its manifest, and a process that is ready."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import trio

from sliphook.plugin.checks import ManifestError
from sliphook.plugin.manifest import ReadManifest, read_manifest
from sliphook.plugin.spec import PluginSpec
from sliphook.quoting import quote
from sliphook.trace.record import TraceSink
from sliphook.wire import envelope
from sliphook_sdk.protocol.limits import INITIALIZE_TIMEOUT_S

from .child import Child
from .finding import CheckFailed, Skip
from .samples import initialize_params
from .traced import Watched

MOST_BREACHES: Final = 100
"""So many different breaches of one rule are kept: a plugin may flood."""


class Bench:
    """One executable under check.

    Attributes:
        command: the executable and its arguments.
        manifest: the manifest of the first start; the check of the handshake sets it.
        breaches: how the plugin broke rules without being asked, in order, by the rule; of each
            rule the first ones that differ.
        answers_ping: false after it did not. Most checks use a ping to see that the plugin still
            lives and reads.
        counts_bytes: false after it waited for as many characters as Content-Length has bytes.
    """

    def __init__(
        self,
        spec: PluginSpec,
        data_dir: Path,
        nursery: trio.Nursery,
        trace: TraceSink | None = None,
    ) -> None:
        # absolute, as the process runs in another folder
        self.command = (str(spec.path.absolute()), *(spec.made.arguments if spec.made else ()))
        self._stem = spec.stem
        self._granted = spec.env
        self._config = dict(spec.config)
        self.data_dir = data_dir
        self.manifest: ReadManifest | None = None
        self.breaches: dict[str, list[str]] = {}
        self.answers_ping = True
        self.counts_bytes = True
        self._nursery = nursery
        self._trace = trace
        self._spare: Child | None = None

    @property
    def declared(self) -> ReadManifest:
        """The manifest, for checks after the handshake."""
        assert self.manifest is not None
        return self.manifest

    @asynccontextmanager
    async def started(self) -> AsyncGenerator[Child]:
        """A new process for one check, before `initialize`."""
        child = await self._start()
        try:
            yield child
        finally:
            await child.end()

    @asynccontextmanager
    async def initialized(self) -> AsyncGenerator[Child]:
        """A new process for one check, after the handshake.

        Raises:
            CheckFailed: the handshake fails.
        """
        async with self.started() as child:
            await self.initialize(child, self.declared.name)
            yield child

    async def initialize(self, child: Child, name: str | None, **more: Any) -> ReadManifest:
        """Do the handshake.

        Raises:
            CheckFailed: it fails.
        """
        params = self.initialize_params(name, **more)
        reply = await child.ask("initialize", params, INITIALIZE_TIMEOUT_S)
        return self.accept(child, reply)

    def initialize_params(self, name: str | None, **more: Any) -> dict[str, Any]:
        """The params of `initialize`. `more` replaces fields or adds unknown ones."""
        return initialize_params(name, str(self.data_dir), self._config, **more)

    def accept(self, child: Child, reply: envelope.Reply) -> ReadManifest:
        """Read the answer to `initialize` as the host does.

        Raises:
            CheckFailed: it is no manifest.
        """
        if reply.error is not None:
            raise CheckFailed(
                "initialize",
                f"the error {reply.error.code}: {quote(reply.error.message)}",
                "answer with the manifest",
            )
        assert reply.result is not None
        try:
            manifest = read_manifest(reply.result)
        except ManifestError as error:
            raise CheckFailed("initialize", quote(bytes(reply.result)), str(error)) from None
        child.ready = True
        child.uses = manifest.uses
        return manifest

    async def ready(self) -> Child:
        """A process after the handshake that has passed all checks so far.

        Raises:
            CheckFailed: a new process is needed and fails.
        """
        if self._spare is None:
            child = await self._start()
            self._spare = child
            await self.initialize(child, self.declared.name)
        return self._spare

    async def pinged(self) -> Child:
        """A process from `ready`, for a check that sends pings.

        Raises:
            CheckFailed: a new process is needed and fails.
            Skip: the plugin does not answer pings, which is another finding.
        """
        if not self.answers_ping:
            raise Skip("it does not answer ping")
        return await self.ready()

    def count_breaches(self) -> dict[str, int]:
        """How many are kept of each rule, for `blame`."""
        return {rule: len(kept) for rule, kept in self.breaches.items()}

    def blame(self, before: dict[str, int], *rules: str) -> str | None:
        """The first breach since `before`; those since then are taken away, as a check has them.

        Of these rules alone, if some are given.
        """
        found: list[str] = []
        for rule in rules or self.breaches:
            kept = self.breaches.get(rule, [])
            found += kept[before.get(rule, 0) :]
            del kept[before.get(rule, 0) :]
        return found[0] if found else None

    async def drop(self) -> None:
        """End the process of `ready`; the next check gets a new one."""
        spare, self._spare = self._spare, None
        if spare is not None:
            await spare.end()

    async def _start(self) -> Child:
        name = self.manifest.name if self.manifest is not None else quote(self._stem, 64)
        watched = Watched(self._trace, name) if self._trace is not None else None
        try:
            return await Child.start(
                self.command, self.data_dir, self._granted, self._breach, self._nursery, watched
            )
        except OSError as error:
            raise CheckFailed(
                "nothing",
                f"it cannot be started: {error.strerror or error}",
                "make it a program that runs here",
            ) from None

    def _breach(self, rule: str, what: str) -> None:
        kept = self.breaches.setdefault(rule, [])
        if what not in kept and len(kept) < MOST_BREACHES:
            kept.append(what)
