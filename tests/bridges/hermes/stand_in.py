"""A stand-in of Hermes: its registration context, its two ways of calling plugins, a small loop.

It keeps to what Hermes 0.19.0 does where the bridge relies on it: what raises in a hook is
dropped, what raises in a middleware before `next_call` falls through to the next one, and neither
catches what is no Exception.
"""

# the shapes are those of another project
# pyright: basic

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import patch

from sliphook.blocking import Interrupted
from sliphook.bridges.hermes.bridge import Bridge
from sliphook.bridges.hermes.seams import HOOKS, MIDDLEWARE
from sliphook.testing import FakePlugin
from tests.programs import EVERYTHING

SHELL = ("call-1", "shell", {"command": "ls"})


def probe(
    *, replacing: Iterable[str] = (), closed: Iterable[str] = (), **fields: Any
) -> FakePlugin:
    """Hears everything.

    Args:
        replacing: the hooks in which it may replace.
        closed: the hooks at which it fails closed, beside tool calls.
        fields: more of the plugin.
    """
    heard = [
        {
            "event": event,
            "subagents": True,
            "replaces": event in replacing,
            **({"on_failure": "closed"} if event in closed else {}),
        }
        for event in EVERYTHING
    ]
    return FakePlugin("probe", subscriptions=heard, recorded=True, **fields)


def observer() -> FakePlugin:
    """Hears everything, and guards nothing."""
    heard = [{"event": event, "subagents": True} for event in EVERYTHING]
    heard = [
        {**one, "on_failure": "open"} if one["event"] == "pre_tool_call" else one for one in heard
    ]
    return FakePlugin("observer", subscriptions=heard, recorded=True)


def deny(_: Any) -> dict[str, str]:
    return {"decision": "deny", "reason": "not today"}


def broken(*_: Any, **__: Any) -> Any:
    raise RuntimeError("a fault of the bridge")


def interrupted(*_: Any, **__: Any) -> Any:
    raise Interrupted("the turn was interrupted")


def turns(plugin: FakePlugin) -> list[str]:
    return [one.outcome for one in plugin.payloads("turn_end")]


class Downstream(Exception):
    def __init__(self, original: Exception) -> None:
        super().__init__(str(original))
        self.original = original


class Context:
    """What `register` gets."""

    def __init__(self) -> None:
        self.hooks: dict[str, list[Callable[..., Any]]] = {}
        self.middleware: dict[str, list[Callable[..., Any]]] = {}
        self.tools: dict[str, Callable[..., Any]] = {}
        self.taken: set[str] = set()
        self.commands: dict[str, Callable[[str], str]] = {}

    def register_hook(self, name: str, callback: Callable[..., Any]) -> None:
        self.hooks.setdefault(name, []).append(callback)

    def register_middleware(self, kind: str, callback: Callable[..., Any]) -> None:
        self.middleware.setdefault(kind, []).append(callback)

    def register_tool(
        self, name: str, toolset: str, schema: dict[str, Any], handler: Callable[..., Any]
    ) -> None:
        if name not in self.taken:
            self.tools[name] = handler

    def get_entry(self, name: str) -> SimpleNamespace | None:
        return SimpleNamespace(handler=self.tools[name]) if name in self.tools else None

    def register_command(
        self, name: str, handler: Callable[[str], str], description: str = ""
    ) -> None:
        self.commands[name] = handler

    def fire(self, name: str, **fields: Any) -> list[Any]:
        said: list[Any] = []
        for callback in self.hooks.get(name, []):
            try:
                said.append(callback(**fields, telemetry_schema_version="1"))
            except Exception:
                continue
        return [one for one in said if one is not None]

    def through(
        self, kind: str, key: str, payload: Any, last: Callable[[Any], Any], **fields: Any
    ) -> Any:
        callbacks = self.middleware.get(kind, [])

        def at(index: int, payload: Any) -> Any:
            if index >= len(callbacks):
                return last(payload)
            called: list[bool] = []
            results: list[Any] = []

            def next_call(changed: Any = None) -> Any:
                called.append(True)
                try:
                    result = at(index + 1, payload if changed is None else changed)
                except Exception as error:
                    raise Downstream(error) from error
                results.append(result)
                return result

            try:
                return callbacks[index](**{key: payload}, next_call=next_call, **fields)
            except Downstream as error:
                raise error.original from None
            except Exception:
                if results:
                    return results[0]
                if called:
                    raise
                return at(index + 1, payload)

        return at(0, payload)


class Agent:
    """An `AIAgent` whose model follows a script.

    Args:
        hermes: where it lives.
        script: the answers of the model: a text, or tool calls (id, name, arguments).
    """

    hermes: Hermes
    api_mode = "chat_completions"
    _end_session_on_close = True

    def __init__(
        self, hermes: Hermes, *script: str | tuple[str, str, dict[str, Any]] | Exception
    ) -> None:
        self.hermes = hermes
        self.script = list(script)
        self.session_id = "session-1"
        self.platform = "cli"
        self.model = "model-1"
        self.requests: list[dict[str, Any]] = []
        self.told: list[str | None] = []
        self.side_by_side = False
        self._interrupt_requested = False
        self._interrupt_message: str | None = None

    def interrupt(self, message: str | None = None) -> None:
        self.told.append(message)
        self._interrupt_requested = True
        self._interrupt_message = message

    def clear_interrupt(self) -> None:
        self._interrupt_requested = False
        self._interrupt_message = None

    def close(self) -> None:
        pass

    def run(self, text: Any, **more: Any) -> dict[str, Any]:
        loop = sys.modules["agent.conversation_loop"]
        result: dict[str, Any] = loop.run_conversation(self, text, **more)
        return result


class Hermes:
    """One process of Hermes, with one bridge."""

    def __init__(self) -> None:
        self.ctx = Context()
        self.tools: dict[str, Callable[[dict[str, Any]], Any]] = {
            "shell": lambda args: f"ran {args.get('command')}"
        }
        self.ran: list[tuple[str, dict[str, Any]]] = []
        self.after: list[tuple[str, str]] = []
        self.bridge: Bridge

    def agent(self, *script: str | tuple[str, str, dict[str, Any]] | Exception) -> Agent:
        return Agent(self, *script)

    def call_model(self, agent: Agent, request: dict[str, Any]) -> Any:
        agent.requests.append(request)
        step = agent.script.pop(0) if agent.script else "done"
        if isinstance(step, Exception):
            raise step
        calls = None
        if isinstance(step, tuple):
            function = SimpleNamespace(name=step[1], arguments=repr(step[2]).replace("'", '"'))
            calls = [SimpleNamespace(id=step[0], function=function)]
        said = SimpleNamespace(content=None if calls else step, tool_calls=calls)
        choice = SimpleNamespace(finish_reason="stop", message=said)
        return SimpleNamespace(choices=[choice], usage=None, model=request["model"])

    def call_tool(self, agent: Agent, call_id: str, name: str, args: dict[str, Any]) -> Any:
        blocks = [
            one["message"]
            for one in self.ctx.fire(
                "pre_tool_call", tool_name=name, args=args, tool_call_id=call_id
            )
        ]
        if blocks:
            self.tell(name, call_id, "blocked", blocks[0])
            return f"blocked: {blocks[0]}"

        def execute(given: dict[str, Any]) -> Any:
            if name in self.ctx.tools:
                return self.ctx.tools[name](given)
            self.ran.append((name, given))
            return self.tools[name](given)

        def once(given: dict[str, Any]) -> Any:
            return self.ctx.through(
                "tool_execution", "args", given, execute, tool_name=name, tool_call_id=call_id
            )

        # tools side by side pass the middleware twice
        result = (
            self.ctx.through(
                "tool_execution", "args", args, once, tool_name=name, tool_call_id=call_id
            )
            if agent.side_by_side
            else once(args)
        )
        self.tell(name, call_id, "ok", result)
        return result

    def tell(self, name: str, call_id: str, status: str, result: Any) -> None:
        self.after.append((name, status))
        self.ctx.fire(
            "post_tool_call", tool_name=name, tool_call_id=call_id, status=status, result=result
        )

    def run(self, agent: Agent, text: Any, history: list[dict[str, Any]]) -> dict[str, Any]:
        for said in self.ctx.fire("pre_llm_call", user_message=text):
            text = f"{text}\n\n{said['context']}"
        messages = [{"role": "system", "content": "be good"}, *history]
        messages.append({"role": "user", "content": text})
        result = {"messages": messages, "completed": True, "interrupted": False, "failed": False}
        final = ""
        while not final:
            if agent._interrupt_requested:
                agent.clear_interrupt()
                return {**result, "interrupted": True, "final_response": "interrupted"}
            request = {"model": agent.model, "messages": messages, "tools": []}
            try:
                response = self.ctx.through(
                    "llm_execution",
                    "request",
                    request,
                    lambda given: self.call_model(agent, given),
                    api_mode=agent.api_mode,
                    provider="custom",
                    model=agent.model,
                )
            except ValueError as error:
                self.ctx.fire(
                    "api_request_error",
                    status_code=400,
                    reason="format_error",
                    retryable=False,
                    error={"type": "ValueError", "message": str(error)},
                )
                return {**result, "completed": False, "failed": True, "final_response": "failed"}
            said = response.choices[0].message
            if not said.tool_calls:
                final = said.content
                continue
            for call in said.tool_calls:
                arguments = eval(call.function.arguments)
                answer = self.call_tool(agent, call.id, call.function.name, arguments)
                messages.append({"role": "tool", "content": str(answer), "tool_call_id": call.id})
        return {**result, "final_response": final}


@contextmanager
def hermes(*plugins: FakePlugin, process: Hermes | None = None) -> Generator[Hermes]:
    """A process of Hermes, with plugins in memory."""
    made = process or Hermes()

    def run_conversation(
        agent: Agent,
        user_message: Any,
        system_message: Any = None,
        conversation_history: Any = None,
        task_id: Any = None,
        persist_user_message: Any = None,
    ) -> dict[str, Any]:
        return made.run(agent, user_message, list(conversation_history or []))

    with modules(run_conversation, made.ctx):
        made.bridge = Bridge(list(plugins))
        made.bridge.register(made.ctx)
        try:
            yield made
        finally:
            made.bridge.close()


@contextmanager
def modules(run_conversation: Any, ctx: Context | None = None) -> Generator[None]:
    """Hermes's modules, as far as the bridge imports them."""

    def run_llm_execution_middleware(request: Any, next_call: Any, **context: Any) -> Any: ...

    def run_tool_execution_middleware(
        tool_name: Any, args: Any, next_call: Any, **context: Any
    ) -> Any: ...

    found = {
        name: ModuleType(name)
        for name in (
            "hermes_cli",
            "hermes_cli.plugins",
            "hermes_cli.middleware",
            "agent",
            "agent.conversation_loop",
            "tools",
            "tools.approval",
            "tools.registry",
            "toolsets",
            "run_agent",
        )
    }
    found["hermes_cli.plugins"].__dict__.update(
        VALID_HOOKS=set(HOOKS), VALID_MIDDLEWARE=set(MIDDLEWARE)
    )
    found["hermes_cli.middleware"].__dict__.update(
        run_llm_execution_middleware=run_llm_execution_middleware,
        run_tool_execution_middleware=run_tool_execution_middleware,
    )
    found["tools.registry"].__dict__["registry"] = ctx or Context()
    found["toolsets"].__dict__["TOOLSETS"] = {"file": {"tools": ["read_file"]}}
    found["agent.conversation_loop"].__dict__["run_conversation"] = run_conversation
    marks = {name: Agent.__dict__[name] for name in ("interrupt", "close")}
    with patch.dict(sys.modules, found):
        try:
            yield
        finally:
            for name, function in marks.items():
                setattr(Agent, name, function)
            if "_sliphook_wrapped" in Agent.__dict__:
                delattr(Agent, "_sliphook_wrapped")


def in_thread(function: Callable[[], Any]) -> threading.Thread:
    thread = threading.Thread(target=function)
    thread.start()
    return thread
