"""Images that tools return, alone or in a list with texts."""

from __future__ import annotations

from typing import Any, Optional, cast

import msgspec

from sliphook_sdk.errors import AnswerError
from sliphook_sdk.protocol import Part, ToolResult
from sliphook_sdk.protocol.parts import why_not


class Image(msgspec.Struct, frozen=True):
    """An image in a tool's result.

    Attributes:
        data: the file's bytes.
        mime: `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    """

    data: bytes
    mime: str = "image/png"


def in_parts(returned: object) -> Optional[ToolResult]:
    """The result of a tool that returned an image, or a list with one; None for anything else.

    Raises:
        AnswerError: the list holds something else too, or an image is none.
    """
    several = isinstance(returned, (list, tuple))
    items = list(cast("Any", returned)) if several else [returned]
    if not any(isinstance(item, Image) for item in items):
        return None
    parts = [_part(item) for item in items]
    result = ToolResult(
        content="\n".join(part.text or "" for part in parts if part.text), parts=parts
    )
    check(result)
    return result


def check(result: ToolResult) -> None:
    """Check the parts of a result.

    Raises:
        AnswerError: the host would refuse them.
    """
    why = why_not(result.parts)
    if why is not None:
        raise AnswerError(f"returned a result that is refused: {why}")


def _part(item: object) -> Part:
    if isinstance(item, str):
        return Part(type="text", text=item)
    if not isinstance(item, Image):
        raise AnswerError(
            f"returned a list with an Image and {type(item).__name__} in it; "
            "it takes texts and Images"
        )
    if isinstance(cast("object", item.data), str):  # a Struct takes anything
        raise AnswerError("returned an Image whose data is str, not bytes")
    import base64  # imported here, since it would slow every plugin's start

    return Part(type="image", mime_type=item.mime, data=base64.b64encode(item.data).decode())
