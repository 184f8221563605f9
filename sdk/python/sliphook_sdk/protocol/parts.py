"""The parts of a tool's result: texts, images and the like, as MCP's content blocks have them.

`why_not` says what is wrong with them. Nothing here opens an image: its first bytes are looked at,
since a model's server refuses the whole conversation for one that is not what it says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Final, Optional, cast

import msgspec

from .describe import doc
from .limits import MAX_RESULT_PARTS

IMAGE_TYPES: Final = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}
"""The types of images that models take, each with how its bytes begin."""

PART_TYPES: Final = ("text", "image", "audio", "resource_link", "resource")
"""The values of `type`."""

UNHOLDABLE: Final = "which JSON cannot hold"
"""What both SDKs say, behind its type, of a tool's value that is no JSON."""


class Resource(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file inside a part: its text, or its bytes."""

    uri: Annotated[str, doc("what it is called", "file:///srv/log.txt")]
    mime_type: Annotated[Optional[str], doc("its type", "text/plain")] = msgspec.field(
        default=None, name="mimeType"
    )
    text: Annotated[Optional[str], doc("the text", "all is well")] = None
    blob: Annotated[Optional[str], doc("or the bytes, in base64")] = None


class Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One part of a tool's result. Which fields it has depends on its type."""

    type: Annotated[str, doc("`text`, `image`, `audio`, `resource_link` or `resource`", "text")]
    text: Annotated[Optional[str], doc("of a `text`", "the page has loaded")] = None
    mime_type: Annotated[
        Optional[str],
        doc("of an image (png, jpeg, gif, webp), of audio, of a link: `image/png`"),
    ] = msgspec.field(default=None, name="mimeType")
    uri: Annotated[Optional[str], doc("of a link: where it leads")] = None
    name: Annotated[Optional[str], doc("of a link: what it is called")] = None
    description: Annotated[Optional[str], doc("of a link: what is there")] = None
    resource: Annotated[Optional[Resource], doc("of a `resource`")] = None
    data: Annotated[Optional[str], doc("of an image or audio: its bytes, in base64")] = None


def why_not(parts: object) -> Optional[str]:
    """What is wrong with the parts of one result, as a line; None if nothing is.

    2 ms for a MiB in base64.
    """
    if not isinstance(parts, (list, tuple)):
        return None  # there are none
    given = cast("Sequence[object]", parts)
    if len(given) > MAX_RESULT_PARTS:
        return f"it has {len(given):,} parts; at most {MAX_RESULT_PARTS} are allowed"
    for index, part in enumerate(given):
        why = _why_not_part(part)
        if why is not None:
            return f"parts[{index}]{why}"
    return None


def size_of(data: str) -> int:
    """How many bytes a valid text in base64 stands for."""
    return len(data) * 3 // 4 - data[-2:].count("=")


def shown(part: Part) -> str:
    """What it is, in a few words for people: `image/png, 12.3 kB`; never what is in it.

    The words may be a plugin's: quote them.
    """
    if part.type == "text":
        return f"text, {_size(len((part.text or '').encode('utf-8', 'surrogatepass')))}"
    if part.type == "resource" and part.resource is not None:
        held = part.resource
        kind = held.mime_type or "resource"
        return kind if held.blob is None else f"{kind}, {_size(size_of(held.blob))}"
    if part.data is not None:
        return f"{part.mime_type or part.type}, {_size(size_of(part.data))}"
    return f"link to {part.uri}" if part.type == "resource_link" else part.type


def in_short(content: str, parts: Iterable[Part]) -> str:
    """A result for people: what each part is that is no text, then its content."""
    known = [f"[{shown(part)}]" for part in parts if part.type != "text"]
    return " ".join(filter(None, [*known, content]))


def _size(count: int) -> str:
    return f"{count:,} bytes" if count < 1_000 else f"{count / 1_000:,.1f} kB"


def _why_not_part(part: object) -> Optional[str]:
    if not isinstance(part, Part):
        return f" is {type(part).__name__}, and no Part"
    if part.type == "text":
        return None if isinstance(part.text, str) else ".text is missing"
    if part.type == "image":
        return _why_not_image(part)
    if part.type == "audio":
        if not (part.mime_type or "").startswith("audio/"):
            return f".mimeType is {part.mime_type!r:.80}; it must begin with audio/"
        return _why_not_base64("data", part.data)
    if part.type == "resource_link":
        missing = [field for field in ("uri", "name") if not getattr(part, field)]
        return f".{missing[0]} is missing" if missing else None
    if part.type == "resource":
        held = part.resource
        if held is None:
            return ".resource is missing"
        if (held.text is None) == (held.blob is None):
            return ".resource needs either text or blob"
        return None if held.blob is None else _why_not_base64("resource.blob", held.blob)
    return f".type is {part.type!r:.80}; there are {', '.join(PART_TYPES)}"


def _why_not_image(part: Part) -> Optional[str]:
    beginnings = IMAGE_TYPES.get(part.mime_type or "")
    if beginnings is None:
        return f".mimeType is {part.mime_type!r:.80}; there are {', '.join(IMAGE_TYPES)}"
    why = _why_not_base64("data", part.data)
    if why is not None:
        return why
    import binascii

    begins = binascii.a2b_base64((part.data or "")[:16])
    if not begins.startswith(beginnings):
        return f".data is no {part.mime_type}: it begins otherwise"
    return None


def _why_not_base64(field: str, data: Optional[str]) -> Optional[str]:
    if not data:
        return f".{field} is missing"
    import base64  # imported here, since it would slow every plugin's start

    try:
        base64.b64decode(data, validate=True)
    except ValueError:
        return f".{field} is no base64"
    return None
