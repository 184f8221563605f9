"""`sliphook demo`: `command` is the command, `story` what happens, `stage` the plugins, `timeline` what is told of it at the end."""
