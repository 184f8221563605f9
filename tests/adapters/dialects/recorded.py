"""What real agents sent to their hooks; names, folders, ids and times are made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sliphook.adapters.dialects.known import DIALECTS
from sliphook.adapters.dialects.told import Happening, Misread

SAMPLES = Path(__file__).parent.parent / "samples"

SESSION = "00000000-0000-4000-8000-000000000001"
TURN = "00000000-0000-4000-8000-000000000002"


def folder(agent: str) -> Path:
    """Where the samples of an agent are."""
    plain = SAMPLES / agent
    return plain if plain.is_dir() else SAMPLES / f"{agent}-cli"


def names(agent: str) -> set[str]:
    """The samples of an agent."""
    return {path.stem for path in folder(agent).iterdir()}


def payload(agent: str, sample: str) -> dict[str, Any]:
    """What the hook read on its stdin."""
    text = (folder(agent) / f"{sample}.json").read_text(encoding="utf-8")
    decoded: dict[str, Any] = json.loads(text)
    return decoded


def event_of(sample: str) -> str:
    """The event that the hook was configured for."""
    return sample.partition("-")[0]


def told(agent: str, sample: str, **changed: Any) -> Happening:
    """The sample as the dialect reads it; with `changed` fields."""
    read = DIALECTS[agent.removesuffix("-cli")].read(
        event_of(sample), payload(agent, sample) | changed
    )
    assert not isinstance(read, Misread), read.why
    return read
