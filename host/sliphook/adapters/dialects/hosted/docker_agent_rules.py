"""Pure: docker-agent's configuration, what its hooks read, and what their end means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, cast

from sliphook.adapters.dialects.answer import HookAnswer
from sliphook.adapters.dialects.reading import Fields, WrongField
from sliphook.adapters.dialects.told import (
    Happening,
    ModelAnswered,
    ModelAsked,
    Notified,
    OfTool,
    PersonAnswered,
    PersonAsked,
    Prompted,
    SessionEnded,
    SessionStarted,
    StopAsked,
    SubagentStarted,
    SubagentStopped,
    ToolAsked,
    ToolDenied,
    ToolDone,
    TurnEnded,
    TurnFailed,
)

from .claude_define import MAX_HOOKS, collect, seconds, strings
from .claude_rules import decision_in
from .handler import Definitions, Handler, RefusedHook
from .hosted import Ended, HostedEvent, Judged, object_of, reason_of, refused, text_in

FAILS_CLOSED: Final = frozenset({"pre_tool_use", "tool_guard"})
TOOL_EVENTS: Final = frozenset(
    {
        "pre_tool_use",
        "post_tool_use",
        "permission_request",
        "tool_response_transform",
        "tool_input_transform",
        "tool_guard",
    }
)
_TYPES: Final = {
    "builtin": "it is a function of docker-agent's own",
    "model": "it asks a model of docker-agent",
}
_FIELDS: Final = frozenset(
    {"continue", "stop_reason", "suppress_output", "system_message", "decision", "reason"}
)
_REWRITES: Final = {
    "pre_tool_use": "updated_input",
    "tool_input_transform": "updated_input",
    "tool_response_transform": "updated_tool_response",
    "before_llm_call": "updated_messages",
}
ROOT: Final = "root"
MAX_MESSAGES: Final = 10_000


def define(config: Mapping[str, Any]) -> Definitions:
    """The hooks of every agent of a configuration.

    Raises:
        WrongField: two of its agents have hooks, which would run for each other here.
    """
    agents = Fields(config).object("agents")
    with_hooks = [
        name
        for name, agent in agents.items()
        if isinstance(agent, dict) and cast(Mapping[str, Any], agent).get("hooks")
    ]
    if len(with_hooks) > 1:
        raise WrongField(
            f"its agents {' and '.join(map(repr, with_hooks[:2]))} both have hooks, and an agent"
            " here is one; give each a file of its own"
        )
    hooks = Fields(agents[with_hooks[0]]).object("hooks") if with_hooks else {}
    return collect(_hooks(hooks))


def _hooks(hooks: Mapping[str, Any]) -> Iterator[tuple[str, Handler | RefusedHook]]:
    for event, listed in hooks.items():
        for one in Fields({event: listed}).all_objects(event, MAX_HOOKS):
            if event not in TOOL_EVENTS:
                yield event, _hook(event, Fields({}), one)
                continue
            for hook in one.all_objects("hooks", MAX_HOOKS):
                yield event, _hook(event, one, hook)


def _hook(event: str, group: Fields, hook: Fields) -> Handler | RefusedHook:
    kind = hook.name("type") or "command"
    if kind != "command":
        what = hook.text("name", "command", "prompt") or kind
        why = _TYPES.get(kind, f"its type {kind!r} is not known")
        return RefusedHook(event=event, what=f"{kind}: {what[:200]}", why=f"{why}.")
    on_error = hook.name("on_error") or "warn"
    rule: Literal["open", "closed", "ignore"] = "ignore" if on_error == "ignore" else "open"
    return Handler(
        event=event,
        matcher=group.text("matcher"),
        command=hook.needed_text("command"),
        name=hook.text("name") or "",
        timeout_s=seconds(hook, "timeout", 1.0, 60.0),
        cwd=hook.path("working_dir"),
        env=strings(hook, "env"),
        on_failure="closed" if event in FAILS_CLOSED or on_error == "block" else rule,
        strict=hook.flag("strict_output"),
        early=group.flag("preempt_yolo"),
    )


_SOURCES: Final = {"reset": "clear", "compacted": "compact"}
_TURN_ENDS: Final = {
    "completed": "normal",
    "interrupted": "canceled",
    "failed": "error",
    "denied": "hook_blocked",
    "loop_detected": "loop_detected",
}


def build(told: Happening) -> dict[str, Any]:
    """What docker-agent's hooks read; what is empty is left out, as there."""
    body = {
        "session_id": told.session_id,
        "cwd": told.cwd,
        "hook_event_name": told.event,
        "agent_name": told.agent_type or ROOT,
        **_own(told),
    }
    return {name: value for name, value in body.items() if value not in ("", False, 0, None)}


def _own(told: Happening) -> dict[str, Any]:
    match told:
        case ToolAsked() | ToolDenied():
            return _tool(told)
        case ToolDone():
            failed = told.status != "ok"
            return {**_tool(told), "tool_response": told.content, "tool_error": failed}
        case SessionStarted():
            return {"source": _SOURCES.get(told.source, told.source), "model_id": told.model}
        case SessionEnded():
            return {"reason": "clear" if told.reason == "reset" else "stream_ended"}
        case Prompted():
            return {"prompt": told.text}
        case ModelAsked() if told.event == "before_llm_call":
            messages = [{"role": role, "content": text} for role, text in told.messages]
            return {"model_id": told.model, "iteration": told.index, "messages": messages}
        case ModelAnswered():
            return _answered(told)
        case StopAsked():
            return {
                "stop_response": told.last_assistant_message,
                "last_user_message": told.prompt,
            }
        case TurnEnded():
            return {"reason": _TURN_ENDS.get(told.outcome, "normal")}
        case Notified():
            return {"notification_level": told.kind, "notification_message": told.message}
        case TurnFailed():
            return {"notification_level": "error", "notification_message": told.message}
        case PersonAsked():
            return {} if told.event != "permission_request" else _of_call(told)
        case PersonAnswered():
            return {**_of_call(told), **_approval(told)}
        case SubagentStarted():
            child = told.agent_type or told.agent_id
            return {"from_agent": ROOT, "to_agent": child, "agent_switch_kind": "transfer_task"}
        case SubagentStopped():
            return {
                "agent_name": told.agent_type or told.agent_id,
                "parent_session_id": told.session_id,
                "stop_response": told.summary,
            }
        case _:
            return {}


def _tool(told: OfTool) -> dict[str, Any]:
    return {
        "tool_name": told.tool_name,
        "tool_use_id": told.model_call_id,
        "tool_input": told.arguments,
    }


def _of_call(told: PersonAsked | PersonAnswered) -> dict[str, Any]:
    return {} if told.call is None else _tool(told.call)


def _approval(told: PersonAnswered) -> dict[str, Any]:
    if told.by == "none":
        return {"approval_decision": "canceled", "approval_source": "context_canceled"}
    if told.choice == "allow":
        return {"approval_decision": "allow", "approval_source": "user_approved"}
    return {"approval_decision": "deny", "approval_source": "user_rejected"}


def _answered(told: ModelAnswered) -> dict[str, Any]:
    usage = None
    if told.usage is not None:
        usage = {"input_tokens": told.usage[0], "output_tokens": told.usage[1]}
        usage |= {"cached_input_tokens": 0, "cached_write_tokens": 0}
    return {
        "model_id": told.model,
        "stop_response": told.text,
        "last_user_message": told.prompt,
        "usage": usage,
    }


def judge(event: HostedEvent, handler: Handler, told: Happening, ended: Ended) -> Judged:
    """0: what the one JSON object says; 2: a block; all else has failed."""
    try:
        body, said = _read(event, handler, told, ended)
    except WrongField as error:
        return _failed(event, handler, told, str(error))
    if event.theirs == "permission_request":
        blocks = ended.exit_code == 2 or (body or {}).get("decision") == "block"
        word = "deny" if blocks else said.get("permission_decision")
        return Judged(answer=HookAnswer(decision=decision_in({"behavior": word})))
    if ended.exit_code == 2:
        if not event.blocks:
            return Judged(failed="exited with 2, but this event cannot be blocked")
        return Judged(answer=refused(told, reason_of(ended.stderr) or "blocked by a hook"))
    if body is None:
        text = ended.stdout.strip()
        takes = "context" in event.answers and text
        return Judged(answer=HookAnswer(context=(text,) if takes else ()))
    try:
        answer = _rewritten(told, said)
    except WrongField as error:
        return _failed(event, handler, told, str(error))
    extra = text_in(said, "additional_context")
    takes_extra = extra is not None and "context" in event.answers
    reason = _why_blocked(body, said, told)
    block = HookAnswer()
    if reason is not None and event.blocks:
        block = refused(told, reason)
    asked = None
    if said.get("permission_decision") == "ask" and isinstance(told, ToolAsked) and reason is None:
        why = reason_of(said.get("permission_decision_reason"))
        asked = why or "a hook asks for a person's approval"
    failed = reason is not None and not event.blocks
    return Judged(
        answer=HookAnswer(
            denied=block.denied,
            end=block.end,
            ask=asked,
            arguments=answer.arguments,
            result=answer.result,
            messages=answer.messages,
            context=(extra,) if takes_extra and extra is not None else (),
            message=text_in(body, "system_message"),
        ),
        failed="returned a block, but this event cannot be blocked" if failed else None,
    )


def _read(
    event: HostedEvent, handler: Handler, told: Happening, ended: Ended
) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """The object that it wrote, and what in it is of this event; WrongField if it has failed."""
    if ended.exit_code == 2:
        return None, {}
    if ended.exit_code != 0:
        raise WrongField(ended.trouble)
    text = ended.json_text()
    if text is None:
        if ended.stdout.strip() and handler.strict:
            raise WrongField("has to write one JSON object or nothing")
        return None, {}
    body = Fields({"output": text}).object_or_json("output")
    decision = body.get("decision")
    if decision not in (None, "", "block"):
        raise WrongField(f"wrote the decision {str(decision)[:64]!r}, which is not block")
    said = object_of(body, "hook_specific_output") or {}
    permission = said.get("permission_decision")
    if permission not in (None, "", "allow", "ask", "deny"):
        raise WrongField(f"wrote the permission decision {str(permission)[:64]!r}")
    if handler.strict:
        _check_strict(event, body, said)
    return body, said


def _check_strict(event: HostedEvent, body: dict[str, Any], said: dict[str, Any]) -> None:
    unknown = sorted(set(body) - _FIELDS - {"hook_specific_output"})
    takes = {"hook_event_name", _REWRITES.get(event.theirs, "")}
    if "context" in event.answers:
        takes |= {"additional_context"}
    if event.theirs in (*FAILS_CLOSED, "permission_request"):
        takes |= {"permission_decision", "permission_decision_reason"}
    if event.theirs in ("permission_request", "tool_guard"):
        takes |= {"metadata"}
    unknown += sorted(set(said) - takes)
    if body.get("suppress_output"):
        unknown.append("suppress_output")
    if unknown:
        raise WrongField(f"wrote {unknown[0][:64]!r}, which {event.theirs} does not take")


def _failed(event: HostedEvent, handler: Handler, told: Happening, why: str) -> Judged:
    if event.blocks and handler.on_failure == "closed":
        reason = f"{event.theirs} hook failed to execute: hook {handler.what[:200]!r}: {why}"
        return Judged(answer=refused(told, reason), failed=why)
    return Judged(failed=None if handler.on_failure == "ignore" else why)


def _why_blocked(body: dict[str, Any], said: dict[str, Any], told: Happening) -> str | None:
    reasons: list[str] = []
    blocked = False
    if body.get("continue") is False:
        blocked, reasons = True, [*reasons, reason_of(body.get("stop_reason"))]
    if body.get("decision") == "block":
        blocked, reasons = True, [*reasons, reason_of(body.get("reason"))]
    if said.get("permission_decision") == "deny" and isinstance(told, ToolAsked):
        blocked, reasons = True, [*reasons, reason_of(said.get("permission_decision_reason"))]
    if not blocked:
        return None
    return "\n".join(reason for reason in reasons if reason) or "blocked by a hook"


def _rewritten(told: Happening, said: dict[str, Any]) -> HookAnswer:
    rewrite = _REWRITES.get(told.event)
    if rewrite == "updated_input" and isinstance(told, ToolAsked):
        changed = object_of(said, rewrite)
        return HookAnswer(arguments=None if changed is None else {**told.arguments, **changed})
    if rewrite == "updated_tool_response" and isinstance(said.get(rewrite), str):
        return HookAnswer(result=said[rewrite])
    if rewrite == "updated_messages" and isinstance(said.get(rewrite), list):
        messages = Fields(said).objects(rewrite, MAX_MESSAGES)
        pairs = [(one.text("role") or "", one.text("content") or "") for one in messages]
        return HookAnswer(messages=tuple(pairs) or None)
    return HookAnswer()
