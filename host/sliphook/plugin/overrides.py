"""Pure: the user's settings applied to a plugin's manifest, declared or recorded."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from sliphook.files.toml import BadKey
from sliphook.quoting import quote
from sliphook.wire import envelope
from sliphook_sdk.protocol import CATALOGUE, Manifest, Subscription, nearest
from sliphook_sdk.protocol.limits import PROTOCOL_VERSIONS

from .approval import asks_for_more
from .checks import ManifestError, check_timeout
from .manifest import ReadManifest, read_manifest
from .route import Route, refuse_covered_guards
from .spec import Override, PluginSpec


class AsksForMore(ManifestError):
    """The plugin declares more than the user has approved."""


def read_declared(
    raw: bytes | msgspec.Raw,
    spec: PluginSpec,
    approved: ReadManifest | None,
    timeout_cap_s: float | None = None,
) -> ReadManifest:
    """Read a manifest, compare it with the approved one, and apply the user's settings.

    Args:
        raw: the result of `initialize`.
        spec: the plugin, with the user's settings.
        approved: what `read_record` gave, read once: both may take 10 ms.
        timeout_cap_s: the cap for all plugins of the host, in seconds.

    Raises:
        AsksForMore: it declares more than is recorded; str() lists what is new.
        ManifestError: it is no manifest, or the settings cannot be applied to it.
    """
    declared = read_manifest(raw)
    applied = apply_overrides(declared, spec, timeout_cap_s=timeout_cap_s)
    # without the user's settings: the user may weaken a guard, an update may not
    if approved is not None and (more := asks_for_more(approved, declared)):
        raise AsksForMore(f"it asks for more than was approved: {', '.join(more)}")
    return applied


def apply_overrides(
    manifest: ReadManifest, spec: PluginSpec, *, timeout_cap_s: float | None = None
) -> ReadManifest:
    """The manifest with the user's settings applied.

    Args:
        manifest: what the plugin declared.
        spec: the plugin, with the user's settings.
        timeout_cap_s: the cap for all plugins of the host, in seconds. The smaller of this and the
            plugin's cap counts.

    Raises:
        ManifestError: a setting names an unknown hook or has a value that is not possible. The user
            is at fault.
    """
    try:
        check_overrides(spec.overrides, ())
    except BadKey as error:
        key = quote(".".join(error.keys), 80)
        raise ManifestError(f"the user's settings: {key}: {error.why}") from None
    caps = [
        check_timeout(cap_s, where, field="timeout_cap_s")
        for cap_s, where in (
            (timeout_cap_s, "the host's settings"),
            (spec.timeout_cap_s, "the plugin's settings"),
        )
        if cap_s is not None
    ]
    routes = {
        name: tuple(_resolve(route, spec.overrides.get(name), caps) for route in routes)
        for name, routes in manifest.routes.items()
        if not spec.overrides.get(name, Override()).off
    }
    for name, override in spec.overrides.items():
        if override.on_failure == "closed":
            refuse_covered_guards(routes.get(name, ()))
    return msgspec.structs.replace(manifest, routes=routes)


def read_record(spec: PluginSpec) -> tuple[ReadManifest | None, str | None]:
    """The recorded manifest as it was approved.

    Returns:
        The manifest, or None if there is none; and one line if the record cannot be used. Then the
        manifest has nothing but its closed hooks, which deny whatever they would have matched.
    """
    if spec.recorded is None:
        return None, None
    try:
        return read_manifest(envelope.encode(spec.recorded)), None
    except ManifestError as error:
        why = f"its recorded manifest cannot be used: {error}; install it again"
        return _guards_in(as_subscribed(spec.recorded, spec.overrides)), why


def as_subscribed(manifest: Manifest, overrides: Mapping[str, Override]) -> Manifest:
    """A recorded manifest with the subscriptions that count, failing as the user has set them."""
    kept: list[Subscription] = []
    for one in manifest.subscriptions or ():
        said = overrides.get(one.event, Override())
        if not said.off:
            on_failure = one.on_failure if said.on_failure is None else said.on_failure
            kept.append(msgspec.structs.replace(one, on_failure=on_failure))
    return msgspec.structs.replace(manifest, subscriptions=kept)


def _guards_in(record: Manifest) -> ReadManifest | None:
    """The hooks that fail closed, for all payloads; None if there are none."""
    closed = [
        Subscription(event=name, on_failure="closed")
        for name, entry in CATALOGUE.items()
        for one in record.subscriptions or ()
        if one.event == name
        and "deny" in entry.decisions
        and one.mode != "event"
        and (one.on_failure or entry.on_failure) == "closed"
    ]
    guards = Manifest(
        protocol_version=PROTOCOL_VERSIONS[-1],
        name="unreadable",
        subscriptions=list({one.event: one for one in closed}.values()),
    )
    return read_manifest(envelope.encode(guards)) if closed else None


def as_set_by_the_user(
    approved: ReadManifest | None, spec: PluginSpec, timeout_cap_s: float | None = None
) -> ReadManifest | None:
    """What `read_record` gave, with the user's settings. It counts before the plugin is ready.

    If the user's settings are wrong, the recorded manifest counts as it was approved, but fails
    closed where they say so; the start of the plugin reports the mistake.
    """
    try:
        return approved and apply_overrides(approved, spec, timeout_cap_s=timeout_cap_s)
    except ManifestError:
        return approved and _closed_by_the_user(approved, spec.overrides)


def _closed_by_the_user(approved: ReadManifest, overrides: Mapping[str, Override]) -> ReadManifest:
    closed = {
        name: tuple(msgspec.structs.replace(route, on_failure="closed") for route in routes)
        for name, routes in approved.routes.items()
        if overrides.get(name, Override()).on_failure == "closed"
        and "deny" in CATALOGUE[name].decisions
    }
    return msgspec.structs.replace(approved, routes=approved.routes | closed)


def recorded_manifest(
    spec: PluginSpec, *, timeout_cap_s: float | None = None
) -> tuple[ReadManifest | None, str | None]:
    """What `read_record` gives, with the user's settings (`as_set_by_the_user`)."""
    approved, why = read_record(spec)
    return as_set_by_the_user(approved, spec, timeout_cap_s), why


def check_overrides(overrides: Mapping[str, Override], keys: tuple[str, ...]) -> None:
    """Refuse an override that can have no effect: without an error a typo would go unnoticed.

    Args:
        overrides: by the name of a hook or event.
        keys: where they stand in the user's file, for the error.

    Raises:
        BadKey: there is no such hook or event, or it cannot deny and is to be closed.
    """
    for name, override in overrides.items():
        entry = CATALOGUE.get(name)
        if entry is None:
            close = nearest(name, list(CATALOGUE))
            hint = f"did you mean {close}?" if close else "`sliphook events` lists them"
            raise BadKey((*keys, name), f"there is no such hook or event; {hint}")
        if override.on_failure == "closed" and "deny" not in entry.decisions:
            why = f"closed needs a hook that can deny, and {name} cannot"
            raise BadKey((*keys, name, "on_failure"), why)


def _resolve(route: Route, override: Override | None, caps: list[float]) -> Route:
    priority = override.priority if override is not None else None
    on_failure = override.on_failure if override is not None else None
    return msgspec.structs.replace(
        route,
        timeout_s=min([route.timeout_s, *caps]),
        priority=route.priority if priority is None else priority,
        on_failure=route.on_failure if on_failure is None else on_failure,
    )
