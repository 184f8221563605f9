"""Our MCP server in an attached agent, and the daemon of the session that has the plugins.

`messages` is what they say to each other, `served` the daemon's side.
"""
