"""The author's functions, checked when they are registered: hooks, events, tools, commands, answers."""
