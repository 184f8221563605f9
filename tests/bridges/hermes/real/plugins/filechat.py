"""A platform of Hermes's gateway: a file that comes is a message, and answers are lines of a file."""

# mypy: ignore-errors
# pyright: basic, reportMissingImports=false

import asyncio
import json
import os
import time
from pathlib import Path

from gateway.config import Platform
from gateway.platforms.base import BasePlatformAdapter, MessageEvent, MessageType, SendResult


class FileChat(BasePlatformAdapter):
    def __init__(self, config):
        super().__init__(config=config, platform=Platform("filechat"))
        self._folder = Path(os.environ["FILECHAT_DIR"])
        self._reads = None

    async def connect(self, *, is_reconnect=False):
        self._mark_connected()
        self._reads = asyncio.create_task(self._read())
        return True

    async def _read(self):
        (self._folder / "connected").touch()
        while True:
            for path in sorted(self._folder.glob("*.txt")):
                text = path.read_text()
                path.unlink()
                source = self.build_source(
                    chat_id="room", chat_name="room", chat_type="dm", user_id="u", user_name="u"
                )
                event = MessageEvent(
                    text=text,
                    message_type=MessageType.TEXT,
                    source=source,
                    message_id=path.stem,
                )
                await self.handle_message(event)
            await asyncio.sleep(0.01)

    async def disconnect(self):
        self._mark_disconnected()
        if self._reads is not None:
            self._reads.cancel()

    async def send(self, chat_id, content, reply_to=None, metadata=None):
        with (self._folder / "said.jsonl").open("a") as said:
            said.write(json.dumps({"t": time.time(), "text": content}) + "\n")
        return SendResult(success=True, message_id=str(time.time_ns()))

    async def send_typing(self, chat_id, metadata=None):
        pass

    async def get_chat_info(self, chat_id):
        return {"name": chat_id, "type": "dm"}


def register(ctx):
    ctx.register_platform(
        name="filechat",
        label="filechat",
        adapter_factory=FileChat,
        check_fn=lambda: True,
        validate_config=lambda config: True,
        is_connected=lambda config: True,
        env_enablement_fn=lambda: {"folder": os.environ["FILECHAT_DIR"]},
        allow_all_env="FILECHAT_ALLOW_ALL",
        max_message_length=4096,
    )
