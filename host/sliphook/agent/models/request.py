"""Pure: what requests to model servers have in common.

Its JSON, fields that the user's settings or a plugin add, and the parts of tools' results, for
models that take images and for those that take none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sliphook.plugin.model_servers import WRITTEN_BY_THE_CLIENT
from sliphook.quoting import quote
from sliphook.wire import envelope
from sliphook_sdk.protocol import Message, Part
from sliphook_sdk.protocol.parts import size_of

from .base import ModelError

NO_IMAGES: Final = "this model takes no images"
_CHARS: Final = 300


def as_json(part: Any) -> bytes:
    """A part of a conversation as JSON.

    Raises:
        ModelError: it cannot be written. The conversation's fault.
    """
    try:
        return envelope.encode(part)
    except TypeError as error:
        raise ModelError("refused", f"the conversation cannot be sent: {error}") from None


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


def images_of(message: Message) -> list[Part]:
    """The images of a tool's result, in order."""
    return [part for part in message.parts or () if part.type == "image"]


def as_text(message: Message, images: str = NO_IMAGES) -> str:
    """A tool's result as one text: its content, and a line about each part that is no text.

    Args:
        message: the result.
        images: where its images are.
    """
    lines = [in_words(part, images) for part in message.parts or () if part.type != "text"]
    return "\n".join(filter(None, [message.content or "", *lines]))


def in_words(part: Part, images: str = NO_IMAGES) -> str:
    """A part as a text for the model: what it says, or what it is."""
    if part.type == "text":
        return part.text or ""
    if part.type == "resource" and part.resource is not None:
        held = part.resource
        if held.blob is None:
            return f"[resource {quote(held.uri, _CHARS)}]\n{held.text or ''}"
        what = f"resource {held.uri} {held.mime_type or ''}".strip()
        return _left_out(what, held.blob, "this model takes no files")
    if part.type == "resource_link":
        about = f": {part.description}" if part.description else ""
        return f"[{quote(f'link {part.name} {part.uri}{about}', _CHARS)}]"
    why = images if part.type == "image" else f"this model takes no {part.type}"
    return _left_out(f"{part.type} {part.mime_type or ''}".strip(), part.data or "", why)


def _left_out(what: str, data: str, why: str) -> str:
    return f"[{quote(what, _CHARS)}, {size_of(data):,} bytes: {why}]"
