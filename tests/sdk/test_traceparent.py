"""The agent's span reaches the handler's ctx."""

from __future__ import annotations

from typing import Any, cast

import pytest

from sliphook_sdk.runtime.contexts import Context
from sliphook_sdk.wire.rpc import Peer
from tests.docs.protocol_sentences.says import says

SPAN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@says(
    "A plugin that makes its own spans uses it as their parent; all others ignore it.",
)
@pytest.mark.parametrize(
    ("envelope", "span"),
    [
        ('"id":1,"method":"hook/stop","traceparent":"' + SPAN + '",', SPAN),
        ('"method":"event/stop","traceparent":"' + SPAN + '",', SPAN),
        ('"id":1,"method":"hook/stop",', None),
        ('"method":"event/stop","traceparent":null,', None),
    ],
)
def test_ctx_has_the_span_of_the_envelope(envelope: str, span: str | None) -> None:
    written: list[bytes] = []
    call = Peer(written.append).receive(('{"jsonrpc":"2.0",' + envelope + '"params":{}}').encode())
    assert call is not None
    assert Context(cast("Any", None), call, cast("Any", None)).traceparent == span
    assert written == []
