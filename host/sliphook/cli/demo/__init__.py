"""`sliphook demo`: an agent whose plugins deny, answer, hang and crash.

`command` is the command, `story` plays the turns, `stage` writes the plugins, `narrator` tells the
turns as they happen, `timeline` sums them up.
"""
