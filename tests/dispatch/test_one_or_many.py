"""The fast path is only a shortcut: a script gives the same through `SingleFire` and `Fire`.

It is the same for the agent, for the plugin and in the trace.
"""

from __future__ import annotations

import json
from collections import defaultdict
from math import inf
from typing import Any, cast
from unittest.mock import patch

import trio
from hypothesis import given, settings
from hypothesis import strategies as st

import sliphook.session.hooks
import sliphook.transport.deadlines
import sliphook.transport.pace
from sliphook import Outcome, PluginHost, Turn
from sliphook.testing import HANGS, FakePlugin, run
from sliphook.trace.record import TraceRecord

LOG = b'{"jsonrpc":"2.0","method":"host/log","params":{"level":"info","message":"hello"}}\n'
NEVER_THE_SAME = {
    "event_id",
    "time",
    "session_id",
    "turn_id",
    "agent_id",
    "duration_ms",
    "elapsed_ms",
}

ANSWERS = (
    b'"result":null', b'"result":{}', b'"result":{"decision":"allow"}',
    b'"result":{"decision":"ask","reason":"who knows"}', b'"result":{"decision":"deny"}',
    b'"result":{"decison":"deny"}', b'"result":{"context":["a","b"]}', b'"result":7',
    b'"result":{"replace":{"arguments":{}}}', b'"result":{"continue_with":"x"}',
    b'"error":{"code":-32000,"message":"no"}', b'"error":{"code":-32800,"message":"cancelled"}',
    b'"result":1,"error":{"code":1,"message":"x"}', b'"error":"no"', b'"x":1',
)  # fmt: skip
AROUND = (
    b"", b"hello\n", b"\xff\n", b"{broken\n", LOG, LOG * 150, b"[1,2]\n",
    b'{"jsonrpc":"2.0","id":null,"method":"x"}\n', b'{"jsonrpc":"2.0","id":1,"result":null}\n',
    b'{"jsonrpc":"2.0","id":999,"result":null}\n', b'{"jsonrpc":"2.0","id":"1","result":1}\n',
    b'{"jsonrpc":"2.0","id":"a","method":"host/nothing"}\n', b"{}\n", b"x" * 70_000 + b"\n",
    b"Content-Length: x\r\n\r\n", b"Content-Length: 1\r\n\r\nx",
    b'{"jsonrpc":"2.0","id":"i","method":"host/inject",'
    b'"params":{"session_id":"SESSION","text":"hi"}}\n',
    b'{"jsonrpc":"2.0","id":"s","method":"host/interrupt",'
    b'"params":{"session_id":"SESSION","reason":"plugin"}}\n',
)  # fmt: skip
step = st.fixed_dictionaries(
    {
        "before": st.sampled_from(AROUND),
        "answer": st.none() | st.sampled_from(ANSWERS),
        "behind": st.sampled_from(AROUND),
        "twice": st.booleans(),
        "form": st.sampled_from(["line", "frame", "pieces"]),
        "dies": st.booleans(),
        "by": st.sampled_from(["nothing", "cancelled", "interrupted", "two at once"]),
    }
)


def without_chance(value: Any) -> Any:
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        return {key: without_chance(fields[key]) for key in fields if key not in NEVER_THE_SAME}
    if isinstance(value, list):
        return [without_chance(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return value


class Story:
    """What one host and the only plugin that is asked did, as the agent, the plugin and the trace got it."""

    def __init__(self) -> None:
        self.seen: dict[str, list[Any]] = defaultdict(list)
        self.records: list[Any] = []

    def record(self, record: TraceRecord) -> None:
        if record.plugin == "other":  # it starts and ends beside the one that is asked
            return
        try:
            body = without_chance(json.loads(record.body or b"null"))
        except ValueError:
            body = record.body
        one = (
            record.kind,
            record.direction,
            record.method,
            record.id,
            record.verdict,
            record.note,
            record.seq,
            body,
        )
        self.records.append(one)

    def hide(self, secrets: Any) -> None:
        pass

    def saw(self, what: str, outcome: Outcome) -> None:
        parts = [(part.status, part.decision, part.reason, part.error) for part in outcome.parts]
        self.seen[what].append(
            (
                outcome.decision,
                outcome.cancelled,
                outcome.reason,
                outcome.context,
                outcome.continue_with,
                parts,
            )
        )

    async def ask(self, turn: Turn, what: str) -> None:
        call: dict[str, Any] = {
            "call_id": "c",
            "model_call_id": None,
            "tool_name": "shell",
            "origin": "agent",
            "arguments": {},
        }
        self.saw(what, await turn.hooks.ask("pre_tool_call", turn, **call))

    async def play(self, steps: list[dict[str, Any]]) -> None:
        hears = ["turn_start", "turn_end", "agent_loop_stopped"]
        plugin = FakePlugin(
            "guard", hooks={"pre_tool_call": HANGS}, hears=hears, uses=["inject", "interrupt"]
        )
        of_others = {"event": "pre_tool_call", "match": {"tool_name": "write"}, "replaces": True}
        other = FakePlugin("other", subscriptions=[{**of_others, "on_failure": "closed"}])
        with trio.fail_after(100_000):
            async with (
                PluginHost([plugin, other], trace=self) as host,
                host.session(session_id="SESSION") as session,
            ):
                for step in steps:
                    async with trio.open_nursery() as nursery:
                        nursery.start_soon(self.react, plugin, step)
                        async with session.turn("x") as turn:
                            if step["by"] == "interrupted":
                                nursery.start_soon(in_a_second, session.interrupt)
                            elif step["by"] == "two at once":
                                nursery.start_soon(self.ask, turn, "other")
                            with trio.move_on_after(
                                1 if step["by"] == "cancelled" else 1_000
                            ) as scope:
                                await self.ask(turn, "one")
                            self.seen["cancelled"].append(scope.cancelled_caught)
                            await trio.sleep(0.1)
                        self.seen["turn"].append((turn.outcome, trio.current_time() // 1))
                        nursery.cancel_scope.cancel()
                    await trio.sleep(100)
        self.seen["received"].append(
            [
                (message.method, message.id, without_chance(message.params))
                for message in plugin.received
            ]
        )

    async def react(self, plugin: FakePlugin, step: dict[str, Any]) -> None:
        calls = sum(message.name == "pre_tool_call" for message in plugin.received)
        await plugin.hears("pre_tool_call", times=calls + 1 + (step["by"] == "two at once"))
        call = [message for message in plugin.received if message.name == "pre_tool_call"][-1]
        out = step["before"]
        if step["answer"] is not None:
            body = b'{"jsonrpc":"2.0","id":%d,%b}' % (call.id or 0, step["answer"])
            one = (
                body + b"\n"
                if step["form"] != "frame"
                else b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
            )
            out += one * (2 if step["twice"] else 1)
        out += step["behind"]
        if step["form"] == "pieces":
            await plugin.write(out[: len(out) // 2])
            await trio.sleep(0.5)
            out = out[len(out) // 2 :]
        await plugin.write(out)
        if step["dies"]:
            plugin.crash()


async def in_a_second(interrupt: Any) -> None:
    await trio.sleep(1)
    interrupt()


@settings(max_examples=20, deadline=None)
@given(st.lists(step, min_size=1, max_size=3))
def test_the_same_script_looks_the_same(steps: list[dict[str, Any]]) -> None:
    fast, slow = Story(), Story()
    # a pass of the reader ends after some real time: on a busy machine in the midst of a message
    with (
        patch.object(sliphook.transport.pace, "READING_S", inf),
        patch.object(sliphook.transport.deadlines, "PASS_S", inf),
    ):
        run(fast.play, steps)
        with patch.object(sliphook.session.hooks, "asked_single", return_value=None):
            run(slow.play, steps)
    assert fast.seen == slow.seen
    assert fast.records == slow.records
