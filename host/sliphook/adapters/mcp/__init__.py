"""Servers of the Model Context Protocol as plugins: `python -m sliphook.adapters.mcp NAME COMMAND`.

`names` and `results` say in pure functions what a server's tools and results are called here;
`bridge` is the plugin. It needs the extra `sliphook[mcp]`, and nothing else imports that.
"""
