#!/usr/bin/env python3
"""Keeps secrets from the model: it reads placeholders, and its tool calls get the secrets back."""

from __future__ import annotations

import contextlib
import os
import secrets
from functools import partial
from pathlib import Path
from typing import Annotated

import msgspec
from conversation import answer_for, changed, changed_result
from kinds import Kinds
from vault import ReadByShell, UnknownPlaceholder, Vault, named_values

from sliphook_sdk import Context, LifeContext, Plugin, context, deny, replace
from sliphook_sdk.protocol.answers import (
    PostToolCallReplacement,
    PreLlmCallReplacement,
    PreToolCallReplacement,
    SessionStartAnswer,
    UserPromptSubmitReplacement,
)
from sliphook_sdk.protocol.limits import MAX_MESSAGE_BYTES
from sliphook_sdk.protocol.payloads import (
    PostToolCall,
    PreLlmCall,
    PreToolCall,
    SessionStart,
    UserPromptSubmit,
)

TAKE_NO_OTHER_PROMPT = ("claude-code", "codex", "gemini", "copilot", "cursor")
"""Agents of others, by their `platform`: what a person types there goes to the model as it is."""
FOR_THE_MODEL = (
    "A text like REDACTED_API_KEY_0a1b2c3d4e5f stands for a secret that you must not see. Write it"
    " as it is wherever the secret belongs, in files and commands too: your tools get the secret."
)
LAST = -1000
"""The priority: what other plugins have put into a message is redacted, too."""


class Settings(msgspec.Struct, forbid_unknown_fields=True):
    """What the user may set."""

    values: Annotated[
        dict[str, str],
        msgspec.Meta(description="secrets by name", extra_json_schema={"secret": True}),
    ] = {}
    patterns: Annotated[
        dict[str, str], msgspec.Meta(description="patterns of Python's re by name")
    ] = {}
    left_out: Annotated[list[str], msgspec.Meta(description="built-in patterns not to use")] = []
    withhold_from: Annotated[
        tuple[str, ...], msgspec.Meta(description="names or kinds of tools that get no secret")
    ] = ("fetch", "search")


class Rules:
    """What the settings say, with the key that placeholders are made with; read at the start."""

    kinds: Kinds
    named: dict[str, str]
    key: bytes

    def read(self, settings: Settings, data_dir: Path) -> None:
        self.kinds = Kinds(settings.patterns, settings.left_out)
        self.named = named_values(settings.values)
        self.key = key_in(data_dir / "key")

    def new_vault(self) -> Vault:
        return Vault(self.kinds, self.named, self.key)


rules = Rules()
plugin = Plugin(
    "redact",
    version="1.0.0",
    description="Keeps secrets from the model, and gives them to its tools.",
    config=Settings,
    sessions=rules.new_vault,
)


@plugin.on_start
def start(*, ctx: LifeContext[Settings]) -> None:
    rules.read(ctx.config, ctx.data_dir)


@plugin.hook("session_start")
def explain(session: SessionStart) -> SessionStartAnswer:
    return context(FOR_THE_MODEL)


@plugin.hook("user_prompt_submit", replaces=True, timeout_s=30, priority=LAST)
def prompt(
    prompt: UserPromptSubmit, *, ctx: Context[Settings]
) -> UserPromptSubmitReplacement | None:
    new = plugin.sessions[ctx.session_id].redacted(prompt.text)
    if new is None:
        return None
    if ctx.platform in TAKE_NO_OTHER_PROMPT:
        return deny("there is a secret in it; put it into a file, and name the file")
    return replace(text=new)


@plugin.hook(
    "pre_llm_call",
    replaces=True,
    include=["messages"],
    on_failure="closed",
    timeout_s=30,
    priority=LAST,
)
def to_the_model(call: PreLlmCall, *, ctx: Context[Settings]) -> PreLlmCallReplacement | None:
    if call.messages is None:
        return deny("the conversation is too long to be looked through; begin a new one")
    vault = plugin.sessions[ctx.session_id]

    def redacted(text: str) -> str | None:
        ctx.raise_if_cancelled()
        return vault.redacted(text)

    answer, learned = None, -1
    while learned != vault.learned:  # a text further down may have told a secret of one above
        learned = vault.learned
        answer = answer_for(call.messages, redacted)
    if answer is None:
        return None
    if len(msgspec.json.encode(answer)) > MAX_MESSAGE_BYTES - 1024:
        return deny(
            "there are more secrets in the conversation than one answer can redact; begin a new one"
        )
    return replace(messages=answer)


@plugin.hook("pre_tool_call", replaces=True, on_failure="closed", timeout_s=30, priority=LAST)
def to_the_tool(call: PreToolCall, *, ctx: Context[Settings]) -> PreToolCallReplacement | None:
    vault = plugin.sessions[ctx.session_id]
    put_back = partial(vault.put_back, into_shell=call.tool_kind == "shell")
    try:
        arguments = changed(call.arguments, put_back)
    except UnknownPlaceholder as placeholder:
        return deny(f"what {placeholder} stands for is not known any more; read it again first")
    except ReadByShell as placeholder:
        return deny(
            f"a shell may run a part of what {placeholder} stands for; write it into a file with"
            " another tool, and have the command read that"
        )
    if arguments is call.arguments:
        return None
    if not {call.tool_name, call.tool_kind}.isdisjoint(ctx.config.withhold_from):
        return deny(f"{call.tool_name} gets no secrets; leave the placeholders out")
    return replace(arguments=arguments)


@plugin.hook("post_tool_call", replaces=True, timeout_s=30, priority=LAST)
def from_the_tool(call: PostToolCall, *, ctx: Context[Settings]) -> PostToolCallReplacement | None:
    if call.result is None:
        return None
    result = changed_result(call.result, plugin.sessions[ctx.session_id].redacted)
    return None if result is call.result else replace(result=result)


@plugin.command(name="redacted", description="Show which placeholders there are.")
def redacted(text: str, *, ctx: Context[Settings]) -> str:
    placeholders = sorted(plugin.sessions[ctx.session_id].secrets)
    return "\n".join(placeholders) or "No secret was found in this session."


def key_in(path: Path) -> bytes:
    """The key of this machine, made by the first instance: whole, or not there."""
    if not path.exists():
        mine = path.with_name(f"key.{os.getpid()}")
        mine.touch(mode=0o600)
        mine.write_bytes(secrets.token_bytes(32))
        with contextlib.suppress(FileExistsError):
            os.link(mine, path)  # of another instance, if that was faster
        mine.unlink()
    return path.read_bytes()


if __name__ == "__main__":
    plugin.run()
