"""A message beyond the limits is an error for the author; the plugin goes on."""

from __future__ import annotations

from tests.sdk.conftest import Start
from tests.sdk.driver import payload, tool_call

PLUGIN = """
    import json
    from sliphook_sdk import *

    plugin = Plugin("torture", uses=["notify"])

    def nested(levels):
        value = []
        for _ in range(levels - 1):
            value = [value]
        return value

    @plugin.hook("pre_tool_call")
    def log(call, *, ctx):
        how = call.arguments["how"]
        if how == "deep":
            ctx.log("info", "deep", value=nested(200))
        if how == "large":
            ctx.log("info", "x" * 9_000_000)
        if how == "raise":
            raise ValueError("x" * 9_000_000)
        if how == "notify":
            ctx.notify("info", "x" * 9_000_000)
        if how == "progress":
            ctx.progress("x" * 9_000_000)
        return allow()

    @plugin.on("turn_end")
    def told(turn):
        raise ValueError("x" * 9_000_000)

    @plugin.tool
    def deep(levels: int) -> object:
        return ToolResult(content="c", data=nested(levels))

    @plugin.tool
    def large() -> str:
        return "x" * 1_048_576
"""


def test_logs_are_cut_and_cost_nothing(start_each: Start) -> None:
    child = start_each(PLUGIN)
    child.initialize()
    for how in ("deep", "large"):
        assert child.ask(
            "hook/pre_tool_call", payload("pre_tool_call", arguments={"how": how})
        ) == {"decision": "allow"}
    deep, large = child.said("host/log"), child.said("host/log")
    assert (deep["message"], deep["fields"]) == (
        "deep",
        {"left_out": "it is nested over 128 levels deep"},
    )
    assert large["message"] == "x" * 10_000
    assert large["fields"]["left_out"].endswith(
        "bytes, and `host/log` may have 65,536: write the rest to a file and log its path"
    )
    child.notify("event/turn_end", payload("turn_end"))
    child.notify("event/turn_end", payload("turn_end"))
    child.ask("shutdown", {})
    assert child.said("host/log")["message"].startswith("told: ValueError: xxx")
    assert child.said("host/log")["message"].startswith("told: ValueError: xxx")


def test_requests_and_answers_say_what_is_wrong(start_each: Start) -> None:
    child = start_each(PLUGIN)
    child.initialize()
    for how, method in (("notify", "host/notify"), ("progress", r"$/progress")):
        reply = child.reply(
            child.request("hook/pre_tool_call", payload("pre_tool_call", arguments={"how": how}))
        )
        assert reply["error"]["message"].startswith(
            f"log: ValueError: {method} cannot be sent: it has 9,000,"
        )
    reply = child.reply(
        child.request("hook/pre_tool_call", payload("pre_tool_call", arguments={"how": "raise"}))
    )
    assert reply["error"]["message"].startswith("the answer cannot be sent: it has 9,000,")
    reply = child.reply(child.request("tool/call", tool_call("large")))
    assert reply["error"]["message"].startswith("the answer cannot be sent: it has 1,048,")


def test_the_deepest_answer_that_passes(start_each: Start) -> None:
    child = start_each(PLUGIN)
    child.initialize()
    assert (
        child.ask("tool/call", tool_call("deep", levels=126))["content"] == "c"
    )  # the envelope and the result are two more
    reply = child.reply(child.request("tool/call", tool_call("deep", levels=127)))
    assert (
        reply["error"]["message"] == "the answer cannot be sent: it is nested over 128 levels deep"
    )
    assert child.ask("tool/call", tool_call("deep", levels=3))["content"] == "c"
