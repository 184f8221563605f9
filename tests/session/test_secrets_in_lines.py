"""A secret that is shown with escapes is hidden wherever a plugin puts it, whole or cut."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from sliphook import PluginHost
from sliphook.quoting import quote
from sliphook.testing import FakePlugin
from tests.programs import until

NOT_SHOWN = ["\x1b", "\x7f", "\x85", "\xa0", "\xad", "\u200b", "\ufeff", "\U000e0041", "\\\xa0é"]


@pytest.mark.parametrize("before", [0, 25, 180, 280, 480, 1_980])
@pytest.mark.parametrize("character", NOT_SHOWN, ids=ascii)
async def test_a_secret_with_an_escape_is_shown_in_no_field(
    character: str, before: int, autojump_clock: MockClock
) -> None:
    secret = f"SEC{character}RETSECRET"
    text = "." * before + secret
    shown: list[str] = []

    def show(*said: Any) -> None:
        shown.extend(str(one) for one in said)

    async def work(_: dict[str, Any]) -> str:
        (call,) = [message.id for message in talker.received if message.method == "tool/call"]
        await talker.tell("$/progress", id=call, message=text)
        await talker.tell("host/log", level="info", message=text)
        await talker.tell("host/log", level="info", message="m", fields={"f": text})
        await talker.tell("host/log", level="info", message="m", fields={"f": f"a\n{text}\nb"})
        await talker.tell("host/log", level=text, message="m")
        await talker.tell(f"host/{text}")
        await talker.tell("$/progress", id=text)
        await talker.tell("host/log", level="info", message="m", **{text: 1})
        await talker.ask("host/notify", level="warning", message=text)
        await talker.ask("host/interrupt", session_id=session.session_id, reason=text)
        return "done"

    talker = FakePlugin(
        "talker", tools={"work": work}, uses=["notify", "interrupt"], variables={"KEY": secret}
    )
    other = FakePlugin("other", hears=["notification"])
    with trio.fail_after(120):
        async with (
            PluginHost(
                [talker, other],
                on_log=show,
                on_notify=show,
                on_problem=show,
                on_progress=lambda progress: show(progress.message),
            ) as host,
            host.session() as session,
        ):
            async with session.turn("x") as turn:
                await turn.call_tool("work", {})
            await other.hears("notification")
            await talker.write(f"stray {text}\n".encode())
            await until(lambda: any("stray" in line for line in shown))
            talker.complain(text)
            talker.crash()
            await other.hears("notification", times=2)
            shown += [one.message for one in other.payloads("notification")]
    assert len(shown) > 30
    assert [line for line in shown if "SEC" in line or "RET" in line] == []
    assert [line for line in shown if quote(secret) in line] == []
