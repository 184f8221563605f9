"""What `sliphook.blocking` and `sliphook.aio` share: calls into a trio loop that runs in a thread of its own.

For these two alone.
"""
