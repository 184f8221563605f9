"""Checks of what an agent passes to the public methods."""
