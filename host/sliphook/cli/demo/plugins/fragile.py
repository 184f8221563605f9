"""A plugin that crashes: if a prompt names it, its process ends in the middle of the hook."""

from __future__ import annotations

import os

from sliphook_sdk import Plugin
from sliphook_sdk.protocol.payloads import UserPromptSubmit

plugin = Plugin("fragile", version="1.0.0")


@plugin.hook("user_prompt_submit")
def crash(prompt: UserPromptSubmit) -> None:
    """End the process without an answer, as a segmentation fault does."""
    if "fragile" in prompt.text:
        os._exit(70)


if __name__ == "__main__":
    plugin.run()
