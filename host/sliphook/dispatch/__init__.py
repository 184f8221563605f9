"""One hook or event: the order of the plugins, the calls to them, and the merge of their answers.

For `session` and `host`.
"""
