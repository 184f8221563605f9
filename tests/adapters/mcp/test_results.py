"""What a server's result is for us."""

from __future__ import annotations

import msgspec

from sliphook.adapters.mcp.results import tool_result


def test_texts_are_lines() -> None:
    result = tool_result([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], None, True)
    assert (result.content, result.is_error, result.parts) == ("a\nb", True, msgspec.UNSET)


def test_structured_content_alone_is_read_as_json() -> None:
    result = tool_result([], {"sum": 5}, False)
    assert (result.content, result.data) == ('{"sum": 5}', {"sum": 5})


def test_a_resource_is_a_part_and_its_text_is_read() -> None:
    block = {"type": "resource", "resource": {"uri": "file:///a", "text": "hello"}}
    result = tool_result([block], None, False)
    assert result.content == "hello"
    assert result.parts
    assert [part.type for part in result.parts] == ["resource"]


def test_what_is_no_image_is_left_out_and_said() -> None:
    block = {"type": "image", "mimeType": "image/png", "data": "AAAA"}
    result = tool_result([block], None, False)
    assert (
        result.content == "[a part is left out: parts[0].data is no image/png: it begins otherwise]"
    )


def test_parts_over_the_limit_are_counted() -> None:
    result = tool_result([{"type": "text", "text": "a"}] * 40, None, False)
    assert result.content.splitlines()[-1] == "[9 more parts are left out]"
