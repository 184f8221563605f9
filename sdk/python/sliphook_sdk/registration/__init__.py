"""The author's functions, checked when they are registered: handlers, tools, answers.

`plugin`, `runtime` and `service` use it. Pure: it knows no process and no clock.
"""
