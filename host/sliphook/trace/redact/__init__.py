"""Replaces secrets in texts, in time that is linear in the text.

`spelling` takes the JSON escapes out of a text and tells where a part of it stood before; `secrets`
finds the known secrets in what is left; `redactor` replaces them in the text.
"""

from .redactor import BEHIND, REDACTED, Redactor
from .secrets import texts_in

__all__ = ["BEHIND", "REDACTED", "Redactor", "texts_in"]
