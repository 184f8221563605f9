"""Reads messages and runs handlers, in threads or in an event loop. `run` starts one engine."""
