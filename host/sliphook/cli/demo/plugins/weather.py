"""A tool that tells the model the weather."""

from __future__ import annotations

from sliphook_sdk import Plugin

plugin = Plugin("weather", version="1.0.0")


@plugin.tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"{city}: 4 degrees, rain from the west"


if __name__ == "__main__":
    plugin.run()
