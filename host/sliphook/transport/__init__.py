"""One connection to one plugin over two pipes: reader, writer, calls, deadlines, recorder.

For `plugin` and `dispatch`.
"""
