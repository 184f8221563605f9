"""The operator's commands. FLEET_URL, FLEET_USER, FLEET_PASSWORD and FLEET_CA say where and who."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import policy
from broker import (
    AGENT,
    CONTROL,
    EVENTS,
    FAILURES,
    POLICY,
    Client,
    Server,
    connect,
    control_of,
    own_user,
    place,
    replies_to,
)
from link import Stop, Stopped, policy_id
from shown import Living, as_one_line, table

WAIT_S = 3.0  # for agents to say that they have done it
KEPT_WISHES = 10_000


def main() -> int:
    parser = argparse.ArgumentParser(prog="fleet", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    top = commands.add_parser("top", help="the living agents")
    top.add_argument("--once", action="store_true", help="once, not every second")
    stop = commands.add_parser("stop", help="interrupt open turns")
    whom = stop.add_mutually_exclusive_group(required=True)
    whom.add_argument("--agent", help="as `top` shows it, or the id of a session")
    whom.add_argument("--user")
    whom.add_argument("--all", action="store_true")
    stop.add_argument("--reason", default=f"stopped by {own_user()}")
    rules = commands.add_parser("policy", help="show the policy, or put another in force")
    rules.add_argument("file", nargs="?", type=Path, help="JSON; - is standard input")
    events = commands.add_parser("events", help="what happens, as lines of JSON, each once")
    events.add_argument("--all", action="store_true", help="also what the broker has kept")
    given = parser.parse_args()
    server = Server(
        url=os.environ.get("FLEET_URL", Server().url),
        user=os.environ.get("FLEET_USER"),
        ca_file=os.environ.get("FLEET_CA"),
    )
    try:
        client = connect(server, os.environ.get("FLEET_PASSWORD"))
        if given.command == "top":
            return show_top(client, once=given.once or not sys.stdout.isatty())
        if given.command == "stop":
            wanted = Stop(agent=given.agent, user=given.user, all=given.all, reason=given.reason)
            return stop_turns(client, wanted)
        if given.command == "policy":
            return show_policy(client) if given.file is None else set_policy(client, given.file)
        return show_events(client, everything=given.all)
    except ValueError as exc:
        print(f"fleet: {exc}", file=sys.stderr)
    except FAILURES as exc:
        print(
            f"fleet: the broker at {place(server)}: {as_one_line(str(exc), 200)}", file=sys.stderr
        )
    except KeyboardInterrupt:
        return 130
    return 1


def living(client: Client) -> list[Living]:
    """Those that have said something in the last seconds."""
    keys = list(client.scan_iter(AGENT + "*", count=1000))
    texts: list[bytes | None] = client.mget(keys) if keys else []
    return sorted((Living.read(text) for text in texts if text), key=lambda one: one.agent)


def show_top(client: Client, *, once: bool) -> int:
    while True:
        lines = table(living(client))
        if once:
            print("\n".join(lines))
            return 0
        rows = os.get_terminal_size().lines
        print("\x1b[H\x1b[2J" + "\n".join(lines[: rows - 1]), flush=True)
        time.sleep(1)


def stop_turns(client: Client, wanted: Stop) -> int:
    """Says what came of it; 1 if an agent did not answer, or could not."""
    agents = {
        one.agent
        for one in living(client)
        if wanted.all or one.has(agent=wanted.agent, user=wanted.user)
    }
    stream = control_of(*agents) if wanted.agent and len(agents) == 1 else CONTROL
    with client.pipeline(transaction=True) as pipe:
        text = msgspec.json.encode(wanted)
        pipe.xadd(stream, {"stop": text}, maxlen=KEPT_WISHES, approximate=True)
        if stream != CONTROL:
            pipe.expire(stream, 600)
        entry = pipe.execute()[0]
    found = answers(client, replies_to(stream, entry), agents)
    replies = {reply.agent: reply for reply in found}
    problems = [reply for reply in replies.values() if reply.problem]
    print(f"stopped {sum(reply.turns for reply in replies.values())} turns")
    if not agents and not replies:
        print("no living agent has such a name, session or user")
        return 1
    for reply in problems:
        print(f"{as_one_line(reply.agent)}: {as_one_line(reply.problem or '', 200)}")
    silent = agents - replies.keys()
    for agent in sorted(silent):
        print(f"{as_one_line(agent)} has not answered")
    return 1 if silent or problems else 0


def answers(client: Client, key: str, agents: set[str]) -> Iterator[Stopped]:
    """The replies to one stop, until these have answered or the time is up.

    Without any agents, all of the time: one may live that `top` does not show.
    """
    until, last, missing = time.monotonic() + WAIT_S, b"0-0", set(agents)
    while (missing or not agents) and time.monotonic() < until:
        left_ms = max(1, int((until - time.monotonic()) * 1000))
        found = client.xread({key: last}, count=100, block=left_ms)
        for entry, fields in found[0][1] if found else ():
            last = entry
            reply = msgspec.json.decode(fields[b"stopped"], type=Stopped)
            missing.discard(reply.agent)
            yield reply


def show_policy(client: Client) -> int:
    text = client.get(POLICY)
    if text is None:
        print("there is none: nothing is denied")
        return 0
    print(f"{policy_id(text)}: {json.dumps(json.loads(text), indent=2)}")
    return 0


def set_policy(client: Client, file: Path) -> int:
    """Says when every living agent has it; 1 if one has not."""
    try:
        text = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as exc:
        raise ValueError(f"{file}: {exc.strerror}") from None
    policy.parse(text)
    with client.pipeline(transaction=True) as pipe:
        pipe.set(POLICY, text)
        pipe.xadd(CONTROL, {"policy": policy_id(text)}, maxlen=KEPT_WISHES, approximate=True)
        pipe.execute()
    until = time.monotonic() + WAIT_S
    while True:
        agents = living(client)
        behind = [one.agent for one in agents if one.policy != policy_id(text)]
        if not behind or time.monotonic() > until:
            break
        time.sleep(0.1)
    print(f"{policy_id(text)}: in force at {len(agents) - len(behind)} of {len(agents)} agents")
    for agent in behind:
        print(f"{as_one_line(agent)} has not taken it up")
    return 1 if behind else 0


def show_events(client: Client, *, everything: bool) -> int:
    newest = None if everything else client.xrevrange(EVENTS, count=1)
    for event in fresh_events(client, newest[0][0] if newest else b"0-0"):
        # ASCII alone: nothing in it steers a terminal
        print(json.dumps(event, ensure_ascii=True), flush=True)
    return 0


def fresh_events(client: Client, after: bytes) -> Iterator[object]:
    """Each event once, in the order of its session; it waits for new ones.

    An event is added again if its agent did not hear that it was added. The numbers of a spool
    rise, so one that does not is known already. A reader that goes on later keeps `seen` and
    `after`.
    """
    seen: dict[bytes, int] = {}
    while True:
        found = client.xread({EVENTS: after}, count=1000, block=1000)
        for entry, fields in found[0][1] if found else ():
            after = entry
            try:
                spool, n, event = fields[b"spool"], int(fields[b"n"]), json.loads(fields[b"event"])
            except (KeyError, ValueError, RecursionError):
                continue  # an agent's password lets anything be written
            if n > seen.get(spool, 0):
                seen[spool] = n
                yield event
