"""Messages to and from the host: calls, replies, JSON. For the engines and `testing`."""
