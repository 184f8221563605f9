#!/usr/bin/env python3
"""Serves models on this machine: starts the server of the model that is asked, and swaps it."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Annotated, Optional

import msgspec
from local_models import Models, ModelsError
from model_server import GRACE_S, NotServed
from one_server import ModelCall, OneServer

from sliphook_sdk import (
    AsyncContext,
    Disabled,
    HostRefused,
    LifeContext,
    Plugin,
    Tool,
    ToolError,
    deny,
    disabled,
    replace,
)
from sliphook_sdk.protocol import ModelRoute
from sliphook_sdk.protocol.answers import PreLlmCallReplacement
from sliphook_sdk.protocol.payloads import (
    LlmCallFailed,
    PostLlmCall,
    PreLlmCall,
    SessionEnd,
    TurnEnd,
)

LONGEST_S = 600.0
"""The most that a hook or a tool may take."""
OWN_SHARE = 0.95
"""The plugin gives up before the host does, and says why."""


Name = Annotated[str, msgspec.Meta(examples=["qwen3"])]  # for `sliphook check`


class Settings(msgspec.Struct):
    models: str = "~/.config/sliphook/models.yaml"


class Chosen(msgspec.Struct):
    """The model that the tool has chosen for a session, and in place of which one it answers."""

    name: Optional[str] = None
    is_taken: bool = False
    instead_of: Optional[str] = None


plugin = Plugin(
    "llm-switch",
    version="1.0.0",
    description="Starts and swaps the servers of models on this machine.",
    uses=["route", "notify"],
    servers=["127.0.0.1"],
    config=Settings,
    sessions=Chosen,
)
server = OneServer()


@plugin.on_start
async def read_models(*, ctx: LifeContext[Settings]) -> Disabled | None:
    try:
        models = Models(ctx.config.models)
    except ModelsError as exc:
        return disabled(str(exc))
    server.open(models, ctx.data_dir)
    about = f"{switch_local_llm.__doc__} There are: {', '.join(models.names)}."
    plugin.set_tools([Tool(switch_local_llm, description=about, timeout_s=LONGEST_S)])
    return None


@plugin.hook("pre_llm_call", replaces=True, attempts=True, timeout_s=LONGEST_S)
async def to_this_machine(
    call: PreLlmCall, *, ctx: AsyncContext[Settings]
) -> PreLlmCallReplacement | None:
    attempt = call.attempt or 1
    name = call.model
    if attempt == 1:  # in others the host says what the first one was answered
        name = _chosen(plugin.sessions[ctx.session_id], call.model)
    if name is None or name not in server.models:
        return None
    try:
        await _serve(name, ctx, (ctx.turn_id or "", call.call_index, attempt))
    except NotServed as exc:
        return deny(str(exc))
    url = f"http://127.0.0.1:{server.models[name].port}/v1"
    return replace(model=name, route=ModelRoute(base_url=url, api="openai"))


@plugin.tool(timeout_s=LONGEST_S)
async def switch_local_llm(model: Name, *, ctx: AsyncContext[Settings]) -> str:
    """Have a model of this machine answer, from the next model call on until the user takes one."""
    if model not in server.models:
        raise ToolError(f"there is no model {model}; there are {', '.join(server.models.names)}")
    server.call_ended(ctx.turn_id or "")  # the model has asked for this, so it has answered
    try:
        await _serve(model, ctx)
    except NotServed as exc:
        raise ToolError(_whole(exc)) from None
    session = plugin.sessions[ctx.session_id]
    session.name, session.is_taken = model, False
    return f"{model} answers from the next model call on"


@plugin.on("post_llm_call")
async def answered(call: PostLlmCall) -> None:
    server.call_ended(call.turn_id or "", call.call_index)


@plugin.on("llm_call_failed")
async def failed(call: LlmCallFailed) -> None:
    server.attempt_failed((call.turn_id or "", call.call_index, call.attempt))


@plugin.on("turn_end", subagents=True)
async def turn_ended(turn: TurnEnd) -> None:
    server.call_ended(turn.turn_id or "")


@plugin.on("session_end")
async def session_ended(session: SessionEnd) -> None:
    # after /new there is another session at once
    await server.leave(session.session_id, goes_on=session.reason == "reset")


@plugin.on_shutdown
async def stop(*, ctx: LifeContext[Settings]) -> None:
    await server.stop(min(GRACE_S, (ctx.deadline - time.monotonic()) / 2))


def _chosen(session: Chosen, asked: str | None) -> str | None:
    """The model that answers: the one that the tool has chosen, until the user takes another."""
    if session.name is None:
        return asked
    if not session.is_taken:
        session.is_taken, session.instead_of = True, asked
    if session.instead_of != asked:
        session.name = None
        return asked
    return session.name


async def _serve(name: str, ctx: AsyncContext[Settings], call: ModelCall | None = None) -> None:
    """Have it served; if it is not, the user is told why, with the end of its server's log."""
    now = time.monotonic()
    left_s = LONGEST_S if ctx.deadline is None else ctx.deadline - now
    try:
        await server.serve(
            name, ctx.session_id, deadline=now + OWN_SHARE * left_s, tell=ctx.progress, call=call
        )
    except NotServed as exc:
        with suppress(HostRefused):  # not granted, or too many
            await ctx.notify("error", _whole(exc))
        raise


def _whole(failure: NotServed) -> str:
    return f"{failure}: {failure.details}" if failure.details else str(failure)


if __name__ == "__main__":
    plugin.run()
