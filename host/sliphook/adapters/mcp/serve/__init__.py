"""The plugins as an MCP server on stdio: `sliphook mcp`.

`incoming` has stdin, `outgoing` stdout and what is open; `server` speaks the protocol, by the SDK
`mcp`. What it serves comes from a `backend`: `alone` is a host of its own, `relay` asks the daemon
of an attached agent's session, which `finding` finds. `rendering` and `questions` say in pure
functions what is what, `joined` what clients say of themselves; `asking` has the client ask its
person.
"""
