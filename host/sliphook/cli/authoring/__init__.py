"""Commands for authors of plugins: new, check, fire, call, events."""
