"""Pure: compares a manifest with the approved one: what it adds, and which guards it drops.

And what of its `uses` the user has granted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sliphook_sdk.protocol import Uses

from .manifest import ReadManifest
from .model_servers import is_among
from .route import Route
from .spec import PluginSpec


def asks_for_more(approved: ReadManifest, declared: ReadManifest) -> list[str]:
    """Every way in which `declared` goes beyond `approved`, each in a few words for people.

    These are new tools, `uses`, environment variables and servers, subscriptions that replace more,
    and weaker guards. A guard is a hook that fails closed. Every approved one must still be there
    for all that it matched; if the patterns do not show that, it counts as weaker. It is empty if
    `declared` asks for the same or less.
    """
    return [
        *(
            f"the tool {name}"
            for name in _new(
                (tool.name for tool in declared.tools), (tool.name for tool in approved.tools)
            )
        ),
        *(f"the use of {name}" for name in _new(sorted(declared.uses), approved.uses)),
        *(
            f"the variable {name}"
            for name in _new(
                (want.name for want in declared.env), (want.name for want in approved.env)
            )
        ),
        *(
            f"to send model calls to {server}"
            for server in declared.servers
            if not is_among(server, approved.servers)
        ),
        *(
            f"to replace in {name}"
            for name, routes in declared.routes.items()
            if any(
                route.replaces and not _may_replace(route, approved.routes.get(name, ()))
                for route in routes
            )
        ),
        *(
            f"not to guard {name} as before"
            for name, routes in approved.routes.items()
            if any(
                route.guards and not _still_guards(at, routes, declared.routes.get(name, ()))
                for at, route in enumerate(routes)
            )
        ),
    ]


def _new(declared: Iterable[str], approved: Iterable[str]) -> list[str]:
    known = set(approved)
    return [name for name in declared if name not in known]


def _may_replace(route: Route, approved: Sequence[Route]) -> bool:
    matched = _Matched(route)
    return any(one.replaces and matched.is_within(one) for one in approved)


def _still_guards(at: int, approved: Sequence[Route], declared: Sequence[Route]) -> bool:
    """True if `declared` asks the plugin for all that guard `at` matched, again failing closed.

    A plugin is asked once per fire, by its first matching subscription; one listed before the guard
    replaces it wherever both match.
    """
    # the routes of a manifest stand in the order in which a fire looks at them
    guard = _Matched(approved[at])
    before = [route for route in approved[:at] if not route.guards]
    for route in declared:
        if route.guards:
            if guard.is_within(route):
                return True
        elif not (before and any(map(_Matched(route).is_within, before))):
            return False
    return False


class _Matched:
    """What a subscription matches; it may be compared with 256 others."""

    def __init__(self, route: Route) -> None:
        self._subagents = route.subagents
        self._attempts = route.attempts
        self._texts = {pattern.field: pattern.texts for pattern in route.patterns}

    def is_within(self, outer: Route) -> bool:
        """True if `outer` matches all of that, as far as the texts of the patterns show."""
        if (self._subagents and not outer.subagents) or (self._attempts and not outer.attempts):
            return False
        for pattern in outer.patterns:
            texts = self._texts.get(pattern.field)
            # "*" matches all but null
            if texts is None or not (texts <= pattern.texts or "*" in pattern.texts):
                return False
        return True


def why_not_granted(
    use: Uses, manifest: ReadManifest | None, spec: PluginSpec, what: str = "it"
) -> str | None:
    """Why a plugin may not do `what`, in words for its author; None if it may."""
    if manifest is None or use not in manifest.uses:
        return f"{what} needs '{use}' in the manifest's uses"
    # to be in the manifest is not enough: the user may have granted less than it lists
    if spec.grants is not None and use not in spec.grants:
        why = f"the user has not granted '{use}' to {spec.name or manifest.wire.name}"
        if spec.name is None:  # not installed: who runs it has decided
            return why
        return f"{why}; to grant it: sliphook config {spec.name} --grant {use}"
    return None
