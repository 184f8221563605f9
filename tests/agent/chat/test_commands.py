"""Slash commands of plugins, as a user types them."""

from __future__ import annotations

import pytest
import trio

from sliphook import HostError, PluginHost
from sliphook.agent.chat.commands import parse_slash, run_slash
from sliphook.testing import CRASHES, FakePlugin

DEPLOYS = FakePlugin(
    "deploys",
    commands={
        "deploys": lambda arguments: {"text": f"deployed: {arguments or 'nothing'}"},
        "paint": {"text": "a\x1b[31mred\nline"},
        "flood": {"text": "\n" * 500_000},
        "wide": {"text": ("x" * 2_000 + "\x07\n") * 200},
        "long": {"text": "\x07" * 150_000 + "\n"},
        "crash": CRASHES,
    },
)


async def typed(text: str) -> str | None:
    with trio.fail_after(120):
        async with PluginHost([DEPLOYS]) as host, host.session() as session:
            slash = parse_slash(text)
            return None if slash is None else await run_slash(host, session, slash)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("/deploys web now", "deployed: web now"),
        ("  /deploys  ", "deployed: nothing"),
        ("/paint", "a\\x1b[31mred\nline"),
        ("/flood", "\n" * 500 + "… and 499,500 more lines"),
        ("/wide", ("x" * 1_999 + "…\n") * 49 + "x" * 1_902 + "\n… and 150 more lines"),
        ("/long", "\\x07" * 499 + "…\n…"),
        ("/plugins", "deploys  ready"),
        (
            "/help",
            "/help     these commands\n/plugins  the plugins, and how they are\n"
            "/model    the models, and which one answers; /model NAME takes another\n"
            "/crash    (deploys)\n/deploys  (deploys)"
            "\n/flood    (deploys)\n/long     (deploys)\n/paint    (deploys)"
            "\n/wide     (deploys)",
        ),
        ("tell me of /deploys", None),
        ("/etc/hosts is broken", None),
        ("/", None),
    ],
)
async def test_what_a_user_types(text: str, said: str | None) -> None:
    assert await typed(text) == said


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("/nothing", "there is no command /nothing; /help lists them"),
        ("/crash", "/crash of deploys failed"),
    ],
)
async def test_what_cannot_be_run_is_one_line(text: str, why: str) -> None:
    with pytest.raises(HostError, match=why) as caught:
        await typed(text)
    assert "\n" not in str(caught.value)
