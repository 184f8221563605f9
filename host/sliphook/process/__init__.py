"""One child process: spawn, environment, sandbox, shutdown, orphan reaper, stderr and log files.

For `plugin` and the tools that start one plugin.
"""
