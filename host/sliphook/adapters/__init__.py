"""Sliphook and the hooks of other agents: our plugins in them."""
