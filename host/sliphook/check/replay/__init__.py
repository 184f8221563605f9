"""A recorded trace played against a plugin: the host's side is sent again and the answers are compared.

For `sliphook trace replay`.
"""
