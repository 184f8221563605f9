"""What a user can set for a server: `sliphook config NAME KEY=VALUE`."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from sliphook_sdk.protocol.limits import MAX_TIMEOUT_S


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of a server's plugin."""

    timeout_s: Annotated[
        float,
        msgspec.Meta(gt=0, le=MAX_TIMEOUT_S, description="seconds that a call may take"),
    ] = 60.0
    prefix: Annotated[
        str,
        msgspec.Meta(
            pattern="^[A-Za-z0-9_-]{0,32}$", description="stands before the name of each tool"
        ),
    ] = ""
    handshake: Annotated[
        Literal["discover", "initialize"],
        msgspec.Meta(
            description="initialize: for a server that is silent about server/discover",
        ),
    ] = "discover"
