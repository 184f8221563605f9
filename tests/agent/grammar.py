"""The grammar of hooks and events in protocol.md, checked on one session of a plugin.

The plugin hears everything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from sliphook.testing import Received

# one letter each; what comes in between at its own time has none
LETTERS = {
    "turn_start": "s",
    "user_prompt_submit": "u",
    "pre_llm_call": "p",
    "post_llm_call": "l",
    "llm_call_failed": "f",
    "pre_tool_call": "t",
    "post_tool_call": "t",
    "stop": "x",
    "turn_end": "e",
}
TRIED = "p(fp?)*"
"""A model call: some plugins are asked again before each further attempt."""
ANSWER = f"{TRIED}l(t*|x)"
"""After an answer of the model: tools, or a `stop` that sends the model on or ends the turn."""
ENDINGS = {
    "completed": f"({ANSWER})*{TRIED}lx",
    "failed": f"({ANSWER})*({TRIED})?",
    "denied": f"({ANSWER})*({TRIED}f)?",
    "max_iterations": f"({ANSWER})+",
    "loop_detected": f"({ANSWER})+",
    "interrupted": f"({ANSWER})*({TRIED})?",
}
"""By the outcome, what lies between the prompt and the end."""


def faults(fired: Sequence[Received]) -> list[str]:
    """What is wrong with one session's hooks and events; empty if nothing is.

    `fired` is in the order of arrival.
    """
    return [*_session(fired), *_pairs(fired), *_turns(fired), *_questions(fired)]


def _session(fired: Sequence[Received]) -> Iterator[str]:
    names = [one.name for one in fired]
    if [one.params["seq"] for one in fired] != list(range(1, len(fired) + 1)):
        yield f"seq is not 1, 2, 3 ...: {[one.params['seq'] for one in fired]}"
    opening = 1 if names[0] == "session_reset" else 0
    if names[opening] != "session_start" or names.count("session_start") != 1:
        yield f"session_start does not come once, at the beginning: {names}"
    if names[-1] != "session_end" or names.count("session_end") != 1:
        yield f"session_end does not come once, at the end: {names}"


def _pairs(fired: Sequence[Received]) -> Iterator[str]:
    for opening, closing, key in (
        ("pre_tool_call", "post_tool_call", "call_id"),
        ("subagent_start", "subagent_stop", "child_agent_id"),
    ):
        opened: dict[str, str] = {}
        closed: set[str] = set()
        for one in fired:
            if one.name == opening:
                opened[one.params[key]] = one.params["turn_id"]
            elif one.name == closing:
                if (
                    opened.get(one.params[key]) != one.params["turn_id"]
                    or one.params[key] in closed
                ):
                    yield f"a {closing} that closes nothing: {one.params[key]}"
                closed.add(one.params[key])
        if opened.keys() - closed:
            yield f"{opening} without {closing}: {sorted(opened.keys() - closed)}"


def _turns(fired: Sequence[Received]) -> Iterator[str]:
    turns: dict[str, list[Received]] = {}
    for one in fired:
        if one.params["turn_id"] is not None:
            turns.setdefault(one.params["turn_id"], []).append(one)
    for of_turn in turns.values():
        names = [one.name for one in of_turn]
        children = [name for name in names if name not in LETTERS]
        word = "".join(LETTERS.get(name, "") for name in names)
        root = of_turn[0].params["agent_depth"] == 0
        end = of_turn[-1].params
        stopped = children.count("agent_loop_stopped")
        body = ENDINGS.get(end.get("outcome", ""), "")
        # an interrupt may come before the prompt was asked about; a child has no prompt and no stop
        pattern = f"su{body}e|se" if end.get("outcome") == "interrupted" else f"su{body}e"
        if (
            re.fullmatch(pattern if root else pattern.replace("u", "").replace("x", ""), word)
            is None
        ):
            yield f"a turn out of order: {names}"
        if root and stopped != (1 if end.get("outcome") == "interrupted" else 0):
            yield f"agent_loop_stopped {stopped} times in a turn that was {end.get('outcome')}"
    yield from _nesting(fired)


def _nesting(fired: Sequence[Received]) -> Iterator[str]:
    """A child's turn lies between `subagent_start` and `subagent_stop`, in its parent's turn."""
    open_turns: set[str] = set()
    open_children: set[str] = set()
    for one in fired:
        params = one.params
        if one.name == "subagent_start":
            open_children.add(params["child_agent_id"])
        elif one.name == "subagent_stop":
            open_children.discard(params["child_agent_id"])
        elif one.name == "turn_start":
            if params["parent_turn_id"] is not None and (
                params["agent_id"] not in open_children
                or params["parent_turn_id"] not in open_turns
            ):
                yield f"a child's turn outside of its parent's: {params['turn_id']}"
            open_turns.add(params["turn_id"])
        elif one.name == "turn_end":
            open_turns.discard(params["turn_id"])
    if open_turns:
        yield f"turns without an end: {sorted(open_turns)}"


def _questions(fired: Sequence[Received]) -> Iterator[str]:
    """One question at a time; each is answered, unless its turn was interrupted."""
    waiting: dict[str, Any] | None = None
    for one in fired:
        if one.name == "user_input_required":
            if waiting is not None:
                yield f"a question while another waits: {one.params['prompt']}"
            waiting = one.params
        elif one.name == "user_input_received":
            if waiting is None or (waiting["kind"], waiting["call_id"]) != (
                one.params["kind"],
                one.params["call_id"],
            ):
                yield f"an answer without a question: {one.params['kind']}"
            waiting = None
        elif (
            one.name == "turn_end"
            and waiting is not None
            and one.params["turn_id"] == waiting["turn_id"]
        ):
            if one.params["outcome"] != "interrupted":
                yield f"a question without an answer: {waiting['prompt']}"
            waiting = None
