"""One hook or event: which plugins are asked in which order, how their answers merge, and the calls that do it.

For `session` and `host`.
"""
