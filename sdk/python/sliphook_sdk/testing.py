"""Test a plugin without a process: call its handlers as the host would, and see their answers.

Example:
    ```python
    from guard import plugin

    def test_trees_stay():
        answer = Harness(plugin).fire("pre_tool_call", arguments={"command": "rm -rf /"})
        assert answer is not None and answer.decision == "deny"
    ```
"""

from __future__ import annotations

import asyncio
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

import msgspec

from .errors import HostRefused, RpcError
from .protocol import (
    CATALOGUE,
    METHOD_BY_NAME,
    Answer,
    CommandRunParams,
    ErrorCode,
    InitializeParams,
    LogParams,
    Manifest,
    Payload,
    ToolCallParams,
    ToolResult,
    Uses,
    nearest,
)
from .protocol.describe import example_of
from .service import Invocation, Service
from .wire.call import Call

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from .plugin import Plugin


_RESULTS: Final[dict[str, dict[str, bool]]] = {
    "host/inject": {"queued": True},
    "host/interrupt": {"interrupted": True},
}


def load_plugin(path: Path | str) -> Plugin[Any]:
    """The plugin in a file, imported anew, without running it.

    Args:
        path: a Python file that creates one `Plugin` at its top level and calls `run()` only under
            `if __name__ == "__main__":`.

    Raises:
        FileNotFoundError: there is no such file.
        LookupError: the file creates no `Plugin`, or several.
        RegistrationError: a handler is not allowed.
    """
    from .plugin import Plugin

    file = Path(path).resolve()
    name = f"plugin_{re.sub(r'[^a-zA-Z0-9]', '_', file.stem)}"
    loader = SourceFileLoader(name, str(file))
    spec = spec_from_loader(name, loader)
    assert spec is not None  # None only if the loader is none
    module = module_from_spec(spec)
    sys.modules[name] = module  # msgspec resolves the annotations of a Struct there
    sys.path.insert(0, str(file.parent))  # as Python does for a program
    try:
        loader.exec_module(module)
    finally:
        sys.path.remove(str(file.parent))
    found: set[Plugin[Any]] = {
        value for value in vars(module).values() if isinstance(value, Plugin)
    }
    if len(found) != 1:
        raise LookupError(f"{path} has {len(found)} plugins at its top level, not one")
    return found.pop()


class PluginError(AssertionError):
    """The plugin would have answered with an error.

    The message is what the host would have read; the handler's exception is the cause.
    """


class Harness:
    """Plays the host to one plugin.

    It works in an `async def` test too; the event loop is blocked while a handler runs.

    Attributes:
        plugin: the plugin.
        sent: the method and params of each message that the plugin sent to the host, in order.
        logs: the lines of the plugin's log; they are not in `sent`.
    """

    def __init__(
        self,
        plugin: Plugin[Any],
        *,
        config: dict[str, Any] | None = None,
        data_dir: Path | str = ".",
        granted: Collection[Uses] = get_args(Uses),
    ) -> None:
        """Initialize the plugin, as the host does at its start.

        Args:
            plugin: the plugin.
            config: the user's settings, as in JSON.
            data_dir: the plugin's own folder.
            granted: the uses that the user grants; requests that need another one are refused.
        """
        self.plugin = plugin
        self.sent: list[tuple[str, msgspec.Struct]] = []
        self.logs: list[LogParams] = []
        self._link = _Link(self, granted)
        self._service = Service(plugin, self._link)
        self._seq = 0
        params = example_of(InitializeParams)
        params["plugin"] = {"name": plugin.name, "data_dir": str(data_dir), "config": config or {}}
        self._manifest: Manifest = self._service.initialize(_call("initialize", params, 1))

    def manifest(self) -> Manifest:
        """What the plugin declares."""
        return self._manifest

    def fire(self, name: str, **fields: Any) -> Answer | None:
        """Ask the plugin, as the host does when it fires a hook.

        Args:
            name: the hook.
            fields: some fields of its payload; the others are filled with sample values.

        Returns:
            The answer; None if it abstains, or if no `match` of the plugin fits.

        Raises:
            PluginError: the handler raised, or gave an answer that is not allowed.
            ValueError: there is no such hook or field.
            LookupError: the plugin has no handler for the hook.
        """
        call = self._call(f"hook/{name}", _payload(name), fields)
        handlers = self._service.entries.get(name)
        if handlers is None or not handlers.can_be_asked:
            raise LookupError(f"{self.plugin.name} has no handler for the hook {name}")
        if not handlers.would_be_asked(handlers.decoder.decode(call.params)):
            return None
        answer: Answer | None = self._run(self._service.hook(handlers, call))
        return answer

    def tell(self, name: str, **fields: Any) -> None:
        """Tell the plugin of an event, or of a hook as the host does after an interrupt.

        Args:
            name: the event.
            fields: some fields of its payload; the others are filled with sample values.

        Raises:
            PluginError: a handler raised.
            ValueError: there is no such event or field.
            LookupError: the plugin has no handler for it.
        """
        call = self._call(f"event/{name}", _payload(name), fields)
        handlers = self._service.entries.get(name)
        if handlers is None or not any(
            subscription.event == name for subscription in self._manifest.subscriptions or ()
        ):
            raise LookupError(f"{self.plugin.name} has no handler for {name}")
        payload, invocations = self._service.event(handlers, call)
        for invocation in invocations:
            self._run(invocation)
        self._service.event_done(handlers, payload)

    def call_tool(self, name: str, /, *, session_id: str = "s-1", **arguments: Any) -> ToolResult:
        """Call a tool as a model does.

        Returns:
            Its result; if the tool raised or the arguments do not fit, `is_error` is true and the
            content says why.

        Raises:
            LookupError: the plugin has no such tool.
        """
        fields = {"name": name, "arguments": arguments, "session_id": session_id}
        result: ToolResult = self._answer(
            self._service.tool, self._call("tool/call", ToolCallParams, fields)
        )
        return result

    def run_command(self, name: str, arguments: str = "") -> str:
        """Run a slash command.

        Returns:
            The text for the user.

        Raises:
            PluginError: the handler raised.
            LookupError: the plugin has no such command.
        """
        fields = {"name": name, "arguments": arguments}
        return str(
            self._answer(
                self._service.command, self._call("command/run", CommandRunParams, fields)
            ).text
        )

    def _call(self, method: str, params: type[Payload], fields: dict[str, Any]) -> Call:
        samples = example_of(params)
        for name in fields:
            if name not in samples:
                close = nearest(name, list(samples))
                raise ValueError(
                    f"{method} has no field {name!r}{f'; did you mean {close!r}?' if close else ''}"
                )
        self._seq += 1
        call = _call(
            method,
            {**samples, "seq": self._seq, **fields},
            None if method.startswith("event/") else self._seq,
        )
        try:
            msgspec.json.decode(call.params, type=params)
        except msgspec.ValidationError as exc:
            raise ValueError(f"{method}: {exc}") from None
        return call

    def _answer(self, prepare: Callable[[Call], Invocation | ToolResult], call: Call) -> Any:
        try:
            ready = prepare(call)
        except RpcError as exc:
            raise LookupError(f"{self.plugin.name}: {exc.message}") from None
        return self._run(ready)

    def _run(self, ready: Invocation | ToolResult) -> Any:
        if not isinstance(ready, Invocation):
            return ready
        run = self._service.run
        try:
            if ready.handler.is_async and _loop_runs():
                with ThreadPoolExecutor(1) as pool:  # an event loop cannot run inside another
                    return pool.submit(run, ready).result()
            return run(ready)
        except RpcError as exc:
            raise PluginError(exc.message) from exc.__context__


class _Link:
    """The host for a handler's `ctx`: keeps each message, and grants what `granted` holds."""

    def __init__(self, harness: Harness, granted: Collection[Uses]) -> None:
        self._harness = harness
        self._granted = granted

    def notify(self, method: str, params: msgspec.Struct) -> None:
        if isinstance(params, LogParams):
            self._harness.logs.append(params)
        else:
            self._harness.sent.append((method, params))

    def ask(self, method: str, params: msgspec.Struct) -> Any:
        self._harness.sent.append((method, params))
        grant = METHOD_BY_NAME[method].grant
        if grant is not None and grant not in self._granted:
            raise HostRefused(ErrorCode.NOT_GRANTED, f"{method} is not granted")
        return _RESULTS.get(method, {})

    async def ask_async(self, method: str, params: msgspec.Struct) -> Any:
        return self.ask(method, params)


def _call(method: str, params: dict[str, Any], request_id: int | None) -> Call:
    return Call(request_id, method, msgspec.Raw(msgspec.json.encode(params)))


def _loop_runs() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _payload(name: str) -> type[Payload]:
    entry = CATALOGUE.get(name)
    if entry is None:
        close = nearest(name, list(CATALOGUE))
        raise ValueError(
            f"there is no hook or event {name!r}{f'; did you mean {close!r}?' if close else ''}"
        )
    return entry.payload
