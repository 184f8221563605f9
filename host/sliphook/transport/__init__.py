"""One connection to one plugin over two pipes: reader, writer, calls, deadlines, and the recorder of its messages.

For `plugin` and `dispatch`.
"""
