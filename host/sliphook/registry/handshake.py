"""One handshake with a plugin, to read its manifest: start it, introduce the host, end it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec
import trio

from sliphook.errors import SliphookError
from sliphook.plugin.checks import ManifestError
from sliphook.plugin.instance import Instance
from sliphook.plugin.launch import introduction, launch
from sliphook.plugin.manifest import ReadManifest, read_manifest
from sliphook.plugin.spec import PluginSpec
from sliphook.process.reaper import OrphanReaper
from sliphook.process.spawn import CannotStart
from sliphook.process.stderr import StderrTail
from sliphook.transport.deadlines import Deadlines
from sliphook.transport.pace import Pace
from sliphook.wire.rpc import Handlers
from sliphook_sdk.protocol import PluginInfo
from sliphook_sdk.protocol.limits import INITIALIZE_TIMEOUT_S

_MADE_S: Final = 120.0
"""What a plugin may take that is made of something else: that may be downloaded first."""


class InterviewError(SliphookError):
    """The plugin sent no acceptable manifest. str() is one line, to follow the plugin's name."""


async def interview(spec: PluginSpec, data_dir: Path) -> ReadManifest:
    """What the plugin declares. Takes at most the time of one start and one end: under 20 s.

    Of one that an adapter makes, under 70 s.

    Args:
        spec: the plugin; a spec without a name tells the plugin that it is being installed.
        data_dir: the plugin's data folder.

    Raises:
        InterviewError: the plugin cannot be started, or its manifest cannot be accepted.
    """
    reaper, deadlines = OrphanReaper(), Deadlines()
    await reaper.begin()
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(deadlines.run)
            nursery.start_soon(reaper.watch)
            answers = await _ask(spec, data_dir, reaper, deadlines)
            nursery.cancel_scope.cancel()
    finally:
        reaper.close()
    if answers.manifest is None:
        raise InterviewError(answers.why)
    return answers.manifest


class _Answers:
    """The owner of the instance (see `InstanceOwner`): keeps the manifest, or why there is none."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.manifest: ReadManifest | None = None
        self.why = ""
        self.heard = trio.Event()

    def accepts(self, manifest: msgspec.Raw) -> bool:
        """Keep the manifest; the instance can end now."""
        try:
            self.manifest = read_manifest(bytes(manifest))
        except ManifestError as error:
            self.why = str(error)
        self.heard.set()
        return self.manifest is not None

    def file_changed(self, why: str) -> None:
        """Refuse the plugin: it is not the file that the user was shown."""
        self.manifest, self.why = None, why

    def log_line(self, level: str, message: str) -> None:
        """Drop the line."""

    def tell_user(self, words: str) -> None:
        """Drop the line: nothing but the manifest is asked for."""


async def _ask(
    spec: PluginSpec, data_dir: Path, reaper: OrphanReaper, deadlines: Deadlines
) -> _Answers:
    answers = _Answers(spec.name or spec.stem)
    try:
        process = await launch(spec, data_dir, reaper)
    except CannotStart as error:
        answers.why = str(error)
        return answers
    # No handlers: at its installation, a plugin has been granted nothing that it could ask for.
    instance = Instance(process, answers, deadlines, Pace(), Handlers({}), StderrTail(), None)
    async with trio.open_nursery() as nursery:

        async def end() -> None:
            await answers.heard.wait()
            instance.stop()

        # A task of its own, since `run` returns only when the process has ended.
        nursery.start_soon(end)
        told = PluginInfo(name=spec.name, data_dir=str(data_dir), config=dict(spec.config))
        within_s = INITIALIZE_TIMEOUT_S if spec.made is None else _MADE_S
        await instance.run(introduction(told, manifest_only=True), within_s)
        nursery.cancel_scope.cancel()
    answers.why = answers.why or instance.why or "ended"
    return answers
