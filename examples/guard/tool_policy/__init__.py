"""A policy for tool calls, and what it says to one."""
