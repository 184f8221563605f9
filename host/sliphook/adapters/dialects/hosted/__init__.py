"""How other agents run their hooks, as tables: what a command reads, and what its end means.

`hosted` has the shape of a table, `handler` one configured hook, `matchers` and `toolmap` which
tool calls it is for, and a module of each system's name its table. `known` has them all. The tables
of the same agents in the folder above are for the other direction.
"""
