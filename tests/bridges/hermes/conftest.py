"""What needs the real Hermes is run by `make test-hermes`, which sets the variable."""

from __future__ import annotations

import os

collect_ignore = [] if os.environ.get("SLIPHOOK_TEST_HERMES") else ["real"]
