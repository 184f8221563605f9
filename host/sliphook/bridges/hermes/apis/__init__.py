"""Pure: the model APIs that Hermes speaks, each as it is put to plugins and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .anthropic_messages import AnthropicMessages
from .api import ModelApi
from .bedrock_converse import BedrockConverse
from .chat_completions import ChatCompletions
from .codex_responses import CodexResponses

APIS: Final[Mapping[str, ModelApi]] = {
    "chat_completions": ChatCompletions(),
    "anthropic_messages": AnthropicMessages(),
    "codex_responses": CodexResponses(),
    "bedrock_converse": BedrockConverse(),
}
"""By Hermes's `api_mode`."""
