"""Sessions, turns, tool calls, interrupts, and what a plugin may ask of them.

Public through `sliphook`: Session, Turn and their values.
"""
