"""What is wrong with the installed plugins, the settings and this machine, and what to do."""

from .examine import examine
from .finding import Finding

__all__ = ["Finding", "examine"]
