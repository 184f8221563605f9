"""Our lines in the configurations of other agents: written, taken out, and looked at again.

`configs` writes them, `records` remembers where, `examine` says what is wrong with them, for which
`codex_trust` reads what Codex's user has agreed to.
"""
