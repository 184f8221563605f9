"""Replaces secrets in texts, in time that is linear in the text.

`spelling` takes the JSON escapes out of a text and tells where a part of it stood before; `secrets`
finds the known secrets in what is left; `redactor` replaces them in the text.
"""

from .redactor import BEHIND, REDACTED, Redactor

__all__ = ["BEHIND", "REDACTED", "Redactor"]
