"""The host's loggers: records as of `logging`, and what the agent's handlers raise ends nothing."""

from __future__ import annotations

import logging

import pytest

from sliphook.agent_log import agent_log
from tests.programs import output_of


def test_a_record_has_the_line_that_logs(caplog: pytest.LogCaptureFixture) -> None:
    log = agent_log("sliphook.test")
    log.warning("%s of %s", 1, 2)
    log.log(logging.ERROR, "by number")
    try:
        raise ValueError("x")
    except ValueError:
        log.exception("with its traceback")
    records = caplog.records
    assert [record.getMessage() for record in records] == [
        "1 of 2",
        "by number",
        "with its traceback",
    ]
    assert {(record.name, record.pathname) for record in records} == {("sliphook.test", __file__)}
    assert {record.funcName for record in records} == {"test_a_record_has_the_line_that_logs"}
    assert records[2].exc_info is not None


def test_nothing_is_raised_whatever_the_agent_has_made_of_its_log() -> None:
    said = output_of(
        """
        import logging, sys
        from sliphook.agent_log import agent_log

        class Raises(logging.Handler):
            def emit(self, record):
                raise RuntimeError("a handler")
            def filter(self, record):
                raise RuntimeError("a filter")

        log = agent_log("sliphook.test")
        sys.stderr.close()
        log.warning("there is no handler, and standard error is closed")
        log.warning("%d", "no number")
        logging.getLogger().addHandler(Raises())
        log.error("a handler raises")
        logging.getLogger("sliphook.test").addFilter(Raises())
        log.exception("a filter raises")
        print("it goes on")
        """
    )
    assert said == "it goes on\n"
