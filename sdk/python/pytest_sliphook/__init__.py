"""The fixture `plugin_harness` for pytest, which finds it by itself where `sliphook-sdk` is installed.

It lies beside the SDK, not inside, so that a run of pytest which does not ask for it imports
nothing of the SDK.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from sliphook_sdk import Plugin
    from sliphook_sdk.testing import Harness


@pytest.fixture
def plugin_harness(
    tmp_path: os.PathLike[str], request: pytest.FixtureRequest
) -> Callable[..., Harness]:
    """Makes a `sliphook_sdk.testing.Harness` of a plugin: the object, or the path of its file, from the folder of the test.

    The options are those of `Harness`; `data_dir` is the test's `tmp_path` where it is left out.

    Example:
        ```python
        def test_trees_stay(plugin_harness):
            answer = plugin_harness("guard.py").fire("pre_tool_call", tool_name="shell", arguments={"command": "rm -rf /"})
            assert answer.decision == "deny"
        ```
    """
    from sliphook_sdk import Plugin
    from sliphook_sdk.testing import Harness, load_plugin

    def make(plugin: Plugin[Any] | os.PathLike[str] | str, **options: Any) -> Harness:
        loaded = plugin if isinstance(plugin, Plugin) else load_plugin(request.path.parent / plugin)
        options.setdefault("data_dir", tmp_path)
        return Harness(loaded, **options)

    return make
