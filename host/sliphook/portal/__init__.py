"""Calls into a trio loop in its own thread; for `sliphook.blocking` and `sliphook.aio`."""
