"""One connection to one plugin over two pipes: reader, writer, calls, deadlines, recorder.

For `plugin` and `dispatch`.
"""

# the engine of `wire.rpc` imports it for the first connection, too late in an exit function
import concurrent.futures.thread  # noqa: F401  # pyright: ignore[reportUnusedImport]
