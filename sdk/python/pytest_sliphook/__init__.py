"""The fixture `plugin_harness`; pytest finds it if `sliphook-sdk` is installed.

This package is beside the SDK, not inside, so that a run of pytest that does not use the fixture
imports nothing of the SDK.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from sliphook_sdk import Plugin
    from sliphook_sdk.testing import Harness


@pytest.fixture
def plugin_harness(
    tmp_path: os.PathLike[str], request: pytest.FixtureRequest
) -> Iterator[Callable[..., Harness]]:
    """Creates a `sliphook_sdk.testing.Harness` for a plugin, which is closed after the test.

    The plugin is a `Plugin`, or the path of its file, relative to the folder of the test. The
    options are those of `Harness`; without `data_dir` it is the test's `tmp_path`.

    Example:
        ```python
        def test_trees_stay(plugin_harness):
            answer = plugin_harness("guard.py").fire(
                "pre_tool_call", tool_name="shell", arguments={"command": "rm -rf /"}
            )
            assert answer.decision == "deny"
        ```
    """
    from sliphook_sdk import Plugin
    from sliphook_sdk.testing import Harness, load_plugin

    made: list[Harness] = []

    def make(plugin: Plugin[Any] | os.PathLike[str] | str, **options: Any) -> Harness:
        loaded = plugin if isinstance(plugin, Plugin) else load_plugin(request.path.parent / plugin)
        options.setdefault("data_dir", tmp_path)
        made.append(Harness(loaded, **options))
        return made[-1]

    yield make
    for harness in made:
        harness.close()
