"""What a hook says to a question that the person is asked, by the rules of its system."""

from __future__ import annotations

from typing import Any

import pytest

from sliphook.adapters.dialects.answer import HookAnswer
from sliphook.adapters.dialects.told import PermissionAsked, PersonAsked
from sliphook.adapters.foreign.merge import merged

from .judged import COMMON, SHELL, verdict

EVENTS = {
    "claude-code": "PermissionRequest",
    "codex": "PermissionRequest",
    "copilot": "permissionRequest",
    "docker-agent": "permission_request",
}


def says(system: str, word: str) -> dict[str, Any]:
    match system:
        case "copilot":
            return {"behavior": word, "message": "no"}
        case "docker-agent":
            return {"hook_specific_output": {"permission_decision": word}}
        case _:
            decision = {"behavior": word}
            return {
                "hookSpecificOutput": {
                    "hookEventName": "PermissionRequest",
                    "decision": decision,
                }
            }


def asked(system: str) -> PersonAsked:
    call = PermissionAsked(event=EVENTS[system], **COMMON, **SHELL)
    return PersonAsked(
        event=EVENTS[system], **COMMON, kind="approval", message="Run Bash?", call=call
    )


@pytest.mark.parametrize("word", ["allow", "deny"])
@pytest.mark.parametrize("system", EVENTS)
def test_it_decides(system: str, word: str) -> None:
    assert verdict(system, asked(system), says(system, word)).answer.decision == word


@pytest.mark.parametrize("system", EVENTS)
def test_it_says_nothing(system: str) -> None:
    for stdout, code in (("", 0), ("{}", 0), ("no", 1)):
        assert verdict(system, asked(system), stdout, code=code).answer.decision is None


@pytest.mark.parametrize("system", ["claude-code", "codex", "docker-agent"])
def test_a_block_is_a_deny(system: str) -> None:
    assert verdict(system, asked(system), code=2, stderr="no").answer.decision == "deny"


def test_a_deny_is_stronger() -> None:
    words = [HookAnswer(decision="deny"), HookAnswer(decision="allow"), HookAnswer()]
    assert merged(words).decision == "deny"
    assert merged(words[1:]).decision == "allow"
