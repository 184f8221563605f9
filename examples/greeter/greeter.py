"""A plugin installed by pip: `pip install ./examples/greeter`, `sliphook install greeter`."""

from sliphook_sdk import Plugin

plugin = Plugin("greeter", version="1.0.0")


@plugin.tool
def greet(name: str) -> str:
    "Greet somebody."
    return f"Good morning, {name}."
