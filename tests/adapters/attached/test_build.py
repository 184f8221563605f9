"""The command that an agent runs."""

from __future__ import annotations

from sliphook.adapters.attached.build import Client


def test_a_shell_does_not_stay_in_front_of_the_client() -> None:
    client = Client(("/home/ada/a b/client",), compiled=True)
    assert client.command("codex", "Stop", closed=False) == "exec '/home/ada/a b/client' codex Stop"
    # whether Cursor has a shell is not known
    assert client.command("cursor", "stop", closed=True) == (
        "'/home/ada/a b/client' cursor stop --closed"
    )
