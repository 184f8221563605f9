"""Reads messages and runs handlers, in threads or in an event loop. For `run`."""
