"""Images that tools return, alone or in a list with texts."""

from __future__ import annotations

from typing import Any, Optional, cast

import msgspec

from sliphook_sdk.errors import AnswerError
from sliphook_sdk.protocol import Part, ToolResult
from sliphook_sdk.protocol.parts import why_not
from sliphook_sdk.wire.encoding import to_json

_PART = msgspec.json.Decoder(Part)


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
    return checked(result)


def checked(result: ToolResult) -> ToolResult:
    """The result, its parts checked; a part may be a dict, with the names of the wire.

    Raises:
        AnswerError: the host would refuse them.
    """
    given = cast("object", result.parts)  # a Struct takes anything
    if isinstance(given, (list, tuple)):
        parts = [_read(index, part) for index, part in enumerate(cast("Any", given))]
        result = msgspec.structs.replace(result, parts=parts)
    why = why_not(result.parts)
    if why is not None:
        raise AnswerError(f"returned a result that is refused: {why}")
    return result


def _read(index: int, part: Any) -> Any:
    if not isinstance(part, dict) and not (
        isinstance(part, Part) and isinstance(cast("object", part.resource), dict)
    ):
        return part
    try:
        return _PART.decode(to_json(part))
    except (TypeError, ValueError, msgspec.MsgspecError) as exc:  # no ValueError before 0.21
        raise AnswerError(f"returned a result that is refused: parts[{index}]: {exc}") from None


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
