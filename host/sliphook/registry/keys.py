"""The keys of an installed plugin's file. The table in `docs/installing.md` is made from them."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any, Final

import msgspec

from sliphook.files.toml import BadKey, check_plain_data
from sliphook.plugin.manifest import MANIFEST
from sliphook.plugin.model_servers import why_no_server
from sliphook.plugin.overrides import check_overrides
from sliphook.plugin.spec import Override
from sliphook.process.environment import why_not_granted
from sliphook.quoting import quote
from sliphook.wire.decoding import DECODE_ERRORS, read_types
from sliphook_sdk.protocol import Uses
from sliphook_sdk.protocol.describe import doc
from sliphook_sdk.protocol.limits import MAX_TIMEOUT_S, MIN_TIMEOUT_S

from .made import Made, approved_files

_SHA256: Final = re.compile(r"[0-9a-f]{64}")


class Recorded(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """What the user approved; `sliphook install` and `sliphook trust` write it."""

    path: Annotated[
        str | None, doc("the executable, symbolic links resolved", "/home/ada/bin/guard")
    ] = None
    sha256: Annotated[
        str | None, doc("of the executable's bytes: another file is refused", "9f86d081…")
    ] = None
    interpreter: Annotated[
        str | None,
        doc("what ran a script when it was approved; it is not hashed", "/usr/bin/python3"),
    ] = None
    size: Annotated[int | None, doc("of the executable, in bytes", 1234)] = None
    made: Annotated[
        Made | None, doc("in place of path and sha256: what an adapter makes the plugin of", {})
    ] = None
    installed: Annotated[datetime, doc("when")]
    manifest: Annotated[
        str, doc("what the plugin declared, as JSON; if it asks for more, it is refused", "{…}")
    ]

    @property
    def hashes(self) -> dict[str, str]:
        """The files that were approved, each with the hash of its bytes."""
        return approved_files(self.path, self.sha256, self.made)


# Unknown keys are errors: a typo in `sandbox` would else start the plugin without one.
class PluginKeys(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """An installed plugin's file, `NAME.toml`."""

    enabled: Annotated[bool, doc("false: it is not started, and guards nothing", True)] = True
    order: Annotated[
        int, doc("its place among the plugins, where priorities do not decide; low comes first", 1)
    ] = 0
    grants: Annotated[
        frozenset[Uses], doc("what it may ask of the agent, of all that it `uses`", ["inject"])
    ] = frozenset()
    env: Annotated[
        tuple[str, ...], doc("environment variables that it is given, by name", ["DEPLOY_TOKEN"])
    ] = ()
    servers: Annotated[
        tuple[str, ...],
        doc(
            "with the grant `route`: where it may have model calls sent, `HOST` or `HOST:PORT`,"
            " beside your providers",
            ["127.0.0.1:8080"],
        ),
    ] = ()
    timeout_cap_s: Annotated[
        float | None, doc("seconds that an answer may take at most, whatever it asks for", 2.0)
    ] = None
    sandbox: Annotated[
        bool, doc("Linux: no network, and no writing but to its own folder", False)
    ] = False
    pin: Annotated[
        bool,
        doc(
            "true: a script that looks for its interpreter on PATH runs in `recorded.interpreter`;"
            " false: in the one that is active where an agent starts",
            True,
        ),
    ] = False
    config: Annotated[
        dict[str, Any],
        doc("its settings; its own documentation says which there are", {"channel": "ops"}),
    ] = msgspec.field(default_factory=dict[str, Any])
    overrides: Annotated[
        dict[str, Override],
        doc("by the name of a hook or event, what you have decided about it", {}),
    ] = msgspec.field(default_factory=dict[str, Override], name="hooks")
    recorded: Annotated[Recorded, doc("what was approved", {})]


read_types(PluginKeys)


def check_plugin_keys(keys: PluginKeys) -> None:
    """Check what the types of the keys cannot say.

    Raises:
        BadKey: a value is not acceptable; the user is at fault.
    """
    check_plain_data(keys.config, ("config",))
    for name in keys.env:
        why = why_not_granted(name)
        if why is not None:
            raise BadKey(("env",), why)
    for server in keys.servers:
        why = why_no_server(server)
        if why is not None:
            raise BadKey(("servers",), f"'{quote(server, 80)}' {why}")
    check_timeout_cap(keys.timeout_cap_s, ("timeout_cap_s",))
    check_overrides(keys.overrides, ("hooks",))
    _check_approved(keys.recorded)
    try:
        # Checked here, so that `Registered.manifest` cannot fail later, in the middle of a start.
        MANIFEST.decode(keys.recorded.manifest)
    except DECODE_ERRORS as error:
        raise BadKey(
            ("recorded", "manifest"), f"it is no manifest: {quote(str(error), 200)}"
        ) from None


def _check_approved(recorded: Recorded) -> None:
    if (recorded.made is None) != bool(recorded.path and recorded.sha256):
        raise BadKey(("recorded",), "it needs path and sha256, or else made")
    where = ("path", "sha256") if recorded.made is None else ("made", "made")
    for path, sha256 in recorded.hashes.items():
        if not path.startswith("/"):
            raise BadKey(("recorded", where[0]), f"'{quote(path)}' is no absolute path")
        if not _SHA256.fullmatch(sha256):
            raise BadKey(("recorded", where[1]), "it must be 64 digits 0-9a-f")


def check_timeout_cap(cap_s: float | None, keys: tuple[str, ...]) -> None:
    """Refuse a cap that is out of range.

    Args:
        cap_s: the cap in seconds, or None.
        keys: the keys that lead to it, for the error.

    Raises:
        BadKey: it is out of range.
    """
    if cap_s is not None and not MIN_TIMEOUT_S <= cap_s <= MAX_TIMEOUT_S:
        raise BadKey(
            keys, f"{cap_s:g} is no timeout: give {MIN_TIMEOUT_S:g} to {MAX_TIMEOUT_S:g} seconds"
        )
