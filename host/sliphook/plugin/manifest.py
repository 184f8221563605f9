"""Pure: decodes a plugin's manifest strictly and fills in every default."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from itertools import islice
from typing import Final, get_args

import msgspec

from sliphook.process.environment import why_not_granted
from sliphook.quoting import quote
from sliphook.wire.decoding import DECODE_ERRORS
from sliphook.wire.near_misses import NearMisses
from sliphook_sdk.protocol import (
    CATALOGUE,
    RESERVED_COMMANDS,
    CommandSpec,
    Entry,
    EnvWant,
    Globs,
    Kind,
    Manifest,
    OnFailure,
    Subscription,
    Uses,
    match_fields,
    nearest,
    unmatchable_fields,
    why_unmatchable,
    words_of,
)
from sliphook_sdk.protocol.limits import (
    HOOK_TIMEOUT_S,
    MAX_PATTERN_CHARS,
    MAX_PATTERNS,
    MAX_REACH_STEPS,
    MAX_SERVERS,
    MAX_SUBSCRIPTIONS,
    MAX_VARIABLES,
    PROTOCOL_VERSIONS,
)
from sliphook_sdk.protocol.patterns.domains import why_never

from .checks import ManifestError, check_name, check_timeout, refuse_doubles
from .model_servers import why_no_server
from .route import Pattern, Route, refuse_covered_guards
from .tools import PluginTool, check_declared, check_size, read_tools

_MOST_SAID: Final = 3
"""Near misses behind the reason why a manifest is refused."""


class _Version(msgspec.Struct):
    """The part that is decoded first: in another version, the rest may have another shape."""

    protocol_version: int


# made once, at import: msgspec reads a type at its first use, and not safely in two threads
_VERSION: Final = msgspec.json.Decoder(_Version)
MANIFEST: Final = msgspec.json.Decoder(Manifest)
"""Decodes a manifest, and does not check it: `read_manifest` does."""


class ReadManifest(msgspec.Struct, frozen=True, kw_only=True):
    """A manifest that has been checked.

    Attributes:
        wire: the manifest as the plugin sent it.
        routes: the subscriptions by the entry's name, in the order in which they are looked at:
            first those that are asked, then those that are told, each in the order of the manifest.
            Optional ones to entries that this host does not know are left out.
        tools: the tools, with defaults.
        tool_names: their names.
        commands: the slash commands.
        command_names: their names.
        uses: the parts of the host that the plugin wants to call.
        env: the environment variables that it asks for.
        servers: to which it wants to send model calls, `HOST` or `HOST:PORT`.
        ignored: what it has that is ignored, a sentence for each.
    """

    wire: Manifest
    routes: dict[str, tuple[Route, ...]]
    tools: tuple[PluginTool, ...]
    tool_names: frozenset[str]
    commands: tuple[CommandSpec, ...]
    command_names: frozenset[str]
    uses: frozenset[str]
    env: tuple[EnvWant, ...]
    servers: tuple[str, ...]
    ignored: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name that the plugin gives itself."""
        return self.wire.name

    def closed_routes(self) -> dict[str, tuple[Route, ...]]:
        """The subscriptions that deny if the plugin fails to answer."""
        closed = {
            name: tuple(route for route in routes if route.guards)
            for name, routes in self.routes.items()
        }
        return {name: routes for name, routes in closed.items() if routes}


def read_manifest(
    raw: bytes | msgspec.Raw, *, fires: Collection[str] = tuple(CATALOGUE)
) -> ReadManifest:
    """Read the result of `initialize`.

    Args:
        raw: the JSON of the result.
        fires: the hooks and events that this host fires.

    Raises:
        ManifestError: it is no manifest, or declares something impossible. For a misspelt name, the
            message suggests the closest known one; the first near misses stand behind the reason.
    """
    _check_version(raw)
    try:
        return _read(raw, fires)
    except ManifestError as error:
        also = list(islice(NearMisses().found_in("initialize", raw), _MOST_SAID))
        if not also:
            raise
        raise ManifestError(f"{error}; also: {'; '.join(also)}") from None


def _check_version(raw: bytes | msgspec.Raw) -> None:
    try:
        version = _VERSION.decode(raw).protocol_version
    except DECODE_ERRORS as error:
        raise ManifestError(f"the manifest does not fit: {_explain(str(error))}") from None
    if version not in PROTOCOL_VERSIONS:
        ours = ", ".join(map(str, PROTOCOL_VERSIONS))
        raise ManifestError(f"it speaks version {version} of the protocol, this host speaks {ours}")


def _read(raw: bytes | msgspec.Raw, fires: Collection[str]) -> ReadManifest:
    try:
        wire = MANIFEST.decode(raw)
    except DECODE_ERRORS as error:
        raise ManifestError(f"the manifest does not fit: {_explain(str(error))}") from None
    check_name("plugin", wire.name)
    # before `_resolve`, which compiles every pattern
    _check_counts(wire)
    routes: dict[str, list[Route]] = {}
    for index, subscription in enumerate(wire.subscriptions or ()):
        route = _resolve(subscription, index, fires)
        if route is not None:
            routes.setdefault(route.entry.name, []).append(route)
    steps = MAX_REACH_STEPS
    for found in routes.values():
        # asked before told: to be told must never take the place of being asked
        found.sort(key=lambda route: route.mode != "hook")
        steps = refuse_covered_guards(found, steps)
    commands = tuple(wire.commands or ())
    for command in commands:
        check_name("command", command.name)
        if command.name in RESERVED_COMMANDS:
            raise ManifestError(
                f"the command /{command.name} is the agent's own; give it another name"
            )
    refuse_doubles("command", (command.name for command in commands))
    if len(wire.env or ()) > MAX_VARIABLES:
        raise ManifestError(
            f"it asks for {len(wire.env or ()):,} environment variables;"
            f" at most {MAX_VARIABLES} are allowed"
        )
    for want in wire.env or ():
        if (why := why_not_granted(want.name)) is not None:
            raise ManifestError(f"env: {why}")
    refuse_doubles("variable", (want.name for want in wire.env or ()))
    _check_servers(wire)
    if wire.config_schema:
        check_size(wire.config_schema, "its config_schema")
        check_declared(wire.config_schema, "its config_schema")
    return ReadManifest(
        wire=wire,
        routes={name: tuple(found) for name, found in routes.items()},
        tools=read_tools(wire.tools or ()),
        tool_names=frozenset(tool.name for tool in wire.tools or ()),
        commands=commands,
        command_names=frozenset(command.name for command in commands),
        uses=frozenset(wire.uses or ()),
        env=tuple(wire.env or ()),
        servers=tuple(wire.servers or ()),
        ignored=tuple(NearMisses().found_in("initialize", raw)),
    )


def _resolve(subscription: Subscription, index: int, fires: Collection[str]) -> Route | None:
    """Check one subscription and fill in its defaults; None if it is optional and unknown here."""
    name = subscription.event
    where = f"subscription {index + 1} ({quote(name, 40)})"
    entry = CATALOGUE.get(name)
    if entry is None or name not in fires:
        if subscription.optional:
            return None
        close = nearest(name, list(fires))
        hint = f"; did you mean {close}?" if close else "; `sliphook events` lists them"
        raise ManifestError(f"{where}: this host fires no such hook or event{hint}")
    mode: Kind = subscription.mode or entry.kind
    if mode == "hook" and entry.kind == "event":
        raise ManifestError(
            f"{where}: {name} is an event, which is told and cannot be answered; leave out mode"
        )
    on_failure: OnFailure = subscription.on_failure or entry.on_failure or "open"
    if on_failure == "closed" and "deny" not in entry.decisions:
        raise ManifestError(
            f"{where}: on_failure closed needs a hook that can deny, and {name} cannot"
        )
    if subscription.replaces and (mode == "event" or not (entry.replace or entry.substitute)):
        raise ManifestError(
            f"{where}: replaces needs a hook whose answer may replace, and {name} as {mode} may not"
        )
    if subscription.attempts and (mode == "event" or not entry.attempts):
        raise ManifestError(
            f"{where}: attempts needs a hook that is asked before each attempt of a model call,"
            f" and {name} as {mode} is not"
        )
    for field in subscription.include or ():
        if field not in entry.heavy:
            known = ", ".join(entry.heavy) or "none"
            raise ManifestError(
                f"{where}: include names '{quote(field, 40)}',"
                f" which is no heavy field of {name}; there are {known}"
            )
    timeout_s = (
        HOOK_TIMEOUT_S
        if subscription.timeout_s is None
        else check_timeout(subscription.timeout_s, where)
    )
    return Route(
        entry=entry,
        mode=mode,
        patterns=tuple(
            _pattern(entry, field, globs, where)
            for field, globs in (subscription.match or {}).items()
            if globs is not None
        ),
        timeout_s=timeout_s,
        on_failure=on_failure,
        priority=subscription.priority or 0,
        replaces=bool(subscription.replaces),
        include=frozenset(subscription.include or ()),
        subagents=entry.subagents if subscription.subagents is None else subscription.subagents,
        index=index,
        attempts=bool(subscription.attempts),
    )


def _check_servers(wire: Manifest) -> None:
    servers = wire.servers or ()
    if servers and "route" not in (wire.uses or ()):
        raise ManifestError("servers needs 'route' in uses: without it no model call goes there")
    if len(servers) > MAX_SERVERS:
        raise ManifestError(f"it wants {len(servers):,} servers; at most {MAX_SERVERS} are allowed")
    for server in servers:
        if (why := why_no_server(server)) is not None:
            raise ManifestError(f"servers: '{quote(server, 80)}' {why}")
    refuse_doubles("server", servers)


def _check_counts(wire: Manifest) -> None:
    """Refuse a manifest so large that reading it, and every fire, would block the agent's loop."""
    subscriptions = wire.subscriptions or ()
    if len(subscriptions) > MAX_SUBSCRIPTIONS:
        raise ManifestError(
            f"it has {len(subscriptions):,} subscriptions; at most {MAX_SUBSCRIPTIONS} are allowed"
        )
    for name, count in Counter(one.event for one in subscriptions).items():
        entry = CATALOGUE.get(name)
        most = entry.max_subscriptions if entry is not None else None
        if most is not None and count > most:
            raise ManifestError(
                f"it has {count:,} subscriptions to {name}, which is told inside an interrupt;"
                f" at most {most} are allowed"
            )
    matches = [
        globs for one in subscriptions for globs in (one.match or {}).values() if globs is not None
    ]
    patterns = [
        glob for globs in matches for glob in ([globs] if isinstance(globs, str) else globs)
    ]
    if len(patterns) > MAX_PATTERNS:
        raise ManifestError(
            f"its subscriptions have {len(patterns):,} patterns;"
            f" at most {MAX_PATTERNS:,} are allowed"
        )
    chars = sum(map(len, patterns))
    if chars > MAX_PATTERN_CHARS:
        raise ManifestError(
            f"the patterns of its subscriptions have {chars:,} characters;"
            f" at most {MAX_PATTERN_CHARS:,} are allowed"
        )


def _pattern(entry: Entry, field: str, globs: str | list[str], where: str) -> Pattern:
    known = match_fields(entry)
    if field in unmatchable_fields(entry):
        raise ManifestError(
            f"{where}: match names '{field}', which cannot be matched: {why_unmatchable(entry)};"
            " match it in the handler"
        )
    if field not in known:
        close = nearest(field, list(known))
        hint = f"; did you mean {close}?" if close else f"; there are {', '.join(known)}"
        raise ManifestError(
            f"{where}: match names '{quote(field, 40)}',"
            f" which is no string field of {entry.name}{hint}"
        )
    alternatives = [globs] if isinstance(globs, str) else globs
    if not alternatives:
        raise ManifestError(
            f"{where}: match.{field} is an empty list, which never matches;"
            " leave it out or name a pattern"
        )
    for glob in alternatives:
        if (why := why_never(entry, field, glob)) is not None:
            raise ManifestError(f"{where}: match.{field}: the pattern '{quote(glob, 80)}' {why}")
    globs_of_all = Globs(alternatives)
    if words := words_of(entry.payload, field):
        # which of the few words fit is found out now, not at each fire
        globs_of_all = Globs([word for word in words if globs_of_all.fits(word)])
    return Pattern(field, globs_of_all, frozenset(alternatives))


_WORDS: Final = {"mode": get_args(Kind), "on_failure": get_args(OnFailure), "uses": get_args(Uses)}


def _explain(error: str) -> str:
    """Add to the decoder's message the closest known field, or the allowed words."""
    hint = ""
    if unknown := re.search(r"unknown field `([^`]*)`", error):
        # only subscriptions refuse unknown fields: see Envelope in protocol.md
        close = nearest(
            unknown[1], [field.encode_name for field in msgspec.structs.fields(Subscription)]
        )
        hint = f"; did you mean {close}?" if close else ""
    elif error.startswith("Invalid enum value"):
        # the decoder's message ends with a path such as `$.subscriptions[...].mode`
        field = error.rpartition(".")[2].partition("[")[0].rstrip("`")
        hint = f"; there are {', '.join(_WORDS[field])}"
    return quote(error, 300) + hint
