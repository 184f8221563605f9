"""Servers of the Model Context Protocol as plugins: `python -m sliphook.adapters.mcp NAME COMMAND`.

`names` and `results` say in pure functions what a server's tools and results are called here;
`plugin` is what the host sees, `connection` what the server sees. They need the extra
`sliphook[mcp]`, which `connection` alone imports, and what it is made of.
"""
