"""The conformance suite: checks of protocol.md against a plugin's executable in any language."""

from __future__ import annotations

from .finding import CheckFinding, Report, Verdict
from .suite import check_plugin

__all__ = ["CheckFinding", "Report", "Verdict", "check_plugin"]
