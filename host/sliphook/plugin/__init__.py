"""One plugin across all its processes: manifest, approval, lifecycle, supervision, hang watchdog.

For `dispatch`, `session` and `host`.
"""
