"""Commands that handlers run with `ctx.run`: they end with their call, and with the plugin."""
