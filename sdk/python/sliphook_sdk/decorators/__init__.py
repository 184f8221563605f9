"""The decorators of a plugin, with a type for each hook and event: payload, `match`, answers."""
