"""Pure: fields that the user's settings or a plugin add to a request to a model server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sliphook.plugin.model_servers import WRITTEN_BY_THE_CLIENT


def with_parameters(
    body: Mapping[str, Any], parameters: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The body of a request with more fields; those that the client writes itself stay."""
    more = {
        name: value
        for name, value in (parameters or {}).items()
        if name not in WRITTEN_BY_THE_CLIENT
    }
    return {**more, **body}
