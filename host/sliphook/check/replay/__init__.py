"""Plays a recorded trace against a plugin: sends the host's messages again, compares the answers.

For `sliphook trace replay`.
"""
