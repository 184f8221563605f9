"""The table of all cases, by kind."""

from __future__ import annotations

from typing import Final

from tests.torture.case import Case
from tests.torture.kinds import (
    admin,
    attached,
    callbacks,
    embedder,
    framing,
    generated,
    handshake,
    heavy,
    ids,
    jsons,
    model,
    neighbours,
    pipes,
    processes,
    schemas,
    shutdown,
    spawn,
    telling,
    timing,
)

CASES: Final[tuple[Case, ...]] = (
    *spawn.CASES,
    *handshake.CASES,
    *framing.CASES,
    *jsons.CASES,
    *heavy.CASES,
    *ids.CASES,
    *timing.CASES,
    *pipes.CASES,
    *processes.CASES,
    *schemas.CASES,
    *neighbours.CASES,
    *admin.CASES,
    *shutdown.CASES,
    *generated.CASES,
    *telling.CASES,
    *model.CASES,
    *embedder.CASES,
    *callbacks.CASES,
    *attached.CASES,
)

KINDS: Final = tuple(dict.fromkeys(case.kind for case in CASES))
