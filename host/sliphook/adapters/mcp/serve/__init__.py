"""The plugins as an MCP server on stdio: `sliphook mcp`.

`stdio` and `wire` have stdin and stdout, `server` speaks the protocol, by the SDK `mcp`. What it
serves comes from a `backend`: `alone` is a host of its own, which `chosen` makes. `rendering` and
`questions` say in pure functions what is what, `joined` by what a call is known; `asking` has the
client ask its person.
"""
