"""Bytes to messages and back: framing, envelopes, JSON-RPC, argument schemas.

Pure: no clock, no I/O. For every package above.
"""
