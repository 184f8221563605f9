#!/usr/bin/env python3
"""Agents on many machines: their events go to a broker, an operator stops them and says what runs.

A host starts this file without arguments; then it is the plugin. With arguments it is the
operator's command: `fleet.py top`, `stop`, `policy`, `events`.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    if len(sys.argv) > 1:
        from operate import main

        sys.exit(main())
    from agent import plugin

    plugin.run()
