"""Many conversations in one host: gateway, channels, slash commands.

Public through `sliphook.agent`: Gateway, COMMANDS.
"""
