"""What editors find where nothing is annotated: pyright knows what a function returns.

It is checked, not run, by tests/typing/test_wrong_uses.py.
"""
# pyright: basic

from sliphook_sdk import Plugin, allow, context, continue_with, deny, replace

plugin = Plugin("wrong")


@plugin.hook("stop")  # wrong: a deny where nothing can be denied
def no_deny(stop):
    if stop.stop_count == 0:
        return deny("no")


@plugin.hook("stop")  # wrong: a joined answer of which half is allowed
async def joined(stop):
    return continue_with("go on") | context("so")


@plugin.on("turn_end")  # wrong: an answer to an event
def told(end):
    return deny("no")


@plugin.hook("pre_tool_call")  # wrong: a replacement without replaces
def quiet(call):
    return replace(arguments={})


@plugin.hook("pre_tool_call", match={"tool_name": ["shell"]}, on_failure="closed")
def right(call, ctx):
    if ctx.cancelled:
        return None
    return allow() | context(call.tool_name)
