"""The plugin's process: its standard streams, its signals, its end. `engine` and `run` use it."""
