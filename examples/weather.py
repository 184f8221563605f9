#!/usr/bin/env python3
"""A tool: the weather, made up, as slowly as a real service would answer."""

import asyncio
from typing import Annotated, Any

from msgspec import Meta

from sliphook_sdk import AsyncContext, Plugin, ToolError

plugin = Plugin("weather", version="1.0.0", description="Tells the weather, which it makes up.")

City = Annotated[str, Meta(examples=["Bergen"])]
"""`sliphook check` calls the tool with the example."""

FORECASTS = {
    "bergen": {"sky": "rain", "celsius": 11},
    "lisbon": {"sky": "sun", "celsius": 24},
    "reykjavik": {"sky": "wind", "celsius": 6},
}


@plugin.tool(timeout_s=10)
async def weather(city: City, days: int = 1, *, ctx: AsyncContext) -> dict[str, Any]:
    """The weather in a city: what the sky does, and the temperature.

    Args:
        city: the city's name.
        days: how many days, 1 to 7.
    """
    if not 1 <= days <= 7:
        raise ToolError("there are forecasts for 1 to 7 days")
    forecast = FORECASTS.get(city.lower())
    if forecast is None:
        raise ToolError(
            f"there is no station in {city}; "
            f"there is one in {', '.join(name.title() for name in FORECASTS)}"
        )
    ctx.progress(f"asking the station in {city}")
    await asyncio.sleep(0.05)
    return {"city": city.title(), "days": days, **forecast}


if __name__ == "__main__":
    plugin.run()
