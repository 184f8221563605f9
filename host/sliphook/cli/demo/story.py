"""The demo: four turns of one conversation, with real plugins and a model that follows a script."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import trio

from sliphook import PluginHost
from sliphook.agent.loop import Agent, AgentTool
from sliphook.agent.models.script import ScriptedCall, ScriptedReply
from sliphook.agent.models.scripted import ScriptedModel
from sliphook.cli.running import Interruptible
from sliphook.trace.record import Tee, TraceSink
from sliphook.trace.render import duration

from .narrator import Narrator
from .stage import PLUGINS, Stage
from .timeline import DemoTimeline
from .wire import Wire

if TYPE_CHECKING:
    from sliphook.session.session import Session

__all__ = ["play"]

DANGEROUS: Final = "rm -rf build"
HANG_S: Final = 1.2
"""How long the third turn hangs before the user interrupts it."""

PAUSE_S: Final = 0.2
"""The pause between two turns, so that the user can read."""

LIMIT_S: Final = 60.0
"""The limit for all four turns; they take far less."""

FREE_MS: Final = 250.0
"""The latest that the agent may be free after the interrupt."""

_SPEAKS_S: Final = 0.4

REPLIES: Final = (
    ScriptedReply(
        text="I will delete the build folder.",
        over_s=_SPEAKS_S,
        calls=[ScriptedCall(name="shell", arguments={"command": DANGEROUS})],
    ),
    ScriptedReply(text="I was not allowed to, so nothing was deleted.", over_s=_SPEAKS_S),
    ScriptedReply(
        text="Let me look.",
        over_s=_SPEAKS_S,
        calls=[ScriptedCall(name="weather", arguments={"city": "Oslo"})],
    ),
    ScriptedReply(text="4 degrees and rain: take a coat.", over_s=_SPEAKS_S),
    ScriptedReply(
        text="Deploying it now.",
        over_s=_SPEAKS_S,
        calls=[ScriptedCall(name="deploy", arguments={"service": "web"})],
    ),
    ScriptedReply(text="Still here: a plugin has crashed, and I have not.", over_s=_SPEAKS_S),
)


async def play(
    stage: Stage, trace: TraceSink | None, narrator: Narrator, running: Interruptible
) -> DemoTimeline:
    """Play all four turns.

    Args:
        stage: the plugins, and the folder for their data.
        trace: records the messages, or None.
        narrator: tells what happens.
        running: gets the host.

    Returns:
        What happened. What did not happen is missing; it raises nothing.
    """
    story = DemoTimeline()
    wire = Wire()
    sinks: list[TraceSink] = [wire] if trace is None else [wire, trace]
    ran: list[str] = []

    async def shell(arguments: dict[str, Any]) -> str:
        ran.append(str(arguments.get("command")))  # a demo: the command does not run
        return "done"

    tool = AgentTool(
        name="shell",
        description="Run a command.",
        input_schema={
            "type": "object",
            "properties": {"command": {"type": "string"}},
            "required": ["command"],
        },
        run=shell,
        kind="shell",
    )
    host = PluginHost(
        stage.plugins,
        reserved_tools=[tool.name],
        on_log=narrator.log,
        on_problem=narrator.problem,
        trace=Tee(sinks),
        data_home=stage.data_home,
        log_dir=stage.log_dir,
    )
    running.host = host
    async with host:
        ready = [plugin.name for plugin in host.plugins if plugin.state == "ready"]
        took = f"ready {story.now_s():.2f} s after the start"
        story.tell(f"{', '.join(ready)}: each in its own process, {took}")
        story.check("all four plugins started", ready == list(PLUGINS))
        narrator.opening(ready)
        async with host.session(platform="cli", cwd=str(Path.cwd()), model="scripted") as session:
            agent = Agent(host, session, ScriptedModel(REPLIES), display=narrator, tools=[tool])
            with trio.move_on_after(LIMIT_S):
                await _denied(agent, story, narrator, wire, ran)
                await trio.sleep(PAUSE_S)
                await _answered(agent, story, narrator, wire)
                await trio.sleep(PAUSE_S)
                await _interrupted(agent, session, story, narrator, wire)
                await trio.sleep(PAUSE_S)
                await _crashed(agent, story, narrator, wire)
        pids = [plugin.pid for plugin in host.plugins if plugin.pid is not None]
        narrator.leaving()
        story.tell("the plugins are asked to end")
    alive = [pid for pid in pids if _is_alive(pid)]
    story.tell("all are gone" if not alive else f"still alive: {alive}")
    story.check("no plugin is left behind", len(pids) == len(PLUGINS) and not alive)
    return story


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def _denied(
    agent: Agent, story: DemoTimeline, narrator: Narrator, wire: Wire, ran: list[str]
) -> None:
    narrator.user("Clean up the build folder.")
    story.tell("you: clean up the build folder")
    outcome = await agent.run("Clean up the build folder.")
    answer = wire.find(lambda record: record.plugin == "guard" and record.verdict == "deny")
    if answer is not None:
        story.tell(
            f"guard denied `{DANGEROUS}` {duration(answer.elapsed_ms or 0.0)} after it was asked",
            at=answer.mono_s,
        )
    story.check(
        "guard denied the command, and it never ran",
        answer is not None and not ran and outcome == "completed",
    )


async def _answered(agent: Agent, story: DemoTimeline, narrator: Narrator, wire: Wire) -> None:
    narrator.user("How is the weather in Oslo?")
    story.tell("you: how is the weather?")
    outcome = await agent.run("How is the weather in Oslo?")
    answer = wire.find(
        lambda record: (
            record.plugin == "weather"
            and record.method == "tool/call"
            and record.direction == "from_plugin"
        )
    )
    if answer is not None:
        story.tell(
            f"weather answered the model's tool call in {duration(answer.elapsed_ms or 0.0)}",
            at=answer.mono_s,
        )
    read = any(
        message.role == "tool" and "4 degrees" in (message.content or "")
        for message in agent.conversation.messages
    )
    story.check(
        "weather answered, and the model read it",
        answer is not None and read and outcome == "completed",
    )


async def _interrupted(
    agent: Agent, session: Session, story: DemoTimeline, narrator: Narrator, wire: Wire
) -> None:
    narrator.user("Deploy the web service.")
    story.tell("you: deploy the web service")
    interrupted_s = 0.0

    async def lose_patience() -> None:
        nonlocal interrupted_s
        asked = await wire.wait_for(
            lambda record: record.plugin == "sleeper" and record.method == "tool/call"
        )
        if asked is None:
            return  # what is interrupted now would be something else
        story.tell("sleeper got the model's tool call, and hangs")
        await trio.sleep(HANG_S)
        narrator.user("/stop")
        interrupted_s = time.perf_counter()
        session.interrupt("user_stop", "stop_command")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(lose_patience)
        outcome = await agent.run("Deploy the web service.")
        freed_s = time.perf_counter()
        nursery.cancel_scope.cancel()
    if outcome != "interrupted":
        results = [m.content for m in agent.conversation.messages if m.role == "tool"]
        story.check(
            f"sleeper hung until the interrupt (it is {outcome}; the tools said {results})", False
        )
        return
    free_ms = (freed_s - interrupted_s) * 1000
    reply = wire.find(
        lambda record: (
            record.plugin == "sleeper"
            and record.method == "tool/call"
            and record.direction == "from_plugin"
        )
    )
    hangs = (
        reply is None
        and wire.find(lambda record: record.plugin == "sleeper" and record.kind == "exit") is None
    )
    sleeper = "still hangs" if hangs else "has answered"
    narrator.says(
        f"interrupted; the agent was free {duration(free_ms)} later, and sleeper {sleeper}"
    )
    story.tell(f"you: /stop; the agent was free {duration(free_ms)} later, sleeper still hanging")
    story.check(
        f"sleeper hung, and {duration(free_ms)} after the interrupt the agent was free",
        hangs and free_ms < FREE_MS,
    )


async def _crashed(agent: Agent, story: DemoTimeline, narrator: Narrator, wire: Wire) -> None:
    narrator.user("And the fragile one?")
    story.tell("you: and the fragile one?")
    before = len(wire.records)
    outcome = await agent.run("And the fragile one?")
    crash = wire.find(
        lambda record: record.plugin == "fragile" and record.kind == "exit", after=before
    )
    if crash is not None:
        story.tell("fragile crashed in the hook; the turn went on", at=crash.mono_s)
    story.check(
        "fragile crashed in its hook, and the turn went on",
        crash is not None and outcome == "completed",
    )
    again = await wire.wait_for(
        lambda record: (
            record.plugin == "fragile" and record.kind == "lifecycle" and record.verdict == "ready"
        ),
        after=before,
    )
    if again is not None:
        story.tell("the host has started fragile again", at=again.mono_s)
    story.check("fragile was started again", again is not None)
