"""Sessions, turns, tool calls, interrupts, and what plugins may ask of the host.

Public through `sliphook`: Session, Turn and their values.
"""
