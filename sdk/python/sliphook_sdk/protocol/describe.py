"""The description of a field: a sentence, and an example that tools and documents use."""

from __future__ import annotations

from typing import Any, get_type_hints

import msgspec


def doc(sentence: str, example: Any = None, *, match: bool = True) -> msgspec.Meta:
    """The description of one field, for `Annotated[...]`.

    Args:
        sentence: what the field holds, with its unit.
        example: a value of a real message; `sliphook fire` fills missing fields with it. None is
            null.
        match: False for a string that `match` may not name: free text, or an id that is new each
            time.
    """
    return msgspec.Meta(
        description=sentence, examples=[example], extra=None if match else {"match": False}
    )


def is_matchable(annotation: Any) -> bool:
    """Whether the `doc(...)` of a field's type lets `match` name it."""
    return not any(
        isinstance(meta, msgspec.Meta) and meta.extra == {"match": False}
        for meta in getattr(annotation, "__metadata__", ())
    )


def field_docs(struct: type[msgspec.Struct]) -> dict[str, msgspec.Meta]:
    """The `doc(...)` of each field of `struct`, by its name on the wire, in wire order.

    Fields without `doc(...)` are left out.
    """
    hints = get_type_hints(struct, include_extras=True)
    docs: dict[str, msgspec.Meta] = {}
    for info in msgspec.structs.fields(struct):
        for extra in getattr(hints[info.name], "__metadata__", ()):
            if isinstance(extra, msgspec.Meta) and extra.description is not None:
                docs[info.encode_name] = extra
    return docs


def example_of(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """A sample value for each field of `struct`, in wire order, as msgspec converts to builtins."""
    samples: dict[str, Any] = {}
    for name, meta in field_docs(struct).items():
        samples[name] = meta.examples[0] if meta.examples else None
    return samples


def example_to_send(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """`example_of` without fields that are absent by default: only the host sets `timeout_s`."""
    absent = {
        info.encode_name for info in msgspec.structs.fields(struct) if info.default is msgspec.UNSET
    }
    return {name: value for name, value in example_of(struct).items() if name not in absent}
