"""The plugin's own process: its standard streams, its signals, its end. For the engines and `run`."""
