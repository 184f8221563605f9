"""The fields that payloads have in common: those of all, and those of several."""

from __future__ import annotations

from typing import Annotated, Any, Optional, Union

import msgspec

from .describe import doc

TimeoutLeft = Annotated[
    Union[float, msgspec.UnsetType, None],
    doc(
        "seconds that are left to answer; only in the request, "
        "absent if the entry is told as an event",
        5.0,
    ),
]

Truncated = Annotated[
    Union[list[str], msgspec.UnsetType, None],
    doc(
        "heavy fields that were cut to null because the message was too large; absent if none was",
        [],
    ),
]

SubmittedBy = Annotated[
    Optional[str],
    doc("the plugin whose message it is, if it came by `host/submit`; null: the user's"),
]

StillRunning = Annotated[
    Optional[list[str]],
    doc(
        "`call_id` of each tool call, child agents' too, that was told to stop and had not ended "
        "yet; a `notification` with `late_end` follows for each",
        [],
    ),
]


class Payload(msgspec.Struct, frozen=True, kw_only=True):
    """The common fields of every payload."""

    event_id: Annotated[
        str, doc("opaque; the same for every plugin that this fire reaches", "e-1", match=False)
    ]
    seq: Annotated[
        int, doc("from 1, rising per session; a tool call and a command carry the last one", 1)
    ]
    time: Annotated[str, doc("when it was fired, UTC", "2026-01-01T00:00:00.000Z", match=False)]
    session_id: Annotated[str, doc("the session, unique", "s-1", match=False)]
    session_key: Annotated[
        Optional[str],
        doc("the agent's own name for the conversation: chat, thread, terminal", "main"),
    ]
    platform: Annotated[Optional[str], doc("where the user is: `cli`, `api` and so on", "cli")]
    user_id: Annotated[Optional[str], doc("the user, as the agent names them")]
    cwd: Annotated[Optional[str], doc("the project's folder, absolute", "/home/ada/project")]
    turn_id: Annotated[
        Optional[str], doc("the turn, unique; null outside a turn", "t-1", match=False)
    ]
    agent_id: Annotated[
        str, doc("the agent that acts; a child agent has its own", "a-1", match=False)
    ]
    parent_agent_id: Annotated[
        Optional[str], doc("whose child the agent is; null for the root", match=False)
    ]
    agent_depth: Annotated[int, doc("0 is the root agent", 0)]
    meta: Annotated[
        Optional[dict[str, Any]], doc("an object of the agent's own, opaque to Sliphook")
    ]
