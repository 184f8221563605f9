"""What all tests share: an empty home, this interpreter first on PATH, hypothesis's effort."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

# CI must not fail by luck; elsewhere each run looks for new cases.
hypothesis.settings.register_profile("explore", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "explore")

# what a script starts in the background ignores Ctrl+C, and so would all that the tests start
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGQUIT) is signal.SIG_IGN:
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)


def pytest_xdist_auto_num_workers() -> int:
    """Two for each core: tests wait for processes and timeouts more than they compute."""
    return 2 * (os.cpu_count() or 1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest tests lie apart in the first half.

    xdist gives a worker tests that lie side by side, and at the end one would be alone with them.
    """
    longest = [one for one in items if one.nodeid.startswith(("tests/torture/", "tests/bench/"))]
    rest = [one for one in items if one not in longest]
    apart = len(items) // (2 * len(longest) or 1)
    for place, item in enumerate(longest):
        rest.insert(place * apart, item)
    items[:] = rest


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI everything is tried: a skip fails the run."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    # a worker of xdist has no reporter of its own
    if os.environ.get("SLIPHOOK_SKIPS_FAIL") and reporter is not None:
        skipped = reporter.stats.get("skipped", [])
        if skipped:
            reporter.write_line(f"\n{len(skipped)} skipped, and CI is to try everything", red=True)
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(autouse=True, scope="session")
def _sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep tests from the user's own files.

    `#!/usr/bin/env python3` finds the packages under test.
    """
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        for name, folder in (
            ("DATA", ".local/share"),
            ("STATE", ".local/state"),
            ("CONFIG", ".config"),
            ("CACHE", ".cache"),
        ):
            patch.setenv(f"XDG_{name}_HOME", str(home / folder))
        patch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        for name in (
            "SLIPHOOK_API_KEY",
            "OPENAI_API_KEY",
            "OPENAI_BASE_URL",
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_BASE_URL",
            "PYTHONPATH",
            "NODE_OPTIONS",
        ):
            patch.delenv(name, raising=False)
        yield
