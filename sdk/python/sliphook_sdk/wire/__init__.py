"""Messages to and from the host: calls, replies, JSON-RPC. `engine` and `testing` use it."""
