"""One plugin across all its processes: spec, manifest, approval, lifecycle, supervision, hang watchdog.

For `dispatch`, `session` and `host`.
"""
