from __future__ import annotations

import pytest

from sliphook.check import call_rules, child, end_rules, running_rules, wire_rules


@pytest.fixture
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks wait for a shorter time, as most of these tests wait in vain."""
    monkeypatch.setattr(child, "ANSWER_S", 1.0)
    monkeypatch.setattr(wire_rules, "INITIALIZE_TIMEOUT_S", 3.0)
    monkeypatch.setattr(end_rules, "EXIT_GRACE_S", 0.8)
    monkeypatch.setattr(end_rules, "TERM_GRACE_S", 0.8)
    monkeypatch.setattr(call_rules, "LONGEST_S", 2.0)
    monkeypatch.setattr(end_rules, "AFTER_S", 0.6)
    monkeypatch.setattr(running_rules, "AFTER_S", 0.2)
    monkeypatch.setattr(running_rules, "EXIT_GRACE_S", 0.8)
