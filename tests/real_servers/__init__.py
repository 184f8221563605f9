"""`make real-servers`: public MCP servers of PyPI and npm as plugins, in `sliphook chat`."""
