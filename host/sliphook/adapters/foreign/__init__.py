"""Configurations of other agents' hooks as plugins: `python -m sliphook.adapters.foreign`.

`sources` finds and reads a configuration, `approval` says what of it the user approves, `rows`
which of our hooks and events it needs. `plugin` is the plugin's process: `telling` makes of a
payload what their agent would tell, `commands` and `http` run one hook, `merge` makes one answer of
several, and `answering` one of ours.
"""
