"""`PluginHost` and its state: the plugins, the open sessions, which plugin may have which name.

Public through `sliphook`: PluginHost.
"""
