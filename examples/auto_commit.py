#!/usr/bin/env python3
"""Tells the model how the project stands in git, and commits what a completed turn has changed."""

from __future__ import annotations

from sliphook_sdk import Context, Plugin, context
from sliphook_sdk.protocol.answers import UserPromptSubmitAnswer
from sliphook_sdk.protocol.payloads import TurnEnd, UserPromptSubmit

plugin = Plugin("auto-commit", version="1.0.0", description="Commits what each turn has changed.")


def git(ctx: Context, *args: str) -> str:
    """What git prints; nothing if it fails, or if the folder is not the top of a repository."""
    if ctx.cwd is None or not (ctx.cwd / ".git").exists():
        return ""
    ran = ctx.run(["git", *args], timeout_s=60)
    if not ran.ok:
        ctx.log("warning", f"git {args[0]}: {ran.stderr.strip()}", status=ran.status)
    return ran.stdout if ran.ok else ""


@plugin.hook("user_prompt_submit")
def tell(prompt: UserPromptSubmit, *, ctx: Context) -> UserPromptSubmitAnswer | None:
    status = git(ctx, "status", "--short", "--branch")
    return context(f"git status --short --branch:\n{status}") if status else None


@plugin.on("turn_end", match={"outcome": "completed"})
def commit(turn: TurnEnd, *, ctx: Context) -> None:
    if git(ctx, "status", "--porcelain"):
        first_line = (turn.last_assistant_message or "").strip().partition("\n")[0]
        git(ctx, "add", "--all")
        git(ctx, "commit", "--quiet", "--message", f"agent: {first_line[:60] or 'a turn'}")


if __name__ == "__main__":
    plugin.run()
