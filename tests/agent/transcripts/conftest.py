"""The path of a file of transcripts that is not there yet."""

from __future__ import annotations

from .stored import path

__all__ = ["path"]
